"""All actions of a volume as of the latest snapshot: described and ordered once, used everywhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.decisions import Candidates, list_candidates
from napari_celis.core.uncertainty import uncertainty_order
from napari_celis.gui.engine import Engine
from napari_celis.gui.snapshot import Snapshot

QueueKey = tuple[Snapshot, float, tuple[int, ...]]
"""All that the queue depends on: snapshot, threshold, skipped actions."""


class AllActions:
    """Remembers what was computed for the latest snapshot of an engine.

    Parameters
    ----------
    engine : Engine
        Its snapshots are described.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.skipped: list[int] = []
        """Actions that were passed over; their pairs come last in the queue."""
        self._candidates: tuple[Snapshot | None, Candidates | None] = (None, None)
        self._queue: tuple[QueueKey | None, np.ndarray] = (None, np.empty(0, dtype=np.int64))

    def candidates(self) -> Candidates:
        """Describe all actions."""
        snapshot = self.engine.snapshot
        if self._candidates[0] is not snapshot:
            self._candidates = (snapshot, describe(self.engine.agglomerator, snapshot))
        return self._candidates[1]

    def queue(self) -> np.ndarray:
        """List the open actions, the most doubtful first."""
        key = self._key()
        if self._queue[0] != key:
            self._queue = (key, order_of(self.engine.agglomerator, self.candidates(), key))
        return self._queue[1]

    def skip(self, action: int) -> None:
        """Put an action at the end of the queue."""
        self.skipped = [other for other in self.skipped if other != action] + [action]

    def look_ahead(self, answer: Callable[[], object]) -> None:
        """Compute both in the engine's thread, then call `answer`; until the next snapshot they are free."""
        key = self._key()

        def compute(agglomerator: Agglomerator) -> tuple[Candidates, np.ndarray]:
            candidates = describe(agglomerator, key[0])
            return candidates, order_of(agglomerator, candidates, key)

        def keep(result: tuple[Candidates, np.ndarray]) -> None:
            if key == self._key():
                self._candidates, self._queue = (key[0], result[0]), (key, result[1])
            answer()

        self.engine.ask(compute, keep, key="all actions")

    def _key(self) -> QueueKey:
        return self.engine.snapshot, self.engine.threshold, tuple(self.skipped)


def describe(agglomerator: Agglomerator, snapshot: Snapshot) -> Candidates:
    """Describe all actions as of a snapshot."""
    return list_candidates(
        agglomerator.supervoxels,
        agglomerator.actions,
        snapshot.segment_ids,
        snapshot.taken,
        snapshot.available,
        snapshot.contacts,
        snapshot.constraints,
    )


def order_of(agglomerator: Agglomerator, candidates: Candidates, key: QueueKey) -> np.ndarray:
    """List the open actions of a snapshot, the most doubtful first."""
    snapshot, threshold, skipped = key
    late = np.array(skipped, dtype=np.int64)
    return uncertainty_order(agglomerator.actions, candidates, snapshot.scores, threshold, late)
