"""The engine: one thread, commands in order, snapshots that never pile up."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from qtpy.QtCore import QThread
from qtpy.QtWidgets import QApplication

from gui.conftest import asked, small_agglomerator, small_volumes
from napari_celis.core.errors import ActionError
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.evaluation.overlaps import overlaps_of
from napari_celis.gui.session.engine.commands import TakeSteps
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.events import RunEnd

FIRST = 1 << 33


def make_engine(threshold=np.inf, *, with_truth=False):
    agglomerator = small_agglomerator()
    overlaps = None
    if with_truth:
        table = contingency_table(agglomerator.supervoxels.dense, small_volumes()["truth"].read())
        overlaps = overlaps_of(table, agglomerator.supervoxels.n)
    return Engine(agglomerator, threshold, overlaps)


@pytest.fixture
def engine(qtbot):
    engine = make_engine(with_truth=True)
    qtbot.waitUntil(lambda: engine.snapshot.vi_split is not None)
    yield engine
    engine.close()


def after(qtbot, engine, command):
    """Give a command and return the snapshot that shows its end."""
    with qtbot.waitSignal(engine.advanced, check_params_cb=lambda snapshot: not snapshot.is_running):
        command()
    return engine.snapshot


def test_run_ends_by_itself_and_says_why(qtbot, engine):
    seen = []
    engine.advanced.connect(seen.append)
    with qtbot.waitSignal(engine.finished) as finished:
        engine.run()
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    last = engine.snapshot
    assert finished.args == [RunEnd.NOTHING_LEFT]
    assert last.next_action == -1
    assert last.next_score is None
    assert last.n_segments == 1
    counts = [len(snapshot.steps) for snapshot in seen]
    assert counts == sorted(counts)
    assert last.steps[-1].energy == last.energy


def test_run_stops_at_the_threshold(qtbot, engine):
    middle = float(np.median(engine.snapshot.scores))
    with qtbot.waitSignal(engine.finished) as finished:
        engine.run(middle)
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    assert finished.args == [RunEnd.THRESHOLD]
    assert engine.snapshot.next_score >= middle
    assert all(step.score < middle for step in engine.snapshot.steps)


def test_threshold_that_moves_during_a_run_counts_at_once(qtbot, engine):
    engine.set_speed(1)
    engine.run()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    with qtbot.waitSignals([engine.threshold_changed, engine.finished]):
        engine.set_threshold(-np.inf)
        engine.set_speed(None)
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    assert len(engine.snapshot.steps) == 1


def test_steps_pass_the_threshold_and_hold(qtbot, engine):
    engine.set_threshold(-np.inf)
    snapshot = after(qtbot, engine, lambda: engine.step(3))
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    assert not engine.snapshot.is_running
    assert isinstance(snapshot.last_command, TakeSteps)
    with pytest.raises(ActionError, match="whole steps"):
        engine.step(0)


def test_pause_holds_a_run_with_a_speed_limit(qtbot, engine):
    engine.set_speed(5)
    engine.run()
    qtbot.waitUntil(lambda: engine.snapshot.is_running and len(engine.snapshot.steps) >= 2)
    snapshot = after(qtbot, engine, engine.pause)
    assert 2 <= len(snapshot.steps) < 10
    assert snapshot.steps_per_second == 0


def test_back_and_forth_restores_everything(qtbot, engine):
    start = engine.snapshot
    after(qtbot, engine, lambda: engine.step(6))
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 6)
    ahead = engine.snapshot
    undone = after(qtbot, engine, lambda: engine.undo(2))
    assert (len(undone.steps), undone.n_undone) == (4, 2)
    engine.redo()
    engine.redo()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 6)
    np.testing.assert_array_equal(engine.snapshot.segment_ids, ahead.segment_ids)
    back = after(qtbot, engine, lambda: engine.go_back(1))
    assert len(back.steps) == 1
    reset = after(qtbot, engine, lambda: engine.go_back(0))
    np.testing.assert_array_equal(reset.scores, start.scores)
    assert reset.energy == start.energy
    assert (reset.vi_split, reset.vi_merge) == pytest.approx((start.vi_split, start.vi_merge))


def test_one_redo_brings_back_all_that_a_jump_took(qtbot, engine):
    def stand(n_steps):
        qtbot.waitUntil(lambda: len(engine.snapshot.steps) == n_steps and not engine.snapshot.is_running)

    engine.step(8)
    stand(8)
    ahead = engine.snapshot
    engine.go_back(5)
    engine.undo()
    engine.go_back(0)
    stand(0)
    for n_steps in (4, 5, 8):
        engine.redo()
        stand(n_steps)
    assert engine.snapshot.n_undone == 0
    assert engine.snapshot.energy == ahead.energy
    np.testing.assert_array_equal(engine.snapshot.segment_ids, ahead.segment_ids)

    # What was decided since counts more: the jump is forgotten.
    engine.go_back(2)
    engine.step(3)
    stand(5)
    engine.undo(3)
    stand(2)
    engine.redo()
    stand(3)


def test_errors_against_the_truth_are_those_of_the_metrics(qtbot, engine):
    truth = small_volumes()["truth"].read()
    dense = engine.tables.supervoxels.dense
    first, second = FIRST + 1, FIRST + 2
    for command in (lambda: engine.step(4), lambda: engine.cut(first, second), engine.undo):
        if engine.snapshot.n_segments == 48:
            engine.merge(first, second)
        after(qtbot, engine, command)
        snapshot = engine.snapshot
        expected = score(contingency_table(snapshot.segment_ids[dense], truth))
        assert snapshot.vi_split == pytest.approx(expected.vi_split)
        assert snapshot.vi_merge == pytest.approx(expected.vi_merge)


def test_decisions_by_hand(qtbot, engine):
    merged = after(qtbot, engine, lambda: engine.merge(FIRST + 1, FIRST + 2))
    assert merged.steps[-1].kind == "manual"
    apart = after(qtbot, engine, lambda: engine.keep_apart(FIRST + 1, FIRST + 5))
    assert apart.constraints == ((FIRST + 1, FIRST + 5),)
    cut = after(qtbot, engine, lambda: engine.cut(FIRST + 1, FIRST + 2))
    assert cut.n_segments == 48
    assert [step.kind for step in cut.steps] == ["manual", "keep-apart", "cut", "keep-apart"]


def test_mistake_is_said_unchanged_and_the_engine_goes_on(qtbot, engine):
    with pytest.raises(ActionError) as expected:
        small_agglomerator().merge(3, 4)
    with qtbot.waitSignal(engine.failed) as failed:
        command = engine.merge(3, 4)
    assert (failed.args[0].command, failed.args[0].sentence) == (command, str(expected.value))
    after(qtbot, engine, engine.step)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)


def test_torch_error_reaches_the_user_and_ends_the_run(qtbot, engine, monkeypatch):
    def broken(threshold):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch, qtbot.waitSignal(engine.failed) as failed:
        patch.setattr(engine._thread._agglomerator, "step", broken)
        engine.run()
    assert "RuntimeError: out of memory" in failed.args[0].sentence
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    engine.step()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)


def test_run_to_threshold_goes_both_ways(qtbot, engine):
    scores = np.sort(engine.snapshot.scores)
    with qtbot.waitSignal(engine.finished):
        engine.run()
    n_all = len(engine.snapshot.steps)
    engine.set_threshold(float(scores[len(scores) // 2]))
    with qtbot.waitSignal(engine.finished):
        engine.run_to_threshold()
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    assert 0 < len(engine.snapshot.steps) < n_all
    assert all(step.score < engine.threshold for step in engine.snapshot.steps)


def test_run_to_threshold_spares_decisions_by_hand(qtbot, engine):
    after(qtbot, engine, engine.step)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    after(qtbot, engine, lambda: engine.keep_apart(FIRST + 1, FIRST + 48))
    engine.set_threshold(-np.inf)
    with qtbot.waitSignal(engine.failed) as failed:
        engine.run_to_threshold()
    assert "1 of your own decisions" in failed.args[0].sentence
    assert asked(qtbot, engine, lambda agglomerator: len(agglomerator.history)) == 2


def test_questions_are_answered_in_the_windows_thread_and_the_newest_wins(qtbot, engine):
    answers, is_open = [], threading.Event()
    engine.ask(lambda agglomerator: is_open.wait(10), lambda answer: None)
    for n in range(3):
        engine.ask(
            lambda agglomerator, n=n: (n, threading.current_thread().name),
            lambda answer: answers.append((*answer, QThread.currentThread() is engine.thread())),
            key="inspect",
        )
    is_open.set()
    qtbot.waitUntil(lambda: bool(answers))
    assert answers == [(2, "celis engine", True)]


def test_snapshots_wait_until_the_window_has_taken_the_last_one(qtbot, engine):
    seen = []
    engine.advanced.connect(seen.append)
    engine.run()
    deadline = time.monotonic() + 60
    # The window does nothing meanwhile, as if it were busy.
    while engine._thread._agglomerator.best_action() >= 0 and time.monotonic() < deadline:
        pass
    QApplication.processEvents()
    assert len(seen) == 1
    qtbot.waitUntil(lambda: engine.snapshot.next_action == -1 and not engine.snapshot.is_running)
    assert len(seen) <= 3


def test_closing_in_mid_run_leaves_no_thread(qtbot):
    engine = make_engine()
    engine.set_speed(3)
    engine.run()
    qtbot.waitUntil(lambda: engine.snapshot.is_running)
    engine.close()
    engine.close()
    assert "celis engine" not in {thread.name for thread in threading.enumerate()}
