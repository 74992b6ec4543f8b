"""How many voxels each segment shares with each true object: the table every metric is read from.

Written by hand: one pass over both volumes in memory order, whatever their ids. Libraries sort all pairs of
voxels first, or need ids that are dense.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_celis.core.errors import LabelsError, ShapeMismatchError
from napari_celis.core.volume import as_labels, require_same_shape
from napari_celis.evaluation.kernels import contingency as kernels

FIRST_BUCKETS = 1 << 12
CHUNK_VOXELS = 1 << 17
# Any: the stubs of numpy misspell the flag "contig".
PIECE_FLAGS: Any = ["readonly", "contig", "aligned"]


@dataclass(frozen=True, eq=False)
class ContingencyTable:
    """Voxels shared by segments and true objects, one sparse row per segment; no row is empty."""

    segment_ids: np.ndarray
    """uint64 (S,): ids of the segments, sorted. 0 is an id like any other."""
    truth_ids: np.ndarray
    """uint64 (T,): ids of the true objects, sorted."""
    row_starts: np.ndarray
    """int64 (S + 1,): the entries of segment i are row_starts[i] to row_starts[i + 1]."""
    truth_indices: np.ndarray
    """int64 (P,): position in `truth_ids` of each entry, sorted inside a row."""
    counts: np.ndarray
    """int64 (P,): voxels of each entry, at least 1."""

    @classmethod
    def from_pairs(cls, segments: np.ndarray, truths: np.ndarray, counts: np.ndarray) -> ContingencyTable:
        """Build the table from entries in any order; repeated pairs add up.

        Parameters
        ----------
        segments, truths : ndarray of uint64, shape (P,)
            The two ids of each entry.
        counts : ndarray of int64, shape (P,)
            Voxels of each entry, at least 1.
        """
        order = np.lexsort((truths, segments))
        segments, truths, counts = segments[order], truths[order], counts[order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = (segments[1:] != segments[:-1]) | (truths[1:] != truths[:-1])
        firsts = np.flatnonzero(is_first)
        segment_ids, row_starts = np.unique(segments[firsts], return_index=True)
        truth_ids, truth_indices = np.unique(truths[firsts], return_inverse=True)
        return cls(
            segment_ids=segment_ids,
            truth_ids=truth_ids,
            row_starts=np.append(row_starts, len(firsts)).astype(np.int64),
            truth_indices=truth_indices.astype(np.int64),
            counts=np.add.reduceat(counts, firsts) if len(firsts) else counts,
        )

    @property
    def n_voxels(self) -> int:
        """Number of voxels counted."""
        return int(self.counts.sum())

    @property
    def segment_indices(self) -> np.ndarray:
        """int64 (P,): position in `segment_ids` of each entry."""
        return np.repeat(np.arange(len(self.segment_ids)), np.diff(self.row_starts))

    @property
    def segment_sizes(self) -> np.ndarray:
        """int64 (S,): voxels of each segment."""
        return _sums(self.segment_indices, self.counts, len(self.segment_ids))

    @property
    def truth_sizes(self) -> np.ndarray:
        """int64 (T,): voxels of each true object."""
        return _sums(self.truth_indices, self.counts, len(self.truth_ids))

    def row(self, segment_index: int) -> tuple[np.ndarray, np.ndarray]:
        """Look up the true objects inside one segment.

        Returns
        -------
        truth_indices, counts : ndarray of int64
            Positions in `truth_ids`, and the voxels shared with each; views, not copies.
        """
        entries = slice(self.row_starts[segment_index], self.row_starts[segment_index + 1])
        return self.truth_indices[entries], self.counts[entries]

    def merged(self, new_ids: np.ndarray) -> ContingencyTable:
        """Add up the rows of segments that are merged, without going back to the voxels.

        Parameters
        ----------
        new_ids : ndarray of uint64, shape (S,)
            Id of the segment that takes in each row; rows with the same new id become one.
        """
        if np.shape(new_ids) != self.segment_ids.shape:
            raise ShapeMismatchError(
                f"`new_ids` has shape {np.shape(new_ids)} but the table has "
                f"{len(self.segment_ids)} segments. Give one new id for each."
            )
        segments = np.asarray(new_ids, dtype=np.uint64)[self.segment_indices]
        return ContingencyTable.from_pairs(segments, self.truth_ids[self.truth_indices], self.counts)

    def transposed(self) -> ContingencyTable:
        """Swap the roles: one row per true object, holding the segments it is split into."""
        return ContingencyTable.from_pairs(
            self.truth_ids[self.truth_indices], self.segment_ids[self.segment_indices], self.counts
        )


def contingency_table(
    segmentation: np.ndarray, truth: np.ndarray, ignored: np.ndarray | None = None
) -> ContingencyTable:
    """Count the voxels that each segment shares with each true object.

    Parameters
    ----------
    segmentation, truth : ndarray of integers
        Labels of the same shape, any number of axes, any id up to 2**64 - 1. Voxels where `truth` is 0
        are left out; 0 in `segmentation` counts as one segment.
    ignored : ndarray of bool, optional
        Voxels to leave out as well, for example from `ignore_boundary`.

    Returns
    -------
    table : ContingencyTable
        Holds at least one voxel: a truth without any is an error.
    """
    require_same_shape(segmentation=segmentation, truth=truth)
    segments, truths = as_labels(segmentation, "`segmentation`"), as_labels(truth, "`truth`")
    if ignored is not None:
        require_same_shape(truth=truth, ignored=ignored)
        truths = np.where(ignored, truths.dtype.type(0), truths)
    table = ContingencyTable.from_pairs(*_count_pairs(segments, truths))
    if not len(table.counts):
        raise LabelsError(_nothing_left(is_masked=ignored is not None))
    return table


def _count_pairs(segmentation: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the pairs that occur, in no particular order: segment ids, truth ids, voxels."""
    buckets = np.zeros((FIRST_BUCKETS, 3), dtype=np.uint64)
    n_used = 0
    for segments, truths in _chunks(segmentation, truth):
        position = 0
        while True:
            position, n_used = kernels.add_pairs(segments, truths, position, n_used, buckets)
            if position == len(segments):
                break
            buckets = _enlarged(buckets)
    rows = buckets[buckets[:, 2] > 0]
    return rows[:, 0], rows[:, 1], rows[:, 2].astype(np.int64)


def _chunks(segmentation: np.ndarray, truth: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Walk both volumes in memory order, a piece at a time, as contiguous uint64."""
    # The iterator casts through its own small buffers: no whole-volume copy, whatever the layout.
    with np.nditer(
        [segmentation, truth],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[PIECE_FLAGS, PIECE_FLAGS],
        op_dtypes=[np.dtype(np.uint64)] * 2,
        casting="safe",
        order="K",
        buffersize=CHUNK_VOXELS,
    ) as pieces:
        yield from pieces


def _enlarged(buckets: np.ndarray) -> np.ndarray:
    """Move the pairs to a table four times as large."""
    larger = np.zeros((4 * len(buckets), 3), dtype=np.uint64)
    kernels.move_pairs(buckets, larger)
    return larger


def _sums(indices: np.ndarray, counts: np.ndarray, length: int) -> np.ndarray:
    """Add up counts that share an index, in integers."""
    sums = np.zeros(length, dtype=np.int64)
    np.add.at(sums, indices, counts)
    return sums


def _nothing_left(is_masked: bool) -> str:
    if is_masked:
        return (
            "`truth` has no labelled voxel outside the ignored ones, so there is nothing to compare with. "
            "Ignore a thinner boundary; 0 ignores none."
        )
    return (
        "`truth` is 0 everywhere, which means unlabelled, so there is nothing to compare with. "
        "Check that it is the true segmentation."
    )
