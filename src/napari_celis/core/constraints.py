"""Keep-apart constraints: pairs of supervoxels whose segments must never become one."""

from __future__ import annotations

from dataclasses import dataclass

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

    def forbidden(self, segment: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Tell for many pairs of supervoxels whether joining them would break a constraint, bool (n,)."""
        if not self.pairs:
            return np.zeros(len(u), dtype=bool)
        width = np.int64(len(segment))
        kept = segment[np.array(self.pairs)].astype(np.int64)
        wanted = np.stack([segment[u], segment[v]], axis=1).astype(np.int64)
        mask: np.ndarray = np.isin(
            wanted.min(axis=1) * width + wanted.max(axis=1), kept.min(axis=1) * width + kept.max(axis=1)
        )
        return mask
