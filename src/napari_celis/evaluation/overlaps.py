"""How many voxels supervoxels or segments share with true objects, and what joining two of them changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log2

import numpy as np

from napari_celis.core.errors import LabelsError
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.contingency import ContingencyTable, contingency_table
from napari_celis.evaluation.kernels import vi as kernels


@dataclass(frozen=True, eq=False)
class Overlaps:
    """How many voxels each supervoxel shares with each true object; truth 0 is left out."""

    row_start: np.ndarray
    """Where the entries of each dense supervoxel index begin, int64 (N + 2,)."""
    column: np.ndarray
    """True object of each entry, counted from 0, ascending within a row, int64 (P,)."""
    count: np.ndarray
    """Voxels of each entry, float64 (P,)."""

    @property
    def n_voxels(self) -> float:
        """Voxels with a true object."""
        return float(self.count.sum())

    def of_segments(self, segment: np.ndarray) -> Overlaps:
        """Add up the rows of the supervoxels of each segment; `segment` names them by dense indices."""
        rows = np.repeat(np.arange(len(self.row_start) - 1), np.diff(self.row_start))
        width = int(self.column.max()) + 1
        keys, inverse = np.unique(segment[rows].astype(np.int64) * width + self.column, return_inverse=True)
        count = np.bincount(inverse, weights=self.count)
        start = np.searchsorted(keys // width, np.arange(len(self.row_start)))
        return Overlaps(start.astype(np.int64), keys % width, count)

    def changes(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Change of the variation of information in bits when rows a[i] and b[i] become one, float64 (n,).

        Parameters
        ----------
        a : ndarray
            Rows.
        b : ndarray
            Rows, as many.
        """
        cumulative = np.concatenate([[0.0], np.cumsum(self.count)])
        size = cumulative[self.row_start[1:]] - cumulative[self.row_start[:-1]]
        out = np.empty(len(a))
        kernels.merge_changes(
            self.row_start, self.column, self.count, size, a.astype(np.int64), b.astype(np.int64), out
        )
        return out / self.n_voxels


def overlap(supervoxels: Supervoxels, truth: np.ndarray) -> Overlaps:
    """Count the voxels that supervoxels share with true objects.

    Parameters
    ----------
    supervoxels : Supervoxels
        Dense indices, (Z, Y, X).
    truth : ndarray
        True labels; 0 is unknown.
    """
    table = contingency_table(supervoxels.dense, truth)
    is_real = table.segment_ids > 0
    if not is_real.any():
        raise LabelsError(
            "The truth labels no voxel that belongs to a supervoxel, so there is nothing to learn from. "
            "Check that both volumes cover the same part of the sample."
        )
    entries = np.repeat(is_real, np.diff(table.row_starts))
    rows = table.segment_ids[table.segment_indices][entries].astype(np.int64)
    start = np.searchsorted(rows, np.arange(supervoxels.n + 2)).astype(np.int64)
    return Overlaps(start, table.truth_indices[entries], table.counts[entries].astype(np.float64))


def overlaps_of(table: ContingencyTable, n_supervoxels: int) -> Overlaps:
    """Turn a table of dense supervoxel indices into the rows that `RunningOverlaps` starts from.

    Parameters
    ----------
    table : ContingencyTable
        Of dense supervoxel indices and true labels.
    n_supervoxels : int
        How many supervoxels there are.
    """
    rows = table.segment_ids[table.segment_indices].astype(np.int64)
    start = np.searchsorted(rows, np.arange(n_supervoxels + 2)).astype(np.int64)
    return Overlaps(start, table.truth_indices, table.counts.astype(np.float64))


class RunningOverlaps:
    """Voxels that segments share with true objects while segments are being joined."""

    def __init__(self, overlaps: Overlaps) -> None:
        start, column, count = overlaps.row_start.tolist(), overlaps.column, overlaps.count
        self.n_voxels = overlaps.n_voxels
        self.rows = [
            dict(zip(column[a:b].tolist(), count[a:b].tolist(), strict=True)) for a, b in pairwise(start)
        ]
        self.size = [float(sum(row.values())) for row in self.rows]

    def change(self, u: int, v: int) -> float:
        """Change of the variation of information in bits if two segments become one.

        Parameters
        ----------
        u : int
            A segment.
        v : int
            Another one.
        """
        few, many = sorted((self.rows[u], self.rows[v]), key=len)
        shared = sum(_gain(count, many[column]) for column, count in few.items() if column in many)
        return (_gain(self.size[u], self.size[v]) - 2.0 * shared) / self.n_voxels

    def join(self, u: int, v: int) -> None:
        """Let segment `v` become part of `u`.

        Parameters
        ----------
        u : int
            The segment that stays.
        v : int
            The segment that ends.
        """
        for column, count in self.rows[v].items():
            self.rows[u][column] = self.rows[u].get(column, 0.0) + count
        self.size[u] += self.size[v]
        self.rows[v], self.size[v] = {}, 0.0


def _gain(a: float, b: float) -> float:
    """Return (a + b) log(a + b) - a log a - b log b, in bits."""
    return sum(sign * n * log2(n) for sign, n in ((1, a + b), (-1, a), (-1, b)) if n > 0)
