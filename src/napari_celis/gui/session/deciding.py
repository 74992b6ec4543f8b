"""What can be done with the two segments, or the cut, that the user looks at."""

from __future__ import annotations

import numpy as np

from napari_celis.core.cuts import plan_cut_between, plan_cut_of_merge, plan_taking_out
from napari_celis.gui.session.looking import Looking
from napari_celis.gui.session.snapshot import Snapshot
from napari_celis.gui.session.workspace import Workspace

NOTHING_OPEN = "No merge is open any more: all are merged or kept apart."


class Deciding(Looking):
    """Carries out what is decided about the selection of a workspace.

    Parameters
    ----------
    workspace : Workspace
        Owns this object; `Deciding.of(workspace)` finds it.
    """

    _hinted = ""
    """What to select, if that was said."""
    _then = ""
    """What to do once the engine has carried out a decision: go to the "next" one, "grow", or nothing."""

    @classmethod
    def of(cls, workspace: Workspace) -> Deciding:
        """Return the one of a workspace; the first call makes it."""
        return workspace.findChild(cls) or cls(workspace)

    # What can be looked at.

    def next_doubtful(self) -> None:
        """Look at the open decision that comes next in the queue; after the last, at the first again."""
        if self.engine is None:
            self._hint("There is nothing to decide yet. Prepare the data first.")
            return
        queue = self.queue()
        if not len(queue):
            self._hint(NOTHING_OPEN)
            return
        at = np.flatnonzero(queue == self.action)
        place = int(at[0]) + 1 if len(at) else 0
        self._leave_preview()
        self.inspect(int(queue[place % len(queue)]))

    def clear(self) -> None:
        """Drop the planned cut; without one, drop the selection. What was said goes too."""
        self.workspace.say("", "")
        if self.plan is not None:
            self.plan = None
            self.changed.emit()
        else:
            self.clicks = []
            self.workspace.select()

    # What can be done.

    def merge(self) -> None:
        """Join the two selected segments by their best action."""
        pair = self._pair("merge")
        if pair is not None:
            self._then = "grow"
            self.engine.merge(*pair)

    def keep_apart(self) -> None:
        """Forbid that the two selected segments become one."""
        pair = self._pair("keep apart")
        if pair is not None:
            self.engine.keep_apart(*pair)

    def accept(self) -> None:
        """Merge, and go on to the next doubtful decision."""
        pair = self._pair("accept")
        if pair is not None:
            self._then = "next"
            self.engine.merge(*pair)

    def reject(self) -> None:
        """Keep apart, and go on to the next doubtful decision."""
        pair = self._pair("reject")
        if pair is not None:
            self._then = "next"
            self.engine.keep_apart(*pair)

    def skip(self) -> None:
        """Put the decision at the end of the queue and go on."""
        if self._pair("skip") is None:
            return
        if self.action >= 0:
            self.all_actions.skip(self.action)
            self.action = -1
        self.next_doubtful()

    def undo(self) -> None:
        """Take the last decision back."""
        if self.engine is not None:
            self._leave_preview()
            self.engine.undo()

    def redo(self) -> None:
        """Do again what was taken back last: one decision, or all that a jump back took."""
        if self.engine is not None:
            self._leave_preview()
            self.engine.redo()

    def plan_cut(self) -> None:
        """Show what a cut would do: between two selected supervoxels, or to take a single one out."""
        selected = self.workspace.selected
        if self.engine is None or not selected:
            self._hint("Select a supervoxel to take out, or two of one segment to cut between them.")
        elif len(selected) == 1:
            self.engine.ask(lambda a: plan_taking_out(a, selected[0]), self._on_plan, key="cut")
        elif self.is_merged_directly:
            self.plan_cut_of(self.action)
        else:
            self.engine.ask(lambda a: plan_cut_between(a, *selected), self._on_plan, key="cut")

    def plan_cut_of(self, action: int) -> None:
        """Show what it would do to cut one past merge."""
        if self.engine is not None:
            self.engine.ask(lambda a: plan_cut_of_merge(a, action), self._on_plan, key="cut")

    def confirm(self) -> None:
        """Carry out the cut that is shown."""
        plan, self.plan = self.plan, None
        if plan is None or self.engine is None:
            return
        for pair in plan.cuts:
            self.engine.cut(*pair)
        for pair in plan.merges:
            self.engine.merge(*pair)
        self.changed.emit()

    # How it follows.

    def _pair(self, verb: str) -> tuple[int, int] | None:
        """Return the ids of the supervoxels to decide about, or say what to select."""
        self._leave_preview()
        selected = self.workspace.selected
        if self.engine is None or len(selected) < 2:
            self._hint(
                f"There is nothing to {verb}: click two segments, or press N for the next doubtful merge."
            )
            return None
        table, ids = self.engine.agglomerator.actions, self.engine.agglomerator.supervoxels.ids
        ends = (table.u[self.action], table.v[self.action]) if self.action >= 0 else selected
        return int(ids[ends[0]]), int(ids[ends[1]])

    def _leave_preview(self) -> None:
        """Show the present, which is what a decision is about."""
        if self.workspace.preview_step is not None:
            self.workspace.show_step(None)

    def _hint(self, sentence: str) -> None:
        self._hinted = sentence
        self.workspace.say(sentence, "warning")

    def _on_selection(self) -> None:
        """Look at what is selected; a hint what to select has had its time."""
        if self._hinted and self.workspace.problem[0] == self._hinted:
            self.workspace.say("", "")
        self._hinted = ""
        super()._on_selection()

    def _on_engine(self) -> None:
        """Follow another engine, or none."""
        self._then = ""
        if self.engine is not None:
            self.engine.failed.connect(self._on_failed)
        super()._on_engine()

    def _on_failed(self, sentence: str) -> None:
        self._then = ""

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Keep up with a run, and go on after a decision."""
        then = self._then if snapshot.last_command in ("merge", "keep apart") else ""
        if then:
            self._then = ""
        if then == "next":
            self.next_doubtful()
        elif then == "grow" and self.is_one_segment:
            # What was merged is one segment now: the next click adds to it.
            self.clicks = self.clicks[:1]
            self.workspace.select(self.workspace.selected[0])
        else:
            super()._on_advanced(snapshot)
