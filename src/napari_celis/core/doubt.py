"""Which decision to ask about next: the one nearest to the threshold that would move most voxels."""

from __future__ import annotations

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.decisions import ActionState, Candidates


def doubt(distance: np.ndarray, voxels: np.ndarray) -> np.ndarray:
    """Rate how much a look at each decision is worth; higher is more.

    Parameters
    ----------
    distance : ndarray of float, shape (n,)
        How far each score lies from the threshold.
    voxels : ndarray of int, shape (n,)
        Size of the smaller segment: what a wrong answer would put in the wrong place.

    Returns
    -------
    doubt : ndarray of float64, shape (n,)
        log2(1 + voxels) / (1 + distance / its median), so that neither scale matters.
    """
    distance = np.abs(distance)
    typical = float(np.median(distance)) if len(distance) else 0.0
    weight: np.ndarray = np.log2(1.0 + voxels)
    return weight / (1.0 + distance / typical) if typical > 0 else weight


def doubt_order(
    actions: ActionTable,
    candidates: Candidates,
    scores: np.ndarray,
    threshold: float,
    skipped: np.ndarray | None = None,
) -> np.ndarray:
    """List the open actions, the most doubtful first; each pair of segments once.

    It is listed by its best action, of equals by the one with the largest contact.

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
    is_open = np.flatnonzero(candidates.state == ActionState.OPEN)
    rows = is_open[np.lexsort((-actions.area[is_open], scores[is_open]))]
    keys, first = np.unique(_pair_keys(actions, candidates.root, rows), return_index=True)
    rows = rows[first]
    worth = doubt(scores[rows] - threshold, candidates.smaller[rows])
    if skipped is not None and len(skipped):
        turn = {int(key): place for place, key in enumerate(_pair_keys(actions, candidates.root, skipped))}
        for at in np.flatnonzero(np.isin(keys, list(turn))):
            worth[at] = -1.0 - turn[int(keys[at])]
    order: np.ndarray = rows[np.argsort(-worth, kind="stable")]
    return order


def _pair_keys(actions: ActionTable, root: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Number the pairs of segments that actions would join."""
    a, b = root[actions.u[rows]].astype(np.int64), root[actions.v[rows]].astype(np.int64)
    keys: np.ndarray = np.minimum(a, b) * len(root) + np.maximum(a, b)
    return keys
