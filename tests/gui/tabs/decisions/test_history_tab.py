"""Every decision is listed with its maker and score, and can be gone back to or cut."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Labels
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QMessageBox

from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.core.journal import Step
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.qt.numbers import signed
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.history_tab import HistoryTab, HistoryTable

FIRST_ID = 1 << 33


def a_step(index, kind):
    return Step(index, kind, 1, 2, 0, -1.25 - index, 10.0, True, 100 - index)


def texts(model):
    return [
        [model.data(model.index(r, c)) for c in range(model.columnCount())] for r in range(model.rowCount())
    ]


def test_the_newest_is_on_top_with_its_maker_and_score(qtbot, qtmodeltester):
    model = HistoryTable()
    kinds = ["greedy", "manual", "keep-apart", "cut"]
    steps = [a_step(index, kind) for index, kind in enumerate(kinds)]
    model.show(steps)
    qtmodeltester.check(model)
    assert texts(model) == [
        ["4", "you", "cut", "–", "97"],
        ["3", "you", "keep apart", "−3.250", "98"],
        ["2", "you", "merge", "−2.250", "99"],
        ["1", "run", "merge", "−1.250", "100"],
    ]
    model.show(steps, "you")
    assert [line[1] for line in texts(model)] == ["you"] * 3
    model.show(steps, "greedy")
    assert [line[0] for line in texts(model)] == ["1"]
    assert model.headerData(3, Qt.Orientation.Horizontal) == "Score"


@pytest.fixture
def history(make_napari_viewer, qtbot):
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    made = HistoryTab(workspace)
    viewer.window.add_dock_widget(made, name="History")
    qtbot.waitUntil(made.empty.isVisible)
    agglomerator = small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace))
    yield made
    workspace.dispose()


def test_look_back_cut_and_go_back(history, qtbot, monkeypatch):
    workspace, engine = history.workspace, history.workspace.run.engine
    with qtbot.waitSignal(engine.advanced, check_params_cb=lambda snapshot: not snapshot.is_running):
        engine.step(4)
    engine.merge(FIRST_ID + 44, FIRST_ID + 48)
    engine.keep_apart(FIRST_ID + 1, FIRST_ID + 2)
    qtbot.waitUntil(lambda: len(history.table.steps) == len(engine.snapshot.steps) == 6)
    assert history.count.text() == "6 decisions, 2 yours"
    assert not history.empty.isVisible()
    assert not history.go_back.isEnabled()
    assert history.table.data(history.table.index(5, 3)) == signed(engine.snapshot.steps[0].score)

    # A click shows what it was like then, and where.
    history.view.selectRow(4)
    step = history.selected_step()
    assert step.index == 1
    assert workspace.preview.step == 2
    assert workspace.decisions.pair.action == step.action_index
    qtbot.waitUntil(
        lambda: len(np.unique(Canvas.of(workspace).segmentation.layer.data.lut)) == step.n_segments + 1
    )
    history.present.click()
    assert workspace.preview.step is None
    assert history.selected_step() is None
    np.testing.assert_array_equal(
        Canvas.of(workspace).segmentation.layer.data.lut, engine.snapshot.segment_ids
    )

    # A past merge is cut after a look at its two sides; a constraint cannot be cut.
    history.view.selectRow(0)
    assert not history.cut.isEnabled()
    history.view.selectRow(1)
    decisions = workspace.decisions
    history.cut.click()
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    assert decisions.cut.plan.cuts == ((FIRST_ID + 44, FIRST_ID + 48),)
    decisions.cut.confirm()
    # The sides of a cut stay apart, so that a run does not make the same merge again.
    qtbot.waitUntil(lambda: len(history.table.steps) == 8)
    assert [step.kind for step in engine.snapshot.steps[-2:]] == ["cut", "keep-apart"]

    history.who.setCurrentIndex(1)
    assert len(history.table.steps) == 4
    history.who.setCurrentIndex(0)
    history.view.selectRow(5)
    monkeypatch.setattr(QMessageBox, "question", lambda *args: QMessageBox.StandardButton.Yes)
    history.go_back.click()
    qtbot.waitUntil(lambda: len(history.table.steps) == 3)
    assert engine.snapshot.n_undone == 5
    assert workspace.preview.step is None
    history.view.selectRow(0)
    history.hide()
    assert workspace.preview.step is None


def test_an_old_keep_apart_is_taken_out_alone_and_undo_brings_it_back(history, qtbot):
    engine = history.workspace.run.engine
    pairs = [(FIRST_ID + 1, FIRST_ID + 2), (FIRST_ID + 44, FIRST_ID + 48)]
    for pair in pairs:
        engine.keep_apart(*pair)
    engine.merge(FIRST_ID + 5, FIRST_ID + 6)
    qtbot.waitUntil(lambda: len(history.table.steps) == 3)
    history.view.selectRow(0)
    assert not history.take_out.isEnabled()
    history.view.selectRow(2)
    history.take_out.click()
    qtbot.waitUntil(lambda: len(history.table.steps) == 4)
    assert engine.snapshot.constraints == (pairs[1],)
    assert [step.kind for step in engine.snapshot.steps] == ["keep-apart", "keep-apart", "manual", "allow"]
    assert texts(history.table)[0][1:4] == ["you", "allow again", "–"]
    # What is taken out cannot be taken out twice; undo is one press.
    history.view.selectRow(3)
    assert not history.take_out.isEnabled()
    engine.undo()
    qtbot.waitUntil(lambda: len(engine.snapshot.constraints) == 2)
    qtbot.waitUntil(lambda: len(history.table.steps) == 3)
    history.view.selectRow(2)
    assert history.take_out.isEnabled()
