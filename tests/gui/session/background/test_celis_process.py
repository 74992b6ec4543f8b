"""A process that reports, fails in one sentence, can be stopped, and never outlives its window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from napari_celis.gui.session.background import celis_process
from napari_celis.gui.session.background.celis_process import CelisProcess, celis_command

TALKS = """
import sys
print("hello", sys.argv[1])
with open(sys.argv[-1], "w") as file:
    for done in (0.5, 1.0):
        file.write('{"stage": "methods", "done": %s}\\n' % done)
"""
FAILS = """
import sys
sys.exit("celis: The truth labels nothing. Choose another layer.")
"""
WAITS = """
import pathlib, sys, time
try:
    print("ready", flush=True)
    time.sleep(600)
finally:
    pathlib.Path(sys.argv[1]).write_text("tidy")
"""
WARNS = """
import warnings
warnings.warn("resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown")
warnings.warn("This matters.")
"""
LEAVES = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("ready", child.pid, flush=True)
time.sleep(600)
"""
DEAF = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("ready", child.pid, flush=True)
while True:
    try:
        time.sleep(600)
    except KeyboardInterrupt:
        pass
"""


@pytest.fixture
def start(tmp_path, monkeypatch, qtbot):
    """Run a script in place of celis."""
    processes = []

    def start(text, *arguments):
        script = tmp_path / "stand_in.py"
        script.write_text(text)
        monkeypatch.setattr(celis_process, "PROGRAM", str(script))
        process = CelisProcess()
        processes.append(process)
        process.lines, process.shares = [], []
        process.said.connect(process.lines.append)
        process.recorded.connect(lambda record: process.shares.append((record.stage, record.done)))
        process.start(arguments)
        return process

    yield start
    for process in processes:
        process.close()


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An ended process whose parent has not asked about it yet counts as ended.
    with open(f"/proc/{pid}/stat") as file:
        return file.read().split(")")[1].split()[0] != "Z"


def wait_until_gone(pid, seconds=15.0):
    end = time.monotonic() + seconds
    while is_alive(pid):
        assert time.monotonic() < end, "the process still lives"
        time.sleep(0.02)


def test_lines_and_progress_arrive(start, qtbot):
    process = start(TALKS, "world")
    with qtbot.waitSignal(process.finished, timeout=20000):
        pass
    assert process.lines == ["hello world"]
    assert process.shares == [("methods", 0.5), ("methods", 1.0)]
    assert not process.is_running


def test_failure_is_one_sentence(start, qtbot):
    process = start(FAILS)
    with qtbot.waitSignal(process.failed, timeout=20000) as failed:
        pass
    assert failed.args == ["The truth labels nothing. Choose another layer."]


def test_what_python_cleans_up_is_no_news(start, qtbot):
    process = start(WARNS)
    with qtbot.waitSignal(process.ended, timeout=20000):
        pass
    assert any("This matters." in line for line in process.lines)
    assert not any("resource_tracker" in line for line in process.lines)


def test_real_celis_explains_a_missing_file(qtbot, tmp_path):
    process = CelisProcess()
    with qtbot.waitSignal(process.failed, timeout=60000) as failed:
        missing = str(tmp_path / "missing.h5")
        process.start(
            ["train", "--image", missing, "--truth", missing, "-o", str(tmp_path / "m.safetensors")]
        )
    assert "missing.h5 does not exist" in failed.args[0]


def test_stop_lets_it_tidy_up(start, qtbot, tmp_path):
    process = start(WAITS, str(tmp_path / "note"))
    qtbot.waitUntil(lambda: "ready" in process.lines, timeout=20000)
    with qtbot.waitSignal(process.stopped, timeout=20000):
        process.stop()
    assert (tmp_path / "note").read_text() == "tidy"


def test_killed_process_is_explained(start, qtbot, tmp_path):
    process = start(WAITS, str(tmp_path / "note"))
    qtbot.waitUntil(lambda: "ready" in process.lines, timeout=20000)
    with qtbot.waitSignal(process.failed, timeout=20000) as failed:
        os.kill(process.pid, signal.SIGKILL)
    assert "memory" in failed.args[0]


def test_closing_ends_even_one_that_does_not_listen(start, qtbot, monkeypatch):
    monkeypatch.setattr(celis_process, "CLOSE_MS", 500)
    process = start(DEAF)
    qtbot.waitUntil(lambda: bool(process.lines), timeout=20000)
    pid, grandchild = process.pid, int(process.lines[0].split()[1])
    process.close()
    assert not process.is_running
    wait_until_gone(pid)
    wait_until_gone(grandchild)


@pytest.mark.parametrize("text", [WAITS, LEAVES, DEAF])
def test_it_dies_with_a_window_that_crashed(tmp_path, text):
    (tmp_path / "stand_in.py").write_text(text)
    window = (
        "import subprocess, sys, os, signal\n"
        f"child = subprocess.Popen([sys.executable, '-m', {celis_process.GUARD!r}, *sys.argv[1:]],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "print(child.pid, child.stdout.readline(), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    arguments = [str(tmp_path / "stand_in.py"), str(tmp_path / "note")]
    done = subprocess.run(
        [sys.executable, "-c", window, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    pid, _, *started = done.stdout.split()
    for one in (pid, *started):
        wait_until_gone(int(one))
    assert (tmp_path / "note").exists() == (text is WAITS)


def test_command_is_written_as_it_is_typed():
    assert celis_command(["train", "--image", "my file.h5:raw"]) == "celis train --image 'my file.h5:raw'"
