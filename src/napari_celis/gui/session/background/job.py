"""Threads of the window; nothing else starts one."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from qtpy.QtCore import QObject, Qt, Signal

from napari_celis.core.errors import CelisError
from napari_celis.gui.qt.progress import Progress
from napari_celis.pipeline.stages import Report

logger = logging.getLogger(__name__)

NICER = 5
"""How much later than the window a thread gets the processor, in the steps of `nice`."""

PROGRESS_SECONDS = 0.25
"""Time between two reports of one stage: drawing each of a hundred would take as long as the work."""


class Cancelled(Exception):  # noqa: N818
    """The user asked the work to end."""


def start_thread(work: Callable[[], None], name: str) -> threading.Thread:
    """Start a thread that never keeps the program from ending, and gives way to the window.

    Parameters
    ----------
    work : callable
        What it does.
    name : str
        Its name.
    """

    def run() -> None:
        _give_way()
        work()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return thread


def _give_way() -> None:
    """Let the window draw first where processors are scarce; only Linux can ask this of one thread."""
    if sys.platform == "linux":
        own = threading.get_native_id()
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, own, os.getpriority(os.PRIO_PROCESS, own) + NICER)


def sentence_of(error: BaseException) -> str:
    """Say an error as one sentence: ours unchanged, others with their type."""
    if isinstance(error, CelisError):
        return str(error)
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Choose a smaller crop or a coarser level."
    return f"This did not work: {type(error).__name__}: {str(error).strip() or 'no reason given'}."


@dataclass(frozen=True, eq=False)
class _Progressed:
    progress: Progress


@dataclass(frozen=True, eq=False)
class _Returned:
    result: Any


@dataclass(frozen=True)
class _Failed:
    sentence: str


@dataclass(frozen=True)
class _Cancelled:
    pass


_Event = _Progressed | _Returned | _Failed | _Cancelled


class Job(QObject):
    """One piece of work in a thread of its own; signals arrive in the thread that made the job.

    Parameters
    ----------
    work : callable
        Called with a `Report`, which tells the stage and the finished share of the work, and ends the work
        when it was cancelled. What it returns is handed to `returned`.
    name : str
        Name of the thread.
    parent : QObject, optional
        Owns the job.
    """

    progressed = Signal(object)
    """A Progress."""
    returned = Signal(object)
    """What the work returned."""
    failed = Signal(str)
    """One sentence."""
    cancelled = Signal()
    ended = Signal()
    """After any of the last three."""
    _told = Signal(object)

    def __init__(self, work: Callable[[Report], Any], name: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._work, self._name = work, name
        self._is_cancelled, self._is_closed = threading.Event(), False
        self._thread: threading.Thread | None = None
        self._told_stage, self._told_at = "", 0.0
        self._told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)

    def start(self) -> None:
        """Begin."""
        self._thread = start_thread(self._run, self._name)

    def cancel(self) -> None:
        """Ask the work to end at its next report."""
        self._is_cancelled.set()

    def close(self) -> None:
        """Cancel, and wait until the thread has ended; no signal comes any more."""
        self.cancel()
        # Not by taking the connection apart: what is in the queue already would still arrive under PySide6.
        self._is_closed = True
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        """Do the work in the thread."""
        try:
            result = self._work(self._report)
        except Cancelled:
            self._tell(_Cancelled())
        except Exception as error:
            logger.info("%s failed", self._name, exc_info=True)
            self._tell(_Failed(sentence_of(error)))
        else:
            self._tell(_Cancelled() if self._is_cancelled.is_set() else _Returned(result))

    def _report(self, stage: str, share: float) -> None:
        if self._is_cancelled.is_set():
            raise Cancelled
        now = time.monotonic()
        if stage != self._told_stage or share >= 1 or now >= self._told_at + PROGRESS_SECONDS:
            self._told_stage, self._told_at = stage, now
            self._tell(_Progressed(Progress(stage, share)))

    def _tell(self, event: _Event) -> None:
        try:
            self._told.emit(event)
        except RuntimeError:
            logger.debug("%s ended after its window", self._name)

    def _on_told(self, event: _Event) -> None:
        """Pass on what the thread told."""
        if self._is_closed:
            return
        match event:
            case _Progressed():
                self.progressed.emit(event.progress)
                return
            case _Returned():
                self.returned.emit(event.result)
            case _Failed():
                self.failed.emit(event.sentence)
            case _Cancelled():
                self.cancelled.emit()
        self.ended.emit()
