"""Split and merge error while supervoxels move between segments, without going back to the voxels."""

from __future__ import annotations

from itertools import pairwise
from math import log2

import numpy as np

from napari_celis.evaluation.overlaps import Overlaps


class RunningErrors:
    """Variation of information of a segmentation that changes by and by.

    An update costs only the supervoxels that moved since the last one, whether forwards or back.

    Parameters
    ----------
    overlaps : Overlaps
        Voxels that supervoxels share with true objects, by dense index; background is a row like any other.
    segment_ids : ndarray of uint64, shape (N + 1,)
        Segment of every supervoxel to begin with.
    """

    def __init__(self, overlaps: Overlaps, segment_ids: np.ndarray) -> None:
        start, column, count = overlaps.row_start.tolist(), overlaps.column.tolist(), overlaps.count.tolist()
        self._rows = [list(zip(column[a:b], count[a:b], strict=True)) for a, b in pairwise(start)]
        self._n_voxels = overlaps.n_voxels
        self._truth_sum = float(_n_log_n(np.bincount(overlaps.column, weights=overlaps.count)).sum())
        self._segments = segment_ids.copy()
        self._sizes: dict[int, float] = {}
        self._shared: dict[tuple[int, int], float] = {}
        self._size_sum = self._shared_sum = 0.0
        for supervoxel, segment in enumerate(segment_ids.tolist()):
            self._add(supervoxel, segment, 1.0)

    @property
    def split(self) -> float:
        """Conditional entropy of the segmentation given the truth, in bits."""
        return max(0.0, (self._truth_sum - self._shared_sum) / self._n_voxels)

    @property
    def merge(self) -> float:
        """Conditional entropy of the truth given the segmentation, in bits."""
        return max(0.0, (self._size_sum - self._shared_sum) / self._n_voxels)

    def update(self, segment_ids: np.ndarray) -> None:
        """Follow supervoxels to their new segments."""
        for supervoxel in np.flatnonzero(segment_ids != self._segments).tolist():
            self._add(supervoxel, int(self._segments[supervoxel]), -1.0)
            self._add(supervoxel, int(segment_ids[supervoxel]), 1.0)
        self._segments = segment_ids.copy()

    def _add(self, supervoxel: int, segment: int, sign: float) -> None:
        """Put the voxels of a supervoxel into a segment, or take them out."""
        for column, count in self._rows[supervoxel]:
            key, voxels = (segment, column), sign * count
            before, size = self._shared.get(key, 0.0), self._sizes.get(segment, 0.0)
            self._shared_sum += _change(before, voxels)
            self._size_sum += _change(size, voxels)
            self._shared[key], self._sizes[segment] = before + voxels, size + voxels


def _change(before: float, by: float) -> float:
    """Change of n log n, in bits."""
    after = before + by
    return (after * log2(after) if after > 0 else 0.0) - (before * log2(before) if before > 0 else 0.0)


def _n_log_n(n: np.ndarray) -> np.ndarray:
    """Return n log n in bits, 0 for 0."""
    product: np.ndarray = n * np.log2(np.where(n > 0, n, 1.0))
    return product
