"""The thread that owns an agglomerator: does commands between steps, and reports. Knows nothing of Qt."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from napari_celis.core.action_lookup import find_action
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import allow_between, carry_out, keeping_apart, plan_cut_of_merge
from napari_celis.core.errors import ActionError
from napari_celis.core.lessons import Learner
from napari_celis.core.parallel import default_threads
from napari_celis.core.seeded_split import (
    SeededSplit,
    Seeds,
    carry_out_seeded_split,
    plan_seeded_split,
    require_same_segment,
)
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.evaluation.running_errors import RunningErrors
from napari_celis.gui.session.background.job import Cancelled, sentence_of, start_thread
from napari_celis.gui.session.engine import commands as do
from napari_celis.gui.session.engine.events import (
    Advanced,
    Answered,
    CarriedOut,
    CommandFailed,
    Event,
    NotSaved,
    RunEnd,
)
from napari_celis.gui.session.engine.pacing import SnapshotPacer, SpeedLimit
from napari_celis.gui.session.engine.snapshot import Snapshot, take_snapshot
from napari_celis.gui.session.engine.stepper import FOREVER, Stepper
from napari_celis.gui.session.engine.tables import RunTables
from napari_celis.pipeline.splits import Divider

logger = logging.getLogger(__name__)


class EngineThread:
    """Carries out commands one after the other, and takes steps while any are left.

    Parameters
    ----------
    agglomerator : Agglomerator
        From now on only this thread touches it.
    threshold : float
        Score at which a run stops.
    overlaps : Overlaps, optional
        Voxels shared with the truth; with them, snapshots tell the split and merge error.
    tell : callable
        Called in the thread with everything that the window should know.
    learner : Learner, optional
        Learns from answers while that is switched on.
    divider : Divider, optional
        Builds an agglomerator of the parts where a supervoxel is split.
    """

    def __init__(
        self,
        agglomerator: Agglomerator,
        threshold: float,
        overlaps: Overlaps | None,
        tell: Callable[[Event], None],
        learner: Learner | None = None,
        divider: Divider | None = None,
    ) -> None:
        self._learner, self._divider = learner, divider
        self._use(agglomerator, overlaps)
        self._told_tables = self.tables
        self._goes_on = False
        self._stepper = Stepper(agglomerator, threshold)
        self._errors: RunningErrors | None = None
        self._tell = tell
        self._condition = threading.Condition()
        self._commands: deque[do.Command] = deque()
        self._speed, self._pacer = SpeedLimit(), SnapshotPacer()
        self._last_command: do.Command | None = None
        self._end: RunEnd | None = None
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self.first_snapshot: Snapshot = self._take_snapshot()

    def _use(self, agglomerator: Agglomerator, overlaps: Overlaps | None) -> None:
        """Work with an agglomerator; it leaves one processor to the window."""
        self._agglomerator = agglomerator
        agglomerator.use_threads(max(1, default_threads() - 1))
        self.tables = RunTables.of(agglomerator, overlaps)
        """What never changes about it."""

    # What other threads may call.

    def start(self) -> None:
        """Begin to listen to commands."""
        self._thread = start_thread(self._work, "celis engine")

    def send(self, command: do.Command) -> None:
        """Queue a command."""
        with self._condition:
            if isinstance(command, do.Ask) and command.key is not None:
                self._commands = deque(other for other in self._commands if not _has_key(other, command.key))
            self._commands.append(command)
            self._condition.notify_all()

    @property
    def threshold(self) -> float:
        """Score at which a run stops."""
        return self._stepper.threshold

    @threshold.setter
    def threshold(self, value: float) -> None:
        self._stepper.threshold = value
        self._stepper.recording.hear_threshold(value)

    def set_speed(self, steps_per_second: float | None) -> None:
        """Limit the speed of runs; None is as fast as possible."""
        with self._condition:
            self._speed.set_speed(steps_per_second)
            self._condition.notify_all()

    def on_drawn(self) -> None:
        """Allow the next snapshot: the window is done with the last one."""
        with self._condition:
            self._pacer.on_drawn()
            self._condition.notify_all()

    def stop(self) -> None:
        """End after the step that is being taken."""
        with self._condition:
            self._is_closing = True
            self._condition.notify_all()

    def join(self) -> None:
        """Wait until the thread has ended, and end those of the agglomerator."""
        if self._thread is not None:
            self._thread.join()
        self._agglomerator.close()

    # The loop.

    def _work(self) -> None:
        """Do commands first, then steps, and report in between."""
        if self.tables.overlaps is not None:
            self._errors = RunningErrors(self.tables.overlaps, self._agglomerator.segment_ids())
            self._pacer.request(is_urgent=True)
        while True:
            with self._condition:
                while not self._has_work():
                    self._condition.wait(self._seconds_to_wait())
                if self._is_closing:
                    break
                command = self._commands.popleft() if self._commands else None
            if command is not None:
                self._do(command)
            elif self._is_step_due():
                self._step()
            self._report_if_due()
        self._stepper.recording.close()

    def _has_work(self) -> bool:
        is_asked = self._is_closing or bool(self._commands)
        return is_asked or self._is_step_due() or self._pacer.may_report()

    def _is_step_due(self) -> bool:
        return self._stepper.steps_left > 0 and time.monotonic() >= self._speed.next_at

    def _seconds_to_wait(self) -> float | None:
        """Time until a step or a report is due; None while only the window can bring something new."""
        times = [self._speed.next_at] if self._stepper.steps_left > 0 else []
        report_at = self._pacer.next_at()
        if report_at is not None:
            times.append(report_at)
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _do(self, command: do.Command) -> None:
        """Carry out a command; whatever goes wrong is said, and the engine goes on."""
        is_decision = not isinstance(command, do.Ask | do.RecordTo)
        if is_decision:
            self._last_command = command
            self._stepper.recording.note = command.note if isinstance(command, do.PairDecision) else ""
        try:
            self._carry_out(command)
        except Exception as error:
            self._fail(command, error)
            is_done = False
        else:
            is_done = True
            if self._goes_on and isinstance(command, do.GO_ON_AFTER):
                self._go(FOREVER, None)
        if not is_decision:
            return
        self._stepper.record()
        self._pacer.request(is_urgent=True)
        if is_done:
            self._tell(CarriedOut(command))
        if self._stepper.recording.problem:
            self._tell(NotSaved(self._stepper.recording.problem))

    def _carry_out(self, command: do.Command) -> None:
        stepper, agglomerator = self._stepper, self._agglomerator
        match command:
            case do.Ask() if command.key is not None and command.tables not in (None, self.tables):
                # About supervoxels of before a split; who asked will ask again about those of now.
                logger.debug("a question about %s is out of date", command.key)
            case do.Ask():
                self._tell(Answered(command, command.question(agglomerator)))
            case do.RecordTo():
                stepper.recording.use(command.recorder)
            case do.StartRun():
                self._go(FOREVER, command.threshold)
            case do.RunToThreshold():
                stepper.go_to_threshold()
                self._speed.allow_now()
            case do.TakeSteps():
                self._go(command.n_steps, FOREVER)
            case do.Pause():
                stepper.halt()
            case do.MergePair():
                agglomerator.merge(command.u_id, command.v_id)
            case do.KeepApart():
                agglomerator.keep_apart(command.u_id, command.v_id)
            case do.AllowPair():
                agglomerator.allow(command.u_id, command.v_id)
            case do.AllowSegments():
                allow_between(agglomerator, command.u_id, command.v_id)
            case do.CutMerge():
                stepper.halt()
                action = find_action(
                    agglomerator.supervoxels, agglomerator.actions, command.u_id, command.v_id
                )
                carry_out(agglomerator, keeping_apart(plan_cut_of_merge(agglomerator, action)))
            case do.CarryOutCut():
                stepper.halt()
                carry_out(agglomerator, command.plan)
            case do.CarryOutSplit():
                stepper.halt()
                self._split(command.plan)
            case do.ConfirmMerge():
                agglomerator.confirm(command.u_id, command.v_id)
            case do.NotHere():
                agglomerator.not_here(command.u_id, command.v_id)
            case do.MarkSegment():
                mark = agglomerator.mark_done if command.is_done else agglomerator.mark_in_work
                mark(command.supervoxel_id)
            case do.WriteWords():
                stepper.recording.hear_words(command.notes)
            case do.SwitchLearning():
                agglomerator.learn(self._learner if command.is_on else None)
                stepper.recording.switch_learning(is_on=command.is_on)
            case do.GoOnAfterAnswers():
                self._goes_on = command.is_on
            case do.Undo():
                stepper.undo(command.n_steps)
            case do.GoBack():
                stepper.go_back(command.n_steps)
            case do.Redo():
                stepper.redo(self._between)
            case _:
                raise TypeError(f"The engine knows no command {type(command).__name__}.")

    def plan_split(self, seeds: Seeds) -> SeededSplit:
        """Plan to part a segment between seeds; called in this thread."""
        if self._divider is None:
            return plan_seeded_split(self._agglomerator, seeds)
        return self._divider.plan(self._agglomerator, seeds)

    def _split(self, plan: SeededSplit) -> None:
        """Part a segment; where a supervoxel becomes two, go on with an agglomerator of the parts."""
        divider, before = self._divider, self._agglomerator
        if not plan.splits:
            require_same_segment(before, plan)
            carry_out_seeded_split(before, plan, None if divider is None else divider.affinities)
            return
        if divider is None:
            raise ActionError("The supervoxels of this run cannot be split. Prepare it again first.")
        done = divider.carry_out(before, plan, self._report_split)
        self._divider, parts = done.divider, done.divider.prepared
        self._use(parts.agglomerator, parts.overlaps)
        self._stepper.use(parts.agglomerator)
        before.close()
        if parts.overlaps is not None:
            self._errors = RunningErrors(parts.overlaps, parts.agglomerator.segment_ids())
        # Only now: a split that failed halfway is in no session.
        for record in done.records:
            self._stepper.recording.add_split(record)
        for event in done.events:
            self._stepper.recording.hear(event)

    def _report_split(self, stage: str, share: float) -> None:
        """End a split with the window."""
        if self._is_closing:
            raise Cancelled

    def _go(self, n_steps: float, stop_at: float | None) -> None:
        self._stepper.go(n_steps, stop_at)
        self._speed.allow_now()

    def _between(self) -> bool:
        """Report on the way through a long command; only the end of the window ends it early."""
        self._pacer.request()
        self._report_if_due()
        return not self._is_closing

    def _step(self) -> None:
        """Take one merge of a run."""
        self._stepper.recording.note = ""
        before = self._stepper.recording.problem
        try:
            self._end = self._stepper.step() or self._end
        except Exception as error:
            self._fail(None, error)
        else:
            self._speed.after_step()
            self._stepper.recording.save_if_due()
            self._say_problem(before)
        self._pacer.request(is_urgent=self._stepper.steps_left <= 0)

    def _say_problem(self, before: str) -> None:
        """Say why decisions could not be written, once: every step of a run would say the same."""
        problem = self._stepper.recording.problem
        if problem and problem != before:
            self._tell(NotSaved(problem))

    def _report_if_due(self) -> None:
        """Send a snapshot, unless the window has not drawn the last one yet."""
        with self._condition:
            if not self._pacer.may_report():
                return
            self._pacer.begin_report()
        # What is shown is on the disk.
        before = self._stepper.recording.problem
        self._stepper.recording.save()
        self._say_problem(before)
        end, self._end = self._end, None
        tables = None if self.tables is self._told_tables else self.tables
        self._told_tables = self.tables
        self._tell(Advanced(self._take_snapshot(), end, tables))

    def _take_snapshot(self) -> Snapshot:
        stepper = self._stepper
        is_running = stepper.steps_left > 0
        return take_snapshot(
            self._agglomerator,
            stepper.history,
            self._errors,
            is_running=is_running,
            steps_per_second=self._pacer.steps_per_second(stepper.n_done, is_running=is_running),
            last_command=self._last_command,
            goes_on=self._goes_on,
        )

    def _fail(self, command: do.Command | None, error: Exception) -> None:
        logger.info("a command of the engine failed", exc_info=error)
        self._tell(CommandFailed(command, sentence_of(error)))


def _has_key(command: do.Command, key: str) -> bool:
    return isinstance(command, do.Ask) and command.key == key
