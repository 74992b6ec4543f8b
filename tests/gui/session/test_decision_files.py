"""Decisions are on disk before the window shows them, and belong to one window at a time."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta

import numpy as np
import pytest
import torch

from gui.conftest import kept, small_agglomerator, small_volumes
from gui.patience import be_patient
from models.small import small_model
from napari_celis.core.journal import Step
from napari_celis.gui.session.decision_files import (
    DecisionFile,
    FileInUseError,
    folder_of,
    new_file,
    read_decisions,
    reopen,
    run_key,
    saved_runs,
)
from napari_celis.gui.session.engine.commands import Resume
from napari_celis.gui.session.engine.engine import Engine

KEY = "some-supervoxels-and-a-model"
FIRST = 1 << 33

KILLED = """
import os, signal
from gui.conftest import small_agglomerator
from napari_celis.gui.session.decision_files import DecisionFile
from napari_celis.gui.session.engine.commands import KeepApart, MergePair, RecordTo
from napari_celis.gui.session.engine.engine_thread import EngineThread
from napari_celis.gui.session.engine.events import CarriedOut

def tell(event):
    if isinstance(event, CarriedOut) and isinstance(event.command, MergePair):
        os.kill(os.getpid(), signal.SIGKILL)

thread = EngineThread(small_agglomerator(), -0.5, None, tell)
thread.start()
thread.send(RecordTo(DecisionFile(PATH)))
thread.send(KeepApart(FIRST + 1, FIRST + 2))
thread.send(MergePair(FIRST + 2, FIRST + 3))
thread.join()
"""

HOLDING = """
import sys, time
from pathlib import Path
from napari_celis.gui.session.decision_files import DecisionFile

file = DecisionFile(Path(sys.argv[1]))
file.hold()
print("held", flush=True)
time.sleep(600)
"""


def a_step(index, kind="greedy", u_id=1):
    return Step(index, kind, u_id, 2, 0, -1.0, 10.0, True, 100 - index)


def test_only_what_changed_is_written_and_undo_is_written_too(tmp_path):
    path = tmp_path / "folder" / "run.jsonl"
    file, steps = DecisionFile(path), [a_step(0), a_step(1, "manual")]
    file.keep([])
    assert not path.parent.exists()
    file.keep(steps[:1])
    file.keep(steps)
    file.keep(steps)
    assert len(path.read_text().splitlines()) == 2
    assert read_decisions(path) == steps

    file.keep(steps[:1])
    assert read_decisions(path) == steps[:1]
    other = a_step(1, "keep-apart", u_id=7)
    file.keep([steps[0], other])
    assert read_decisions(path) == [steps[0], other]
    file.keep([])
    assert read_decisions(path) == []


def test_a_decision_in_place_of_another_takes_the_rest_with_it(tmp_path):
    path = tmp_path / "run.jsonl"
    old = [a_step(index) for index in range(3)]
    DecisionFile(path).keep(old)
    # The same three are made again, until the second is another one.
    file = DecisionFile(path, old)
    file.keep([a_step(0)])
    assert read_decisions(path) == old
    file.keep([file._stood[0], a_step(1, "manual", u_id=5)])
    assert kept(read_decisions(path)) == [(0, "greedy", 1, 2), (1, "manual", 5, 2)]


@pytest.mark.parametrize(
    "damage", ['{"index": 2, "ki', "null", '{"index": 2}', '{"index": 9, "kind": "undo"}']
)
def test_a_damaged_last_line_does_not_count_and_harms_nothing_after_it(tmp_path, damage):
    path = tmp_path / "run.jsonl"
    steps = [a_step(0), a_step(1)]
    DecisionFile(path).keep(steps)
    with path.open("a") as file:
        file.write(damage)
    assert read_decisions(path) == steps
    if "9" not in damage:
        again = DecisionFile(path, steps)
        again.keep([*steps, a_step(2)])
        assert read_decisions(path) == [*steps, a_step(2)]


def test_runs_with_decisions_by_hand_come_first_and_old_greedy_ones_go(state_folder):
    ages = {"greedy": 1, "mine": 3, "second-greedy": 2, "old-greedy": 40, "old-mine": 50, "nothing": 0}
    for name, days in ages.items():
        path = folder_of(KEY) / f"{name}.jsonl"
        file = DecisionFile(path)
        file.keep([a_step(0, "manual" if "mine" in name else "greedy")])
        if name == "nothing":
            file.keep([])
        then = (datetime.now() - timedelta(days=days)).timestamp()
        os.utime(path, (then, then))
    assert [run.path.stem for run in saved_runs(KEY)] == ["mine", "old-mine", "greedy"]
    assert not (folder_of(KEY) / "old-greedy.jsonl").exists()
    assert state_folder in folder_of(KEY).parents
    assert saved_runs("another key") == []
    assert new_file(KEY).path != new_file(KEY).path


def test_a_file_that_is_written_to_is_taken_up_by_nobody_else(state_folder):
    first = new_file(KEY)
    first.keep([a_step(0, "manual")])
    (run,) = saved_runs(KEY)
    with pytest.raises(FileInUseError, match="Another window has these decisions open"):
        reopen(run)
    # What was decided after the offer was made counts too.
    first.keep([*first._stood, a_step(1, "manual")])
    os.utime(run.path, (1, 1))
    first.close()
    file, steps = reopen(run)
    assert kept(steps) == kept([a_step(0, "manual"), a_step(1, "manual")])
    file.close()


def test_a_window_that_was_killed_holds_nothing(tmp_path):
    path = tmp_path / "run.jsonl"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FileInUseError):
            DecisionFile(path).hold()
        holder.kill()
    file = DecisionFile(path)
    file.hold()
    file.close()


def test_an_old_file_of_a_window_that_is_open_stays(state_folder):
    file = new_file(KEY)
    file.keep([a_step(0)])
    os.utime(file.path, (1, 1))
    assert saved_runs(KEY) == []
    assert file.path.exists()
    file.close()
    assert saved_runs(KEY) == []
    assert list(folder_of(KEY).iterdir()) == []


def test_decisions_are_kept_where_there_are_no_locks(tmp_path, monkeypatch):
    def refuse(self):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    file = DecisionFile(tmp_path / "run.jsonl")
    file.keep([a_step(0)])
    file.close()
    assert read_decisions(file.path) == [a_step(0)]


def test_the_key_tells_supervoxels_and_models_apart():
    agglomerator, model = small_agglomerator(), small_model()
    key = run_key(agglomerator.supervoxels, model)
    assert key == run_key(small_agglomerator().supervoxels, small_model())
    other = small_model()
    with torch.no_grad():
        next(other.energies[0].parameters()).add_(1)
    assert key != run_key(agglomerator.supervoxels, other)
    labels = small_volumes()["supervoxels"].read().copy()
    labels[0, 0, 0] += np.uint64(1)
    assert key != run_key(type(agglomerator.supervoxels).from_labels(labels), model)


# The engine.


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
def test_what_was_carried_out_outlives_a_kill(tmp_path, checkout):
    path = tmp_path / "run.jsonl"
    script = KILLED.replace("PATH", f"__import__('pathlib').Path({str(path)!r})").replace("FIRST", str(FIRST))
    paths = os.pathsep.join([str(checkout / "tests"), str(checkout / "src")])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert [(s.kind, s.u_id, s.v_id) for s in read_decisions(path)] == [
        ("keep-apart", FIRST + 1, FIRST + 2),
        ("manual", FIRST + 2, FIRST + 3),
    ]


def test_decisions_that_cannot_be_kept_are_made_and_said(qtbot, tmp_path):
    be_patient(qtbot)
    (tmp_path / "in the way").write_text("no folder")
    engine = Engine(small_agglomerator(), -0.5)
    engine.record_to(DecisionFile(tmp_path / "in the way" / "run.jsonl"))
    with qtbot.waitSignals([engine.not_saved, engine.carried_out]) as said:
        engine.merge(FIRST + 1, FIRST + 2)
    assert "Export them before closing" in said.all_signals_and_args[-1].args[0].sentence
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1)
    # A run says it once, not with every step.
    sentences = []
    engine.not_saved.connect(sentences.append)
    engine.step(5)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 6)
    assert len(sentences) == 1
    engine.close()


def test_decisions_that_do_not_fit_are_refused_and_nothing_runs_on(qtbot, tmp_path):
    be_patient(qtbot)
    engine = Engine(small_agglomerator(), np.inf)
    engine.step(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    first = engine.snapshot.steps[0]
    twice = [first, dataclasses.replace(first, index=1, kind="keep-apart")]
    with qtbot.waitSignal(engine.failed) as failed:
        engine.resume(twice, DecisionFile(tmp_path / "run.jsonl", twice))
    assert "are in one segment" in failed.args[0].sentence
    qtbot.waitUntil(
        lambda: isinstance(engine.snapshot.last_command, Resume) and not engine.snapshot.is_running
    )
    assert kept(engine.snapshot.steps) == kept([first])
    engine.close()
