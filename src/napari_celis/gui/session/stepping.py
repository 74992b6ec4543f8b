"""What the engine's thread can be told to do with its agglomerator. Knows nothing of Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from napari_celis.core.constraints import Constraints
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Entry, Step
from napari_celis.gui.session.kept_decisions import DecisionFile
from napari_celis.gui.session.step_loop import StepLoop

FOREVER = float("inf")
GO_ON, REDO = "go on", "redo"
"""Names of the commands that make decisions again: those of an earlier run, those taken back."""


class Stepper(StepLoop):
    """Goes forwards and back; commands call its methods, in the thread."""

    def go(self, n_steps: float, stop_at: float | None) -> None:
        """Take steps; `stop_at` None stops at the threshold of the moment."""
        self._stop_at, self._next_step_at = stop_at, 0.0
        is_stepping_on = n_steps < FOREVER and 0 < self._steps_left < FOREVER
        self._steps_left = n_steps + (self._steps_left if is_stepping_on else 0)

    def go_to_threshold(self) -> None:
        """Take back greedy merges above the threshold, then run."""
        n_steps = self.agglomerator.steps_below(self.threshold)
        by_hand = [step for step in self.agglomerator.history[n_steps:] if step.kind != "greedy"]
        if by_hand:
            raise ActionError(
                f"Going back to this threshold would take {len(by_hand)} of your own decisions with it. "
                "Undo them first, or use the timeline."
            )
        self.go_back(n_steps)
        self.go(FOREVER, None)

    def undo(self, n: int) -> None:
        """Hold, and take decisions back."""
        self.halt()
        for _ in range(n):
            self.agglomerator.undo()

    def go_back(self, n_steps: int) -> None:
        """Take decisions back until `n_steps` stand."""
        n_done = len(self.agglomerator.history)
        if not 0 <= n_steps <= n_done:
            raise ActionError(f"There is no step {n_steps}; the last is {n_done}.")
        self.undo(n_done - n_steps)
        if n_steps < n_done:
            self._jumps[n_steps] = n_done

    def redo(self) -> None:
        """Do the last decision again that was taken back, or all that the last jump back took."""
        n_done, n_undone = len(self.agglomerator.history), len(self.agglomerator.journal.undone)
        n_wanted = self._jumps.pop(n_done, n_done + 1) - n_done
        self._make_again(max(1, min(n_wanted, n_undone)), REDO)

    def go_on(self, steps: Sequence[Step], kept: DecisionFile) -> None:
        """Take everything back, then make the decisions of an earlier run again; nothing comes in between."""
        self.keep_in(kept)
        self.go_back(0)
        agglomerator, self._history = self.agglomerator, []
        index_of, find = agglomerator.supervoxels.index_of, agglomerator.actions.find
        agglomerator.journal.undone = [
            Entry(
                replace(step, action_index=find(index_of(step.u_id), index_of(step.v_id))),
                None,
                Constraints(),
            )
            for step in reversed(steps)
        ]
        self._make_again(len(steps), GO_ON)

    def _make_again(self, n_steps: int, command: str) -> None:
        """Do decisions again, and report on the way; nothing but the end of the window ends it."""
        self._last_command = command
        try:
            for n_left in reversed(range(n_steps)):
                if self._is_closing:
                    break
                self._history.append(self.agglomerator.redo())
                self._keep()
                self._n_done += 1
                self._steps_left = n_left
                if n_left:
                    self._is_due = True
                    self._report_if_due()
        finally:
            self.halt()

    def keep_in(self, kept: DecisionFile) -> None:
        """Write decisions to a file from now on."""
        if self._kept is not None:
            self._kept.close()
        self._kept = kept
