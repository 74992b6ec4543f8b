"""One thread owns the agglomerator; the panel sends it commands and gets snapshots back."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from qtpy.QtCore import QObject, Qt, QTimer, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.expert import Overlaps
from napari_celis.core.journal import Step
from napari_celis.core.running_errors import RunningErrors
from napari_celis.gui.snapshot import Snapshot, take_snapshot
from napari_celis.gui.workers import sentence_of, start_thread

logger = logging.getLogger(__name__)

T = TypeVar("T")

SNAPSHOT_SECONDS = 1 / 15
"""Time between two snapshots of a run, at least."""
LONGEST_REST_MS = 200
"""Time that the window has for the user between two snapshots, at most."""
FOREVER = float("inf")


@dataclass(frozen=True)
class _Command:
    """Something to do between two steps."""

    name: str
    work: Callable[[], Any]
    is_question: bool = False
    key: str | None = None


class Engine(QObject):
    """Runs an agglomeration in its own thread; all methods and signals belong to the window's thread.

    Parameters
    ----------
    agglomerator : Agglomerator
        From now on only the engine's thread touches it; `ask` is the way to read it.
    threshold : float
        Score at which a run stops.
    overlaps : Overlaps, optional
        Voxels shared with the truth; with them, snapshots tell the split and merge error.
    """

    advanced = Signal(object)
    """A Snapshot: at most 15 a second while running, and one after every command."""
    failed = Signal(str)
    """One sentence; the engine stays usable."""
    finished = Signal(str)
    """A run ended by itself: "threshold reached" or "nothing left"."""
    threshold_changed = Signal(float)
    _delivered = Signal(str, object)

    def __init__(
        self,
        agglomerator: Agglomerator,
        threshold: float,
        overlaps: Overlaps | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.agglomerator = agglomerator
        self.threshold = float(threshold)
        self._overlaps = overlaps
        self._errors: RunningErrors | None = None
        self._history: list[Step] = list(agglomerator.history)
        self._condition = threading.Condition()
        self._commands: deque[_Command] = deque()
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
        self.snapshot: Snapshot = self._take_snapshot()
        self._shown_at = 0.0
        self._drawn, self._rested = QTimer(self), QTimer(self)
        for timer, slot in ((self._drawn, self._on_drawn), (self._rested, self._take_next)):
            timer.setSingleShot(True)
            timer.timeout.connect(slot)
        self._delivered.connect(self._on_delivered, Qt.ConnectionType.QueuedConnection)
        self._thread = start_thread(self._work, "celis engine")

    # What the window can ask for.

    def run(self, threshold: float | None = None) -> None:
        """Merge greedily until no score is below `threshold`; the engine's own by default."""
        self._send("run", lambda: self._go(FOREVER, threshold))

    def run_to_threshold(self) -> None:
        """Go where a run with the present threshold ends, forwards or back."""
        self._send("run to threshold", self._go_to_threshold)

    def pause(self) -> None:
        """Hold before the next step."""
        self._send("pause", self._halt)

    def step(self, n: int = 1) -> None:
        """Take the next `n` merges, whatever their scores."""
        if n < 1:
            raise ActionError(f"`n` is {n}, but a run goes forward by whole steps. Give 1 or more.")
        self._send("step", lambda: self._go(n, FOREVER))

    def set_threshold(self, value: float) -> None:
        """Change where runs stop; counts at once, in a run too."""
        if float(value) != self.threshold:
            self.threshold = float(value)
            self.threshold_changed.emit(self.threshold)

    def set_speed(self, steps_per_second: float | None) -> None:
        """Limit the speed of runs; None is as fast as possible."""
        with self._condition:
            self._seconds_per_step = 1 / steps_per_second if steps_per_second else 0.0
            self._next_step_at = 0.0
            self._condition.notify_all()

    def merge(self, u_id: int, v_id: int) -> None:
        """Merge two adjacent supervoxels."""
        self._send("merge", lambda: self.agglomerator.merge(u_id, v_id))

    def keep_apart(self, u_id: int, v_id: int) -> None:
        """Forbid that the segments of two supervoxels become one."""
        self._send("keep apart", lambda: self.agglomerator.keep_apart(u_id, v_id))

    def cut(self, u_id: int, v_id: int) -> None:
        """Take a past merge out; a run holds, for it would take the same merge again."""
        self._send("cut", lambda: (self._halt(), self.agglomerator.cut(u_id, v_id)))

    def undo(self, n: int = 1) -> None:
        """Take the last `n` decisions back, and hold."""
        self._send("undo", lambda: self._repeat(self.agglomerator.undo, n))

    def redo(self, n: int = 1) -> None:
        """Do the last `n` decisions again that were taken back."""
        self._send("redo", lambda: self._repeat(self.agglomerator.redo, n))

    def go_back(self, n_steps: int) -> None:
        """Take decisions back until `n_steps` stand."""
        self._send("go back", lambda: self._go_back(n_steps))

    def reset(self) -> None:
        """Take everything back."""
        self._send("reset", lambda: self._go_back(0))

    def ask(
        self, question: Callable[[Agglomerator], T], answer: Callable[[T], None], key: str | None = None
    ) -> None:
        """Run `question` in the engine's thread between two steps, then `answer` in the window's.

        Of waiting questions with the same key only the newest is asked.
        """

        def work() -> None:
            self._tell("answer", (answer, question(self.agglomerator)))

        self._send("ask", work, is_question=True, key=key)

    def close(self) -> None:
        """End the thread after the step it is at, and wait for it."""
        if self._is_closing:
            return
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()
        self._delivered.disconnect(self._on_delivered)
        self._drawn.stop()
        self._rested.stop()
        self._thread.join()
        self.agglomerator.close()

    def _send(
        self, name: str, work: Callable[[], Any], *, is_question: bool = False, key: str | None = None
    ) -> None:
        """Queue a command."""
        with self._condition:
            if key is not None:
                self._commands = deque(waiting for waiting in self._commands if waiting.key != key)
            self._commands.append(_Command(name, work, is_question, key))
            self._condition.notify_all()

    def _on_delivered(self, what: str, value: Any) -> None:
        """Pass on in the window's thread what the engine's thread told."""
        if self._is_closing:
            return
        if what == "answer":
            answer, result = value
            answer(result)
        elif what == "advanced":
            self._show(*value)
        else:
            getattr(self, what).emit(value)

    def _show(self, snapshot: Snapshot, reason: str) -> None:
        """Let the window draw a snapshot; ask for the next one when it had as long for the user again."""
        self.snapshot = snapshot
        began = time.monotonic()
        try:
            self.advanced.emit(snapshot)
            if reason:
                self.finished.emit(reason)
        finally:
            self._shown_at = began
            self._drawn.start(0)

    def _on_drawn(self) -> None:
        """A timer of 0 ms comes after what was asked to be drawn."""
        seconds = time.monotonic() - self._shown_at
        self._rested.start(min(LONGEST_REST_MS, round(1000 * seconds)))

    def _take_next(self) -> None:
        with self._condition:
            self._is_taken = True
            self._condition.notify_all()

    # What happens in the engine's thread.

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
                    return
                command = self._commands.popleft() if self._commands else None
            if command is not None:
                self._do(command)
            elif self._steps_left > 0 and time.monotonic() >= self._next_step_at:
                self._step()
            self._report_if_due()

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

    def _do(self, command: _Command) -> None:
        """Carry out a command; whatever goes wrong is said, and the engine goes on."""
        try:
            command.work()
        except Exception as error:
            self._fail(error)
        if not command.is_question:
            self._last_command = command.name
            self._history = list(self.agglomerator.history)
            self._is_due = self._is_urgent = True

    def _step(self) -> None:
        """Take one merge of a run."""
        stop_at = self.threshold if self._stop_at is None else self._stop_at
        try:
            step = self.agglomerator.step(stop_at)
        except Exception as error:
            self._halt()
            self._fail(error)
            step = None
        else:
            self._after_step(step)
        self._is_due = True
        self._is_urgent = self._is_urgent or self._steps_left <= 0

    def _after_step(self, step: Step | None) -> None:
        """Count a step, or end the run if there was none left."""
        if step is None:
            self._halt()
            is_left = self.agglomerator.best_action() >= 0
            self._reason = "threshold reached" if is_left else "nothing left"
            return
        self._history.append(step)
        self._n_done += 1
        self._steps_left -= 1
        self._next_step_at = time.monotonic() + self._seconds_per_step

    def _go(self, n_steps: float, stop_at: float | None) -> None:
        self._stop_at, self._next_step_at = stop_at, 0.0
        is_stepping_on = n_steps < FOREVER and 0 < self._steps_left < FOREVER
        self._steps_left = n_steps + (self._steps_left if is_stepping_on else 0)

    def _go_to_threshold(self) -> None:
        """Take back greedy merges above the threshold, then run."""
        n_steps = self.agglomerator.steps_below(self.threshold)
        by_hand = [step for step in self.agglomerator.history[n_steps:] if step.kind != "greedy"]
        if by_hand:
            raise ActionError(
                f"Going back to this threshold would take {len(by_hand)} of your own decisions with it. "
                "Undo them first, or use the timeline."
            )
        self._go_back(n_steps)
        self._go(FOREVER, None)

    def _halt(self) -> None:
        self._steps_left = 0

    def _repeat(self, work: Callable[[], Step], n: int) -> None:
        self._halt()
        for _ in range(n):
            work()

    def _go_back(self, n_steps: int) -> None:
        n_done = len(self.agglomerator.history)
        if not 0 <= n_steps <= n_done:
            raise ActionError(f"There is no step {n_steps}; the last is {n_done}.")
        self._repeat(self.agglomerator.undo, n_done - n_steps)

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

    def _fail(self, error: Exception) -> None:
        logger.info("a command of the engine failed", exc_info=error)
        self._tell("failed", sentence_of(error))

    def _tell(self, what: str, value: Any) -> None:
        try:
            self._delivered.emit(what, value)
        except RuntimeError:
            logger.debug("the engine ended after its window")
