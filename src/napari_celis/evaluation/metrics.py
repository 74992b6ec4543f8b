"""How far a segmentation is from the truth, and which objects cause it.

Split errors are H(segmentation | truth), merge errors H(truth | segmentation); see docs/metrics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from napari_celis.core.errors import CelisError
from napari_celis.evaluation.contingency import ContingencyTable

NATS_PER_BIT = log(2)


@dataclass(frozen=True)
class Scores:
    """The figures of one comparison; entropies are in bits unless the name says nats."""

    vi_split: float
    """H(segmentation | truth): true objects cut into several segments."""
    vi_merge: float
    """H(truth | segmentation): segments that hold several true objects."""
    rand_precision: float
    """Of the voxel pairs together in the segmentation, the share together in the truth."""
    rand_recall: float
    """Of the voxel pairs together in the truth, the share together in the segmentation."""
    rand_f1: float
    """Harmonic mean of the two, 1 when the segmentations agree."""

    @property
    def vi(self) -> float:
        """Variation of information: split plus merge."""
        return self.vi_split + self.vi_merge

    @property
    def vi_split_nats(self) -> float:
        """`vi_split` in nats."""
        return self.vi_split * NATS_PER_BIT

    @property
    def vi_merge_nats(self) -> float:
        """`vi_merge` in nats."""
        return self.vi_merge * NATS_PER_BIT

    @property
    def vi_nats(self) -> float:
        """`vi` in nats."""
        return self.vi * NATS_PER_BIT

    @property
    def adapted_rand(self) -> float:
        """Adapted Rand error, as scikit-image defines it: 1 minus the Rand F1."""
        return 1.0 - self.rand_f1


@dataclass(frozen=True)
class Fault:
    """One object's share of an error: a true object that is split, or a segment that merges."""

    object_id: int
    """Id of the true object (split) or of the segment (merge)."""
    n_voxels: int
    """Its size in counted voxels."""
    bits: float
    """What it adds to VI split, or to VI merge; all objects together add up to it."""
    n_pieces: int
    """Segments it is split into, or true objects it holds."""
    piece_ids: tuple[int, ...]
    """Ids of the largest pieces, largest first."""
    piece_voxels: tuple[int, ...]
    """Voxels that each of these pieces shares with the object."""


def score(table: ContingencyTable) -> Scores:
    """Compute every figure of one comparison.

    Parameters
    ----------
    table : ContingencyTable
        From `contingency_table(segmentation, truth)`.
    """
    in_both = _ordered_pairs(table.counts)
    in_segmentation = _ordered_pairs(table.segment_sizes)
    in_truth = _ordered_pairs(table.truth_sizes)
    return Scores(
        vi_split=float(_bits_per_row(table.transposed()).sum()),
        vi_merge=float(_bits_per_row(table).sum()),
        rand_precision=_share(in_both, in_segmentation),
        rand_recall=_share(in_both, in_truth),
        rand_f1=_share(2.0 * in_both, in_segmentation + in_truth),
    )


def worst_splits(table: ContingencyTable, limit: int = 10, n_pieces: int = 5) -> list[Fault]:
    """List the true objects that add most to VI split, worst first.

    Parameters
    ----------
    limit : int
        Objects to list at most; whole objects are not listed.
    n_pieces : int
        Pieces to name per object at most.
    """
    return _worst_rows(table.transposed(), limit, n_pieces)


def worst_merges(table: ContingencyTable, limit: int = 10, n_pieces: int = 5) -> list[Fault]:
    """List the segments that add most to VI merge, worst first; parameters as in `worst_splits`.

    Parameters
    ----------
    table : ContingencyTable
        From `contingency_table(segmentation, truth)`.
    limit : int
        Segments to list at most.
    n_pieces : int
        Pieces to name per segment at most.
    """
    return _worst_rows(table, limit, n_pieces)


def ignore_boundary(truth: np.ndarray, n: int = 2) -> np.ndarray:
    """Mark the voxels within `n` steps of a voxel with another true id.

    A step goes to one of the face neighbours (city-block distance, in voxels along every axis). The id 0
    bounds objects like any other id; the border of the volume is no boundary.

    Parameters
    ----------
    truth : ndarray of integers
        True labels, any number of axes.
    n : int
        Steps; 1 marks the voxels that touch another object, 0 marks nothing.

    Returns
    -------
    ignored : ndarray of bool
        Same shape as `truth`.
    """
    if n < 0:
        raise CelisError(f"`n` is {n} but a boundary cannot be thinner than 0 voxels. Give 0 or more.")
    marked = np.zeros(truth.shape, dtype=bool)
    if n == 0:
        return marked
    for axis in range(truth.ndim):
        here, there = np.moveaxis(truth, axis, 0), np.moveaxis(marked, axis, 0)
        differs = here[1:] != here[:-1]
        there[1:] |= differs
        there[:-1] |= differs
    # The nearest other id is reached through a voxel that touches it, so n - 1 more steps are exact.
    for _ in range(n - 1):
        wider = _one_step_wider(marked)
        if np.array_equal(wider, marked):
            break
        marked = wider
    return marked


def _one_step_wider(marked: np.ndarray) -> np.ndarray:
    """Mark the face neighbours of marked voxels too."""
    wider = marked.copy()
    for axis in range(marked.ndim):
        source, target = np.moveaxis(marked, axis, 0), np.moveaxis(wider, axis, 0)
        target[1:] |= source[:-1]
        target[:-1] |= source[1:]
    return wider


def _bits_per_row(table: ContingencyTable) -> np.ndarray:
    """Split H(columns | rows), in bits, into what each row adds to it."""
    rows = table.segment_indices
    bits = table.counts * np.log2(table.segment_sizes[rows] / table.counts)
    return np.bincount(rows, weights=bits) / table.n_voxels


def _ordered_pairs(sizes: np.ndarray) -> float:
    """Count the ordered pairs of different voxels inside sets of these sizes."""
    # In floating point: the square of a large object does not fit 64 bits.
    as_float = sizes.astype(np.float64)
    return float(as_float @ (as_float - 1.0))


def _share(part: float, whole: float) -> float:
    """Divide; a share of nothing is 1, because nothing is missing from it."""
    return part / whole if whole else 1.0


def _worst_rows(table: ContingencyTable, limit: int, n_pieces: int) -> list[Fault]:
    """List the rows with the highest entropy; equal ones in the order of their ids."""
    bits = _bits_per_row(table)
    worst = np.argsort(-bits, kind="stable")[:limit]
    return [_fault(table, int(row), float(bits[row]), n_pieces) for row in worst if bits[row] > 0]


def _fault(table: ContingencyTable, row: int, bits: float, n_pieces: int) -> Fault:
    """Describe one row with its largest entries."""
    columns, counts = table.row(row)
    largest = np.argsort(-counts, kind="stable")[:n_pieces]
    return Fault(
        object_id=int(table.segment_ids[row]),
        n_voxels=int(counts.sum()),
        bits=bits,
        n_pieces=len(counts),
        piece_ids=tuple(int(piece) for piece in table.truth_ids[columns[largest]]),
        piece_voxels=tuple(int(count) for count in counts[largest]),
    )
