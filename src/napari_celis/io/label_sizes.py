"""Voxels of every label, counted while a volume passes through in blocks."""

from __future__ import annotations

import fastremap
import numpy as np


class LabelSizes:
    """Counts labels up to a number; beyond it there are too many to list, and no counts."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: dict[int, int] | None = {}

    @property
    def counts(self) -> dict[int, int] | None:
        """Voxels by label, without the background; None if there were too many labels."""
        return self._counts

    def add(self, voxels: np.ndarray) -> None:
        """Count the labels of a block."""
        if self._counts is None:
            return
        labels, counts = fastremap.unique(voxels, return_counts=True)
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            if label:
                self._counts[label] = self._counts.get(label, 0) + count
        if len(self._counts) > self._most:
            self._counts = None
