"""Run, pause, step and stop from another thread; every wait here has an end."""

import queue

import numpy as np
import pytest

from core.states import agglomerate, in_thread, pair_of, snapshot
from napari_celis.core.control import RunControl
from napari_celis.core.errors import ActionError

SOON = 30.0
"""Seconds after which a thread counts as stuck."""


class Worker:
    """Passes a gate again and again in its own thread and reports each pass; None when it ended."""

    def __init__(self, passes):
        self.reports = queue.Queue()
        self.thread = in_thread(self._work, passes)

    def _work(self, passes):
        for report in passes:
            self.reports.put(report)
        self.reports.put(None)

    def next(self):
        return self.reports.get(timeout=SOON)

    def end(self):
        """Wait for the end and return what had not been asked for."""
        self.thread.join(SOON)
        assert not self.thread.is_alive()
        rest = []
        while (report := self.next()) is not None:
            rest.append(report)
        return rest


def passes_of(control):
    n = 0
    while control.wait():
        n += 1
        yield n


def test_steps_pass_one_by_one_and_add_up():
    control = RunControl()
    worker = Worker(passes_of(control))
    assert not control.is_running
    control.step()
    assert worker.next() == 1
    control.step(2)
    control.step()
    assert [worker.next() for _ in range(3)] == [2, 3, 4]
    control.stop()
    assert worker.end() == []


def test_pause_takes_back_steps_that_were_not_used():
    control = RunControl()
    control.step(100)
    assert control.is_running
    control.pause()
    assert not control.is_running
    worker = Worker(passes_of(control))
    control.stop()
    assert worker.end() == []


def test_a_step_in_a_run_is_the_last_before_it_holds():
    control = RunControl(is_running=True)
    control.step()
    worker = Worker(passes_of(control))
    assert worker.next() == 1
    control.stop()
    assert worker.end() == []


def test_run_pause_run():
    control = RunControl(is_running=True)
    worker = Worker(passes_of(control))
    assert worker.next() == 1
    control.pause()
    control.run()
    assert control.is_running
    worker.next()
    control.stop()
    worker.end()


def test_stop_ends_a_worker_that_is_held_and_cannot_be_taken_back():
    control = RunControl()
    worker = Worker(passes_of(control))
    control.stop()
    assert worker.end() == []
    control.run()
    control.step(5)
    assert control.is_stopped
    assert not control.is_running
    assert not control.wait()


def test_stop_lets_several_workers_go():
    control = RunControl()
    workers = [Worker(passes_of(control)) for _ in range(3)]
    control.step(2)
    control.stop()
    assert sum(len(worker.end()) for worker in workers) <= 2


@pytest.fixture
def agglomerator():
    with agglomerate(seed=4, n_supervoxels=14) as agglomerator:
        yield agglomerator


def test_a_run_that_is_stepped_makes_the_steps_of_a_plain_run(agglomerator):
    control = RunControl()
    worker = Worker(agglomerator.steps(np.inf, control))
    control.step(2)
    stepped = [worker.next(), worker.next()]
    control.run()
    stepped += worker.end()
    with agglomerate(seed=4, n_supervoxels=14) as other:
        assert stepped == list(other.steps(np.inf))
    assert list(agglomerator.history) == stepped


def test_stopping_a_paused_run_ends_the_generator_and_leaves_the_state(agglomerator):
    control = RunControl()
    worker = Worker(agglomerator.steps(np.inf, control))
    control.step()
    assert worker.next().index == 0
    before = snapshot(agglomerator)
    control.stop()
    assert worker.end() == []
    assert snapshot(agglomerator) == before


def test_decisions_by_hand_while_a_run_is_held(agglomerator):
    control = RunControl()
    worker = Worker(agglomerator.steps(np.inf, control))
    control.step()
    first = worker.next()
    by_hand = agglomerator.merge(*pair_of(agglomerator, agglomerator.best_action()))
    apart = agglomerator.keep_apart(*pair_of(agglomerator, agglomerator.best_action()))
    agglomerator.cut(first.u_id, first.v_id)
    agglomerator.undo()
    control.step()
    fourth = worker.next()
    assert [step.index for step in (first, by_hand, apart, fourth)] == [0, 1, 2, 3]
    assert fourth.action_index != apart.action_index
    control.run()
    worker.end()
    assert [step.index for step in agglomerator.history] == list(range(len(agglomerator.history)))


def test_undo_and_redo_from_another_thread_during_a_run(agglomerator):
    control = RunControl(is_running=True)
    worker = Worker(agglomerator.steps(np.inf, control))
    for _ in range(20):
        try:
            agglomerator.undo()
            agglomerator.redo()
        except ActionError:
            continue
    worker.end()
    while agglomerator.history:
        agglomerator.undo()
    with agglomerate(seed=4, n_supervoxels=14) as other:
        assert snapshot(agglomerator, journal=False) == snapshot(other, journal=False)
