"""The session of a run is there from its first decision on, before the window shows it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from gui.conftest import small_agglomerator
from gui.patience import be_patient
from gui.session.test_session_store import HEAD
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.session_recorder import SessionRecorder
from napari_celis.gui.session.session_store import recent_sessions
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionError
from napari_celis.pipeline.session_data import Sources

FIRST = 1 << 33
NOWHERE = Sources({}, "")


def recorder_of(path):
    return SessionRecorder(path, HEAD, NOWHERE)


def decisions(path):
    with Session.open(path, read_only=True) as session:
        return [(r.event.kind, r.event.step.kind, r.event.step.u_id - FIRST) for r in session.events()]


def test_the_file_begins_with_the_first_decision(qtbot, tmp_path):
    be_patient(qtbot)
    path = tmp_path / "run.celis"
    engine = Engine(small_agglomerator(), -0.5)
    engine.record_to(recorder_of(path))
    with qtbot.waitSignal(engine.carried_out):
        engine.pause()
    assert not path.exists()
    with qtbot.waitSignal(engine.carried_out):
        engine.merge(FIRST + 1, FIRST + 2)
    assert decisions(path) == [("decide", "manual", 1)]
    with qtbot.waitSignal(engine.carried_out):
        engine.undo()
    with qtbot.waitSignal(engine.carried_out):
        engine.redo()
    assert [event for event, _, _ in decisions(path)] == ["decide", "undo", "redo"]
    engine.close()
    assert [one.name for one in tmp_path.iterdir()] == ["run.celis"]
    assert recent_sessions() == [path]


def test_what_a_run_shows_is_in_the_file(qtbot, tmp_path):
    be_patient(qtbot)
    path = tmp_path / "run.celis"
    engine = Engine(small_agglomerator(), -0.5)
    engine.record_to(recorder_of(path))
    shown = []

    def compare(snapshot):
        if snapshot.steps:
            shown.append((len(snapshot.steps), len(decisions(path))))

    engine.advanced.connect(compare)
    with qtbot.waitSignal(engine.finished):
        engine.run()
    engine.close()
    assert all(n_shown <= n_written for n_shown, n_written in shown)
    assert shown[-1][0] == len(decisions(path)) > 5


KILLED = """
import os, signal
from pathlib import Path
from gui.conftest import small_agglomerator
from gui.session.test_session_recorder import recorder_of
from napari_celis.gui.session.engine.commands import KeepApart, MergePair, RecordTo
from napari_celis.gui.session.engine.engine_thread import EngineThread
from napari_celis.gui.session.engine.events import CarriedOut

def tell(event):
    if isinstance(event, CarriedOut) and isinstance(event.command, MergePair):
        os.kill(os.getpid(), signal.SIGKILL)

thread = EngineThread(small_agglomerator(), -0.5, None, tell)
thread.send(RecordTo(recorder_of(Path(PATH))))
thread.send(KeepApart(FIRST + 1, FIRST + 2))
thread.send(MergePair(FIRST + 2, FIRST + 3))
thread.start()
thread.join()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_what_was_carried_out_outlives_a_kill(tmp_path, checkout):
    path = tmp_path / "run.celis"
    script = KILLED.replace("PATH", repr(str(path))).replace("FIRST", str(FIRST))
    paths = os.pathsep.join([str(checkout / "tests"), str(checkout / "src")])
    environment = {**os.environ, "PYTHONPATH": paths, "XDG_STATE_HOME": str(tmp_path / "state")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert decisions(path) == [("decide", "keep-apart", 1), ("decide", "manual", 2)]


def test_decisions_that_cannot_be_kept_are_made_said_and_kept_later(qtbot, tmp_path):
    be_patient(qtbot)
    place = tmp_path / "in the way"
    place.write_text("no folder")
    engine = Engine(small_agglomerator(), -0.5)
    engine.record_to(recorder_of(place / "run.celis"))
    with qtbot.waitSignals([engine.not_saved, engine.carried_out]) as said:
        engine.merge(FIRST + 1, FIRST + 2)
    sentence = next(
        signal.args[0].sentence for signal in said.all_signals_and_args if hasattr(signal.args[0], "sentence")
    )
    assert str(place) in sentence
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    # A run says it once, not with every step.
    sentences = []
    engine.not_saved.connect(sentences.append)
    engine.step(5)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 6)
    assert len(sentences) <= 1
    place.unlink()
    place.mkdir()
    with qtbot.waitSignal(engine.carried_out):
        engine.undo()
    assert len(decisions(place / "run.celis")) == 7
    engine.close()


def test_saving_under_another_name(tmp_path):
    agglomerator = small_agglomerator()
    recorder = recorder_of(tmp_path / "a.celis")
    agglomerator.journal.listener = recorder.hear
    agglomerator.step(0.0)
    recorder.flush()
    recorder.save_as(tmp_path / "b.celis")
    agglomerator.step(0.0)
    recorder.flush()
    assert recorder.path == tmp_path / "b.celis"
    assert len(recorder.events()) == 2
    # The first one is free again.
    Session.open(tmp_path / "a.celis").close()
    with Session.open(tmp_path / "a.celis") as other, pytest.raises(SessionError, match="open in another"):
        recorder.save_as(other.path)
    agglomerator.step(0.0)
    recorder.flush()
    recorder.close()
    assert len(decisions(tmp_path / "a.celis")) == 1
    assert len(decisions(tmp_path / "b.celis")) == 3


def refuse(*_):
    raise SessionError("full")


def test_what_cannot_be_written_here_can_be_saved_elsewhere(tmp_path, monkeypatch):
    agglomerator = small_agglomerator()
    (tmp_path / "in the way").write_text("no folder")
    recorder = recorder_of(tmp_path / "in the way" / "a.celis")
    agglomerator.journal.listener = recorder.hear
    agglomerator.step(0.0)
    with pytest.raises(SessionError):
        recorder.flush()
    with pytest.raises(SessionError):
        recorder.save_as(tmp_path / "in the way" / "b.celis")
    recorder.save_as(tmp_path / "c.celis")
    assert len(decisions(tmp_path / "c.celis")) == 1
    # The same with a file that was begun, whose disk is full now.
    with monkeypatch.context() as patch:
        patch.setattr(Session, "append", refuse)
        agglomerator.step(0.0)
        with pytest.raises(SessionError):
            recorder.flush()
    recorder.save_as(tmp_path / "d.celis")
    assert len(decisions(tmp_path / "c.celis")) == 1
    assert len(decisions(tmp_path / "d.celis")) == 2
    recorder.close()
