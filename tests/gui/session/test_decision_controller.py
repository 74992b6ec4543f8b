"""What was said goes when the user goes on; what is shown is the present; nothing breaks when layers go."""

from __future__ import annotations

import dataclasses

import pytest
from napari.components import ViewerModel
from napari.layers import Labels

from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.decision_queue import DecisionQueue
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.timeline import Timeline
from napari_celis.gui.tabs.decisions.decision_inspector import DecisionInspector


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


def test_a_merge_against_a_keep_apart_names_it_and_either_can_be_taken_back(qtbot, workspace):
    decisions, engine = workspace.decisions, workspace.run.engine
    decisions.inspect(0)
    u_id, v_id = engine.tables.ids_of(0)
    decisions.keep_apart()
    qtbot.waitUntil(lambda: n_steps(workspace) == 1)
    inspector = DecisionInspector(workspace)
    qtbot.addWidget(inspector)
    inspector.show()
    assert f"by your decision 1, about supervoxels {u_id} and {v_id}" in inspector.verdict.text()
    with qtbot.waitSignal(engine.failed):
        decisions.merge()
    assert f"the constraint between {u_id} and {v_id} (step 1)" in workspace.messages.current.text
    assert n_steps(workspace) == 1

    assert inspector.buttons["allow"].isVisible()
    assert not inspector.buttons["keep_apart"].isVisible()
    inspector.buttons["allow"].click()
    qtbot.waitUntil(lambda: n_steps(workspace) == 2)
    assert workspace.run.snapshot.constraints == ()
    qtbot.waitUntil(inspector.buttons["keep_apart"].isVisible)
    decisions.merge()
    qtbot.waitUntil(lambda: n_steps(workspace) == 3)
    # And the other way round: what is one segment cannot be kept apart, but cut.
    with qtbot.waitSignal(engine.failed) as failed:
        engine.keep_apart(u_id, v_id)
    assert failed.args[0].sentence.endswith("Cut the merge between them first.")
    engine.cut(u_id, v_id)
    qtbot.waitUntil(lambda: n_steps(workspace) == 5)


def test_answers_about_what_is_not_there_any_more_are_one_sentence_and_change_nothing(qtbot, workspace):
    engine = workspace.run.engine
    u_id, v_id = engine.tables.ids_of(0)
    for send in (engine.cut, engine.confirm, engine.allow, engine.allow_segments):
        with qtbot.waitSignal(engine.failed) as failed:
            send(u_id, v_id)
        assert str(u_id) in failed.args[0].sentence
        assert workspace.messages.current.text == failed.args[0].sentence
    for send in (engine.merge, engine.keep_apart, engine.cut, engine.not_here):
        with qtbot.waitSignal(engine.failed) as failed:
            send(5, v_id)
        assert "no supervoxel 5" in failed.args[0].sentence
    assert n_steps(workspace) == 0


def test_one_undo_takes_back_a_cut_with_all_that_belongs_to_it(qtbot, workspace):
    decisions, engine = workspace.decisions, workspace.run.engine
    decisions.inspect(0)
    decisions.merge()
    qtbot.waitUntil(lambda: n_steps(workspace) == 1)
    before = engine.snapshot.segment_ids.copy()
    decisions.inspect(0)
    decisions.plan_cut()
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    decisions.cut.confirm()
    qtbot.waitUntil(lambda: n_steps(workspace) == 3)
    assert len(engine.snapshot.constraints) == 1
    engine.run(1000.0)
    qtbot.waitUntil(lambda: n_steps(workspace) > 3 and not engine.snapshot.is_running)
    ends = engine.tables.actions.u[0], engine.tables.actions.v[0]
    assert workspace.run.segment_of(ends[0]) != workspace.run.segment_of(ends[1])
    engine.go_back(3)
    qtbot.waitUntil(lambda: n_steps(workspace) == 3)
    decisions.undo()
    qtbot.waitUntil(lambda: n_steps(workspace) == 1)
    assert (engine.snapshot.segment_ids == before).all()
    assert engine.snapshot.constraints == ()


def test_the_first_question_after_a_run_is_about_what_the_run_left(qtbot, workspace):
    order, engine = workspace.decisions.order, workspace.run.engine
    with qtbot.waitSignal(order.changed):
        order.renew()
    before = order.upcoming(1, -1)
    engine.step(40)
    qtbot.waitUntil(lambda: n_steps(workspace) == 40)
    # What the engine's thread lists is not there yet.
    left = DecisionQueue(engine).order()
    assert order.upcoming(3, -1) == left[:3].tolist()
    assert order.upcoming(1, -1) != before
    assert order.open_actions().tolist() == left.tolist()


def test_what_was_put_in_order_during_a_run_is_as_old_as_its_questions(qtbot, workspace):
    order, engine = workspace.decisions.order, workspace.run.engine
    with qtbot.waitSignal(order.changed):
        order.renew()
    before = order.upcoming(1, -1)
    engine.step(40)
    qtbot.waitUntil(lambda: n_steps(workspace) == 40)
    ended = engine.snapshot
    engine.snapshot = dataclasses.replace(ended, is_running=True)
    # The engine was further than the snapshot that was asked about: the questions are still the first ones.
    order._on_computed()
    engine.snapshot = ended
    assert order.upcoming(1, -1) == DecisionQueue(engine).order()[:1].tolist() != before


def test_a_refusal_goes_with_the_next_question(qtbot, workspace):
    decisions, engine = workspace.decisions, workspace.run.engine
    decisions.inspect(0)
    engine.keep_apart(*engine.tables.ids_of(0))
    with qtbot.waitSignal(engine.failed):
        decisions.merge()
    assert "kept apart by the constraint" in workspace.messages.current.text
    decisions.inspect(5)
    assert workspace.messages.current == Message()
    decisions.undo()
    qtbot.waitUntil(lambda: "Taken back: your “no”" in workspace.messages.current.text)
    decisions.inspect(7)
    assert workspace.messages.current == Message()
