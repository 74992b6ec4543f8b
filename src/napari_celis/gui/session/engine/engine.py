"""What the window talks to: sends commands to the engine's thread, and brings its events back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from qtpy.QtCore import QObject, Qt, QTimer, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import CutPlan
from napari_celis.core.errors import ActionError
from napari_celis.core.lessons import Learner
from napari_celis.core.seeded_split import SeededSplit, Seeds
from napari_celis.evaluation.error_curve import PastErrors
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.gui.session.engine import commands as do
from napari_celis.gui.session.engine.engine_thread import EngineThread
from napari_celis.gui.session.engine.events import (
    Advanced,
    Answered,
    CarriedOut,
    CommandFailed,
    Event,
    NotSaved,
)
from napari_celis.gui.session.engine.recording import DecisionRecorder
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.engine.tables import RunTables
from napari_celis.io.session.records import SegmentNote
from napari_celis.pipeline.splits import Divider

logger = logging.getLogger(__name__)

T = TypeVar("T")
C = TypeVar("C", bound=do.Command)

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
    parent : QObject, optional
        Owns the engine.
    learner : Learner, optional
        Learns from answers while that is switched on.
    divider : Divider, optional
        Where the agglomerator comes from; without it no supervoxel can be split.
    """

    rebuilt = Signal()
    """Supervoxels became two: `tables` and the snapshot are about the parts. `advanced` follows."""
    advanced = Signal(object)
    """A Snapshot: at most 15 a second while running, and one after every command."""
    drawn = Signal()
    """The last snapshot was drawn; the next one comes after a while."""
    carried_out = Signal(object)
    """A Command that did what it should."""
    failed = Signal(object)
    """A CommandFailed; the engine stays usable."""
    finished = Signal(object)
    """A RunEnd: a run ended by itself."""
    not_saved = Signal(object)
    """A NotSaved: decisions could not be written to disk."""
    threshold_changed = Signal(float)
    _told = Signal(object)

    def __init__(
        self,
        agglomerator: Agglomerator,
        threshold: float,
        overlaps: Overlaps | None = None,
        parent: QObject | None = None,
        learner: Learner | None = None,
        divider: Divider | None = None,
    ) -> None:
        super().__init__(parent)
        self.learner = learner
        """Learns from answers; None where the energy alone orders merges."""
        self._thread = EngineThread(agglomerator, threshold, overlaps, self._tell, learner, divider)
        self.tables: RunTables = self._thread.tables
        """Supervoxels and actions of the run; others when a supervoxel was split."""
        self.past_errors = _past_errors(self.tables)
        """Tells the errors of earlier states, in the engine's thread; None without a truth."""
        self.snapshot: Snapshot = self._thread.first_snapshot
        """The newest state that the window knows."""
        self._is_closing = False
        self._shown_at = 0.0
        self._drawn, self._rested = QTimer(self), QTimer(self)
        for timer, slot in ((self._drawn, self._on_drawn), (self._rested, self._thread.on_drawn)):
            timer.setSingleShot(True)
            timer.timeout.connect(slot)
        self._told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)
        self._thread.start()

    # Runs.

    def run(self, threshold: float | None = None) -> do.StartRun:
        """Merge greedily until no score is below `threshold`; the engine's own by default."""
        return self._send(do.StartRun(threshold))

    def run_to_threshold(self) -> do.RunToThreshold:
        """Go where a run with the present threshold ends, forwards or back."""
        return self._send(do.RunToThreshold())

    def step(self, n_steps: int = 1) -> do.TakeSteps:
        """Take the next merges, whatever their scores."""
        if n_steps < 1:
            raise ActionError(
                f"`n_steps` is {n_steps}, but a run goes forward by whole steps. Give 1 or more."
            )
        return self._send(do.TakeSteps(n_steps))

    def pause(self) -> do.Pause:
        """Hold before the next step."""
        return self._send(do.Pause())

    @property
    def threshold(self) -> float:
        """Score at which a run stops."""
        return self._thread.threshold

    def set_threshold(self, value: float) -> None:
        """Change where runs stop; counts at once, in a run too."""
        if float(value) != self.threshold:
            self._thread.threshold = float(value)
            self.threshold_changed.emit(self.threshold)

    def set_speed(self, steps_per_second: float | None) -> None:
        """Limit the speed of runs; None is as fast as possible."""
        self._thread.set_speed(steps_per_second)

    # Decisions.

    def merge(self, u_id: int, v_id: int, note: str = "") -> do.MergePair:
        """Merge two adjacent supervoxels.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        note : str
            Kept with the decision.
        """
        return self._send(do.MergePair(u_id, v_id, note))

    def keep_apart(self, u_id: int, v_id: int, note: str = "") -> do.KeepApart:
        """Forbid that the segments of two supervoxels become one.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        note : str
            Kept with the decision.
        """
        return self._send(do.KeepApart(u_id, v_id, note))

    def allow(self, u_id: int, v_id: int, note: str = "") -> do.AllowPair:
        """Take out that two supervoxels are kept apart; all other decisions stay.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        note : str
            Kept with the decision.
        """
        return self._send(do.AllowPair(u_id, v_id, note))

    def allow_segments(self, u_id: int, v_id: int, note: str = "") -> do.AllowSegments:
        """Take out everything that keeps the segments of two supervoxels apart.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        note : str
            Kept with the decision.
        """
        return self._send(do.AllowSegments(u_id, v_id, note))

    def cut(self, u_id: int, v_id: int, note: str = "") -> do.CutMerge:
        """Take a past merge out and keep its two sides apart; a run holds.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        note : str
            Kept with the decision.
        """
        return self._send(do.CutMerge(u_id, v_id, note))

    def carry_out(self, plan: CutPlan) -> do.CarryOutCut:
        """Make all decisions of a planned cut, to be taken back at once; a run holds."""
        return self._send(do.CarryOutCut(plan))

    def carry_out_split(self, plan: SeededSplit) -> do.CarryOutSplit:
        """Part a segment between seeds, to be taken back at once; a run holds."""
        return self._send(do.CarryOutSplit(plan))

    def confirm(self, u_id: int, v_id: int, note: str = "") -> do.ConfirmMerge:
        """Note that a past merge was looked at and is right.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        note : str
            Kept with the decision.
        """
        return self._send(do.ConfirmMerge(u_id, v_id, note))

    def not_here(self, u_id: int, v_id: int, note: str = "") -> do.NotHere:
        """Note that there is a membrane between two adjacent supervoxels; forbids nothing.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        note : str
            Kept with the decision.
        """
        return self._send(do.NotHere(u_id, v_id, note))

    def mark(self, supervoxel_id: int, *, is_done: bool) -> do.MarkSegment:
        """Say that the segment of a supervoxel is done, so that nothing changes it, or in work.

        Parameters
        ----------
        supervoxel_id : int
            One of its supervoxels.
        is_done : bool
            Done, or in work.
        """
        return self._send(do.MarkSegment(supervoxel_id, is_done))

    def write_words(self, notes: Sequence[SegmentNote]) -> do.WriteWords:
        """Keep names and notes of segments."""
        return self._send(do.WriteWords(tuple(notes)))

    def switch_learning(self, *, is_on: bool) -> do.SwitchLearning:
        """Learn from the answers that stand and from those that come, or no longer."""
        return self._send(do.SwitchLearning(is_on))

    def go_on_after_answers(self, *, is_on: bool) -> do.GoOnAfterAnswers:
        """Merge what is below the threshold after every answer, or no longer."""
        return self._send(do.GoOnAfterAnswers(is_on))

    def undo(self, n_steps: int = 1) -> do.Undo:
        """Take the last decisions back, each with those that were made together with it, and hold."""
        return self._send(do.Undo(n_steps))

    def redo(self) -> do.Redo:
        """Do the decision again that was taken back last, or all that the last jump back took."""
        return self._send(do.Redo())

    def go_back(self, n_steps: int) -> do.GoBack:
        """Take decisions back until `n_steps` stand."""
        return self._send(do.GoBack(n_steps))

    def record_to(self, recorder: DecisionRecorder) -> do.RecordTo:
        """Write every decision to disk, before the window shows it."""
        return self._send(do.RecordTo(recorder))

    # Questions.

    def ask(
        self, question: Callable[[Agglomerator], T], answer: Callable[[T], None], key: str | None = None
    ) -> do.Ask:
        """Read something of the agglomerator between two steps.

        Parameters
        ----------
        question : callable
            Called in the engine's thread.
        answer : callable
            Called in the window's thread with what `question` returned.
        key : str, optional
            Of waiting questions with the same key only the newest is asked.
        """
        return self._send(do.Ask(question, answer, key, self.tables))

    def plan_split(self, seeds: Seeds, answer: Callable[[SeededSplit], None]) -> do.Ask:
        """Plan to part a segment between seeds; of waiting plans only the newest is made.

        Parameters
        ----------
        seeds : Seeds
            All in one segment.
        answer : callable
            Called in the window's thread with the plan.
        """
        return self.ask(lambda agglomerator: self._thread.plan_split(seeds), answer, key="split")

    def close(self) -> None:
        """End the thread after the step it is at, and wait for it."""
        if self._is_closing:
            return
        self._is_closing = True
        self._thread.stop()
        self._told.disconnect(self._on_told)
        self._drawn.stop()
        self._rested.stop()
        self._thread.join()

    def _send(self, command: C) -> C:
        self._thread.send(command)
        return command

    def _tell(self, event: Event) -> None:
        """Bring an event from the engine's thread to the window's."""
        try:
            self._told.emit(event)
        except RuntimeError:
            logger.debug("the engine ended after its window")

    def _on_told(self, event: Event) -> None:
        """Pass on in the window's thread what the engine's thread told."""
        if self._is_closing:
            return
        match event:
            case Advanced():
                self._show(event)
            case Answered():
                event.ask.answer(event.result)
            case CarriedOut():
                self.carried_out.emit(event.command)
            case CommandFailed():
                self.failed.emit(event)
            case NotSaved():
                self.not_saved.emit(event)

    def _show(self, event: Advanced) -> None:
        """Let the window draw a snapshot; ask for the next one when it had as long for the user again."""
        self.snapshot = event.snapshot
        began = time.monotonic()
        try:
            if event.tables is not None:
                self.tables = event.tables
                self.past_errors = _past_errors(event.tables)
                self.rebuilt.emit()
            self.advanced.emit(event.snapshot)
            if event.end is not None:
                self.finished.emit(event.end)
        finally:
            self._shown_at = began
            self._drawn.start(0)

    def _on_drawn(self) -> None:
        """A timer of 0 ms comes after what was asked to be drawn."""
        seconds = time.monotonic() - self._shown_at
        self.drawn.emit()
        self._rested.start(min(LONGEST_REST_MS, round(REST * 1000 * seconds)))


def _past_errors(tables: RunTables) -> PastErrors | None:
    return None if tables.overlaps is None else PastErrors(tables.overlaps)
