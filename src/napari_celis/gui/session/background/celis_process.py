"""`celis` commands in a process of their own, which never outlives the window."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from qtpy.QtCore import QObject, QProcess, QProcessEnvironment, QTimer, Signal

from napari_celis.gui.session.background.records import RecordFile

PROGRAM = "napari_celis"
"""The module that runs, with `celis` as its command line."""
GUARD = "napari_celis.gui.session.background.guarded"
"""The module that ends the program when the window is gone."""
GRACE_MS = 8000
"""Time to end after the user asked for it; the child's own patience is shorter."""
CLOSE_MS = 3000
"""Time to end when the window closes, which has to wait for it."""
POLL_MS = 300
"""Time between two looks at what the process has recorded."""


def celis_command(arguments: Sequence[str]) -> str:
    """Write a command the way it is typed."""
    words = ["celis", *arguments]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


class CelisProcess(QObject):
    """One run of `celis`; signals come in the window's thread."""

    said = Signal(str)
    """A line for the log."""
    recorded = Signal(object)
    """A Record of how far it is."""
    finished = Signal()
    stopped = Signal()
    """It ended because the user asked."""
    failed = Signal(str)
    """One sentence."""
    ended = Signal()
    """After any of the last three."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._read_output)
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)
        self.is_stopping = self._is_closed = False
        self._rest = {"output": "", "errors": ""}
        self._last_words = ""
        self._patience = QTimer(self, singleShot=True, interval=GRACE_MS)
        self._patience.timeout.connect(self._kill)
        self._folder = tempfile.TemporaryDirectory(prefix="celis-process-")
        self._records: RecordFile | None = None
        self._n_runs = 0
        self._poll = QTimer(self, interval=POLL_MS)
        self._poll.timeout.connect(self._read_records)

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return bool(self._process.state() != QProcess.ProcessState.NotRunning)

    @property
    def pid(self) -> int:
        """Its number for the system, which is also that of its group; 0 while it does not run."""
        return int(self._process.processId())

    def start(self, arguments: Sequence[str]) -> None:
        """Run `celis` with these arguments; it is told to record its progress in a file."""
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("PYTHONUNBUFFERED", "1")
        environment.insert("PYTHONIOENCODING", "utf-8")
        # Bars are for people; progress comes as records.
        environment.insert("TQDM_DISABLE", "1")
        # What Python cleans up behind a process that was stopped is no news for people.
        filters = [environment.value("PYTHONWARNINGS"), "ignore:resource_tracker:UserWarning"]
        environment.insert("PYTHONWARNINGS", ",".join(filter(None, filters)))
        self._process.setProcessEnvironment(environment)
        self.is_stopping, self._last_words = False, ""
        self._rest = {"output": "", "errors": ""}
        self._n_runs += 1
        self._records = RecordFile(Path(self._folder.name, f"records-{self._n_runs}.jsonl"))
        told = [*arguments, "--records", str(self._records.path)]
        self._process.start(sys.executable, ["-m", GUARD, PROGRAM, *told])
        self._poll.start()

    def stop(self) -> None:
        """Ask it to end and leave things tidy; end it by force if that takes too long."""
        if not self.is_running or self.is_stopping:
            return
        self.is_stopping = True
        self._process.closeWriteChannel()
        self._patience.start()

    def close(self) -> None:
        """End it before the window goes; no signal comes any more."""
        self._is_closed = True
        self.stop()
        if self.is_running and not self._process.waitForFinished(CLOSE_MS):
            self._kill()
            self._process.waitForFinished(CLOSE_MS)
        self._patience.stop()
        self._poll.stop()
        self._folder.cleanup()

    def _kill(self) -> None:
        """End the process and all that it started."""
        if not self.is_running:
            return
        if os.name == "posix":
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                self._process.kill()
        else:
            self._process.kill()

    def _read_records(self) -> None:
        if self._records is not None:
            for record in self._records.new_records():
                self.recorded.emit(record)

    def _read_output(self) -> None:
        self._take("output", bytes(self._process.readAllStandardOutput()))

    def _read_errors(self) -> None:
        self._take("errors", bytes(self._process.readAllStandardError()))

    def _take(self, channel: str, data: bytes) -> None:
        """Cut what came into lines."""
        if self._is_closed:
            return
        *lines, self._rest[channel] = re.split(
            r"[\r\n]+", self._rest[channel] + data.decode(errors="replace")
        )
        for line in lines:
            self._take_line(channel, line.rstrip())

    def _take_line(self, channel: str, line: str) -> None:
        if line:
            if channel == "errors":
                self._last_words = line
            self.said.emit(line)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        """A process that never started sends no other signal."""
        if error == QProcess.ProcessError.FailedToStart and not self._is_closed:
            self._poll.stop()
            self.failed.emit(f"{sys.executable} could not be started. Check the installation of Python.")
            self.ended.emit()

    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        """Say how it went."""
        self._patience.stop()
        self._poll.stop()
        if self._is_closed:
            return
        self._read_records()
        self._read_output()
        self._read_errors()
        for channel, rest in self._rest.items():
            self._take_line(channel, rest.rstrip())
        # A run that got done while it was being stopped is done.
        if status == QProcess.ExitStatus.NormalExit and code == 0:
            self.finished.emit()
        elif self.is_stopping:
            self.stopped.emit()
        else:
            self.failed.emit(self._sentence(code, status))
        self.ended.emit()

    def _sentence(self, code: int, status: QProcess.ExitStatus) -> str:
        """Find the reason of a failure: the last line on stderr, without the name of the program."""
        if status == QProcess.ExitStatus.CrashExit:
            return "The process was ended from outside; the memory may have run out. Try a smaller volume."
        return (
            self._last_words.removeprefix("celis: ") or f"The process ended with code {code} and no reason."
        )
