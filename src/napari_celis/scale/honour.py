"""Answers of people, applied to the segments that blocks made: what nobody answered about stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from napari_celis.core.segments import join_all

AnswerKind = Literal["merge", "keep-apart", "withdrawn"]
"""A withdrawn answer leaves the pair to the blocks again."""


class Answer(NamedTuple):
    """What a person decided about two supervoxels."""

    kind: AnswerKind
    u: int
    v: int


def honour(
    segment: np.ndarray, u: np.ndarray, v: np.ndarray, score: np.ndarray, answers: Sequence[Answer]
) -> tuple[np.ndarray, np.ndarray]:
    """Join and divide segments as people answered.

    Merges join whole segments. A segment that holds both ends of a keep-apart is joined again from its
    supervoxels, merges by hand first and then best first, without what would join the two ends. All other
    segments stay as they are.

    Parameters
    ----------
    segment : ndarray of int, shape (N + 1,)
        Segment of every supervoxel, by dense index; supervoxels of segment 0 are left alone.
    u, v : ndarray of int, shape (P,)
        Pairs of supervoxels that touch.
    score : ndarray of float, shape (P,)
        The lower, the better.
    answers : sequence of Answer
        By dense index, each pair once.

    Returns
    -------
    component : ndarray of int, shape (N + 1,)
        Which supervoxels are one now.
    order : ndarray of int64
        The pairs that are one and were, or are one by hand, in the order in which they join.
    """
    n = len(segment) - 1
    is_one = (segment[u] == segment[v]) & (segment[u] != 0)
    rows = np.flatnonzero(is_one)
    rows = rows[np.argsort(score[rows], kind="stable")]
    must = np.array([(a.u, a.v) for a in answers if a.kind == "merge"], dtype=np.int64).reshape(-1, 2)
    apart = [(a.u, a.v) for a in answers if a.kind == "keep-apart"]
    component = _join_but(
        n, np.concatenate([must[:, 0], u[rows]]), np.concatenate([must[:, 1], v[rows]]), apart
    )
    order = np.concatenate([_rows_of(must, u, v), rows])
    order = order[np.sort(np.unique(order, return_index=True)[1])]
    return component, order[component[u[order]] == component[v[order]]]


def _rows_of(wanted: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Find pairs among those that touch, int64 (n,); those that do not are left out."""
    width = int(max(u.max(initial=0), v.max(initial=0), wanted.max(initial=0))) + 1
    keys = np.minimum(u, v).astype(np.int64) * width + np.maximum(u, v)
    order = np.argsort(keys, kind="stable")
    asked = wanted.min(axis=1, initial=width) * width + wanted.max(axis=1, initial=0)
    at = np.searchsorted(keys[order], asked)
    is_known = at < len(keys)
    is_known[is_known] &= keys[order[at[is_known]]] == asked[is_known]
    found: np.ndarray = order[at[is_known]]
    return found


def _join_but(n: int, u: np.ndarray, v: np.ndarray, apart: Sequence[tuple[int, int]]) -> np.ndarray:
    """Number the components under the edges u - v, best first, leaving out what must stay apart."""
    component = join_all(n, u, v)
    bad = np.unique([component[a] for a, b in apart if component[a] == component[b]])
    if not len(bad):
        return component
    # Only components that hold both ends of a pair are joined edge by edge.
    is_bad = np.isin(component[u], bad)
    parent = list(range(n + 1))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    foes, kept = _Foes(apart), ~is_bad
    for edge in np.flatnonzero(is_bad):
        a, b = root(int(u[edge])), root(int(v[edge]))
        if a != b and not foes.has(a, b):
            foes.join(a, b)
            parent[b] = a
            kept[edge] = True
    return join_all(n, u[kept], v[kept])


class _Foes:
    """Pairs of groups that must not become one; a group is known by the name of one of its members."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        self._of: dict[int, set[int]] = {}
        for a, b in pairs:
            self._of.setdefault(a, set()).add(b)
            self._of.setdefault(b, set()).add(a)

    def has(self, a: int, b: int) -> bool:
        """Tell whether two groups must stay apart."""
        return b in self._of.get(a, ())

    def join(self, kept: int, absorbed: int) -> None:
        """Let one group take in another."""
        for foe in self._of.pop(absorbed, ()):
            self._of[foe].remove(absorbed)
            self._of[foe].add(kept)
            self._of.setdefault(kept, set()).add(foe)
