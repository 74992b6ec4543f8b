"""What the user looks at: two selected segments, the action between them, and what is known about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.core.cuts import CutPlan
from napari_celis.core.decisions import Candidates, best_between, segment_roots
from napari_celis.core.explain import CentreChanges
from napari_celis.gui.session.all_actions import AllActions
from napari_celis.gui.session.geometry import Places
from napari_celis.gui.session.snapshot import Snapshot
from napari_celis.gui.session.workspace import Workspace

REFRESH_MS = 400
"""Time between two looks at a decision while a run goes on."""


class Looking(QObject):
    """Follows the selection of a workspace, and asks the engine about it.

    Parameters
    ----------
    workspace : Workspace
        Owns this object.
    """

    changed = Signal()
    """The pair, its score, its parts or the planned cut is another one."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.workspace = workspace
        self.action = -1
        """Row of the action between the two selected segments, -1 if there is none."""
        self.parts: dict[str, float] = {}
        """What the score of the action consists of."""
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
        self._asked = (-1, 0.0)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._look_again)
        workspace.selection_changed.connect(self._on_selection)
        workspace.engine_changed.connect(self._on_engine)
        self._on_engine()

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
    def is_kept_apart(self) -> bool:
        """Whether a decision keeps the two selected segments apart."""
        workspace = self.workspace
        if self.engine is None or len(workspace.selected) < 2:
            return False
        pair = {workspace.segment_of(supervoxel) for supervoxel in workspace.selected}
        find = workspace.supervoxels.index_of
        return any(
            {workspace.segment_of(find(end)) for end in ends} == pair for ends in self.snapshot.constraints
        )

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

    # How it follows.

    def _on_engine(self) -> None:
        """Follow another engine, or none."""
        self.places, self.plan, self.clicks, self._chosen = None, None, [], -1
        engine = self.engine
        self.all_actions = None if engine is None else AllActions(engine)
        if engine is not None:
            engine.advanced.connect(self._on_advanced)
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
                lambda a: a.score_parts(action), lambda parts: self._on_parts(action, parts), key="parts"
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

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Keep up with a run."""
        if (self.workspace.selected or self.plan is not None) and not self._timer.isActive():
            self._timer.start()
