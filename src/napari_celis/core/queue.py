"""A priority queue of items whose scores change: the lowest score first.

By hand because heapq cannot change or remove an entry, and a merge changes dozens of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from napari_celis.core.kernels import queue as kernels


class QueueArrays(NamedTuple):
    """See `napari_celis.core.kernels.queue`."""

    heap: np.ndarray
    position: np.ndarray
    key: np.ndarray
    order: np.ndarray
    size: np.ndarray


class ScoreQueue:
    """Items 0 to n - 1 by score; of equals, the one with the lower rank comes first.

    Parameters
    ----------
    n : int
        Number of items that may come; none is there to begin with.
    """

    def __init__(self, n: int) -> None:
        self.arrays = QueueArrays(
            np.zeros(n, dtype=np.int32),
            np.full(n, -1, dtype=np.int32),
            np.zeros(n),
            np.zeros(n, dtype=np.int32),
            np.zeros(1, dtype=np.int64),
        )

    def __len__(self) -> int:
        return int(self.arrays.size[0])

    def put(self, items: np.ndarray, scores: np.ndarray, ranks: np.ndarray) -> None:
        """Add items, or change those that are there.

        Parameters
        ----------
        items : ndarray
            The items.
        scores : ndarray
            One per item.
        ranks : ndarray
            Which of equal scores comes first.
        """
        kernels.put(self.arrays, items, scores, ranks)

    def drop(self, items: np.ndarray) -> None:
        """Take items out; those that are not there do not matter."""
        kernels.drop(self.arrays, items)

    @property
    def first(self) -> int:
        """The item with the lowest score, -1 if there is none."""
        return int(self.arrays.heap[0]) if len(self) else -1

    @property
    def lowest(self) -> float:
        """The lowest score, infinity if there is none."""
        return float(self.arrays.key[self.arrays.heap[0]]) if len(self) else np.inf

    def first_items(self, n: int, limit: float) -> np.ndarray:
        """List up to `n` items with scores below `limit`, the lowest first, int32.

        Parameters
        ----------
        n : int
            How many at most.
        limit : float
            Only scores below it.
        """
        out, waiting = np.empty(min(n, len(self)), dtype=np.int32), np.empty(n + 2, dtype=np.int32)
        return out[: kernels.first_items(self.arrays, limit, waiting, out)]

    def up_to(self, score: float) -> np.ndarray:
        """List the items with at most this score, int32, ascending."""
        waiting, out = np.empty((2, len(self) + 1), dtype=np.int32)
        n = kernels.below(self.arrays, score, waiting, out)
        return np.sort(out[:n])
