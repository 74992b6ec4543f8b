"""Join the decisions of all blocks: what they agree on, what people answered, and one pass over the rest.

A pair of supervoxels counts as merged when the blocks that saw it say so, by a rule that is a setting. Two
things are decided once for the whole volume: pairs that blocks disagree on, and segments that a chain of
merges through several blocks made although blocks saw a membrane inside them. What is certain is contracted,
then the rest is merged best first, by the mean score of whole contacts. Each voxel face counts with the score
of the block that holds it: that one saw most around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.constraints import Constraints
from napari_celis.core.contraction import Contraction
from napari_celis.core.segment_graph import Joined, SegmentGraph, grouped
from napari_celis.core.segments import join_all, named_by_largest
from napari_celis.scale.settings import Rule


class Answer(NamedTuple):
    """What a person decided about two supervoxels."""

    kind: Literal["merge", "keep-apart"]
    u: int
    v: int


@dataclass(frozen=True, eq=False)
class Votes:
    """What blocks say about pairs of supervoxels, by dense index; one row per block and pair."""

    u: np.ndarray
    v: np.ndarray
    merged: np.ndarray
    score: np.ndarray
    owned: np.ndarray
    """Faces of the contact that the block holds itself."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """What all blocks together say about every pair."""

    u: np.ndarray
    v: np.ndarray
    area: np.ndarray
    """Faces of the contact in the whole volume."""
    is_merged: np.ndarray
    """By the rule."""
    is_disputed: np.ndarray
    """Whether blocks disagree."""
    total: np.ndarray
    """Sum of the scores of its faces: each face counts as the block that holds it says."""


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
    votes: Votes, sizes: np.ndarray, rule: Rule, threshold: float, answers: Sequence[Answer] = ()
) -> Reconciled:
    """Decide every pair once.

    Parameters
    ----------
    votes : Votes
        Of all blocks.
    sizes : ndarray of int, shape (N + 1,)
        Voxels of every supervoxel.
    rule : {"all", "owner", "any"}
        When a pair that several blocks saw is merged.
    threshold : float
        Contacts below it are merged in the pass over the contracted graph.
    answers : sequence of Answer
        By dense index; they come before everything else.
    """
    pairs = count_votes(votes, rule)
    n = len(sizes) - 1
    must = np.array([(a.u, a.v) for a in answers if a.kind == "merge"], dtype=np.int64).reshape(-1, 2)
    apart = Constraints(tuple((min(a.u, a.v), max(a.u, a.v)) for a in answers if a.kind == "keep-apart"))
    agreed = np.flatnonzero(pairs.is_merged)
    mean = pairs.total / np.maximum(pairs.area, 1)
    order = agreed[np.argsort(mean[agreed], kind="stable")]
    u, v = np.concatenate([must[:, 0], pairs.u[order]]), np.concatenate([must[:, 1], pairs.v[order]])
    component = _join_but(n, u, v, apart)
    is_doubtful = _in_contradiction(pairs, component, (mean >= threshold) & (pairs.area > 0))
    if is_doubtful.any():
        certain = order[~is_doubtful[order]]
        u, v = np.concatenate([must[:, 0], pairs.u[certain]]), np.concatenate([must[:, 1], pairs.v[certain]])
        component = _join_but(n, u, v, apart)
    contracted = _Contracted.make(pairs, component, sizes, apart, pairs.is_disputed | is_doubtful)
    n_joined = contracted.join_below(threshold)
    return Reconciled(
        named_by_largest(contracted.segment[component], sizes), int(pairs.is_disputed.sum()), n_joined
    )


def count_votes(votes: Votes, rule: Rule) -> Pairs:
    """Put the votes of all blocks on each pair together.

    Parameters
    ----------
    votes : Votes
        Of all blocks.
    rule : {"all", "owner", "any"}
        When a pair that several blocks saw is merged.
    """
    if not len(votes.u):
        none = np.empty(0, dtype=np.int64)
        return Pairs(none, none, none, none.astype(bool), none.astype(bool), none.astype(float))
    width = int(votes.v.max()) + 1
    order, starts = grouped(votes.u.astype(np.int64) * width + votes.v)
    merged = votes.merged[order]
    all_say = np.logical_and.reduceat(merged, starts)
    any_says = np.logical_or.reduceat(merged, starts)
    held = votes.owned[order]
    if rule == "owner":
        most = np.repeat(np.maximum.reduceat(held, starts), np.diff(np.append(starts, len(order))))
        # Of blocks that hold equally much, all have to say so.
        is_merged = np.logical_and.reduceat(merged | (held < most), starts)
    else:
        is_merged = all_say if rule == "all" else any_says
    first = order[starts]
    return Pairs(
        votes.u[first],
        votes.v[first],
        np.add.reduceat(held, starts),
        is_merged,
        all_say != any_says,
        np.add.reduceat(np.where(held > 0, held * votes.score[order], 0.0), starts),
    )


def _in_contradiction(pairs: Pairs, component: np.ndarray, is_apart: np.ndarray) -> np.ndarray:
    """Find merged pairs in components that hold a pair which blocks, on the whole, keep apart, bool (P,).

    Each block alone is consistent, but a chain of merges through several blocks may join what one of them saw
    a membrane between. Such a component is decided anew, by all that is known about its contacts.
    """
    is_inside = component[pairs.u] == component[pairs.v]
    bad = np.unique(component[pairs.u[is_inside & is_apart & ~pairs.is_merged]])
    doubtful: np.ndarray = pairs.is_merged & np.isin(component[pairs.u], bad)
    return doubtful


def _join_but(n: int, u: np.ndarray, v: np.ndarray, apart: Constraints) -> np.ndarray:
    """Number the components under the edges u – v, best first, leaving out what must stay apart."""
    component = join_all(n, u, v)
    if not any(component[a] == component[b] for a, b in apart.pairs):
        return component
    # Only components that hold both ends of a pair are joined edge by edge.
    bad = np.unique([component[a] for a, b in apart.pairs if component[a] == component[b]])
    is_bad = np.isin(component[u], bad)
    parent = list(range(n + 1))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    near = [pair for pair in apart.pairs if component[pair[0]] in bad]
    kept = ~is_bad
    for edge in np.flatnonzero(is_bad):
        a, b = root(int(u[edge])), root(int(v[edge]))
        if a == b or any({root(one), root(other)} == {a, b} for one, other in near):
            continue
        parent[a] = b
        kept[edge] = True
    return join_all(n, u[kept], v[kept])


class _Contracted:
    """The graph of what is certain, whose disputed contacts are merged best first."""

    needs_segments = False

    def __init__(
        self,
        graph: SegmentGraph,
        total: np.ndarray,
        n_open: np.ndarray,
        apart: Constraints,
    ) -> None:
        self.graph = graph
        self._total, self._open, self._apart = total, n_open, apart

    @classmethod
    def make(
        cls,
        pairs: Pairs,
        component: np.ndarray,
        sizes: np.ndarray,
        apart: Constraints,
        is_open: np.ndarray,
    ) -> _Contracted:
        """Add up pairs between the same two components; component 0 is that of background."""
        u, v = component[pairs.u].astype(np.int64), component[pairs.v].astype(np.int64)
        low, high = np.minimum(u, v), np.maximum(u, v)
        between = np.flatnonzero(low != high)
        n = int(component.max())
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
        named = Constraints(tuple((int(component[a]), int(component[b])) for a, b in apart.pairs))
        return cls(
            SegmentGraph(actions, voxels),
            added(pairs.total).astype(float),
            added(is_open.astype(np.int64)),
            named,
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
            a, b = self.graph.arrays.ends[found[1]]
            if self._apart.pairs and self._apart.between(self.graph.segment, int(a), int(b)):
                continue
            queue.join(found[1])
            n_joined += 1
        return n_joined
