"""Candidate actions: which merges are open, done or forbidden, and between which segments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.constraints import SegmentPairs
from napari_celis.core.kernels import decisions as kernels
from napari_celis.core.supervoxels import Supervoxels


class ActionState(IntEnum):
    """What has become of an action."""

    OPEN = 0
    """Greedy may take it."""
    MERGED = 1
    """Its two ends are in one segment."""
    KEPT_APART = 2
    """Another decision forbids to join the segments of its ends."""
    REJECTED = 3
    """These very supervoxels are kept apart."""
    UNSEEN = 4
    """No descriptor sees it, so it has no score."""
    DONE = 5
    """One of the two segments of its ends is done."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """All actions of a volume at one moment."""

    root: np.ndarray
    """Segment of every supervoxel as the dense index of one of its own, int64 (N + 1,)."""
    voxels: np.ndarray
    """Voxels of every segment, by its root, int64 (N + 1,)."""
    smaller: np.ndarray
    """Voxels of the smaller of the two segments, int64 (A,)."""
    larger: np.ndarray
    """Voxels of the larger one, int64 (A,)."""
    state: np.ndarray
    """An `ActionState` each, uint8 (A,)."""
    contact: np.ndarray
    """Contact that each action belongs to, int32 (A,)."""


def segment_roots(supervoxels: Supervoxels, segment_ids: np.ndarray) -> np.ndarray:
    """Turn segment ids into dense indices: a segment has the id of one of its supervoxels.

    Parameters
    ----------
    supervoxels : Supervoxels
        The supervoxels.
    segment_ids : ndarray
        Id of the segment of every supervoxel.
    """
    roots: np.ndarray = np.searchsorted(supervoxels.ids, segment_ids)
    return roots


def list_candidates(
    supervoxels: Supervoxels,
    actions: ActionTable,
    segment_ids: np.ndarray,
    taken: np.ndarray,
    available: np.ndarray,
    contact: np.ndarray,
    kept_apart: Iterable[tuple[int, int]] = (),
    is_done: np.ndarray | None = None,
) -> Candidates:
    """Describe every action.

    Parameters
    ----------
    supervoxels, actions
        The problem.
    segment_ids : ndarray of uint64, shape (N + 1,)
        Segment of every supervoxel.
    taken, available : ndarray of bool, shape (A,)
        As the agglomerator tells.
    contact : ndarray of int32, shape (A,)
        From `Agglomerator.contacts`.
    kept_apart : iterable of pairs of int
        Ids of supervoxels of this volume.
    is_done : ndarray of bool, shape (N + 1,), optional
        From `Agglomerator.is_done`.
    """
    root = segment_roots(supervoxels, segment_ids)
    voxels = np.bincount(root, weights=supervoxels.sizes, minlength=supervoxels.n + 1).astype(np.int64)
    smaller, larger = np.empty((2, len(actions)), dtype=np.int64)
    state = np.empty(len(actions), dtype=np.uint8)
    kernels.describe(actions.u, actions.v, root, voxels, taken, available, smaller, larger, state)
    if is_done is not None and is_done.any():
        is_left = state != ActionState.MERGED
        state[is_left & (is_done[actions.u] | is_done[actions.v])] = ActionState.DONE
    ids = np.array(list(kept_apart), dtype=np.uint64).reshape(-1, 2)
    pairs = np.searchsorted(supervoxels.ids, ids)
    if len(pairs):
        is_left = state != ActionState.MERGED
        forbidden = SegmentPairs(root[pairs].astype(np.int64))
        ends = np.stack([root[actions.u], root[actions.v]], axis=1)
        state[is_left & forbidden.forbid(ends)] = ActionState.KEPT_APART
        rejected = np.array([actions.find(u, v) for u, v in pairs.tolist()])
        rejected = rejected[rejected >= 0]
        state[rejected[is_left[rejected]]] = ActionState.REJECTED
    return Candidates(root, voxels, smaller, larger, state, contact)


def actions_between(actions: ActionTable, root: np.ndarray, a: int, b: int) -> np.ndarray:
    """List the actions between the segments of two supervoxels, given by dense index.

    Parameters
    ----------
    actions : ActionTable
        The table of actions.
    root : ndarray
        Segment of every supervoxel.
    a, b : int
        Dense indices of two supervoxels.
    """
    wanted_a, wanted_b = root[a], root[b]
    if wanted_a == wanted_b:
        return np.empty(0, dtype=np.int64)
    ends_u, ends_v = root[actions.u], root[actions.v]
    is_between = ((ends_u == wanted_a) & (ends_v == wanted_b)) | ((ends_u == wanted_b) & (ends_v == wanted_a))
    return np.flatnonzero(is_between)


def best_between(
    actions: ActionTable,
    root: np.ndarray,
    scores: np.ndarray,
    a: int,
    b: int,
    near: np.ndarray | None = None,
) -> int:
    """Return the action with the lowest score between the segments of two supervoxels; -1 if none touch.

    Parameters
    ----------
    near : ndarray of float, shape (3,), optional
        Of equal scores, the action whose contact lies nearest to this position in voxels.
    """
    found = actions_between(actions, root, a, b)
    if not len(found):
        return -1
    best = found[scores[found] == scores[found].min()]
    if near is not None:
        best = best[np.argsort(np.linalg.norm(actions.centroid[best] - near, axis=1), kind="stable")]
    return int(best[0])
