"""What was said goes when the user goes on; what is shown is the present; nothing breaks when layers go."""

from __future__ import annotations

import dataclasses

import pytest
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.timeline import Timeline


@pytest.fixture
def workspace(qtbot):
    be_patient(qtbot)
    viewer = ViewerModel()
    viewer.add_layer(Labels(block_labels(), name="supervoxels", scale=(2, 1, 1)))
    workspace = Workspace.of(viewer)
    Canvas.of(workspace)
    agglomerator = small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace))
    qtbot.waitUntil(lambda: workspace.decisions.pair.geometry is not None and "selection" in viewer.layers)
    yield workspace
    workspace.dispose()


def n_steps(workspace):
    return len(workspace.run.snapshot.steps)


def test_a_hint_goes_with_the_next_selection_and_a_refusal_with_the_next_success(qtbot, workspace):
    for verb, text in ((workspace.decisions.unsure, "put aside"), (workspace.decisions.reject, "reject")):
        verb()
        assert f"nothing to {text}" in workspace.messages.current.text
    workspace.decisions.inspect(0)
    assert workspace.messages.current == Message()

    with qtbot.waitSignal(workspace.run.engine.failed):
        workspace.run.engine.undo()
    assert workspace.messages.current.severity == "error"
    workspace.decisions.merge()
    qtbot.waitUntil(lambda: n_steps(workspace) == 1)
    assert workspace.messages.current == Message()


def test_escape_takes_back_what_was_said(workspace):
    workspace.decisions.reject()
    workspace.decisions.clear()
    assert workspace.messages.current == Message()


def test_segments_kept_apart_are_known_as_such(qtbot, workspace):
    workspace.decisions.inspect(0)
    assert not workspace.decisions.pair.is_kept_apart
    workspace.decisions.keep_apart()
    qtbot.waitUntil(lambda: n_steps(workspace) == 1)
    assert workspace.decisions.pair.is_kept_apart
    workspace.decisions.undo()
    qtbot.waitUntil(lambda: n_steps(workspace) == 0)
    assert not workspace.decisions.pair.is_kept_apart


def test_a_decision_leaves_the_preview_of_an_earlier_state(qtbot, workspace):
    timeline = Timeline(workspace)
    qtbot.addWidget(timeline)
    workspace.run.engine.step(3)
    qtbot.waitUntil(lambda: n_steps(workspace) == 3)
    timeline.show_snapshot(workspace.run.snapshot)
    timeline.slider.setValue(1)
    assert workspace.preview.step == 1
    workspace.decisions.next_uncertain()
    assert workspace.preview.step is None
    assert timeline.slider.value() == 3
    assert timeline.step_text.text() == "3 decisions"


def test_all_layers_may_go_while_a_decision_is_shown(qtbot, workspace):
    viewer = workspace.viewer
    workspace.decisions.pair.show_centres(True)
    workspace.decisions.inspect(0)
    qtbot.waitUntil(lambda: bool(workspace.decisions.pair.centres))
    viewer.layers.select_all()
    viewer.layers.remove_selected()
    qtbot.wait(50)
    workspace.decisions.inspect(1)
    qtbot.wait(50)
    assert list(viewer.layers) == []


def test_what_follows_a_decision_waits_for_that_very_command(qtbot, workspace):
    decisions, engine = workspace.decisions, workspace.run.engine
    (first, second), (third, fourth) = ((engine.tables.ids_of(action)) for action in (0, 50))
    decisions.inspect(0)
    before = workspace.selection.supervoxels
    # Another merge is under way when the user merges: its snapshot is not that of the decision.
    other = engine.merge(third, fourth)
    decisions.merge()
    stale = engine.snapshot
    assert not stale.is_after(other)
    workspace.run.advanced.emit(dataclasses.replace(stale, last_command=other))
    assert workspace.selection.supervoxels == before
    qtbot.waitUntil(lambda: len(workspace.selection.supervoxels) == 1)
    assert workspace.run.segment_of(workspace.selection.supervoxels[0]) in (first, second)


def test_nothing_follows_a_decision_that_failed_but_other_failures_do_not_matter(qtbot, workspace):
    decisions, engine = workspace.decisions, workspace.run.engine
    decisions.next_uncertain()
    action = decisions.pair.action
    with qtbot.waitSignal(engine.failed):
        engine.redo()
        decisions.accept()
    qtbot.waitUntil(lambda: decisions.pair.action not in (action, -1))

    action = decisions.pair.action
    u_id, v_id = engine.tables.ids_of(action)
    engine.keep_apart(u_id, v_id)
    with qtbot.waitSignal(engine.failed) as failed:
        decisions.accept()
    assert (failed.args[0].command.u_id, failed.args[0].command.v_id) == (u_id, v_id)
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    assert decisions.pair.action == action
