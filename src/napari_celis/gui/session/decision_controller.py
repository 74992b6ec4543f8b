"""What can be decided about the selected segments, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from qtpy.QtCore import QObject, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import CutPlan, plan_cut_between, plan_cut_of_merge, plan_taking_out
from napari_celis.core.decisions import Candidates
from napari_celis.gui.session.decision_queue import DecisionQueue
from napari_celis.gui.session.engine.commands import Command
from napari_celis.gui.session.engine.events import CommandFailed
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.inspected_pair import InspectedPair
from napari_celis.gui.session.messages import MessageLine
from napari_celis.gui.session.preview import Preview
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.selection import Selection

NOTHING_OPEN = "No merge is open any more: all are merged or kept apart."


@dataclass(frozen=True, eq=False)
class FollowUp:
    """What to do once the window knows the effect of a command."""

    command: Command
    action: Callable[[], None]


class DecisionController(QObject):
    """Carries out what the user decides about the selection.

    Parameters
    ----------
    run : Run
        Whose engine gets the commands.
    selection : Selection
        What is decided about.
    preview : Preview
        Left before every decision.
    messages : MessageLine
        Told what to select where nothing can be decided.
    """

    changed = Signal()
    """The inspected pair, what is known about it, or the planned cut is another one."""
    visited = Signal(object)
    """A position in voxels, float64 (3,), that the camera should go to."""

    def __init__(
        self,
        run: Run,
        selection: Selection,
        preview: Preview,
        messages: MessageLine,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._run, self._selection, self._preview, self._messages = run, selection, preview, messages
        self.plan: CutPlan | None = None
        """A cut that waits for confirmation."""
        self.queue: DecisionQueue | None = None
        """The order of the open decisions; None without an engine."""
        self._hint_text = ""
        self._follow_up: FollowUp | None = None
        # Before the pair is made: what is out of date goes before the pair says that it has changed.
        selection.changed.connect(self._on_selection)
        run.changed.connect(self._on_run)
        run.advanced.connect(self._on_advanced)
        run.failed.connect(self._on_failed)
        self.pair = InspectedPair(run, selection, self)
        """What is decided about."""
        self.pair.changed.connect(self.changed)

    # Inspect.

    def candidates(self) -> Candidates | None:
        """Describe all actions as of the newest snapshot."""
        return None if self.queue is None else self.queue.candidates()

    def open_actions(self) -> np.ndarray:
        """List the open actions, the most uncertain first."""
        return np.empty(0, dtype=np.int64) if self.queue is None else self.queue.order()

    def inspect(self, action: int) -> None:
        """Look at one action: select its ends and go to its contact."""
        position = self.pair.position_of(action)
        if position is not None:
            self._on_selection()
            self.pair.inspect(action)
            self.visited.emit(position)

    def next_uncertain(self) -> None:
        """Look at the open decision that comes next in the queue; after the last, at the first again."""
        if self._run.engine is None:
            self._hint("There is nothing to decide yet. Prepare the data first.")
            return
        actions = self.open_actions()
        if not len(actions):
            self._hint(NOTHING_OPEN)
            return
        at = np.flatnonzero(actions == self.pair.action)
        following = int(at[0]) + 1 if len(at) else 0
        self._preview.leave()
        self.inspect(int(actions[following % len(actions)]))

    def clear(self) -> None:
        """Drop the planned cut; without one, drop the selection. The message goes too."""
        self._messages.clear()
        if self.plan is not None:
            self.plan = None
            self.changed.emit()
        else:
            self._selection.clear()

    def clear_all(self) -> None:
        """Drop the planned cut, the selection and the message."""
        self.plan = None
        self.clear()

    # Merge, keep apart, skip.

    def merge(self) -> None:
        """Join the two selected segments by their best action."""
        self._decide("merge", self._merge, self._grow)

    def keep_apart(self) -> None:
        """Forbid that the two selected segments become one."""
        self._decide("keep apart", self._keep_apart, None)

    def accept(self) -> None:
        """Merge, and go on to the next uncertain decision."""
        self._decide("accept", self._merge, self.next_uncertain)

    def reject(self) -> None:
        """Keep apart, and go on to the next uncertain decision."""
        self._decide("reject", self._keep_apart, self.next_uncertain)

    def skip(self) -> None:
        """Put the decision at the end of the queue and go on."""
        if self._ids("skip") is None or self.queue is None:
            return
        if self.pair.action >= 0:
            self.queue.skip(self.pair.action)
            self._run.put_aside(self.pair.action)
            self.pair.action = -1
        self.next_uncertain()

    def _decide(
        self, verb: str, send: Callable[[int, int], Command | None], then: Callable[[], None] | None
    ) -> None:
        """Send a command about the selected pair, and remember what follows when it is done."""
        ids = self._ids(verb)
        command = None if ids is None else send(*ids)
        if command is not None and then is not None:
            self._follow_up = FollowUp(command, then)

    def _merge(self, u_id: int, v_id: int) -> Command | None:
        return None if self._run.engine is None else self._run.engine.merge(u_id, v_id)

    def _keep_apart(self, u_id: int, v_id: int) -> Command | None:
        return None if self._run.engine is None else self._run.engine.keep_apart(u_id, v_id)

    def _ids(self, verb: str) -> tuple[int, int] | None:
        """Return the ids of the supervoxels to decide about, or say what to select."""
        self._preview.leave()
        ids = self.pair.ids()
        if ids is None:
            self._hint(
                f"There is nothing to {verb}: click two segments, or press N for the next uncertain merge."
            )
        return ids

    # Back and forth.

    def undo(self) -> None:
        """Take the last decision back."""
        if self._run.engine is not None:
            self._preview.leave()
            self._run.engine.undo()

    def redo(self) -> None:
        """Do again what was taken back last: one decision, or all that a jump back took."""
        if self._run.engine is not None:
            self._preview.leave()
            self._run.engine.redo()

    # Cuts.

    def plan_cut(self) -> None:
        """Show what a cut would do: between two selected supervoxels, or to take a single one out."""
        selected = self._selection.supervoxels
        if self._run.engine is None or not selected:
            self._hint("Select a supervoxel to take out, or two of one segment to cut between them.")
        elif len(selected) == 1:
            self._plan(lambda a: plan_taking_out(a, selected[0]))
        elif self.pair.is_merged_directly:
            self.plan_cut_of(self.pair.action)
        else:
            self._plan(lambda a: plan_cut_between(a, *selected))

    def plan_cut_of(self, action: int) -> None:
        """Show what it would do to cut one past merge."""
        self._plan(lambda a: plan_cut_of_merge(a, action))

    def confirm(self) -> None:
        """Carry out the cut that is shown."""
        plan, self.plan = self.plan, None
        engine = self._run.engine
        if plan is None or engine is None:
            return
        for pair in plan.cuts:
            engine.cut(*pair)
        for pair in plan.merges:
            engine.merge(*pair)
        self.changed.emit()

    def _plan(self, question: Callable[[Agglomerator], CutPlan]) -> None:
        if self._run.engine is not None:
            self._run.engine.ask(question, self._on_plan, key="cut")

    def _on_plan(self, plan: CutPlan) -> None:
        self.plan = plan
        self.changed.emit()

    # What follows.

    def _hint(self, text: str) -> None:
        self._hint_text = text
        self._messages.say(text, "warning")

    def _on_selection(self) -> None:
        """Drop the planned cut, and the hint what to select."""
        self.plan = None
        if self._hint_text and self._messages.current.text == self._hint_text:
            self._messages.clear()
        self._hint_text = ""

    def _on_run(self) -> None:
        """Follow another engine, or none."""
        self.plan, self._follow_up = None, None
        self.queue = None if self._run.engine is None else DecisionQueue(self._run.engine)
        if self.queue is not None:
            self.queue.skipped = self._run.skipped_actions()

    def _on_failed(self, failure: CommandFailed) -> None:
        """Nothing follows from a decision that failed."""
        if self._follow_up is not None and failure.command is self._follow_up.command:
            self._follow_up = None

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Go on after a decision, as soon as the window knows its effect."""
        if self.plan is not None:
            self.pair.refresh_soon()
        follow_up = self._follow_up
        if follow_up is not None and snapshot.is_after(follow_up.command):
            self._follow_up = None
            follow_up.action()

    def _grow(self) -> None:
        """Keep what was merged selected as one segment: the next click adds to it."""
        if self.pair.is_one_segment:
            self._selection.keep_first()
