"""Measure the errors of segmentations: on all voxels, and without those near a true boundary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log2
from typing import Any, NamedTuple

import numpy as np

from napari_celis.evaluation.contingency import ContingencyTable, contingency_table
from napari_celis.evaluation.metrics import ignore_boundary, score
from napari_celis.evaluation.overlaps import RunningOverlaps, overlaps_of

ALL, INSIDE = "all", "ignore_boundary"
"""The two sets of voxels."""
FIGURES = ("vi", "vi_split", "vi_merge", "vi_nats", "rand_f1", "adapted_rand")


class Errors(NamedTuple):
    """Split and merge error, in bits, of several segmentations."""

    split: np.ndarray
    merge: np.ndarray

    @property
    def vi(self) -> np.ndarray:
        """Variation of information in bits."""
        total: np.ndarray = self.split + self.merge
        return total


@dataclass(frozen=True, eq=False)
class Judge:
    """Compares labels with one truth."""

    truth: np.ndarray
    boundary: int | None = None
    """Voxels up to this far from a true boundary are left out the second time; None judges once."""

    @cached_property
    def ignored(self) -> dict[str, np.ndarray | None]:
        """The voxels to leave out of each set of voxels."""
        if self.boundary is None:
            return {ALL: None}
        return {ALL: None, INSIDE: ignore_boundary(self.truth, self.boundary)}

    @property
    def n_voxels(self) -> int:
        """Number of labelled voxels."""
        return int(np.count_nonzero(self.truth))

    def tables(self, labels: np.ndarray) -> dict[str, ContingencyTable]:
        """Count the overlaps of labels with the truth, once for each set of voxels."""
        return {
            name: contingency_table(labels, self.truth, ignored) for name, ignored in self.ignored.items()
        }

    def errors(self, labels: np.ndarray) -> dict[str, tuple[float, float]]:
        """Return split and merge error of one segmentation for each set of voxels."""
        scores = {name: score(table) for name, table in self.tables(labels).items()}
        return {name: (found.vi_split, found.vi_merge) for name, found in scores.items()}

    def figures(self, labels: np.ndarray) -> dict[str, Any]:
        """Collect the figures of one segmentation; those without the boundary under their own key."""
        tables = self.tables(labels)
        found: dict[str, Any] = _figures(tables[ALL])
        if self.boundary is not None:
            found[INSIDE] = {"n": self.boundary, **_figures(tables[INSIDE])}
        return found


def _figures(table: ContingencyTable) -> dict[str, float]:
    """Read the figures off one table."""
    scores = score(table)
    return {name: float(getattr(scores, name)) for name in FIGURES}


def errors_along(table: ContingencyTable, n_supervoxels: int, pairs: np.ndarray) -> Errors:
    """Follow split and merge error through a sequence of merges without going back to the voxels.

    Parameters
    ----------
    table : ContingencyTable
        Of the dense supervoxel indices.
    n_supervoxels : int
        Number of supervoxels.
    pairs : ndarray of int, shape (M, 2)
        Two supervoxels of the segments that each merge joins, in order.

    Returns
    -------
    errors : Errors
        Before the first merge and after each one, M + 1 values.
    """
    overlaps, parent = RunningOverlaps(overlaps_of(table, n_supervoxels)), list(range(n_supervoxels + 1))
    start = score(table)
    split, merge = np.zeros(len(pairs) + 1), np.zeros(len(pairs) + 1)
    split[0], merge[0] = start.vi_split, start.vi_merge
    for index, (first, second) in enumerate(pairs.tolist(), start=1):
        u, v = _root(parent, first), _root(parent, second)
        if u == v:
            continue
        if len(overlaps.rows[u]) < len(overlaps.rows[v]):
            u, v = v, u
        # The merge error grows by the entropy of the two sizes less what both share with the same objects,
        # the split error falls by the latter; their sum is the change of the VI.
        total = overlaps.change(u, v)
        by_size = _gain(overlaps.size[u], overlaps.size[v]) / overlaps.n_voxels
        split[index], merge[index] = (total - by_size) / 2, (total + by_size) / 2
        parent[v] = u
        overlaps.join(u, v)
    return Errors(np.cumsum(split), np.cumsum(merge))


def _root(parent: list[int], i: int) -> int:
    """Find the segment of a supervoxel."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def _gain(a: float, b: float) -> float:
    """Return (a + b) log(a + b) - a log a - b log b, in bits."""
    if a == 0 or b == 0:
        return 0.0
    return (a + b) * log2(a + b) - a * log2(a) - b * log2(b)
