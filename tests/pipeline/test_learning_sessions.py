"""What was learned from answers is the same after a session is opened again, and when it is replayed."""

import sqlite3

import numpy as np
import pytest

from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionError
from napari_celis.models.refit import Refit
from napari_celis.pipeline.recipe import prepare
from napari_celis.pipeline.replay import prepare_replay, replay
from napari_celis.pipeline.sessions import go_on
from pipeline.session_run import assert_same, begin, open_choice, write_data


def answer(agglomerator, n=0):
    """Say something about some open contacts, and about a merge."""
    ids, table = agglomerator.supervoxels.ids, agglomerator.actions
    for action in np.flatnonzero(agglomerator.available())[5 * n : 5 * n + 3]:
        agglomerator.not_here(int(ids[table.u[action]]), int(ids[table.v[action]]))
        agglomerator.step(np.inf)
    first = [step for step in agglomerator.history if step.kind == "greedy"][n]
    agglomerator.confirm(first.u_id, first.v_id)
    agglomerator.undo()
    agglomerator.redo()


@pytest.fixture
def taught(tmp_path):
    sources = write_data(tmp_path / "data")
    session, agglomerator = begin(tmp_path / "s.celis", sources, policy="learned")
    writer, learner = agglomerator.journal.listener, open_choice(sources).known_model.learner()
    with session, agglomerator:
        agglomerator.step(np.inf)
        for n, is_on in enumerate((True, False, True)):
            agglomerator.learn(learner if is_on else None)
            writer.switch_learning(is_on=is_on)
            answer(agglomerator, n)
        merge = agglomerator.step(np.inf)
        agglomerator.cut(merge.u_id, merge.v_id)
        agglomerator.keep_apart(merge.u_id, merge.v_id)
        for name in ("undo", "undo", "redo", "redo", "undo"):
            getattr(agglomerator, name)()
        writer.flush()
        yield session, agglomerator


def test_going_on_has_learned_the_same(taught):
    session, agglomerator = taught
    assert [one.is_on for one in session.switches()] == [True, False, True]
    assert session.problems() == []
    with go_on(session).agglomerator as again:
        assert again.learning.is_on
        assert len(again.learning.lessons) == len(agglomerator.learning.lessons) > 8
        assert_same(again, agglomerator)
        # And so it stays while both go back.
        for _ in range(5):
            assert again.undo() == agglomerator.undo()
            np.testing.assert_array_equal(again.scores(), agglomerator.scores())


def test_replaying_gives_the_same_scores_to_the_bit(taught, monkeypatch):
    session, agglomerator = taught
    divider = prepare_replay(session)
    assert isinstance(divider.prepared.learner, Refit)
    made = list(replay(session, divider, 0.0))
    with made[-1].agglomerator as again:
        assert not [one for event in made for one in event.differences]
        assert_same(again, agglomerator)
    # Without what was learned, scores are others: the comparison would notice.
    monkeypatch.setattr(Session, "switches", lambda self: [])
    made = list(replay(session, prepare_replay(session), 0.0))
    made[-1].agglomerator.close()
    assert [one for event in made for one in event.differences]


def test_without_a_switch_nothing_is_learned(tmp_path):
    session, agglomerator = begin(tmp_path / "s.celis", write_data(tmp_path / "data"), policy="learned")
    with session, agglomerator:
        agglomerator.step(np.inf)
        answer(agglomerator)
        agglomerator.journal.listener.flush()
        assert not session.is_learning
        with go_on(session).agglomerator as again:
            assert not again.learning.is_on
            assert len(again.learning.lessons) == 4
            assert_same(again, agglomerator)


def test_a_run_by_energy_has_nobody_who_learns(tmp_path):
    prepared = prepare(open_choice(write_data(tmp_path / "data")))
    prepared.agglomerator.close()
    assert prepared.learner is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE lessons SET is_wrong = 2",
        "UPDATE lessons SET features = x'00'",
        "UPDATE lessons SET features = x''",
        "UPDATE lessons SET contact = x'0000c07f'",
        "UPDATE learning SET is_on = -1",
        "UPDATE learning SET after = -5 WHERE after = (SELECT max(after) FROM learning)",
    ],
)
def test_damaged_lessons_are_told(taught, statement):
    session, _ = taught
    path = session.path
    session.close()
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with Session.open(path, read_only=True) as again:
        assert again.problems()
        read = again.switches if "learning" in statement else lambda: list(again.events())
        with pytest.raises(SessionError, match="is damaged"):
            read()
