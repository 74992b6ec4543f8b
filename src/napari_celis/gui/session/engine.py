"""One thread owns the agglomerator; the panel sends it commands and gets snapshots back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from qtpy.QtCore import QObject, Qt, QTimer, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Step
from napari_celis.core.parallel import default_threads
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.gui.session.kept_decisions import DecisionFile
from napari_celis.gui.session.snapshot import Snapshot
from napari_celis.gui.session.step_loop import Command
from napari_celis.gui.session.stepping import FOREVER, GO_ON, REDO, Stepper

logger = logging.getLogger(__name__)

T = TypeVar("T")

REST, LONGEST_REST_MS = 0.5, 200
"""Time that the window has for the user between two snapshots: a share of the time that drawing one takes,
and the most."""


class Engine(QObject):
    """Runs an agglomeration in its own thread; all methods and signals belong to the window's thread.

    Parameters
    ----------
    agglomerator : Agglomerator
        From now on only the engine's thread touches it; `ask` is the way to read it. It leaves one
        processor to the window.
    threshold : float
        Score at which a run stops.
    overlaps : Overlaps, optional
        Voxels shared with the truth; with them, snapshots tell the split and merge error.
    """

    advanced = Signal(object)
    """A Snapshot: at most 15 a second while running, and one after every command."""
    drawn = Signal()
    """The last snapshot was drawn; the next one comes after a while."""
    failed = Signal(str)
    """One sentence; the engine stays usable."""
    carried_out = Signal(str)
    """The name of a command that did what it should."""
    finished = Signal(str)
    """A run ended by itself: "threshold reached" or "nothing left"."""
    not_kept = Signal(str)
    """One sentence: decisions could not be written to the file that keeps them."""
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
        agglomerator.use_threads(max(1, default_threads() - 1))
        self._stepper = Stepper(agglomerator, threshold, overlaps, self._tell)
        self._is_closing = False
        self.snapshot: Snapshot = self._stepper.first_snapshot
        self._shown_at = 0.0
        self._drawn, self._rested = QTimer(self), QTimer(self)
        for timer, slot in ((self._drawn, self._on_drawn), (self._rested, self._stepper.take_next)):
            timer.setSingleShot(True)
            timer.timeout.connect(slot)
        self._delivered.connect(self._on_delivered, Qt.ConnectionType.QueuedConnection)
        self._stepper.start()

    @property
    def threshold(self) -> float:
        """Score at which a run stops."""
        return self._stepper.threshold

    # What the window can ask for.

    def run(self, threshold: float | None = None) -> None:
        """Merge greedily until no score is below `threshold`; the engine's own by default."""
        self._send("run", lambda: self._stepper.go(FOREVER, threshold))

    def run_to_threshold(self) -> None:
        """Go where a run with the present threshold ends, forwards or back."""
        self._send("run to threshold", self._stepper.go_to_threshold)

    def pause(self) -> None:
        """Hold before the next step."""
        self._send("pause", self._stepper.halt)

    def step(self, n: int = 1) -> None:
        """Take the next `n` merges, whatever their scores."""
        if n < 1:
            raise ActionError(f"`n` is {n}, but a run goes forward by whole steps. Give 1 or more.")
        self._send("step", lambda: self._stepper.go(n, FOREVER))

    def set_threshold(self, value: float) -> None:
        """Change where runs stop; counts at once, in a run too."""
        if float(value) != self.threshold:
            self._stepper.threshold = float(value)
            self.threshold_changed.emit(self.threshold)

    def set_speed(self, steps_per_second: float | None) -> None:
        """Limit the speed of runs; None is as fast as possible."""
        self._stepper.set_speed(steps_per_second)

    def merge(self, u_id: int, v_id: int) -> None:
        """Merge two adjacent supervoxels."""
        self._send("merge", lambda: self.agglomerator.merge(u_id, v_id))

    def keep_apart(self, u_id: int, v_id: int) -> None:
        """Forbid that the segments of two supervoxels become one."""
        self._send("keep apart", lambda: self.agglomerator.keep_apart(u_id, v_id))

    def cut(self, u_id: int, v_id: int) -> None:
        """Take a past merge out; a run holds, for it would take the same merge again."""
        self._send("cut", lambda: (self._stepper.halt(), self.agglomerator.cut(u_id, v_id)))

    def undo(self, n: int = 1) -> None:
        """Take the last `n` decisions back, and hold."""
        self._send("undo", lambda: self._stepper.undo(n))

    def redo(self) -> None:
        """Do the decision again that was taken back last, or all that the last jump back took."""
        self._send(REDO, self._stepper.redo)

    def go_back(self, n_steps: int) -> None:
        """Take decisions back until `n_steps` stand."""
        self._send("go back", lambda: self._stepper.go_back(n_steps))

    def reset(self) -> None:
        """Take everything back."""
        self._send("reset", lambda: self._stepper.go_back(0))

    def keep_in(self, file: DecisionFile) -> None:
        """Write every decision to a file, before the window shows it."""
        self._send("keep", lambda: self._stepper.keep_in(file), is_question=True)

    def go_on(self, steps: Sequence[Step], file: DecisionFile) -> None:
        """Take everything back and make the decisions of an earlier run again; new ones go to its file."""
        self._send(GO_ON, lambda: self._stepper.go_on(steps, file))

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
        self._is_closing = True
        self._stepper.stop()
        self._delivered.disconnect(self._on_delivered)
        self._drawn.stop()
        self._rested.stop()
        self._stepper.join()
        self.agglomerator.close()

    def _send(
        self, name: str, work: Callable[[], Any], *, is_question: bool = False, key: str | None = None
    ) -> None:
        self._stepper.send(Command(name, work, is_question, key))

    def _tell(self, what: str, value: Any) -> None:
        """Bring something from the engine's thread to the window's."""
        try:
            self._delivered.emit(what, value)
        except RuntimeError:
            logger.debug("the engine ended after its window")

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
        self.drawn.emit()
        self._rested.start(min(LONGEST_REST_MS, round(REST * 1000 * seconds)))
