"""The worst errors are listed, and a click on one goes where it can be put right."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import block_labels, small_agglomerator, small_volumes
from gui.patience import be_patient
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.overlaps import overlaps_of
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.errors_tab import MIXED, NO_ERRORS, NO_TRUTH, UNPREPARED, ErrorsTab


@pytest.fixture
def tab(qtbot):
    be_patient(qtbot)
    viewer = ViewerModel()
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    Canvas.of(workspace)
    tab = ErrorsTab(workspace)
    qtbot.addWidget(tab)
    tab.show()
    yield tab
    workspace.dispose()


def test_errors_are_listed_and_a_click_asks_about_one(qtbot, tab, qtmodeltester):
    assert tab.sentence.text() == UNPREPARED
    workspace, agglomerator = tab.workspace, small_agglomerator()
    table = contingency_table(agglomerator.supervoxels.dense, small_volumes()["truth"].read())
    overlaps = overlaps_of(table, agglomerator.supervoxels.n)
    workspace.use_engine(Engine(small_agglomerator(), -0.5, parent=workspace))
    assert tab.sentence.text() == NO_TRUTH
    workspace.use_engine(Engine(agglomerator, -0.5, overlaps, parent=workspace))
    engine = workspace.run.engine
    qtbot.waitUntil(lambda: tab.table.rowCount() == 2)
    qtmodeltester.check(tab.table)
    assert [tab.table.data(tab.table.index(0, column)) for column in (0, 2, 3)] == ["split", "24", "2,400"]
    tab.view.clicked.emit(tab.table.index(0, 0))
    assert workspace.decisions.pair.action == tab.table.errors[0].action
    workspace.decisions.accept()
    qtbot.waitUntil(lambda: any(error.n_pieces == 23 for error in tab.table.errors))

    engine.run(1000.0)
    qtbot.waitUntil(lambda: [error.kind for error in tab.table.errors] == ["merge"])
    tab.view.clicked.emit(tab.table.index(0, 0))
    assert workspace.decisions.pair.is_one_segment


def test_a_supervoxel_that_holds_two_objects_is_gone_to_and_named(qtbot, tab):
    workspace, agglomerator = tab.workspace, small_agglomerator()
    supervoxels = agglomerator.supervoxels
    truth = supervoxels.dense.copy()
    truth[(truth == 22) & (np.arange(20) < 7)] = 1000
    overlaps = overlaps_of(contingency_table(supervoxels.dense, truth), supervoxels.n)
    workspace.use_engine(Engine(agglomerator, -0.5, overlaps, parent=workspace))
    qtbot.waitUntil(lambda: [error.supervoxel for error in tab.table.errors] == [22])
    qtbot.waitUntil(lambda: workspace.decisions.pair.geometry is not None)
    with qtbot.waitSignal(workspace.segments.visited):
        tab.view.clicked.emit(tab.table.index(0, 0))
    assert workspace.selection.supervoxels == (22,)
    name = int(supervoxels.ids[22])
    assert workspace.messages.current.text == MIXED.format(name, "X")


def test_no_error_is_said_to_be_left(qtbot, tab):
    agglomerator = small_agglomerator()
    supervoxels = agglomerator.supervoxels
    overlaps = overlaps_of(contingency_table(supervoxels.dense, supervoxels.dense), supervoxels.n)
    tab.workspace.use_engine(Engine(agglomerator, -0.5, overlaps, parent=tab.workspace))
    qtbot.waitUntil(lambda: tab.sentence.text() == NO_ERRORS)
