"""Seams: what a cut of each past merge would open, for all merges at once.

Every merge that joined two segments is an edge of the merge tree of its segment, and cutting it leaves two
sides. The seam is all contact between them, not only the merge itself. Voxels, faces and affinities are whole
numbers, so what is said here is to the bit what the policy would see after the cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.contact_features import DECISIVE, N_CONTACT_FEATURES, QUANTILES
from napari_celis.core.contacts import BIN_EDGES, ContactStatistics
from napari_celis.core.kernels import contact_features as kernels_of_contacts
from napari_celis.core.kernels import seams as kernels
from napari_celis.core.segment_graph import SegmentGraph

N_PLACES = 5
"""Columns of `JudgedMerges.places`."""


class SideArrays(NamedTuple):
    """The sides of seams, in the layout that the kernels of contacts read; seam s has sides 2 s and 2 s + 1.

    The side comes first whose segment would have the lower name: it counts as the smaller one of equals.
    """

    ends: np.ndarray
    """The two sides of every seam, int32 (S, 2)."""
    voxels: np.ndarray
    """Voxels of every side, int64 (2 S,)."""
    surface: np.ndarray
    """Faces of every side towards all other supervoxels, int64 (2 S,)."""


@dataclass(frozen=True, eq=False)
class Seams:
    """What every merge that holds a segment together would leave without it."""

    merge: np.ndarray
    """The merges, int64 (S,), ascending."""
    below: np.ndarray
    """The supervoxel at which the side that leaves begins, int64 (S,)."""
    area: np.ndarray
    """Faces between the two sides, int64 (S,)."""
    leaving: np.ndarray
    """The number of the side that leaves, int64 (S,)."""
    sides: SideArrays

    def __len__(self) -> int:
        return len(self.merge)

    @property
    def voxels(self) -> np.ndarray:
        """Voxels of the two sides, int64 (S, 2)."""
        return self.sides.voxels.reshape(-1, 2)

    def by_side(self, leaving: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Arrange sums over the side that leaves and over the whole segment by side, (2 S, …)."""
        out = np.empty((2 * len(self), *leaving.shape[1:]), dtype=leaving.dtype)
        out[self.leaving] = leaving
        # Sides come in pairs: the other one differs in the last bit.
        out[self.leaving ^ 1] = whole - leaving
        return out


@dataclass(frozen=True, eq=False)
class JudgedMerges:
    """Every merge that holds a segment together, judged again by the two sides as they are now."""

    merge: np.ndarray
    """The merges, int64 (S,), ascending."""
    voxels: np.ndarray
    """Voxels of the two sides, int64 (S, 2)."""
    area: np.ndarray
    """Faces between the two sides, int64 (S,)."""
    score: np.ndarray
    """What the policy says of merging the two sides, float64 (S,); not a number where nothing is known."""
    places: np.ndarray
    """Where each is in the merge tree of its segment, int64 (S, 5): the segment, the number of the part that
    would leave (whatever is below a merge has a number in the range of its part), how many supervoxels the
    part has, its voxels, and those of the segment."""


@dataclass(frozen=True, eq=False)
class SeamFeatures:
    """What a classifier sees of seams, but for their energies."""

    contact: np.ndarray
    """The columns of `contact_features`, float32 (S, N_CONTACT_FEATURES)."""
    decisive: np.ndarray
    """The columns of `decisive_features`, float32 (S, 8)."""


class MergeTrees:
    """The merge trees of all segments at one moment, hung from the names of the segments.

    Parameters
    ----------
    actions : ActionTable
        All actions.
    segment : ndarray of int32, shape (N + 1,)
        Segment of every supervoxel, named after one of its own.
    order : ndarray of int64
        Taken actions in the order of taking.
    """

    def __init__(self, actions: ActionTable, segment: np.ndarray, order: np.ndarray) -> None:
        self.actions, self.segment = actions, segment
        n_nodes = len(segment)
        u, v = actions.u, actions.v
        is_tree = np.zeros(len(actions), dtype=bool)
        kernels.pick_tree(u, v, order, np.arange(n_nodes, dtype=np.int32), is_tree)
        tree = np.flatnonzero(is_tree)
        ends = np.concatenate([u[tree], v[tree]])
        by_end = np.argsort(ends, kind="stable")
        edges = np.concatenate([tree, tree])[by_end]
        start = np.searchsorted(ends[by_end], np.arange(n_nodes + 1)).astype(np.int64)
        self.above = np.arange(n_nodes, dtype=np.int32)
        self.merge = np.full(n_nodes, -1, dtype=np.int32)
        """The merge above every supervoxel, -1 for one that its segment is named after."""
        self.place = np.zeros(n_nodes, dtype=np.int32)
        self.n = int(kernels.hang(start, edges, u, v, segment, self.above, self.merge, self.place))
        self.inner = np.flatnonzero(segment[u] == segment[v])
        """Actions with both ends in one segment."""
        below = np.flatnonzero(self.merge >= 0)
        self.below = below[np.argsort(self.merge[below])]
        """Supervoxels with a merge above them, in the order of those merges."""

    @cached_property
    def depth(self) -> np.ndarray:
        """How far below the top every supervoxel hangs, int32 (N + 1,)."""
        depth = np.zeros(len(self.above), dtype=np.int32)
        kernels.count_depths(self.place, self.n, self.above, depth)
        return depth

    @cached_property
    def meeting(self) -> np.ndarray:
        """Where the ways of both ends of every inner action to the top meet, int32."""
        n_jumps = max(1, int(self.depth.max()).bit_length())
        jump = np.zeros((len(self.above), n_jumps), dtype=np.int32)
        kernels.fill_jumps(self.place, self.n, self.above, jump)
        meeting = np.empty(len(self.inner), dtype=np.int32)
        kernels.meet(self.actions.u, self.actions.v, self.inner, self.above, self.depth, jump, meeting)
        return meeting

    def along(self, values: np.ndarray) -> np.ndarray:
        """Add up values of actions along every seam, int64 (N + 1, C), by the supervoxel below it."""
        out = np.zeros((len(self.above), values.shape[1]), dtype=np.int64)
        kernels.spread(self.actions.u, self.actions.v, self.inner, self.meeting, values, out)
        kernels.gather(self.place, self.n, self.above, out)
        return out

    def below_each(self, values: np.ndarray) -> np.ndarray:
        """Add up values of supervoxels over each and all below it, int64 (N + 1, C)."""
        out = values.astype(np.int64)
        kernels.gather(self.place, self.n, self.above, out)
        return out

    def first_along(self, values: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Return the value of the first action along every seam, float64 (N + 1,).

        Parameters
        ----------
        values : ndarray of float64, shape (A,)
            By action.
        order : ndarray of int64
            Places in `inner`, in the order that decides which is first.
        """
        out = np.zeros(len(self.above))
        link = np.arange(len(self.above), dtype=np.int32)
        kernels.first_along(
            self.actions.u, self.actions.v, self.inner, self.meeting, order, values, self.above, self.depth,
            link, out,
        )  # fmt: skip
        return out

    def places(self, sizes: np.ndarray) -> np.ndarray:
        """Say where every seam is in its tree, int64 (S, 5): see `JudgedMerges.places`."""
        count, begin, free = np.ones((3, len(self.above)), dtype=np.int32)
        kernels.number_below(self.place, self.n, self.above, count, begin, free)
        voxels, segment = self.below_each(sizes[:, None])[:, 0], self.segment[self.below]
        columns = (segment, begin[self.below], count[self.below], voxels[self.below], voxels[segment])
        return np.stack(columns, axis=1).astype(np.int64)


def independence(places: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Tell how far every seam is from those that were looked at, 0 to 1, float64 (S,).

    Where two merges have little between them, the answer about one nearly answers the other. What lies
    between, as a share of the smaller of the parts beyond the two, is what is left to ask.

    Parameters
    ----------
    places : ndarray of int64, shape (S, 5)
        From `JudgedMerges`.
    known : ndarray of int64
        Rows of those that were looked at.
    """
    factor = np.ones(len(places))
    kernels.keep_apart_from(places, known, factor)
    return factor


def independence_in_order(places: np.ndarray) -> np.ndarray:
    """Tell how far every seam is from those before it, 0 to 1, float64 (S,)."""
    factor = np.ones(len(places))
    kernels.keep_apart_in_order(places, factor)
    return factor


def find_seams(graph: SegmentGraph, trees: MergeTrees) -> Seams:
    """Measure the seams of all merges that hold a segment together.

    Parameters
    ----------
    graph : SegmentGraph
        The segments as they are.
    trees : MergeTrees
        Their merges.
    """
    actions, segment, below = trees.actions, trees.segment, trees.below
    is_outer = np.ones(len(actions), dtype=bool)
    is_outer[trees.inner] = False
    faces = np.where(is_outer, actions.area, 0)
    to_others = sum(
        np.bincount(ends, weights=faces, minlength=len(segment)) for ends in (actions.u, actions.v)
    )
    own = trees.below_each(np.stack([graph.sizes, to_others], axis=1))
    area = trees.along(actions.area[:, None])[below, 0]
    largest = np.arange(len(segment), dtype=np.int32)
    kernels.gather_largest(trees.place, trees.n, trees.above, graph.sizes, largest)
    first = 2 * np.arange(len(below))
    ends = np.stack([first, first + 1], axis=1).astype(np.int32)
    seams = Seams(
        trees.merge[below].astype(np.int64),
        below,
        area,
        first + (largest[below] > segment[below]),
        SideArrays(ends, np.empty(0, np.int64), np.empty(0, np.int64)),
    )
    by_side = seams.by_side(own[below], own[segment[below]])
    sides = SideArrays(ends, by_side[:, 0].copy(), by_side[:, 1] + np.repeat(area, 2))
    return replace(seams, sides=sides)


def seam_features(trees: MergeTrees, seams: Seams, statistics: ContactStatistics) -> SeamFeatures:
    """Describe seams as contacts of the two segments that a cut would leave.

    Parameters
    ----------
    trees, seams : MergeTrees, Seams
        From `find_seams`.
    statistics : ContactStatistics
        Affinities of single actions and supervoxels.
    """
    below = trees.below
    sums = trees.along(statistics.contact)[below]
    low = trees.first_along(statistics.low, np.argsort(statistics.low[trees.inner]))[below]
    high = trees.first_along(statistics.high, np.argsort(-statistics.high[trees.inner]))[below]
    inside = trees.below_each(statistics.inside)
    inside = seams.by_side(inside[below], inside[trees.segment[below]])
    rows = np.arange(len(seams))
    contact = np.empty((len(seams), N_CONTACT_FEATURES), dtype=np.float32)
    decisive = np.empty((len(seams), len(DECISIVE)), dtype=np.float32)
    kernels_of_contacts.describe(
        seams.sides, sums, low, high, inside, rows, BIN_EDGES, QUANTILES,
        np.empty((3, 2 + len(QUANTILES))), contact,
    )  # fmt: skip
    kernels_of_contacts.describe_briefly(
        seams.sides, sums, rows, BIN_EDGES, QUANTILES, np.empty(len(QUANTILES)), decisive
    )
    return SeamFeatures(contact, decisive)
