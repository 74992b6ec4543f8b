"""The inspected decision: two selected segments, the action between them, and its score."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.core.decisions import best_between, segment_roots
from napari_celis.core.explain import CentreChanges
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.geometry import RunGeometry
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.selection import Selection
from napari_celis.gui.session.standing import Standing, kept_apart_by, standing_of

REFRESH_MS = 400
"""Time between two looks at a decision while a run goes on."""


class InspectedPair(QObject):
    """Follows the selection, and asks the engine about the two selected segments.

    Parameters
    ----------
    run : Run
        Whose engine is asked.
    selection : Selection
        The two supervoxels.
    """

    changed = Signal()
    """The pair, its score or its parts are others."""

    def __init__(self, run: Run, selection: Selection, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run, self._selection = run, selection
        self.action = -1
        """Row of the action between the two selected segments, -1 if there is none."""
        self.parts: dict[str, float] = {}
        """What the score of the action consists of."""
        self.centres: tuple[CentreChanges, ...] = ()
        """Energy change of the action by centre, if `wants_centres`."""
        self.wants_centres = False
        self.geometry: RunGeometry | None = None
        """Where contacts and supervoxels lie; None until it was computed."""
        self._chosen = -1
        self._asked = (-1, 0.0)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._refresh)
        selection.changed.connect(self._on_selection)
        run.changed.connect(self._on_run)
        run.advanced.connect(self._on_advanced)
        run.threshold_changed.connect(lambda value: self.changed.emit())

    # What is known.

    @property
    def score(self) -> float | None:
        """Score of the action; None where there is nothing left to decide."""
        snapshot = self._run.snapshot
        is_decided = self.action < 0 or self.is_one_segment
        return None if is_decided or snapshot is None else float(snapshot.scores[self.action])

    @property
    def is_one_segment(self) -> bool:
        """Whether two supervoxels of one segment are selected."""
        return len(self._selection.supervoxels) == 2 and len(self._segments()) == 1

    @property
    def is_kept_apart(self) -> bool:
        """Whether a decision keeps the two selected segments apart."""
        return self.apart_by is not None

    @property
    def apart_by(self) -> tuple[int, int] | None:
        """Ids of the supervoxels whose decision keeps the two selected segments apart; None if none does."""
        engine, selected = self._run.engine, self._selection.supervoxels
        if engine is None or len(selected) < 2:
            return None
        first, second = selected
        return kept_apart_by(engine.tables, engine.snapshot, first, second)

    @property
    def standing(self) -> Standing | None:
        """How the two selected segments stand to each other; None unless two are selected."""
        engine, selected = self._run.engine, self._selection.supervoxels
        if engine is None or len(selected) < 2:
            return None
        first, second = selected
        return standing_of(engine.tables, engine.snapshot, first, second, self.action)

    @property
    def done_segments(self) -> list[int]:
        """Ids of the selected segments that are done."""
        snapshot, selected = self._run.snapshot, self._selection.supervoxels
        done = [] if snapshot is None else [one for one in selected if snapshot.is_done[one]]
        return list(dict.fromkeys(self._run.segment_of(one) for one in done))

    @property
    def is_merged_directly(self) -> bool:
        """Whether the inspected action itself was taken."""
        snapshot = self._run.snapshot
        return self.action >= 0 and snapshot is not None and bool(snapshot.taken[self.action])

    def members(self, supervoxel: int) -> np.ndarray:
        """List the supervoxels of the segment that holds one."""
        snapshot = self._run.snapshot
        if snapshot is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(snapshot.segment_ids == snapshot.segment_ids[supervoxel])

    def ids(self) -> tuple[int, int] | None:
        """Return the ids of the supervoxels to decide about: those of the action, or the selected ones."""
        engine, selected = self._run.engine, self._selection.supervoxels
        if engine is None or len(selected) < 2:
            return None
        if self.action >= 0:
            return engine.tables.ids_of(self.action)
        ids = engine.tables.supervoxels.ids
        return int(ids[selected[0]]), int(ids[selected[1]])

    def position_of(self, action: int) -> np.ndarray | None:
        """Return where the contact of an action lies, in voxels."""
        engine = self._run.engine
        if engine is None or not 0 <= action < len(engine.tables.actions):
            return None
        contacts = engine.tables.actions.centroid if self.geometry is None else self.geometry.contact
        position: np.ndarray = contacts[action]
        return position

    # What can be asked for.

    def inspect(self, action: int) -> None:
        """Look at one action: select its ends."""
        engine = self._run.engine
        if engine is None or not 0 <= action < len(engine.tables.actions):
            return
        table = engine.tables.actions
        ends = int(table.u[action]), int(table.v[action])
        is_same = self._selection.supervoxels == ends
        self._chosen = action
        self._selection.select(*ends)
        if is_same:
            self._on_selection()

    def show_centres(self, is_wanted: bool) -> None:
        """Ask for the energy change by centre from now on, or no more."""
        self.wants_centres, self.centres = is_wanted, ()
        self._ask()

    def refresh_soon(self) -> None:
        """Look again after a while."""
        if not self._timer.isActive():
            self._timer.start()

    # How it follows.

    def _segments(self) -> set[int]:
        return {self._run.segment_of(supervoxel) for supervoxel in self._selection.supervoxels}

    def _on_run(self) -> None:
        """Follow another engine, or none."""
        self.geometry, self._chosen = None, -1
        engine = self._run.engine
        if engine is not None:
            tables = engine.tables
            engine.ask(
                lambda _: RunGeometry.of(tables.supervoxels, tables.actions),
                self._on_geometry,
                key="geometry",
            )
        self._on_selection()

    def _on_geometry(self, geometry: RunGeometry) -> None:
        self.geometry = geometry
        self.changed.emit()

    def _on_selection(self) -> None:
        """Find the action between the two selected segments."""
        self.action = self._find_action()
        self._chosen = -1
        self.parts, self.centres = {}, ()
        self._ask()

    def _find_action(self) -> int:
        """Return the action to look at: the one that was chosen, the merge that was made, or the best."""
        engine, selection = self._run.engine, self._selection
        if engine is None or len(selection.supervoxels) < 2:
            return -1
        (a, b), table, snapshot = selection.supervoxels, engine.tables.actions, engine.snapshot
        if self._chosen >= 0 and (a, b) == (table.u[self._chosen], table.v[self._chosen]):
            return self._chosen
        if self.is_one_segment:
            direct = table.find(a, b)
            return direct if direct >= 0 and snapshot.taken[direct] else -1
        root = segment_roots(engine.tables.supervoxels, snapshot.segment_ids)
        near = np.mean(selection.clicks, axis=0) if selection.clicks else None
        return best_between(table, root, snapshot.scores, a, b, near)

    def _ask(self) -> None:
        """Ask the engine about the action, and show what is known meanwhile."""
        action, engine = self.action, self._run.engine
        if action >= 0 and engine is not None:
            self._asked = (action, float(engine.snapshot.scores[action]))
            engine.ask(
                lambda a: a.scoring.parts(action), lambda parts: self._on_parts(action, parts), key="parts"
            )
            if self.wants_centres:
                engine.ask(
                    lambda a: a.scoring.by_centre(action),
                    lambda centres: self._on_centres(action, centres),
                    key="centres",
                )
        self.changed.emit()

    def _refresh(self) -> None:
        """Follow the action, but do not hold up a run: what each centre says takes longer than a step."""
        snapshot = self._run.snapshot
        if snapshot is None:
            return
        is_same = self.action < 0 or self._asked == (self.action, float(snapshot.scores[self.action]))
        if is_same or snapshot.is_running:
            self.changed.emit()
        else:
            self._ask()

    def _on_parts(self, action: int, parts: dict[str, float]) -> None:
        if action == self.action:
            self.parts = parts
            self.changed.emit()

    def _on_centres(self, action: int, centres: tuple[CentreChanges, ...]) -> None:
        if action == self.action and self.wants_centres:
            self.centres = centres
            self.changed.emit()

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Keep up with a run."""
        if self._selection.supervoxels:
            self.refresh_soon()
