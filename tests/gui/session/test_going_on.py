"""What was said goes when the user goes on; what is shown is the present; nothing breaks when layers go."""

from __future__ import annotations

import pytest
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.gui.canvas.highlight import Highlight
from napari_celis.gui.session.deciding import Deciding
from napari_celis.gui.session.engine import Engine
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.timeline import Timeline


@pytest.fixture
def deciding(qtbot):
    be_patient(qtbot)
    viewer = ViewerModel()
    viewer.add_layer(Labels(block_labels(), name="supervoxels", scale=(2, 1, 1)))
    workspace = Workspace.of(viewer)
    Highlight.of(workspace)
    agglomerator = small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace), agglomerator.supervoxels)
    deciding = Deciding.of(workspace)
    qtbot.waitUntil(lambda: deciding.places is not None and "ΔE at centres" in viewer.layers)
    yield deciding
    workspace.dispose()


def n_steps(deciding):
    return len(deciding.snapshot.steps)


def test_a_hint_goes_with_the_next_selection_and_a_refusal_with_the_next_success(qtbot, deciding):
    workspace = deciding.workspace
    for verb in (deciding.skip, deciding.reject):
        verb()
        assert f"nothing to {verb.__name__}" in workspace.problem[0]
    deciding.inspect(0)
    assert workspace.problem == ("", "")

    with qtbot.waitSignal(deciding.engine.failed):
        deciding.engine.undo()
    assert workspace.problem[1] == "error"
    deciding.merge()
    qtbot.waitUntil(lambda: n_steps(deciding) == 1)
    assert workspace.problem == ("", "")


def test_escape_takes_back_what_was_said(deciding):
    deciding.reject()
    deciding.clear()
    assert deciding.workspace.problem == ("", "")


def test_segments_kept_apart_are_known_as_such(qtbot, deciding):
    deciding.inspect(0)
    assert not deciding.is_kept_apart
    deciding.keep_apart()
    qtbot.waitUntil(lambda: n_steps(deciding) == 1)
    assert deciding.is_kept_apart
    deciding.undo()
    qtbot.waitUntil(lambda: n_steps(deciding) == 0)
    assert not deciding.is_kept_apart


def test_a_decision_leaves_the_preview_of_an_earlier_state(qtbot, deciding):
    workspace = deciding.workspace
    timeline = Timeline(workspace)
    qtbot.addWidget(timeline)
    deciding.engine.step(3)
    qtbot.waitUntil(lambda: n_steps(deciding) == 3)
    timeline.show_snapshot(deciding.snapshot)
    timeline.slider.setValue(1)
    assert workspace.preview_step == 1
    deciding.next_doubtful()
    assert workspace.preview_step is None
    assert timeline.slider.value() == 3
    assert timeline.place.text() == "3 decisions"


def test_all_layers_may_go_while_a_decision_is_shown(qtbot, deciding):
    viewer = deciding.workspace.viewer
    deciding.inspect(0)
    qtbot.waitUntil(lambda: bool(deciding.centres))
    viewer.layers.select_all()
    viewer.layers.remove_selected()
    qtbot.wait(50)
    deciding.inspect(1)
    qtbot.wait(50)
    assert list(viewer.layers) == []


def test_the_segmentation_comes_back_where_it_was_when_nothing_else_is_left(deciding):
    workspace = deciding.workspace
    workspace.viewer.layers.clear()
    workspace.show_segmentation()
    assert workspace.segmentation_layer in workspace.viewer.layers
    assert tuple(workspace.segmentation_layer.scale) == (2, 1, 1)
