"""What can be decided about the selected segments, and what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from qtpy.QtCore import QObject, Signal

from napari_celis.core.journal import MARK_KINDS, Step, StepKind
from napari_celis.gui.session.engine.commands import Command
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.events import CommandFailed
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.inspected_pair import InspectedPair
from napari_celis.gui.session.messages import MessageLine, Severity
from napari_celis.gui.session.planned_cut import PlannedCut
from napari_celis.gui.session.preview import Preview
from napari_celis.gui.session.question_order import QuestionOrder
from napari_celis.gui.session.question_walk import Reply, SentAnswer
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.selection import Selection

NOTHING_OPEN = "No merge is open any more: all are merged or kept apart."
NOTHING_LISTED = "No question passes the filters above the table. Take one away to go on."
NOT_HERE_IS_FOR_OPEN = (
    "“Not here” is about two segments that are still apart. These are merged: answer no to cut them."
)
STEP_NAMES: dict[StepKind, str] = {
    "greedy": "the merge by the run of",
    "manual": "your merge of",
    "keep-apart": "your “no” to",
    "allow": "that you allowed again",
    "cut": "your cut between",
    "split": "your split into",
    "confirm": "your “still right” for",
    "not-here": "your “not here” for",
}
HOLD_SECONDS = 0.3
"""Answers do not count so soon after a question came back by itself: they were meant for the one before."""

Send = Callable[[Engine, int, int, str], Command]


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
    asked = Signal(int)
    """The action that is about to be inspected; comes before anything else."""
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
        self.cut = PlannedCut(run, self)
        """A cut that waits for confirmation."""
        self.order = QuestionOrder(run, self)
        """What is asked next."""
        self.note = ""
        """What the user says about the question that is shown; kept with the next answer."""
        self._unsure = -1
        self._is_asking = False
        self._held_until = 0.0
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
        self.cut.changed.connect(self.changed)

    # Inspect.

    def inspect(self, action: int) -> None:
        """Look at one action that the user chose; the queue goes on from there."""
        self.order.start_at(action)
        self._is_asking = True
        self._show(action)

    def upcoming(self, n: int) -> list[int]:
        """List the questions that come after the one that is shown."""
        return self.order.upcoming(n, self.pair.action)

    def next_uncertain(self) -> None:
        """Pass the question over that is shown, and look at the next; after the last, at the first again."""
        walk = self.order.walk
        if walk is None:
            self._hint("There is nothing to decide yet. Prepare the data first.")
            return
        walk.pass_over(self.pair.action)
        self._go_on()

    def clear(self) -> None:
        """Drop the planned cut; without one, drop the selection. The message goes too."""
        self._messages.clear()
        if self.cut.plan is not None:
            self.cut.cancel()
        else:
            self._selection.clear()

    def clear_all(self) -> None:
        """Drop the planned cut, the selection and the message."""
        self.cut.forget()
        self.clear()

    def _show(self, action: int) -> None:
        """Select the ends of an action and go to its contact."""
        position = self.pair.position_of(action)
        if position is not None:
            self._on_selection()
            # First of all: the picture is ready, and nothing that follows may hold it up.
            if self._is_asking:
                self.asked.emit(action)
            self.pair.inspect(action)
            self.visited.emit(position)

    def _go_on(self) -> None:
        """Look at the next question, without waiting for what the last answer does."""
        self._preview.leave()
        walk, shown, found = self.order.walk, self.pair.action, self.upcoming(1)
        if not found and walk is not None and walk.begin_again():
            found = self.upcoming(1) or [one for one in self.order.open_actions().tolist() if one == shown]
        if found:
            self._is_asking = True
            self._show(found[0])
        else:
            is_filtered = walk is not None and walk.is_wanted is not None
            self._hint(NOTHING_LISTED if is_filtered and len(self.order.open_actions()) else NOTHING_OPEN)

    # Merge, keep apart.

    def merge(self) -> None:
        """Join the two selected segments by their best action."""
        self._decide("merge", Engine.merge, self._grow)

    def keep_apart(self) -> None:
        """Forbid that the two selected segments become one."""
        self._decide("keep apart", Engine.keep_apart, None)

    def allow(self) -> None:
        """Take out what keeps the two selected segments apart."""
        self._decide("allow", Engine.allow_segments, None)

    def _decide(self, verb: str, send: Send, then: Callable[[], None] | None) -> None:
        """Send a command about the selected pair, and remember what follows when it is done."""
        ids, engine = self._ids(verb), self._run.engine
        if ids is None or engine is None:
            return
        command = send(engine, *ids, self._take_note())
        self._unsure, self._is_asking = -1, False
        if then is not None:
            self._follow_up = FollowUp(command, then)

    # Answers: each is about the question that is shown, and the next one is shown at once.

    def accept(self) -> None:
        """Answer that both are one neuron: merge them, or confirm the merge; go on."""
        is_made = self.pair.is_merged_directly
        self._answer("accept", Engine.confirm if is_made else Engine.merge, "other" if is_made else "merge")

    def reject(self) -> None:
        """Answer that they are not: keep them apart, or cut the merge; go on."""
        is_made = self.pair.is_merged_directly
        self._answer("reject", Engine.cut if is_made else Engine.keep_apart, "other" if is_made else "apart")

    def not_here(self) -> None:
        """Answer that there is a membrane at this contact, whatever holds elsewhere; go on."""
        if self.pair.is_one_segment:
            self._hint(NOT_HERE_IS_FOR_OPEN)
        else:
            self._answer("answer “not here”", Engine.not_here, "other")

    def unsure(self) -> None:
        """Keep that the user cannot tell; the question comes last from now on."""
        queue = self.order.queue
        if self._ids("put aside") is None or queue is None or self.pair.action < 0:
            return
        queue.skip(self.pair.action)
        self._run.put_aside(self.pair.action, self._take_note())
        self._unsure = self.pair.action
        self.next_uncertain()

    def _answer(self, verb: str, send: Send, reply: Reply) -> None:
        """Send the answer to the question that is shown, and show the next one."""
        if time.monotonic() < self._held_until:
            # Pressed for the picture that was there until a moment ago.
            return
        ids, engine, action = self._ids(verb), self._run.engine, self.pair.action
        if ids is None or engine is None:
            return
        command = send(engine, *ids, self._take_note())
        self._unsure = -1
        if action < 0 or self.order.walk is None:
            self._follow_up = FollowUp(command, self.next_uncertain)
            return
        self.order.walk.send(SentAnswer(command, reply, action))
        self._go_on()

    def _take_note(self) -> str:
        note, self.note = self.note.strip(), ""
        return note

    def _ids(self, verb: str) -> tuple[int, int] | None:
        """Return the ids of the supervoxels to decide about, or say what to select."""
        self._preview.leave()
        ids = self.pair.ids()
        if ids is None:
            self._hint(f"There is nothing to {verb}: click two segments, or press N for the next question.")
        return ids

    # Back and forth.

    def undo(self) -> None:
        """Take the last decision back, and go back to its question."""
        engine = self._run.engine
        if engine is None:
            return
        self._preview.leave()
        if self._unsure >= 0:
            self._take_up(self._unsure)
            return
        engine.undo()
        engine.ask(lambda a: a.journal.undone[-1].step if a.journal.undone else None, self._on_taken_back)

    def redo(self) -> None:
        """Do again what was taken back last: one decision, or all that a jump back took."""
        if self._run.engine is not None:
            self._preview.leave()
            self._unsure = -1
            self._run.engine.redo()

    def _take_up(self, action: int) -> None:
        """Take back that the user was unsure."""
        self._unsure = -1
        queue = self.order.queue
        if queue is not None:
            queue.skipped = [other for other in queue.skipped if other != action]
        self._run.take_up(action)
        self._return_to(action, "Taken back: you are not unsure any more. This is the question again.")

    def _on_taken_back(self, step: Step | None) -> None:
        """Go back to the question of a decision by hand, and say what was taken back."""
        if step is None:
            return
        if step.kind in MARK_KINDS:
            state = "done" if step.kind == "done" else "in work"
            self._messages.say(f"Taken back: that the segment of {step.u_id} is {state}.", "")
            return
        what = f"Taken back: {STEP_NAMES[step.kind]} {step.u_id} and {step.v_id}."
        if step.kind in ("greedy", "split") or step.action_index < 0:
            self._say(what)
        else:
            self._return_to(step.action_index, f"{what} This is its question again.")

    def _return_to(self, action: int, sentence: str) -> None:
        """Show a question again that the user did not choose just now."""
        if self.order.walk is not None:
            self.order.walk.return_to(action)
        self._show(action)
        self._say(sentence)

    # Cuts.

    def plan_cut(self) -> None:
        """Show what a cut would do: between two selected supervoxels, or to take a single one out."""
        selected = self._selection.supervoxels
        if self._run.engine is None or not selected:
            self._hint("Select a supervoxel to take out, or two of one segment to cut between them.")
        elif len(selected) == 1:
            self.cut.taking_out(selected[0])
        elif self.pair.is_merged_directly:
            self.cut.of_merge(self.pair.action)
        else:
            self.cut.between(*selected)

    # What follows.

    def _hint(self, text: str) -> None:
        self._say(text, "warning")

    def _say(self, text: str, severity: Severity = "") -> None:
        """Say something that is true until another pair is looked at."""
        self._hint_text = text
        self._messages.say(text, severity)

    def _on_selection(self) -> None:
        """Drop the planned cut, and what was said about the pair before."""
        self.cut.forget()
        if self._hint_text and self._messages.current.text == self._hint_text:
            self._messages.clear()
        self._hint_text = ""

    def _on_run(self) -> None:
        """Nothing that was begun goes on with another engine."""
        self.cut.forget()
        self._follow_up = None
        self.note, self._unsure = "", -1

    def _on_failed(self, failure: CommandFailed) -> None:
        """Nothing follows from a decision that failed; go back to its question."""
        if failure.command is not None:
            # The sentence is shown by others; it goes with the next question.
            self._hint_text = failure.sentence
        walk = self.order.walk
        action = -1 if walk is None else walk.fail(failure.command)
        if action >= 0 and action != self.pair.action:
            self._return_to(action, failure.sentence)
            self._held_until = time.monotonic() + HOLD_SECONDS
        if self._follow_up is not None and failure.command is self._follow_up.command:
            self._follow_up = None

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Go on after a decision, as soon as the window knows its effect."""
        if self.cut.plan is not None:
            self.pair.refresh_soon()
        follow_up = self._follow_up
        if follow_up is not None and snapshot.is_after(follow_up.command):
            self._follow_up = None
            follow_up.action()

    def _grow(self) -> None:
        """Keep what was merged selected as one segment: the next click adds to it."""
        if self.pair.is_one_segment:
            self._selection.keep_first()
