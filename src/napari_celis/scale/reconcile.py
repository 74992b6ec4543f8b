"""Join the decisions of all blocks: what they agree on, what people answered, and one pass over the rest.

A pair of supervoxels counts as merged when the blocks that saw it say so, by a rule that is a setting. Two
things are decided once for the whole volume: pairs that blocks disagree on, and segments that a chain of
merges through several blocks made although blocks saw a membrane inside them. What is certain is contracted,
then the rest is merged best first, by the mean score of whole contacts. Each voxel face counts with the score
of the block that holds it: that one saw most around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.contraction import Contraction
from napari_celis.core.segment_graph import Joined, SegmentGraph, grouped
from napari_celis.core.segments import join_all, named_by_largest
from napari_celis.scale.honour import Answer, honour
from napari_celis.scale.settings import Rule


@dataclass(frozen=True, eq=False)
class Pairs:
    """What blocks say about pairs of supervoxels. Everything adds up, so parts can be put together first."""

    u: np.ndarray
    v: np.ndarray
    area: np.ndarray
    """Faces of the contact that these blocks hold, int64 (P,)."""
    total: np.ndarray
    """Sum of the scores of its faces, float64 (P,): each counts as the block that holds it says."""
    all_merge: np.ndarray
    """Whether all blocks that saw the pair merged it, bool (P,)."""
    any_merges: np.ndarray
    """Whether any of them did."""
    most: np.ndarray
    """Most faces that one block holds, int64 (P,)."""
    most_merge: np.ndarray
    """Whether all blocks that hold this many merged it, bool (P,)."""

    def __len__(self) -> int:
        return len(self.u)

    @property
    def is_disputed(self) -> np.ndarray:
        """Whether blocks disagree, bool (P,)."""
        disputed: np.ndarray = self.all_merge != self.any_merges
        return disputed

    def is_merged(self, rule: Rule) -> np.ndarray:
        """Tell which pairs are merged by a rule, bool (P,)."""
        return {"all": self.all_merge, "any": self.any_merges, "owner": self.most_merge}[rule]


@dataclass(frozen=True, eq=False)
class Reconciled:
    """The segments of the whole volume."""

    segment: np.ndarray
    """Segment of every supervoxel, named after its largest supervoxel, int32 (N + 1,)."""
    n_disputed: int
    """Pairs that blocks disagreed on."""
    n_joined: int
    """Merges of the pass over the contracted graph."""


def reconcile(
    pairs: Pairs, sizes: np.ndarray, rule: Rule, threshold: float, answers: Sequence[Answer] = ()
) -> Reconciled:
    """Decide every pair once.

    Parameters
    ----------
    pairs : Pairs
        What all blocks say, by dense index.
    sizes : ndarray of int, shape (N + 1,)
        Voxels of every supervoxel.
    rule : {"all", "owner", "any"}
        When a pair that several blocks saw is merged.
    threshold : float
        Contacts below it are merged in the pass over the contracted graph.
    answers : sequence of Answer
        By dense index; they change what blocks made of the volume, and nothing else.
    """
    n, is_merged = len(sizes) - 1, pairs.is_merged(rule)
    mean = pairs.total / np.maximum(pairs.area, 1)
    component = join_all(n, pairs.u[is_merged], pairs.v[is_merged])
    is_apart = ~is_merged & (mean >= threshold) & (pairs.area > 0)
    is_uncertain = is_merged & _in_contradiction(pairs, component, is_apart)
    is_certain = is_merged & ~is_uncertain
    component = join_all(n, pairs.u[is_certain], pairs.v[is_certain])
    contracted = _Contracted.make(pairs, component, sizes, pairs.is_disputed | is_uncertain)
    n_joined = contracted.join_below(threshold)
    segment = named_by_largest(contracted.segment[component], sizes)
    if answers:
        segment = named_by_largest(honour(segment, pairs.u, pairs.v, mean, answers)[0], sizes)
    return Reconciled(segment, int(pairs.is_disputed.sum()), n_joined)


def votes_of(u: np.ndarray, v: np.ndarray, merged: np.ndarray, score: np.ndarray, owned: np.ndarray) -> Pairs:
    """Turn the decisions of one block into pairs.

    Parameters
    ----------
    u, v : ndarray of int, shape (P,)
        The supervoxels, u < v.
    merged : ndarray of bool, shape (P,)
        What the block decided.
    score : ndarray of float, shape (P,)
        With which score.
    owned : ndarray of int, shape (P,)
        Faces of the contact that the block holds itself.
    """
    total = np.where(owned > 0, owned * score, 0.0)
    return Pairs(u, v, owned, total, merged, merged, owned, merged)


def combine(parts: Sequence[Pairs]) -> Pairs:
    """Put together what different blocks say about the same pairs, sorted by u and v.

    Parameters
    ----------
    parts : sequence of Pairs
        Of single blocks, or put together before.
    """
    u, v, area, total, all_merge, any_merges, most, most_merge = (
        np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Pairs)
    )
    order = np.lexsort((v, u))
    u, v = u[order], v[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (u[1:] != u[:-1]) | (v[1:] != v[:-1])
    starts = np.flatnonzero(is_first)
    if not len(starts):
        return Pairs(u, v, area, total, all_merge, any_merges, most, most_merge)
    most = most[order]
    highest = np.maximum.reduceat(most, starts)
    # Of blocks that hold equally much, all have to say so.
    counts = most == np.repeat(highest, np.diff(np.append(starts, len(order))))
    return Pairs(
        u[starts],
        v[starts],
        np.add.reduceat(area[order], starts),
        np.add.reduceat(total[order], starts),
        np.logical_and.reduceat(all_merge[order], starts),
        np.logical_or.reduceat(any_merges[order], starts),
        highest,
        np.logical_and.reduceat(most_merge[order] | ~counts, starts),
    )


def _in_contradiction(pairs: Pairs, component: np.ndarray, is_apart: np.ndarray) -> np.ndarray:
    """Find pairs in components that hold a pair which blocks, on the whole, keep apart, bool (P,).

    Each block alone is consistent, but a chain of merges through several blocks may join what one of them saw
    a membrane between. Such a component is decided anew, by all that is known about its contacts.
    """
    is_inside = component[pairs.u] == component[pairs.v]
    bad = np.unique(component[pairs.u[is_inside & is_apart]])
    uncertain: np.ndarray = np.isin(component[pairs.u], bad)
    return uncertain


class _Contracted:
    """The graph of what is certain, whose disputed contacts are merged best first."""

    needs_segments = False

    def __init__(self, graph: SegmentGraph, total: np.ndarray, n_open: np.ndarray) -> None:
        self.graph = graph
        self._total, self._open = total, n_open

    @classmethod
    def make(cls, pairs: Pairs, component: np.ndarray, sizes: np.ndarray, is_open: np.ndarray) -> _Contracted:
        """Add up pairs between the same two components; component 0 is that of background."""
        u, v = component[pairs.u].astype(np.int64), component[pairs.v].astype(np.int64)
        low, high = np.minimum(u, v), np.maximum(u, v)
        n, is_between = int(component.max()), low != high
        # Only contacts of components that may still be joined matter, and these are few.
        is_active = np.zeros(n + 1, dtype=bool)
        is_active[low[is_open & is_between]] = is_active[high[is_open & is_between]] = True
        between = np.flatnonzero(is_between & is_active[low] & is_active[high])
        order, starts = grouped(low[between] * (n + 1) + high[between])
        rows = between[order]

        def added(values: np.ndarray) -> np.ndarray:
            return np.add.reduceat(values[rows], starts) if len(starts) else values[:0]

        first = rows[starts]
        area = added(pairs.area)
        actions = ActionTable(
            low[first].astype(np.int32), high[first].astype(np.int32), area, np.zeros((len(first), 3)), n
        )
        voxels = np.bincount(component, weights=sizes, minlength=n + 1).astype(np.int64)
        return cls(
            SegmentGraph(actions, voxels),
            added(pairs.total).astype(float),
            added(is_open.astype(np.int64)),
        )

    @property
    def segment(self) -> np.ndarray:
        """Segment of every component."""
        return self.graph.segment

    def scores(self, contacts: np.ndarray) -> np.ndarray:
        """Return the mean score of some contacts; those that are certain are not for us."""
        area = self.graph.arrays.area[contacts]
        scores: np.ndarray = self._total[contacts] / np.maximum(area, 1)
        # Faces that nobody counted belong to a block that failed.
        return np.where((self._open[contacts] > 0) & (area > 0), scores, np.inf)

    def follow(self, joined: Joined) -> None:
        """Add up what became one."""
        own, moved = joined.pairs[:, 0], joined.pairs[:, 1]
        for sums in (self._total, self._open):
            sums[own] += sums[moved]

    def join_below(self, threshold: float) -> int:
        """Merge contacts best first, and count the merges."""
        queue, n_joined = Contraction(self), 0
        while (found := queue.pop()) is not None and found[0] < threshold:
            queue.join(found[1])
            n_joined += 1
        return n_joined
