"""The decision that the user looks at: two segments, or a cut, and what can be done with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.core.cuts import CutPlan, plan_cut_between, plan_cut_of_merge, plan_taking_out
from napari_celis.core.decisions import Candidates, best_between, segment_roots
from napari_celis.core.explain import CentreChanges
from napari_celis.core.places import Places
from napari_celis.gui.all_actions import AllActions
from napari_celis.gui.snapshot import Snapshot
from napari_celis.gui.workspace import Workspace

REFRESH_MS = 400
"""Time between two looks at a decision while a run goes on."""
ALREADY_DECIDED = "All open decisions have been looked at. Change the threshold, or run on."


class Deciding(QObject):
    """Follows the selection of a workspace and carries out what is decided about it.

    Parameters
    ----------
    workspace : Workspace
        Owns this object; `Deciding.of(workspace)` finds it.
    """

    changed = Signal()
    """The pair, its score, its parts or the planned cut is another one."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.workspace = workspace
        self.action = -1
        """Row of the action between the two selected segments, -1 if there is none."""
        self.parts: dict[str, float] = {}
        """Energy change of the action by descriptor spec."""
        self.centres: tuple[CentreChanges, ...] = ()
        """Energy change of the action by centre, if `wants_centres`."""
        self.plan: CutPlan | None = None
        """A cut that waits for confirmation."""
        self.places: Places | None = None
        self.wants_centres = True
        self.clicks: list[np.ndarray] = []
        """Where the selected supervoxels were clicked, in voxels."""
        self.all_actions: AllActions | None = None
        self._chosen = -1
        self._then = ""
        self._asked = (-1, 0.0)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._look_again)
        workspace.selection_changed.connect(self._on_selection)
        workspace.engine_changed.connect(self._on_engine)
        self._on_engine()

    @classmethod
    def of(cls, workspace: Workspace) -> Deciding:
        """Return the one of a workspace; the first call makes it."""
        return workspace.findChild(cls) or cls(workspace)

    # What is known.

    @property
    def engine(self) -> Any:
        """The engine of the workspace, or None."""
        return self.workspace.engine

    @property
    def snapshot(self) -> Snapshot | None:
        """The latest snapshot."""
        return None if self.engine is None else self.engine.snapshot

    @property
    def score(self) -> float | None:
        """Score of the action that is looked at; None where there is nothing left to decide."""
        is_decided = self.action < 0 or self.is_one_segment
        return None if is_decided else float(self.snapshot.scores[self.action])

    @property
    def is_one_segment(self) -> bool:
        """Whether two supervoxels of one segment are selected."""
        selected = self.workspace.selected
        return len(selected) == 2 and len({self.workspace.segment_of(sv) for sv in selected}) == 1

    @property
    def is_merged_directly(self) -> bool:
        """Whether the very action that is looked at was taken."""
        return self.action >= 0 and bool(self.snapshot.taken[self.action])

    def candidates(self) -> Candidates:
        """Describe all actions as of the latest snapshot."""
        return self.all_actions.candidates()

    def queue(self) -> np.ndarray:
        """List the open actions, the most doubtful first."""
        return self.all_actions.queue()

    def members(self, supervoxel: int) -> np.ndarray:
        """List the supervoxels of the segment that holds one."""
        ids = self.snapshot.segment_ids
        return np.flatnonzero(ids == ids[supervoxel])

    # What can be looked at.

    def inspect(self, action: int, *, flies: bool = True) -> None:
        """Look at one action: select its ends and go to its contact."""
        if self.engine is None or not 0 <= action < len(self.engine.agglomerator.actions):
            return
        table = self.engine.agglomerator.actions
        ends = int(table.u[action]), int(table.v[action])
        self._chosen, self.clicks = action, []
        if self.workspace.selected == ends:
            self._on_selection()
        else:
            self.workspace.select(*ends)
        if flies:
            self.workspace.fly_to((table.centroid if self.places is None else self.places.contact)[action])

    def next_doubtful(self) -> None:
        """Look at the open decision that comes next in the queue."""
        if self.engine is None:
            self._hint("There is nothing to decide yet. Prepare the data first.")
            return
        queue = self.queue()
        at = np.flatnonzero(queue == self.action)
        place = int(at[0]) + 1 if len(at) else 0
        if place >= len(queue):
            self._hint(ALREADY_DECIDED)
            return
        self.inspect(int(queue[place]))

    def clear(self) -> None:
        """Drop the planned cut; without one, drop the selection."""
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
        if self.engine is not None and self.action >= 0:
            self.all_actions.skip(self.action)
            self.action = -1
        self.next_doubtful()

    def undo(self) -> None:
        """Take the last decision back."""
        if self.engine is not None:
            self.engine.undo()

    def redo(self) -> None:
        """Do the decision again that was taken back last."""
        if self.engine is not None:
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
        selected = self.workspace.selected
        if self.engine is None or len(selected) < 2:
            self._hint(f"There is nothing to {verb}: click two segments, or press N for the next decision.")
            return None
        table, ids = self.engine.agglomerator.actions, self.engine.agglomerator.supervoxels.ids
        ends = (table.u[self.action], table.v[self.action]) if self.action >= 0 else selected
        return int(ids[ends[0]]), int(ids[ends[1]])

    def _hint(self, sentence: str) -> None:
        self.workspace.say(sentence, "warning")

    def _on_engine(self) -> None:
        """Follow another engine, or none."""
        self.places, self.plan, self.clicks, self._chosen, self._then = None, None, [], -1, ""
        engine = self.engine
        self.all_actions = None if engine is None else AllActions(engine)
        if engine is not None:
            engine.advanced.connect(self._on_advanced)
            engine.failed.connect(self._on_failed)
            engine.threshold_changed.connect(lambda value: self.changed.emit())
            engine.ask(lambda a: Places.of(a.supervoxels, a.actions), self._on_places, key="places")
        self._on_selection()

    def _on_places(self, places: Places) -> None:
        self.places = places
        self.changed.emit()

    def _on_selection(self) -> None:
        """Find the action between the two selected segments."""
        self.plan, self.action = None, -1
        selected = self.workspace.selected
        if self.engine is not None and len(selected) == 2:
            self.action = self._action_between(*selected)
        self._chosen = -1
        self.parts, self.centres = {}, ()
        self._look()

    def _action_between(self, a: int, b: int) -> int:
        """Return the action to look at: the one that was chosen, the merge that was made, or the best."""
        table, snapshot = self.engine.agglomerator.actions, self.snapshot
        if self._chosen >= 0 and (a, b) == (table.u[self._chosen], table.v[self._chosen]):
            return self._chosen
        if self.is_one_segment:
            direct = table.find(a, b)
            return direct if direct >= 0 and snapshot.taken[direct] else -1
        root = segment_roots(self.workspace.supervoxels, snapshot.segment_ids)
        near = np.mean(self.clicks, axis=0) if self.clicks else None
        return best_between(table, root, snapshot.scores, a, b, near)

    def _look(self) -> None:
        """Ask the engine about the action, and show what is known meanwhile."""
        action = self.action
        if action >= 0 and self.engine is not None:
            self._asked = (action, float(self.snapshot.scores[action]))
            self.engine.ask(
                lambda a: a.scores_by_spec(action), lambda parts: self._on_parts(action, parts), key="parts"
            )
            if self.wants_centres:
                self.engine.ask(
                    lambda a: a.scores_by_centre(action),
                    lambda centres: self._on_centres(action, centres),
                    key="centres",
                )
        self.changed.emit()

    def _look_again(self) -> None:
        """Follow the action, but do not hold up a run: what each centre says takes longer than a step."""
        snapshot = self.snapshot
        if snapshot is None:
            return
        is_same = self.action < 0 or self._asked == (self.action, float(snapshot.scores[self.action]))
        if is_same or snapshot.is_running:
            self.changed.emit()
        else:
            self._look()

    def show_centres(self, is_wanted: bool) -> None:
        """Ask for the energy change by centre from now on, or no more."""
        self.wants_centres, self.centres = is_wanted, ()
        self._look()

    def _on_parts(self, action: int, parts: dict[str, float]) -> None:
        if action == self.action:
            self.parts = parts
            self.changed.emit()

    def _on_centres(self, action: int, centres: tuple[CentreChanges, ...]) -> None:
        if action == self.action and self.wants_centres:
            self.centres = centres
            self.changed.emit()

    def _on_plan(self, plan: CutPlan) -> None:
        self.plan = plan
        self.changed.emit()

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
        elif (self.workspace.selected or self.plan is not None) and not self._timer.isActive():
            self._timer.start()
