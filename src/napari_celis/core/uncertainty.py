"""Order decisions by uncertainty: near the threshold, and many voxels at stake."""

from __future__ import annotations

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.decisions import Candidates
from napari_celis.core.kernels import decisions as kernels

TYPICAL = 50_000
"""Distances that say what is typical."""
ORDERED = 10_000
"""How far the queue is in order."""


def uncertainty(distance: np.ndarray, voxels: np.ndarray) -> np.ndarray:
    """Rate how much a look at each decision is worth; higher is more.

    Parameters
    ----------
    distance : ndarray of float, shape (n,)
        How far each score lies from the threshold.
    voxels : ndarray of int, shape (n,)
        Size of the smaller segment: what a wrong answer would put into the wrong segment.

    Returns
    -------
    uncertainty : ndarray of float64, shape (n,)
        log2(1 + voxels) / (1 + distance / its median), so that neither scale matters. Of very many, only
        every n-th counts for the median.
    """
    distance = np.abs(distance)
    typical = float(np.median(distance[:: 1 + len(distance) // TYPICAL])) if len(distance) else 0.0
    weight: np.ndarray = np.log2(1.0 + voxels)
    return weight / (1.0 + distance / typical) if typical > 0 else weight


def uncertainty_order(
    actions: ActionTable,
    candidates: Candidates,
    scores: np.ndarray,
    threshold: float,
    skipped: np.ndarray | None = None,
) -> np.ndarray:
    """List the open actions, the most uncertain first; each contact of two segments once.

    It is listed by its best action, of equals by the one with the largest area. Only the first `ORDERED` are
    sorted, because nobody looks at more; the others follow in the order of the actions.

    Parameters
    ----------
    scores : ndarray of float64, shape (A,)
        Energy changes.
    threshold : float
        Where greedy stops.
    skipped : ndarray of int, optional
        Actions that were passed over: their pairs of segments come last, in this order.

    Returns
    -------
    order : ndarray of int64
        Rows of the action table.
    """
    best = np.full(len(actions), -1, dtype=np.int32)
    kernels.stand_for_contacts(candidates.contact, candidates.state, scores, actions.area, best)
    contacts = np.flatnonzero(best >= 0)
    rows = best[contacts].astype(np.int64)
    worth = uncertainty(scores[rows] - threshold, candidates.smaller[rows])
    if skipped is not None and len(skipped):
        rank = {int(contact): rank for rank, contact in enumerate(candidates.contact[skipped])}
        for at in np.flatnonzero(np.isin(contacts, list(rank))):
            worth[at] = -1.0 - rank[int(contacts[at])]
    order: np.ndarray = rows[_first_in_order(-worth)]
    return order


def _first_in_order(keys: np.ndarray) -> np.ndarray:
    """Sort the lowest `ORDERED` keys, stably, and let the others follow; passed-over ones stay last."""
    if len(keys) <= ORDERED:
        return np.argsort(keys, kind="stable")
    limit = np.partition(keys, ORDERED)[ORDERED]
    is_first, is_last = keys < limit, keys > 0
    first, last = np.flatnonzero(is_first), np.flatnonzero(is_last)
    return np.concatenate(
        [
            first[np.argsort(keys[first], kind="stable")],
            np.flatnonzero(~is_first & ~is_last),
            last[np.argsort(keys[last], kind="stable")],
        ]
    )
