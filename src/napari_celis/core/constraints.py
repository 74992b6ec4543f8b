"""Keep-apart constraints: pairs of supervoxels whose segments must never become one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Constraints:
    """Pairs of dense indices; they speak of the segments that hold these supervoxels, now and later."""

    pairs: tuple[tuple[int, int], ...] = ()

    def with_pair(self, u: int, v: int) -> Constraints:
        """Add one pair."""
        return Constraints((*self.pairs, (min(u, v), max(u, v))))

    def has(self, u: int, v: int) -> bool:
        """Tell whether this very pair is among them."""
        return (min(u, v), max(u, v)) in self.pairs

    def between(self, segment: np.ndarray, u: int, v: int) -> tuple[int, int] | None:
        """Return the pair that keeps the segments of `u` and `v` apart, or None."""
        wanted = {int(segment[u]), int(segment[v])}
        for pair in self.pairs:
            if {int(segment[pair[0]]), int(segment[pair[1]])} == wanted:
                return pair
        return None

    def among(self, segment: np.ndarray) -> SegmentPairs:
        """Return the pairs of segments that these keep apart now."""
        return SegmentPairs(segment[self._array].astype(np.int64))

    def forbidden(self, segment: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Tell for many pairs of supervoxels whether joining them would break a constraint, bool (n,)."""
        return self.among(segment).forbid(np.stack([segment[u], segment[v]], axis=1))

    @cached_property
    def _array(self) -> np.ndarray:
        """The pairs as an array, int64 (n, 2)."""
        return np.array(self.pairs, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class SegmentPairs:
    """Pairs of segments that must not become one."""

    pairs: np.ndarray
    """int64 (n, 2)"""

    def forbid(self, ends: np.ndarray) -> np.ndarray:
        """Tell which pairs of segments, (m, 2), are among them, bool (m,)."""
        if not len(self.pairs) or not len(ends):
            return np.zeros(len(ends), dtype=bool)
        # Only pairs with a segment that is asked for matter: sorting them all would take longest.
        asked = np.unique(ends)
        near = self.pairs[np.isin(self.pairs, asked, kind="table").all(axis=1)]
        width = int(max(self.pairs.max(), asked[-1])) + 1
        mask: np.ndarray = np.isin(_keys(ends.astype(np.int64), width), _keys(near, width))
        return mask


def _keys(pairs: np.ndarray, width: int) -> np.ndarray:
    """Number unordered pairs."""
    keys: np.ndarray = pairs.min(axis=1) * width + pairs.max(axis=1)
    return keys
