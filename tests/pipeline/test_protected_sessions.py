"""What is done stays done in a session that is gone on with, replayed, or run to its end without a window."""

from __future__ import annotations

import numpy as np
import pytest

from napari_celis.io.session.file import Session
from napari_celis.pipeline.replay import prepare_replay, replay
from napari_celis.pipeline.sessions import go_on
from pipeline.session_run import assert_same, begin, write_data


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A session with segments that became done and in work again, undone and done again."""
    folder = tmp_path_factory.mktemp("marked")
    session, agglomerator = begin(folder / "work.celis", write_data(folder / "data"))
    for _ in range(6):
        agglomerator.step(np.inf)
    first, last = agglomerator.history[0], agglomerator.history[-1]
    # Greedy would change it next.
    best = agglomerator.actions.u[agglomerator.best_action()]
    agglomerator.mark_done(int(agglomerator.supervoxels.ids[best]))
    agglomerator.mark_in_work(last.u_id)
    for _ in range(4):
        agglomerator.step(np.inf)
    agglomerator.mark_in_work(int(agglomerator.supervoxels.ids[best]))
    agglomerator.step(np.inf)
    agglomerator.undo()
    agglomerator.undo()
    agglomerator.redo()
    agglomerator.mark_done(first.u_id)
    agglomerator.step(np.inf)
    agglomerator.mark_done(int(agglomerator.supervoxels.ids[-1]))
    agglomerator.undo()
    agglomerator.journal.listener.flush()
    session.close()
    yield folder / "work.celis", agglomerator
    agglomerator.close()


@pytest.mark.parametrize("is_lazy", [False, True])
def test_going_on_brings_every_state_back(marked, is_lazy):
    path, agglomerator = marked
    assert agglomerator.is_done().any()
    with Session.open(path) as session, go_on(session, is_lazy=is_lazy).agglomerator as again:
        assert_same(again, agglomerator)
        done = again.is_done()
        before = again.segment_ids()
        while again.step(np.inf) is not None:
            pass
        np.testing.assert_array_equal(again.segment_ids()[done], before[done])
        np.testing.assert_array_equal(again.is_done(), done)
        assert (again.segment_ids() != before).any()


def test_replay_takes_the_same_merges(marked):
    path, agglomerator = marked
    with Session.open(path, read_only=True) as session:
        made = list(replay(session, prepare_replay(session), 0.0))
        assert [one for event in made for one in event.differences] == []
        np.testing.assert_array_equal(made[-1].agglomerator.is_done(), agglomerator.is_done())
        made[-1].agglomerator.close()


def test_replay_notices_a_merge_that_greedy_could_not_have_taken(marked, tmp_path):
    """Without the mark greedy would have taken another merge: the choice differs."""
    import shutil

    path = tmp_path / "other.celis"
    shutil.copy(marked[0], path)
    with Session.open(path) as session:
        (number,) = session._connection.sql.execute(
            "SELECT min(number) FROM events WHERE kind = 'done'"
        ).fetchone()
        session._connection.sql.execute("UPDATE events SET kind = 'in-work' WHERE number = ?", (number,))
    with Session.open(path, read_only=True) as session:
        made = list(replay(session, prepare_replay(session), 0.0))
        assert {one.what for event in made for one in event.differences} == {"choice"}
        made[-1].agglomerator.close()
