"""The worst errors of a segmentation while it is being made, each with the contact where it can be put right.

Works on voxels that supervoxels share with true objects, so no voxel is read; `metrics.worst_splits` and
`worst_merges` say the same about whole volumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.evaluation.overlaps import Overlaps

N_PIECES = 5
"""Of one object, contacts between this many of its largest pieces are looked for."""


@dataclass(frozen=True)
class WorstError:
    """One true object that is split, or one segment that holds several."""

    kind: Literal["split", "merge"]
    bits: float
    """What it adds to VI split, or to VI merge."""
    n_pieces: int
    """Segments that the object is split into, or objects that the segment holds."""
    n_voxels: int
    """Of the object, or of the segment; only voxels whose truth is known."""
    action: int
    """Row of the contact between two of its largest pieces; -1 where none of them touch."""


def worst_errors(
    overlaps: Overlaps, actions: ActionTable, segment_ids: np.ndarray, taken: np.ndarray, limit: int = 10
) -> list[WorstError]:
    """List the objects and segments that add most to the variation of information, worst first.

    Parameters
    ----------
    overlaps : Overlaps
        Voxels that supervoxels share with true objects, by dense index.
    actions : ActionTable
        Where supervoxels touch.
    segment_ids : ndarray of uint64, shape (N + 1,)
        Segment of every supervoxel.
    taken : ndarray of bool, shape (A,)
        Which actions are taken.
    limit : int
        Splits, and merges, to list at most.
    """
    _, segment = np.unique(segment_ids, return_inverse=True)
    supervoxel = np.repeat(np.arange(len(segment_ids)), np.diff(overlaps.row_start))
    width = int(overlaps.column.max(initial=0)) + 1
    keys, index = np.unique(segment[supervoxel] * width + overlaps.column, return_inverse=True)
    pair_segment, pair_truth = np.divmod(keys, width)
    voxels = np.bincount(index, weights=overlaps.count)
    main = _main_objects(overlaps, supervoxel, len(segment_ids))
    found: list[WorstError] = []
    for kind in ("split", "merge"):
        is_split = kind == "split"
        whole, piece = (pair_truth, pair_segment) if is_split else (pair_segment, pair_truth)
        sizes = np.bincount(whole, weights=voxels)
        bits = np.bincount(whole, weights=voxels * np.log2(sizes[whole] / voxels)) / overlaps.n_voxels
        if not is_split:
            bits[segment[0]] = 0.0
        for one in np.argsort(-bits, kind="stable")[:limit].tolist():
            if bits[one] <= 0:
                break
            own = np.flatnonzero(whole == one)
            largest = piece[own[np.argsort(-voxels[own], kind="stable")[:N_PIECES]]].tolist()
            groups = (segment, main) if is_split else (main, segment)
            action = _contact(actions, groups[0], groups[1], one, largest, None if is_split else taken)
            found.append(
                WorstError(
                    "split" if is_split else "merge", float(bits[one]), len(own), int(sizes[one]), action
                )
            )
    return sorted(found, key=lambda error: -error.bits)


def _main_objects(overlaps: Overlaps, supervoxel: np.ndarray, n: int) -> np.ndarray:
    """Return the true object that each supervoxel shares most voxels with, -1 for none."""
    main = np.full(n, -1, dtype=np.int64)
    # The largest comes last, and stays.
    order = np.lexsort((-overlaps.column, overlaps.count, supervoxel))
    main[supervoxel[order]] = overlaps.column[order]
    return main


def _contact(
    actions: ActionTable,
    pieces: np.ndarray,
    wholes: np.ndarray,
    whole: int,
    largest: list[int],
    taken: np.ndarray | None,
) -> int:
    """Find the largest contact between two of the largest pieces; of merges, preferably one that was made."""
    u, v = actions.u, actions.v
    is_inside = (wholes[u] == whole) & (wholes[v] == whole)
    for first, second in combinations(largest, 2):
        ends = pieces[u], pieces[v]
        is_between = ((ends[0] == first) & (ends[1] == second)) | ((ends[0] == second) & (ends[1] == first))
        candidates = np.flatnonzero(is_inside & is_between)
        if taken is not None and len(made := candidates[taken[candidates]]):
            candidates = made
        if len(candidates):
            return int(candidates[np.argmax(actions.area[candidates])])
    return -1
