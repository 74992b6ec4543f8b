"""A segment that is done stays as it is, whatever greedy or anybody does; its scores stay exact."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from core.states import assert_exact, chain, operate, pair_of, reference_of, segments_of, snapshot
from core.test_lazy_energies import POLICIES, policy_named
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.decisions import ActionState
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event, Step
from napari_celis.core.question_list import candidates_of, list_questions
from napari_celis.core.recorded import Recorder, recorded_history
from napari_celis.core.supervoxels import Supervoxels

OPERATIONS = (
    "step", "step", "step", "merge", "keep apart", "cut", "done", "done", "in work", "undo", "redo"
)  # fmt: skip
Drawn = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=16)


class PlainMarks:
    """The states as a person would keep them: a list of sets of supervoxels that are done."""

    def __init__(self):
        self.past, self.future, self.done = [], [], frozenset()

    def follow(self, event, segments):
        """Follow one event, given the segments after it."""
        if event.kind == "undo":
            self.future.append(self.done)
            self.done = self.past.pop()
            return
        self.past.append(self.done)
        if event.kind == "redo":
            self.done = self.future.pop()
            return
        self.future.clear()
        if event.step.kind in ("done", "in-work"):
            own = next(segment for segment in segments if event.step.u_id in segment)
            self.done = self.done - {own} | ({own} if event.step.kind == "done" else set())


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.sampled_from(POLICIES), Drawn, st.booleans())
def test_what_is_done_never_changes_and_greedy_takes_the_best_of_the_rest(problem, policy, drawn, is_lazy):
    labels, specs, energy = problem
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    if not len(actions):
        return
    chosen = policy_named(policy, supervoxels, actions, labels.shape)
    plain, told = PlainMarks(), []
    options = {"policy": chosen, "actions": actions, "threads": 1}
    with (
        Agglomerator(supervoxels, specs, energy, is_lazy=is_lazy, **options) as agglomerator,
        Agglomerator(supervoxels, specs, energy, **options) as unmarked,
    ):
        agglomerator.journal.listener = told.append
        for operation, choice in drawn:
            operate(agglomerator, operation, choice)
            segments = segments_of(agglomerator)
            for event in told:
                plain.follow(event, segments)
                follow_without_marks(unmarked, event)
            told.clear()
            assert plain.done <= segments
            ids = supervoxels.ids
            is_done = [any(int(one) in segment for segment in plain.done) for one in ids]
            assert agglomerator.is_done().tolist() == is_done
            compare(agglomerator, unmarked, np.array(is_done))


def follow_without_marks(agglomerator, event):
    """Make the same decision where nothing can be done."""
    if event.step.kind in ("done", "in-work"):
        return
    if event.kind == "decide":
        agglomerator.repeat(event.step)
    else:
        getattr(agglomerator, event.kind)()


def compare(marked, unmarked, is_done):
    """All scores are the same; what greedy may take is the same but for what would change what is done."""
    np.testing.assert_array_equal(marked.scores(), unmarked.scores())
    np.testing.assert_array_equal(marked.segment_ids(), unmarked.segment_ids())
    assert marked.energy == unmarked.energy
    actions, segment = marked.actions, marked.segment_ids()
    joins = segment[actions.u] != segment[actions.v]
    wanted = unmarked.available() & ~(joins & (is_done[actions.u] | is_done[actions.v]))
    np.testing.assert_array_equal(marked.available(), wanted)
    best = marked.best_action()
    if not wanted.any():
        assert best < 0
    else:
        assert wanted[best]
        assert marked.score(best) == marked.scores()[wanted].min()
    state = candidates_of(marked).state
    assert not (state[joins & (is_done[actions.u] | is_done[actions.v])] == ActionState.OPEN).any()
    asked = list_questions(marked, 0.0).action
    assert not (is_done[actions.u[asked]] | is_done[actions.v[asked]]).any()


@pytest.mark.parametrize("seed", range(3))
def test_scores_around_a_done_segment_equal_the_definition(seed):
    from core.states import agglomerate

    with agglomerate(seed) as agglomerator:
        agglomerator.step(np.inf)
        agglomerator.mark_done(agglomerator.history[0].u_id)
        before = agglomerator.segment_ids()
        while agglomerator.step(np.inf) is not None:
            assert_exact(agglomerator, reference_of(agglomerator))
        done = agglomerator.is_done()
        np.testing.assert_array_equal(agglomerator.segment_ids()[done], before[done])


def test_a_merge_or_a_cut_by_hand_is_refused_with_the_way_out():
    with chain(4) as agglomerator:
        agglomerator.merge(1, 2)
        agglomerator.mark_done(2)
        before = snapshot(agglomerator)
        sentence = (
            "Segment 1 is done, so no merge, cut or split may change it. Set its state to “in work” first."
        )
        for refused in (lambda: agglomerator.merge(2, 3), lambda: agglomerator.cut(1, 2)):
            with pytest.raises(ActionError) as caught:
                refused()
            assert str(caught.value) == sentence
        with pytest.raises(ActionError, match="Segment 1 is done already"):
            agglomerator.mark_done(1)
        with pytest.raises(ActionError, match="no supervoxel 99"):
            agglomerator.mark_done(99)
        assert snapshot(agglomerator) == before
        agglomerator.keep_apart(2, 3)
        agglomerator.undo()
        agglomerator.mark_in_work(1)
        agglomerator.merge(2, 3)
        assert segments_of(agglomerator) == {frozenset({1, 2, 3}), frozenset({4})}


def test_undo_and_redo_of_marks_restore_everything():
    with chain(5) as agglomerator:
        agglomerator.step(np.inf)
        snapshots = [snapshot(agglomerator, journal=False)]
        marks = (
            lambda: agglomerator.mark_done(1),
            lambda: agglomerator.mark_done(5),
            lambda: agglomerator.mark_in_work(1),
            lambda: agglomerator.mark_in_work(3),
        )
        for mark in marks:
            mark()
            snapshots.append(snapshot(agglomerator, journal=False))
        for wanted in reversed(snapshots[:-1]):
            agglomerator.undo()
            assert snapshot(agglomerator, journal=False) == wanted
        for wanted in snapshots[1:]:
            agglomerator.redo()
            assert snapshot(agglomerator, journal=False) == wanted


def test_taking_back_the_only_mark_of_a_record_frees_its_contacts():
    with chain(3) as fresh:
        wanted = fresh.available()
        events = []
        fresh.journal.listener = events.append
        fresh.mark_done(2)
        assert not fresh.available().any()
        past = recorded_history(fresh.supervoxels, fresh.actions, events)
    with chain(3, past=past) as again:
        assert not again.available().any()
        again.undo()
        np.testing.assert_array_equal(again.available(), wanted)


def test_taking_back_the_only_constraint_of_a_record_frees_its_contact():
    with chain(3) as fresh:
        wanted = fresh.available()
        events = []
        fresh.journal.listener = events.append
        fresh.keep_apart(1, 2)
        past = recorded_history(fresh.supervoxels, fresh.actions, events)
    with chain(3, past=past) as again:
        again.undo()
        np.testing.assert_array_equal(again.available(), wanted)


def test_a_record_that_changes_what_is_done_is_refused():
    with chain(4) as agglomerator:
        step = Step(0, "manual", 1, 2, 0, -1.0, 0.0, True, 3)
        mark = Step(1, "done", 2, 2, -1, 0.0, 0.0, False, 3)
        fine = [Event("decide", one, 0.0) for one in (step, mark)]
        for bad, reason in [
            (Step(2, "manual", 2, 3, 1, -1.0, 0.0, True, 2), "Segment 1 is done"),
            (Step(2, "cut", 1, 2, 0, -1.0, 0.0, False, 4), "Segment 1 is done"),
            (mark, "done already"),
            (Step(2, "done", 3, 4, -1, 0.0, 0.0, False, 3), "by one supervoxel"),
            (Step(2, "done", 9, 9, -1, 0.0, 0.0, False, 3), "no supervoxel 9"),
        ]:
            with pytest.raises(ActionError, match=f"Event 3 .*{reason}"):
                recorded_history(
                    agglomerator.supervoxels, agglomerator.actions, [*fine, Event("decide", bad, 0.0)]
                )


def test_a_recorder_names_the_mark_in_the_way():
    with chain(4) as agglomerator:
        recorder = Recorder(agglomerator.supervoxels, agglomerator.actions)
        recorder.decide(Step(0, "manual", 1, 2, 0, -1.0, 0.0, True, 3))
        assert recorder.done_by(2, 3) is None
        recorder.decide(Step(1, "done", 2, 2, -1, 0.0, 0.0, False, 3))
        assert recorder.done_by(3, 1).u_id == 2
        assert recorder.done_by(3, 4) is None
        assert pair_of(agglomerator, 0) == (1, 2)
