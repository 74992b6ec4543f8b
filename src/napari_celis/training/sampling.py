"""Priority sampling: a fixed number of weighted examples from a stream of any length, in constant memory."""

from __future__ import annotations

import numpy as np


class PrioritySample:
    """Keeps the `size` items of highest priority, weight divided by a uniform draw (Duffield et al. 2007).

    The estimated weight of a kept item is the larger of its own weight and the highest priority that was not
    kept. Added up over any subset of the kept items, these weights are an unbiased estimate of the subset's
    total weight in the whole stream.

    Parameters
    ----------
    size : int
        Items to keep.
    rng : numpy.random.Generator
        Source of the draws.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self._rng = rng
        self._columns: list[np.ndarray] = []
        self._weights = np.empty(0)
        self._priorities = np.empty(0)
        self._threshold = 0.0
        self.n_seen = 0

    def add(self, weights: np.ndarray, *columns: np.ndarray) -> None:
        """Offer a batch of items: their weights, at least 0, and parallel arrays that describe them.

        Parameters
        ----------
        weights : ndarray of float, shape (n,)
            Weight of each item.
        *columns : ndarray, shape (n, ...)
            What describes the items.
        """
        self.n_seen += len(weights)
        draws = 1.0 - self._rng.random(len(weights))
        priorities = weights / draws
        chosen = np.flatnonzero((priorities > self._threshold) & (weights > 0))
        if not self._columns:
            self._columns = [column[:0].copy() for column in columns]
        lost = priorities[(priorities <= self._threshold)]
        if len(lost):
            self._threshold = max(self._threshold, float(lost.max()))
        self._weights = np.concatenate([self._weights, weights[chosen]])
        self._priorities = np.concatenate([self._priorities, priorities[chosen]])
        self._columns = [
            np.concatenate([old, new[chosen]]) for old, new in zip(self._columns, columns, strict=True)
        ]
        if len(self._weights) > 2 * self.size:
            self._shrink()

    def _shrink(self) -> None:
        """Drop all but the items of highest priority and remember the highest priority dropped."""
        if len(self._weights) <= self.size:
            return
        order = np.argpartition(-self._priorities, self.size)
        kept = np.sort(order[: self.size])
        self._threshold = max(self._threshold, float(self._priorities[order[self.size :]].max()))
        self._weights, self._priorities = self._weights[kept], self._priorities[kept]
        self._columns = [column[kept] for column in self._columns]

    def result(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the estimated weights of the kept items, and their columns."""
        self._shrink()
        return np.maximum(self._weights, self._threshold), self._columns
