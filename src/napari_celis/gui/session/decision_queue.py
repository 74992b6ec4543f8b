"""The open decisions of a run, the most uncertain first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from napari_celis.core.decisions import Candidates, list_candidates
from napari_celis.core.uncertainty import uncertainty_order
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.engine.tables import RunTables


@dataclass(frozen=True)
class QueueState:
    """All that the queue depends on; snapshots are compared by identity."""

    snapshot: Snapshot
    threshold: float
    skipped: tuple[int, ...]


class DecisionQueue:
    """Describes all actions of an engine's newest snapshot and orders the open ones, once per snapshot.

    Parameters
    ----------
    engine : Engine
        Its snapshots are described.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.skipped: list[int] = []
        """Actions that were passed over; their pairs come last in the queue."""
        self._candidates: tuple[Snapshot, Candidates] | None = None
        self._order: tuple[QueueState, np.ndarray] | None = None

    def candidates(self) -> Candidates:
        """Describe all actions."""
        snapshot = self._engine.snapshot
        if self._candidates is None or self._candidates[0] is not snapshot:
            self._candidates = (snapshot, describe(self._engine.tables, snapshot))
        return self._candidates[1]

    def order(self) -> np.ndarray:
        """List the open actions, the most uncertain first."""
        state = self._state()
        if self._order is None or self._order[0] != state:
            self._order = (state, order_of(self._engine.tables, self.candidates(), state))
        return self._order[1]

    def skip(self, action: int) -> None:
        """Put an action at the end of the queue."""
        self.skipped = [other for other in self.skipped if other != action] + [action]

    def compute_ahead(self, on_ready: Callable[[], object]) -> None:
        """Compute both in the engine's thread, then call `on_ready`; they stay until the next snapshot."""
        state, tables = self._state(), self._engine.tables

        def compute(_: object) -> tuple[Candidates, np.ndarray]:
            candidates = describe(tables, state.snapshot)
            return candidates, order_of(tables, candidates, state)

        def keep(result: tuple[Candidates, np.ndarray]) -> None:
            if state == self._state():
                self._candidates, self._order = (state.snapshot, result[0]), (state, result[1])
            on_ready()

        self._engine.ask(compute, keep, key="decision queue")

    def _state(self) -> QueueState:
        return QueueState(self._engine.snapshot, self._engine.threshold, tuple(self.skipped))


def describe(tables: RunTables, snapshot: Snapshot) -> Candidates:
    """Describe all actions as of a snapshot.

    Parameters
    ----------
    tables : RunTables
        The actions.
    snapshot : Snapshot
        The state of the run.
    """
    return list_candidates(
        tables.supervoxels,
        tables.actions,
        snapshot.segment_ids,
        snapshot.taken,
        snapshot.available,
        snapshot.contacts,
        snapshot.constraints,
    )


def order_of(tables: RunTables, candidates: Candidates, state: QueueState) -> np.ndarray:
    """List the open actions of a snapshot, the most uncertain first.

    Parameters
    ----------
    tables : RunTables
        The actions.
    candidates : Candidates
        Their description as of the snapshot.
    state : QueueState
        Snapshot, threshold and skipped actions.

    Returns
    -------
    order : ndarray of int64
        Rows of the action table.
    """
    late = np.array(state.skipped, dtype=np.int64)
    return uncertainty_order(tables.actions, candidates, state.snapshot.scores, state.threshold, late)
