"""All segments at one moment: their sizes, states, and how often somebody or greedy decided about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from napari_celis.core.decisions import segment_roots
from napari_celis.core.journal import Step
from napari_celis.core.supervoxels import Supervoxels


class SegmentState(IntEnum):
    """How far the work on a segment is."""

    UNTOUCHED = 0
    """No decision by hand about it stands."""
    IN_WORK = 1
    """One stands."""
    DONE = 2
    """Somebody said so: no merge and no cut changes it."""


STATE_NAMES = {
    SegmentState.UNTOUCHED: "untouched",
    SegmentState.IN_WORK: "in work",
    SegmentState.DONE: "done",
}


class DecidedEnds:
    """The ends of the decisions that stand, as arrays; following a history costs what is new in it.

    Parameters
    ----------
    supervoxels : Supervoxels
        The volume that they are about.
    """

    def __init__(self, supervoxels: Supervoxels) -> None:
        self._supervoxels = supervoxels
        self._steps: list[Step] = []
        self._ends = np.empty((0, 2), dtype=np.int64)
        self._is_by_hand = np.empty(0, dtype=bool)

    @property
    def ends(self) -> np.ndarray:
        """Dense indices of the two supervoxels of each, int64 (n, 2)."""
        return self._ends[: len(self._steps)]

    @property
    def is_by_hand(self) -> np.ndarray:
        """Whether a person decided, bool (n,)."""
        return self._is_by_hand[: len(self._steps)]

    def follow(self, steps: Sequence[Step]) -> None:
        """Follow a history that grew, or of which the newest decisions were taken back."""
        n_same = min(len(steps), len(self._steps))
        # A decision that is made again is another object, and those before it stand for as long as it does.
        while n_same and steps[n_same - 1] is not self._steps[n_same - 1]:
            n_same -= 1
        new = steps[n_same:]
        self._steps[n_same:] = new
        self._make_room(n_same)
        ids = np.array([(step.u_id, step.v_id) for step in new], dtype=np.uint64).reshape(-1, 2)
        self._ends[n_same : len(steps)] = np.searchsorted(self._supervoxels.ids, ids)
        self._is_by_hand[n_same : len(steps)] = [step.kind != "greedy" for step in new]

    def _make_room(self, n_same: int) -> None:
        n_wanted = len(self._steps)
        if n_wanted > len(self._ends):
            ends, is_by_hand = np.empty((2 * n_wanted, 2), dtype=np.int64), np.empty(2 * n_wanted, dtype=bool)
            ends[:n_same], is_by_hand[:n_same] = self._ends[:n_same], self._is_by_hand[:n_same]
            self._ends, self._is_by_hand = ends, is_by_hand


@dataclass(frozen=True, eq=False)
class SegmentList:
    """Segments as arrays, one entry each, in the order of their ids."""

    index: np.ndarray
    """The supervoxel that names it, by dense index, int64 (S,)."""
    id: np.ndarray
    """uint64 (S,)"""
    voxels: np.ndarray
    """int64 (S,)"""
    state: np.ndarray
    """A `SegmentState` each, uint8 (S,)."""
    n_decisions: np.ndarray
    """Decisions that stand about one of its supervoxels, int64 (S,)."""
    n_by_hand: np.ndarray
    """Those of them that a person made, int64 (S,)."""
    row_of: np.ndarray
    """Row of the segment of every supervoxel, -1 for the background, int64 (N + 1,)."""

    def __len__(self) -> int:
        return len(self.id)


def list_segments(
    supervoxels: Supervoxels, segment_ids: np.ndarray, is_done: np.ndarray, decided: DecidedEnds
) -> SegmentList:
    """List all segments.

    Parameters
    ----------
    supervoxels : Supervoxels
        The volume.
    segment_ids : ndarray of uint64, shape (N + 1,)
        Segment of every supervoxel.
    is_done : ndarray of bool, shape (N + 1,)
        From `Agglomerator.is_done`.
    decided : DecidedEnds
        The decisions that stand.
    """
    roots, width = segment_roots(supervoxels, segment_ids), supervoxels.n + 1
    voxels = np.bincount(roots, weights=supervoxels.sizes, minlength=width).astype(np.int64)
    voxels[0] = 0
    index = np.flatnonzero(voxels)
    row_of_root = np.full(width, -1, dtype=np.int64)
    row_of_root[index] = np.arange(len(index))
    row_of = row_of_root[roots]
    rows = row_of[decided.ends]
    # A decision inside one segment counts once.
    rows[rows[:, 0] == rows[:, 1], 1] = -1
    n_decisions = _count(rows, len(index))
    n_by_hand = _count(rows[decided.is_by_hand], len(index))
    state = np.where(n_by_hand > 0, SegmentState.IN_WORK, SegmentState.UNTOUCHED).astype(np.uint8)
    state[is_done[index]] = SegmentState.DONE
    return SegmentList(index, supervoxels.ids[index], voxels[index], state, n_decisions, n_by_hand, row_of)


def _count(rows: np.ndarray, n_segments: int) -> np.ndarray:
    """Count how often each row occurs; -1 is none."""
    return np.bincount(rows.reshape(-1) + 1, minlength=n_segments + 1)[1:]
