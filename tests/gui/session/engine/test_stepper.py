"""The stepper: forwards, back and again, without a thread."""

from __future__ import annotations

import numpy as np
import pytest

from gui.conftest import kept, small_agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.gui.session.engine.events import RunEnd
from napari_celis.gui.session.engine.stepper import FOREVER, Stepper


class Recorder:
    """Keeps decisions in memory, or fails."""

    def __init__(self, path, error=None):
        self.path, self.error = path, error
        self.heard, self.events, self.is_closed = [], [], False

    @property
    def steps(self):
        return [event.step for event in self.events]

    def hear(self, event, note):
        self.heard.append(event)

    def flush(self):
        if self.error is not None:
            raise self.error
        self.events = list(self.heard)

    def close(self):
        self.is_closed = True


@pytest.fixture
def stepper():
    return Stepper(small_agglomerator(), np.inf)


def go_on():
    return True


def test_steps_are_taken_one_by_one_and_recorded(stepper, tmp_path):
    recorder = Recorder(tmp_path / "run")
    stepper.recording.use(recorder)
    stepper.go(3, FOREVER)
    while stepper.steps_left > 0:
        assert stepper.step() is None
    assert len(stepper.history) == stepper.n_done == 3
    stepper.record()
    assert recorder.steps == stepper.history


def test_a_run_says_why_it_ended(stepper):
    middle = float(np.median(stepper.agglomerator.scores()))
    ends = []
    for stop_at in (middle, FOREVER):
        stepper.go(FOREVER, stop_at)
        while stepper.steps_left > 0:
            ends.append(stepper.step())
    assert [end for end in ends if end] == [RunEnd.THRESHOLD, RunEnd.NOTHING_LEFT]


def test_one_redo_makes_a_whole_jump_again_and_tells_in_between(stepper):
    stepper.go(6, FOREVER)
    for _ in range(6):
        stepper.step()
    before = kept(stepper.history)
    stepper.go_back(2)
    stepper.record()
    told = []

    def between():
        told.append((len(stepper.history), stepper.steps_left))
        return True

    stepper.redo(between)
    assert told == [(3, 3), (4, 2), (5, 1)]
    assert kept(stepper.history) == before
    assert stepper.steps_left == 0


def test_undo_and_redo_are_recorded_as_such(stepper, tmp_path):
    recorder = Recorder(tmp_path / "run")
    stepper.recording.use(recorder)
    stepper.go(3, FOREVER)
    for _ in range(3):
        stepper.step()
    stepper.go_back(1)
    stepper.redo(go_on)
    stepper.record()
    kinds = [event.kind for event in recorder.events]
    assert kinds == ["decide"] * 3 + ["undo"] * 2 + ["redo"] * 2


def test_merges_of_a_run_are_written_together(stepper, tmp_path, monkeypatch):
    recorder = Recorder(tmp_path / "run")
    stepper.recording.use(recorder)
    stepper.go(2, FOREVER)
    stepper.step()
    monkeypatch.setattr("napari_celis.gui.session.engine.recording.SAVE_SECONDS", 1000.0)
    stepper.recording.save_if_due()
    assert not recorder.events
    monkeypatch.setattr("napari_celis.gui.session.engine.recording.SAVE_SECONDS", 0.0)
    stepper.recording.save_if_due()
    assert len(recorder.events) == 1
    stepper.step()
    stepper.recording.close()
    assert len(recorder.events) == 2


def test_a_jump_past_the_end_is_refused(stepper):
    with pytest.raises(ActionError, match="There is no step 1"):
        stepper.go_back(1)


def test_what_cannot_be_recorded_is_said_once_per_attempt(stepper, tmp_path):
    stepper.recording.use(Recorder(tmp_path / "run", OSError(28, "No space left on device")))
    stepper.record()
    assert "No space left on device" in stepper.recording.problem
    assert str(tmp_path) in stepper.recording.problem
    recorder = Recorder(tmp_path / "other")
    stepper.recording.use(recorder)
    stepper.record()
    assert stepper.recording.problem == ""
    stepper.recording.close()
    assert recorder.is_closed
