"""Cut one segment in two between any number of seeds: the weakest cut of its contacts that parts them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contacts import BIN_EDGES, HISTOGRAM, measure_contacts
from napari_celis.core.cuts import CutPlan, Pair
from napari_celis.core.errors import ActionError
from napari_celis.core.merge_forest import MergeForest
from napari_celis.core.segments import join_all, spanning_forest
from napari_celis.core.supervoxels import Supervoxels

MOST_FLOW = 2**31 - 1
"""Flows are counted in 32 bits; strengths whose sum is above this are divided by a power of two."""
FACE = 100
"""Strength of a face whose affinity is 1."""


def contact_strength(
    supervoxels: Supervoxels, actions: ActionTable, affinities: np.ndarray | None
) -> np.ndarray:
    """Say how strongly every contact speaks for one neuron, int64 (A,), at least 1.

    A face counts by how far its affinity lies above one half, so that a long membrane between two neurons
    does not hold them together. Without affinities every face counts the same.

    Parameters
    ----------
    supervoxels, actions : Supervoxels, ActionTable
        The volume.
    affinities : ndarray of float32 or uint8, shape (3, Z, Y, X), optional
        As for `measure_contacts`.
    """
    if affinities is None:
        return 1 + FACE * actions.area.astype(np.int64)
    middles = (BIN_EDGES[:-1] + BIN_EDGES[1:]) / 2
    weights = np.round(FACE * np.maximum(0.0, 2 * middles - 1)).astype(np.int64)
    counts = measure_contacts(supervoxels, actions, affinities).contact[:, HISTOGRAM]
    strength: np.ndarray = 1 + counts @ weights
    return strength


def plan_seeded_cut(
    agglomerator: Agglomerator,
    first: Sequence[int],
    second: Sequence[int],
    strength: np.ndarray | None = None,
    *,
    is_kept_apart: bool = True,
) -> CutPlan:
    """Plan to cut a segment so that the seeds of the two sides are parted, at the least strength.

    All contacts inside the segment count, merged or not. Of equally weak cuts it is the one with the smallest
    first side.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    first, second : sequence of int
        Dense indices of supervoxels of one segment.
    strength : ndarray of int64, shape (A,), optional
        From `contact_strength`; the areas of the contacts by default.
    is_kept_apart : bool
        Whether the two sides are kept apart from then on.
    """
    forest = _require_seeds(agglomerator, first, second)
    table, members = agglomerator.actions, forest.members
    if strength is None:
        strength = table.area
    rows, u, v = contacts_inside(table, members)
    seeds = [np.searchsorted(members, np.unique(side)) for side in (first, second)]
    on_first = weakest_cut(len(members), u, v, strength[rows], seeds[0], seeds[1])
    is_taken = agglomerator.taken()[rows]
    again, found, piece = _hold_together(forest, rows, u, v, on_first, is_taken, strength[rows])
    ends = [[int(places[np.flatnonzero(piece[places] == one)[0]]) for one in np.unique(piece[places])]
            for places in seeds]  # fmt: skip
    ids = agglomerator.supervoxels.ids[members]
    apart = [(int(ids[a]), int(ids[b])) for a in ends[0] for b in ends[1]] if is_kept_apart else []
    return CutPlan(
        tuple(_ids(agglomerator, action) for action in found),
        tuple(_ids(agglomerator, action) for action in again),
        members[on_first],
        members[~on_first],
        len(ends[1]),
        len(ends[0]),
        tuple(apart),
    )


def contacts_inside(actions: ActionTable, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the contacts inside a segment: their rows, and the places of their two ends in `members`.

    Parameters
    ----------
    actions : ActionTable
        All contacts.
    members : ndarray of int
        Dense indices of the supervoxels of the segment, ascending.
    """
    is_inside = np.zeros(actions.n_supervoxels + 1, dtype=bool)
    is_inside[members] = True
    rows = np.flatnonzero(is_inside[actions.u] & is_inside[actions.v])
    return rows, np.searchsorted(members, actions.u[rows]), np.searchsorted(members, actions.v[rows])


def weakest_cut(
    n: int, u: np.ndarray, v: np.ndarray, strength: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Part the nodes of a graph so that what is cut is weakest; returns the first side, bool (n,).

    Parameters
    ----------
    n : int
        Number of nodes.
    u, v : ndarray of int, shape (m,)
        Ends of the edges.
    strength : ndarray of int64, shape (m,)
        At least 1.
    first, second : ndarray of int
        Nodes that must be on the first side, and on the second.

    Returns
    -------
    on_first : ndarray of bool, shape (n,)
        Of equally weak cuts, the one with the smallest first side; it lies in all others.
    """
    # The seeds of a side are one node, so that no edge has to be endless.
    node = np.arange(n) + 2
    node[first], node[second] = 0, 1
    shift = max(0, int(strength.sum()).bit_length() - MOST_FLOW.bit_length())
    capacity = np.maximum(1, strength >> shift) if shift else strength
    while int(capacity.sum()) > MOST_FLOW:
        capacity = np.maximum(1, capacity >> 1)
    a, b = node[u], node[v]
    used = a != b
    ends = np.concatenate([a[used], b[used]]), np.concatenate([b[used], a[used]])
    graph = csr_array((np.tile(capacity[used], 2), ends), shape=(n + 2, n + 2))
    graph.sum_duplicates()
    graph = csr_array(graph, dtype=np.int32)
    left = csr_array(graph - maximum_flow(graph, 0, 1).flow)
    left.eliminate_zeros()
    reached = np.zeros(n + 2, dtype=bool)
    reached[breadth_first_order(left, 0, return_predecessors=False)] = True
    return reached[node]


def require_one_segment(
    supervoxels: Supervoxels, segments: np.ndarray, first: Sequence[int], second: Sequence[int]
) -> None:
    """Refuse seeds that are on one side only, in the background or in several segments.

    Parameters
    ----------
    supervoxels : Supervoxels
        The volume.
    segments : ndarray
        Segment of every dense index.
    first, second : sequence of int
        Dense indices of the supervoxels with seeds.
    """
    if not len(first) or not len(second):
        empty, full = ("A", "B") if not len(first) else ("B", "A")
        raise ActionError(f"All seeds are on side {full}. Set at least one on side {empty} too.")
    if min(*first, *second) < 1:
        raise ActionError("A seed lies in the background, which is in no segment. Set it in the segment.")
    other = next((s for s in (*first, *second) if segments[s] != segments[first[0]]), None)
    if other is not None:
        raise ActionError(
            f"Supervoxels {supervoxels.ids[first[0]]} and {supervoxels.ids[other]} are in different "
            "segments, but all seeds of a cut lie in one. Remove the seeds in one of them."
        )


def _require_seeds(agglomerator: Agglomerator, first: Sequence[int], second: Sequence[int]) -> MergeForest:
    """Refuse seeds that no cut can part; returns the merges of their segment."""
    both = sorted(set(first) & set(second))
    if both and both[0] > 0:
        raise ActionError(
            f"Supervoxel {agglomerator.supervoxels.ids[both[0]]} has seeds of both sides, and a cut goes "
            "between supervoxels. Split that supervoxel first: set seeds of both sides in it alone."
        )
    require_one_segment(agglomerator.supervoxels, agglomerator.segment_ids(), first, second)
    return agglomerator.merges.forest_of(int(first[0]))


def _hold_together(
    forest: MergeForest,
    rows: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    on_first: np.ndarray,
    is_taken: np.ndarray,
    strength: np.ndarray,
) -> tuple[list[int], list[int], np.ndarray]:
    """Find what to merge after the cuts, what to cut, and the piece of every member in the end.

    A cut takes all merges between its two sides along, also those inside a side of ours: they are made
    again. What then still lies in pieces, although it touches, is merged where it is strongest.
    """
    place = {int(row): index for index, row in enumerate(rows.tolist())}
    at = np.array([place[int(action)] for action in forest.order], dtype=np.int64)
    is_cut = on_first[u[at]] != on_first[v[at]]
    cuts = [int(a) for a, gone in zip(forest.order, is_cut, strict=True) if gone and a in forest.tree]
    part = forest.parts_without(cuts)
    again = at[~is_cut & (part[u[at]] != part[v[at]])]
    free = np.flatnonzero(~is_taken & (on_first[u] == on_first[v]))
    free = free[np.argsort(-strength[free], kind="stable")]
    joined = join_all(int(part.max()), part[u[again]], part[v[again]])[part]
    more = spanning_forest(joined[u], joined[v], free.tolist(), int(joined.max()))
    added = np.array([one for one in free.tolist() if one in more], dtype=np.int64)
    piece = join_all(int(joined.max()), joined[u[added]], joined[v[added]])[joined]
    return rows[np.concatenate([again, added])].tolist(), cuts, piece


def _ids(agglomerator: Agglomerator, action: int) -> Pair:
    """Return the ids of the ends of an action."""
    ids, table = agglomerator.supervoxels.ids, agglomerator.actions
    return int(ids[table.u[action]]), int(ids[table.v[action]])
