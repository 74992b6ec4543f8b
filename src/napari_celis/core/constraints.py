"""Keep-apart constraints: pairs of supervoxels whose segments must never become one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

FIRST_ROOM = 16
"""Pairs that there is room for at first; it doubles."""


class Constraints:
    """Pairs of dense indices; they speak of the segments that hold these supervoxels, now and later.

    Every decision remembers the constraints from before it. They share one growing array, so that thousands
    of them take no more memory than the last.

    Parameters
    ----------
    pairs : iterable of pairs of int
        In the order in which they were made.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        ends = np.array([(min(u, v), max(u, v)) for u, v in pairs], dtype=np.int64).reshape(-1, 2)
        self._shared = _Shared(ends, len(ends))
        self._n = len(ends)

    def __len__(self) -> int:
        return self._n

    @property
    def array(self) -> np.ndarray:
        """The pairs, int64 (n, 2); not to be changed."""
        return self._shared.room[: self._n]

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs, in the order in which they were made."""
        return tuple((u, v) for u, v in self.array.tolist())

    def with_pair(self, u: int, v: int) -> Constraints:
        """Add one pair."""
        shared = self._shared
        if shared.n_used != self._n or self._n == len(shared.room):
            # Full, or something was added after what this one knows and taken back since.
            room = np.empty((max(FIRST_ROOM, 2 * self._n), 2), dtype=np.int64)
            room[: self._n] = self.array
            shared = _Shared(room, self._n)
        shared.room[self._n] = min(u, v), max(u, v)
        shared.n_used = self._n + 1
        more = Constraints.__new__(Constraints)
        more._shared, more._n = shared, self._n + 1
        return more

    def without_pair(self, u: int, v: int) -> Constraints:
        """Leave one pair out; all others stay in their order."""
        gone = (min(u, v), max(u, v))
        return Constraints(pair for pair in self.pairs if pair != gone)

    def has(self, u: int, v: int) -> bool:
        """Tell whether this very pair is among them."""
        return bool((self.array == (min(u, v), max(u, v))).all(axis=1).any())

    def between(self, segment: np.ndarray, u: int, v: int) -> tuple[int, int] | None:
        """Return the pair that keeps the segments of `u` and `v` apart, or None."""
        ends, a, b = segment[self.array], segment[u], segment[v]
        is_between = (ends == (a, b)).all(axis=1) | (ends == (b, a)).all(axis=1)
        found = np.flatnonzero(is_between)
        return self._pair(int(found[0])) if len(found) else None

    def _pair(self, place: int) -> tuple[int, int]:
        u, v = self.array[place].tolist()
        return u, v

    def among(self, segment: np.ndarray) -> SegmentPairs:
        """Return the pairs of segments that these keep apart now."""
        return SegmentPairs(segment[self.array].astype(np.int64))


@dataclass
class _Shared:
    """Room for pairs, and how much of it is used by the longest list of constraints."""

    room: np.ndarray
    n_used: int


@dataclass(frozen=True, eq=False)
class SegmentPairs:
    """Pairs of segments that must not become one."""

    pairs: np.ndarray
    """int64 (n, 2)"""

    def forbid(self, ends: np.ndarray) -> np.ndarray:
        """Tell which pairs of segments, (m, 2), are among them, bool (m,)."""
        if not len(self.pairs) or not len(ends):
            return np.zeros(len(ends), dtype=bool)
        # Few of the ends have a segment that is kept apart from any, and few pairs one of theirs: sorting all
        # of either would take longest.
        width = int(max(self.pairs.max(), ends.max())) + 1
        mask = np.zeros(len(ends), dtype=bool)
        near = np.flatnonzero(_marked(self.pairs, width)[ends].all(axis=1))
        if len(near):
            asked = ends[near].astype(np.int64)
            pairs = self.pairs[_marked(asked, width)[self.pairs].all(axis=1)]
            mask[near] = np.isin(_keys(asked, width), _keys(pairs, width))
        return mask


def _marked(segments: np.ndarray, width: int) -> np.ndarray:
    """Mark the segments that occur, bool (width,)."""
    marked = np.zeros(width, dtype=bool)
    marked[segments] = True
    return marked


def _keys(pairs: np.ndarray, width: int) -> np.ndarray:
    """Number unordered pairs."""
    keys: np.ndarray = pairs.min(axis=1) * width + pairs.max(axis=1)
    return keys
