"""The two sides of a question: two segments, or the two parts that a past merge joined."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from napari_celis.core.actions import ActionTable
from napari_celis.gui.session.evidence.sections import FIRST, SECOND


def sides_of(actions: ActionTable, segment_ids: np.ndarray, taken: np.ndarray, action: int) -> np.ndarray:
    """Tell who stands on which side of an action, int8 (N + 1,): 1, 2, or 0 for all others.

    Parameters
    ----------
    actions : ActionTable
        The table of actions.
    segment_ids : ndarray, shape (N + 1,)
        Segment of every supervoxel.
    taken : ndarray of bool, shape (A,)
        Merges that were made.
    action : int
        The action that is asked about. Where its ends are one segment already, the sides are what the other
        merges hold together.
    """
    u, v = int(actions.u[action]), int(actions.v[action])
    sides = np.zeros(len(segment_ids), dtype=np.int8)
    if segment_ids[u] != segment_ids[v]:
        sides[segment_ids == segment_ids[u]] = FIRST
        sides[segment_ids == segment_ids[v]] = SECOND
        return sides
    members = np.flatnonzero(segment_ids == segment_ids[u])
    place = np.full(len(segment_ids), -1)
    place[members] = np.arange(len(members))
    others = np.flatnonzero(taken & (place[actions.u] >= 0))
    others = others[others != action]
    ends = place[actions.u[others]], place[actions.v[others]]
    graph = coo_array((np.ones(len(others), dtype=np.int8), ends), shape=(len(members),) * 2)
    _, part = connected_components(graph, directed=False)
    sides[members[part == part[place[u]]]] = FIRST
    is_second = part == part[place[v]]
    # Held together by other merges too: only the two supervoxels themselves can be told apart.
    sides[members[is_second] if part[place[u]] != part[place[v]] else v] = SECOND
    return sides
