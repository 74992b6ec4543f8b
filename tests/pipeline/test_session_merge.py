"""Joining two people's work: what both say is said once, what they disagree about is asked."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from gui.conftest import small_volumes
from napari_celis.core.actions import ActionTable
from napari_celis.core.journal import Event, Step
from napari_celis.core.recorded import Recorder
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionError, SessionEvent
from napari_celis.pipeline.choice import Atoms
from napari_celis.pipeline.replay import prepare_replay, replay
from napari_celis.pipeline.session_data import Sources
from napari_celis.pipeline.session_merge import plan_merge, require_same_data, standing
from napari_celis.pipeline.sessions import go_on, join_into
from pipeline.session_run import FIRST, begin, write_data

CLOCK = {"ada": 1000.0, "bob": 2000.0}


@pytest.fixture(scope="module")
def atoms():
    supervoxels = Supervoxels.from_labels(small_volumes()["supervoxels"].read())
    return Atoms(supervoxels, ActionTable.from_supervoxels(supervoxels))


def events(who, *decisions):
    """Write decisions shortly: `merge 1 2`, `greedy 1 2`, `apart 1 2`, `cut 1 2`, `done 1`, `undo`."""
    kinds = {"merge": "manual", "apart": "keep-apart", "undo": "manual"}
    made = []
    for place, text in enumerate(decisions):
        word, *ends = text.split()
        u, v = (FIRST + int(end) for end in (ends * 2)[:2]) if ends else (FIRST + 1, FIRST + 2)
        step = Step(0, kinds.get(word, word), u, v, -1, -1.0 + place, 0.0, False, 0)
        made.append(SessionEvent(Event("undo" if word == "undo" else "decide", step, 0.0), CLOCK[who], who))
    return made


def shortly(records):
    names = {"manual": "merge", "keep-apart": "apart"}
    steps = [record.event.step for record in records]
    return [f"{names.get(s.kind, s.kind)} {s.u_id - FIRST} {s.v_id - FIRST}" for s in steps]


def never(conflict):
    pytest.fail(f"asked about {conflict}")


def first(conflict):
    return "first"


def second(conflict):
    return "second"


def joined(atoms, ours, theirs, rule=never):
    return plan_merge(events("ada", *ours), events("bob", *theirs), atoms, rule)


def test_what_only_one_decided_is_added(atoms):
    plan = joined(atoms, ["greedy 1 2", "merge 5 6"], ["greedy 1 2", "apart 3 4", "merge 7 8"])
    assert shortly(plan.decisions) == ["greedy 1 2", "merge 5 6", "apart 3 4", "merge 7 8"]
    assert (plan.n_common, plan.n_agreed, plan.conflicts) == (1, 0, ())
    assert [record.who for record in plan.decisions] == ["ada", "ada", "bob", "bob"]


def test_what_both_decided_is_said_once(atoms):
    plan = joined(atoms, ["merge 5 6", "apart 1 2", "greedy 7 8"], ["apart 1 2", "merge 7 8", "merge 5 6"])
    assert shortly(plan.decisions) == ["merge 5 6", "apart 1 2", "greedy 7 8"]
    assert (plan.n_common, plan.n_agreed) == (0, 3)


def test_what_one_allows_again_is_free_for_both(atoms):
    plan = joined(atoms, ["apart 1 2", "merge 5 6"], ["apart 1 2", "allow 1 2", "merge 1 2"])
    assert shortly(plan.decisions) == ["apart 1 2", "merge 5 6", "allow 1 2", "merge 1 2"]
    plan = joined(atoms, ["apart 1 2", "allow 1 2"], ["apart 1 2", "merge 5 6", "allow 1 2"])
    assert shortly(plan.decisions) == ["apart 1 2", "allow 1 2", "merge 5 6"]
    assert plan.n_agreed == 1


def test_answers_of_both_stand_side_by_side(atoms):
    plan = joined(
        atoms,
        ["greedy 1 2", "confirm 1 2", "not-here 3 4"],
        ["greedy 1 2", "not-here 3 4", "confirm 1 2", "not-here 5 6"],
    )
    assert shortly(plan.decisions) == ["greedy 1 2", "confirm 1 2", "not-here 3 4", "not-here 5 6"]
    assert (plan.n_agreed, plan.conflicts) == (2, ())


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        (["confirm 1 2"], ["cut 1 2"], "cut here, confirmed there"),
        (["cut 1 2"], ["confirm 1 2"], "confirmed here, cut there"),
        (["not-here 3 4"], ["merge 3 4"], "merged here, a membrane there"),
        (["merge 3 4"], ["not-here 3 4"], "a membrane here, merged by hand there"),
    ],
)
def test_answers_that_contradict_decisions_of_the_other_are_asked_about(atoms, ours, theirs, reason):
    for rule, wanted in ((first, ours), (second, theirs)):
        plan = joined(atoms, ["greedy 1 2", *ours], ["greedy 1 2", *theirs], rule)
        assert [conflict.reason for conflict in plan.conflicts] == [reason]
        assert shortly(plan.decisions) == ["greedy 1 2", *wanted]


@pytest.mark.parametrize(
    ("ours", "theirs", "if_first", "if_second"),
    [
        (["done 2"], ["merge 2 3"], ["done 2 2"], ["merge 2 3"]),
        (["done 2"], ["cut 1 2"], ["done 2 2"], ["cut 1 2"]),
        (["merge 2 3", "done 3"], ["merge 3 4"], ["merge 2 3", "done 3 3"], ["merge 2 3", "merge 3 4"]),
    ],
)
def test_changing_what_the_other_one_finished_is_asked_about(atoms, ours, theirs, if_first, if_second):
    for rule, wanted in ((first, if_first), (second, if_second)):
        plan = joined(atoms, ["greedy 1 2", *ours], ["greedy 1 2", *theirs], rule)
        assert ["done there" in conflict.reason for conflict in plan.conflicts] == [True]
        assert shortly(plan.decisions) == ["greedy 1 2", *wanted]


def test_states_of_both_go_together(atoms):
    plan = joined(
        atoms, ["done 1", "done 5", "in-work 5", "done 7"], ["done 1", "greedy 7 8", "in-work 9", "done 5"]
    )
    assert shortly(plan.decisions) == [
        "done 1 1", "done 5 5", "in-work 5 5", "done 7 7", "in-work 9 9", "done 5 5",
    ]  # fmt: skip
    assert (plan.n_common, plan.n_agreed, plan.n_greedy_left_out, plan.conflicts) == (1, 0, 1, ())
    agreed = joined(atoms, ["merge 2 3", "done 1"], ["done 1"])
    assert (shortly(agreed.decisions), agreed.n_agreed) == (["merge 2 3", "done 1 1"], 1)


def test_undone_decisions_do_not_count(atoms):
    plan = joined(atoms, ["merge 1 2", "undo"], ["apart 1 2"])
    assert shortly(plan.decisions) == ["apart 1 2"]


@pytest.mark.parametrize(
    ("ours", "theirs", "if_first", "if_second"),
    [
        (["merge 1 2"], ["apart 1 2"], ["merge 1 2"], ["apart 1 2"]),
        (["apart 1 2"], ["merge 1 2"], ["apart 1 2"], ["merge 1 2"]),
        # By way of a third one.
        (["merge 1 2", "merge 2 3"], ["apart 1 3"], ["merge 1 2", "merge 2 3"], ["merge 1 2", "apart 1 3"]),
        (["apart 2 3", "merge 1 2"], ["merge 3 7", "merge 6 7", "merge 2 6"],
         ["apart 2 3", "merge 1 2", "merge 3 7", "merge 6 7"],
         ["merge 1 2", "merge 3 7", "merge 6 7", "merge 2 6"]),
        (["greedy 1 2", "merge 3 4"], ["greedy 1 2", "merge 3 4", "cut 3 4", "apart 3 4"],
         ["greedy 1 2", "merge 3 4", "cut 3 4", "apart 3 4"],
         ["greedy 1 2", "merge 3 4", "cut 3 4", "apart 3 4"]),
        (["merge 3 4"], ["greedy 3 4", "cut 3 4", "apart 3 4"],
         ["merge 3 4"], ["greedy 3 4", "cut 3 4", "apart 3 4"]),
        (["greedy 1 2", "cut 1 2"], ["greedy 1 2", "cut 1 2", "merge 1 2"],
         ["greedy 1 2", "cut 1 2", "merge 1 2"], ["greedy 1 2", "cut 1 2", "merge 1 2"]),
        (["greedy 5 6", "cut 5 6"], ["merge 5 6"], ["greedy 5 6", "cut 5 6"], ["greedy 5 6"]),
    ],
)  # fmt: skip
def test_disagreements_go_by_the_rule(atoms, ours, theirs, if_first, if_second):
    for rule, expected in ((first, if_first), (second, if_second)):
        plan = joined(atoms, ours, theirs, rule)
        assert shortly(plan.decisions) == expected
        recorder = Recorder(atoms.supervoxels, atoms.actions)
        for record in plan.decisions:
            recorder.decide(record.event.step)


def test_a_disagreement_tells_place_scores_and_who(atoms):
    asked = []
    plan = joined(atoms, ["greedy 5 6", "merge 1 2"], ["apart 1 2"], lambda one: asked.append(one))
    (conflict,) = plan.conflicts
    assert len(asked) == 1
    assert conflict.winner is None
    assert (conflict.first.who, conflict.first.event.step.score) == ("ada", 0.0)
    assert (conflict.second.who, conflict.second.event.step.score) == ("bob", -1.0)
    supervoxels, actions = atoms.supervoxels, atoms.actions
    row = actions.find(supervoxels.index_of(FIRST + 1), supervoxels.index_of(FIRST + 2))
    assert conflict.place_zyx == tuple(actions.centroid[row])


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (["greedy 1 2"], ["apart 1 2"], ["apart 1 2"]),
        (["apart 1 2"], ["greedy 1 2"], ["apart 1 2"]),
        (["greedy 1 2", "merge 2 3"], ["apart 1 3"], ["merge 2 3", "apart 1 3"]),
    ],
)
def test_a_decision_by_hand_rules_out_a_merge_by_greedy(atoms, ours, theirs, expected):
    plan = joined(atoms, ours, theirs)
    assert shortly(plan.decisions) == expected
    assert plan.n_greedy_left_out == 1


def test_joining_anything_ends_in_decisions_that_can_be_made(atoms):
    rng = np.random.default_rng(0)
    table, ids = atoms.actions, atoms.supervoxels.ids
    for _ in range(60):
        people = []
        for _ in range(2):
            recorder, made = Recorder(atoms.supervoxels, atoms.actions), []
            for _ in range(25):
                row = rng.integers(40)
                ends = sorted((int(ids[table.u[row]]), int(ids[table.v[row]])))
                kind = rng.choice(["greedy", "manual", "keep-apart", "allow", "cut"])
                step = Step(0, str(kind), *ends, -1, float(rng.normal()), 0.0, False, 0)
                try:
                    recorder.decide(step)
                except Exception:
                    continue
                made.append(SessionEvent(Event("decide", step, 0.0), float(rng.random()), "x"))
            people.append(made)
        for rule in (first, second, lambda one: None):
            plan = plan_merge(*people, atoms, rule)
            recorder = Recorder(atoms.supervoxels, atoms.actions)
            for record in plan.decisions:
                recorder.decide(record.event.step)


def test_standing_refuses_what_cannot_be():
    with pytest.raises(SessionError, match="without anything to undo"):
        standing(events("ada", "undo"))


# With files.


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two sessions that begin with the same merges."""
    folder = tmp_path_factory.mktemp("two")
    sources = write_data(folder / "data")
    session, agglomerator = begin(folder / "a.celis", sources)
    for _ in range(6):
        agglomerator.step(np.inf)
    agglomerator.journal.listener.flush()
    session.save_as(folder / "b.celis")
    ids = agglomerator.supervoxels.ids
    rows = np.flatnonzero(agglomerator.available())
    pairs = [(int(ids[agglomerator.actions.u[a]]), int(ids[agglomerator.actions.v[a]])) for a in rows]
    agglomerator.merge(*pairs[0])
    agglomerator.keep_apart(*pairs[-1])
    agglomerator.journal.listener.flush()
    session.close()
    agglomerator.close()
    with Session.open(folder / "b.celis") as session, go_on(session).agglomerator as agglomerator:
        from napari_celis.io.session.writer import SessionWriter

        agglomerator.journal.listener = SessionWriter(session, "bob")
        agglomerator.merge(*pairs[len(pairs) // 2])
        agglomerator.keep_apart(*pairs[0])
        agglomerator.journal.listener.flush()
    return folder


@pytest.mark.parametrize("rule", [first, second])
def test_the_joined_session_has_true_scores(two, atoms, tmp_path, rule):
    with Session.open(two / "a.celis") as a, Session.open(two / "b.celis") as b:
        require_same_data(a.head, b.head)
        plan = plan_merge(a.events(), b.events(), atoms, rule)
        assert len(plan.conflicts) == 1
        join_into(tmp_path / "c.celis", a, plan.decisions)
    assert [path.name for path in tmp_path.iterdir()] == ["c.celis"]
    with Session.open(tmp_path / "c.celis") as session:
        assert session.n_events == len(plan.decisions) == 9
        divider = prepare_replay(session)
        with divider.agglomerator:
            assert not [one for event in replay(session, divider, 0.0) for one in event.differences]


def test_other_data_are_not_joined(two, tmp_path):
    shutil.copytree(two / "data", tmp_path / "data")
    sources = write_data(tmp_path / "data")
    np.save(tmp_path / "sv.npy", small_volumes()["supervoxels"].read() + np.uint64(1))
    other = Sources({**sources.volumes, "supervoxels": str(tmp_path / "sv.npy")}, sources.model)
    session, agglomerator = begin(tmp_path / "other.celis", other)
    agglomerator.close()
    with (
        Session.open(two / "a.celis", read_only=True) as a,
        pytest.raises(SessionError, match="different super"),
    ):
        require_same_data(a.head, session.head)
    session.close()
