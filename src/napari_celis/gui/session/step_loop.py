"""The thread that owns an agglomerator: does commands between steps, and reports. Knows nothing of Qt."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.journal import Step
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.evaluation.running_errors import RunningErrors
from napari_celis.gui.session.kept_decisions import DecisionFile, HeldElsewhereError
from napari_celis.gui.session.snapshot import Snapshot, take_snapshot
from napari_celis.gui.session.workers import sentence_of, start_thread

logger = logging.getLogger(__name__)

SNAPSHOT_SECONDS = 1 / 15
"""Time between two snapshots of a run, at least."""

Tell = Callable[[str, Any], None]
"""Brings something to the window: the name of a signal of the engine, or "answer", and what belongs to it."""


@dataclass(frozen=True)
class Command:
    """Something to do between two steps."""

    name: str
    work: Callable[[], Any]
    is_question: bool = False
    key: str | None = None
    """Of waiting commands with the same key only the newest is done."""


class StepLoop:
    """Steps through an agglomeration in a thread of its own, as long as steps are left.

    Parameters
    ----------
    agglomerator : Agglomerator
        From now on only this thread touches it.
    threshold : float
        Score at which a run stops; may be changed at any time.
    overlaps : Overlaps, optional
        Voxels shared with the truth; with them, snapshots tell the split and merge error.
    tell : callable
        Called in the thread.
    """

    def __init__(
        self, agglomerator: Agglomerator, threshold: float, overlaps: Overlaps | None, tell: Tell
    ) -> None:
        self.agglomerator = agglomerator
        self.threshold = float(threshold)
        self._tell = tell
        self._kept: DecisionFile | None = None
        self._overlaps = overlaps
        self._errors: RunningErrors | None = None
        self._history: list[Step] = list(agglomerator.history)
        self._jumps: dict[int, int] = {}
        """From where each jump back came, by where it ended; one redo goes all the way again."""
        self._problem = ""
        self._condition = threading.Condition()
        self._commands: deque[Command] = deque()
        self._steps_left = 0.0
        self._stop_at: float | None = None
        self._seconds_per_step = 0.0
        self._next_step_at = 0.0
        self._is_closing = False
        self._is_due = self._is_urgent = False
        self._is_taken = True
        self._reported_at, self._reported_steps, self._rate = time.monotonic(), 0, 0.0
        self._n_done = 0
        self._last_command = self._reason = ""
        self.first_snapshot: Snapshot = self._take_snapshot()
        self._thread: threading.Thread | None = None

    # What other threads may call.

    def start(self) -> None:
        """Begin to listen to commands."""
        self._thread = start_thread(self._work, "celis engine")

    def send(self, command: Command) -> None:
        """Queue a command."""
        with self._condition:
            if command.key is not None:
                self._commands = deque(other for other in self._commands if other.key != command.key)
            self._commands.append(command)
            self._condition.notify_all()

    def set_speed(self, steps_per_second: float | None) -> None:
        """Limit the speed of runs; None is as fast as possible."""
        with self._condition:
            self._seconds_per_step = 1 / steps_per_second if steps_per_second else 0.0
            self._next_step_at = 0.0
            self._condition.notify_all()

    def take_next(self) -> None:
        """Allow the next snapshot: the window is done with the last one."""
        with self._condition:
            self._is_taken = True
            self._condition.notify_all()

    def stop(self) -> None:
        """End after the step that is being taken."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()

    def join(self) -> None:
        """Wait until the thread has ended."""
        if self._thread is not None:
            self._thread.join()

    # The loop.

    def halt(self) -> None:
        """Hold before the next step."""
        self._steps_left = 0

    def _work(self) -> None:
        """Do commands first, then steps, and report in between."""
        if self._overlaps is not None:
            self._errors = RunningErrors(self._overlaps, self.agglomerator.segment_ids())
            self._is_due = self._is_urgent = True
        while True:
            with self._condition:
                while not self._has_work():
                    self._condition.wait(self._seconds_to_wait())
                if self._is_closing:
                    break
                command = self._commands.popleft() if self._commands else None
            if command is not None:
                self._do(command)
            elif self._steps_left > 0 and time.monotonic() >= self._next_step_at:
                self._step()
            self._report_if_due()
        if self._kept is not None:
            self._kept.close()

    def _has_work(self) -> bool:
        now = time.monotonic()
        is_stepping = self._steps_left > 0 and now >= self._next_step_at
        return self._is_closing or bool(self._commands) or is_stepping or self._may_report(now)

    def _seconds_to_wait(self) -> float | None:
        """Time until a step or a report is due; None while only the window can bring something new."""
        times = [self._next_step_at] if self._steps_left > 0 else []
        if self._is_due and self._is_taken:
            times.append(self._reported_at + SNAPSHOT_SECONDS)
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _may_report(self, now: float) -> bool:
        is_time = self._is_urgent or now >= self._reported_at + SNAPSHOT_SECONDS
        return self._is_due and self._is_taken and is_time

    def _do(self, command: Command) -> None:
        """Carry out a command; whatever goes wrong is said, and the engine goes on."""
        try:
            command.work()
        except Exception as error:
            self._fail(error)
            is_done = False
        else:
            is_done = True
        if command.is_question:
            return
        self._last_command = command.name
        self._history = list(self.agglomerator.history)
        if not self.agglomerator.journal.undone:
            self._jumps.clear()
        self._is_due = self._is_urgent = True
        problem = self._keep()
        if is_done:
            self._tell("carried_out", command.name)
        if problem:
            self._tell("not_kept", problem)

    def _step(self) -> None:
        """Take one merge of a run."""
        stop_at = self.threshold if self._stop_at is None else self._stop_at
        try:
            step = self.agglomerator.step(stop_at)
        except Exception as error:
            self.halt()
            self._fail(error)
            step = None
        else:
            self._after_step(step)
        self._is_due = True
        self._is_urgent = self._is_urgent or self._steps_left <= 0

    def _after_step(self, step: Step | None) -> None:
        """Count a step, or end the run if there was none left."""
        if step is None:
            self.halt()
            is_left = self.agglomerator.best_action() >= 0
            self._reason = "threshold reached" if is_left else "nothing left"
            return
        self._history.append(step)
        self._jumps.clear()
        before, problem = self._problem, self._keep()
        # Every step of a run would say the same.
        if problem and problem != before:
            self._tell("not_kept", problem)
        self._n_done += 1
        self._steps_left -= 1
        self._next_step_at = time.monotonic() + self._seconds_per_step

    def _report_if_due(self) -> None:
        """Send a snapshot, unless the window has not taken the last one yet."""
        with self._condition:
            if not self._may_report(time.monotonic()):
                return
            self._is_due = self._is_urgent = self._is_taken = False
        reason, self._reason = self._reason, ""
        self._tell("advanced", (self._take_snapshot(), reason))

    def _take_snapshot(self) -> Snapshot:
        now = time.monotonic()
        seconds, n_steps = now - self._reported_at, self._n_done - self._reported_steps
        self._reported_at, self._reported_steps = now, self._n_done
        is_running = self._steps_left > 0
        if n_steps and seconds > 0:
            self._rate = n_steps / seconds if not self._rate else 0.7 * self._rate + 0.3 * n_steps / seconds
        if not is_running:
            self._rate = 0.0
        return take_snapshot(
            self.agglomerator,
            self._history,
            self._errors,
            is_running=is_running,
            steps_per_second=self._rate,
            last_command=self._last_command,
        )

    def _keep(self) -> str:
        """Write what stands now, before the window learns of it; return a sentence where that fails."""
        self._problem = ""
        try:
            if self._kept is not None:
                self._kept.keep(self._history)
        except HeldElsewhereError as error:
            self._problem = str(error)
        except OSError as error:
            place, reason = self._kept.path.parent, error.strerror or str(error)
            self._problem = f"Decisions cannot be kept in {place} ({reason}). Export them before closing."
        return self._problem

    def _fail(self, error: Exception) -> None:
        logger.info("a command of the engine failed", exc_info=error)
        self._tell("failed", sentence_of(error))
