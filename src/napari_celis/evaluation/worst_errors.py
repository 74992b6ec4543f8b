"""The worst errors of a segmentation while it is being made, each with the place where it can be put right.

Works on voxels that supervoxels share with true objects, so no voxel is read; `metrics.worst_splits` and
`worst_merges` say the same about whole volumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from napari_celis.core.seams import MergeTrees
from napari_celis.evaluation.blame import blame
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
    """Row of the contact to decide about: between two of the largest pieces of a split object, or the merge
    whose cut takes most of the error of a segment away. -1 where there is none."""
    supervoxel: int = -1
    """The supervoxel that holds several objects itself, where its split helps more than any cut; else -1."""


def worst_errors(overlaps: Overlaps, trees: MergeTrees, limit: int = 10) -> list[WorstError]:
    """List the objects and segments that add most to the variation of information, worst first.

    Parameters
    ----------
    overlaps : Overlaps
        Voxels that supervoxels share with true objects, by dense index.
    trees : MergeTrees
        The merges that hold segments together.
    limit : int
        Splits, and merges, to list at most.
    """
    segment = trees.segment.astype(np.int64)
    supervoxel = np.repeat(np.arange(len(segment)), np.diff(overlaps.row_start))
    width = int(overlaps.column.max(initial=0)) + 1
    keys, index = np.unique(segment[supervoxel] * width + overlaps.column, return_inverse=True)
    pair_segment, pair_truth = np.divmod(keys, width)
    voxels = np.bincount(index, weights=overlaps.count)
    found: list[WorstError] = []
    kinds: tuple[Literal["split", "merge"], ...] = ("split", "merge")
    for kind in kinds:
        whole, piece = (pair_truth, pair_segment) if kind == "split" else (pair_segment, pair_truth)
        sizes = np.bincount(whole, weights=voxels)
        bits = np.bincount(whole, weights=voxels * np.log2(sizes[whole] / voxels)) / overlaps.n_voxels
        if kind == "merge":
            bits[segment[0]] = 0.0
        worst = [one for one in np.argsort(-bits, kind="stable")[:limit].tolist() if bits[one] > 0]
        n_pieces = np.bincount(whole)
        if kind == "split":
            main = _main_objects(overlaps, supervoxel, len(segment))
            places = [(_contact(trees, main, one, _largest(whole, piece, voxels, one)), -1) for one in worst]
        else:
            places = [(blamed.action, blamed.supervoxel) for blamed in blame(overlaps, trees, worst)]
        found += [
            WorstError(kind, float(bits[one]), int(n_pieces[one]), int(sizes[one]), *place)
            for one, place in zip(worst, places, strict=True)
        ]
    return sorted(found, key=lambda error: -error.bits)


def _main_objects(overlaps: Overlaps, supervoxel: np.ndarray, n: int) -> np.ndarray:
    """Return the true object that each supervoxel shares most voxels with, -1 for none."""
    main = np.full(n, -1, dtype=np.int64)
    # The largest comes last, and stays.
    order = np.lexsort((-overlaps.column, overlaps.count, supervoxel))
    main[supervoxel[order]] = overlaps.column[order]
    return main


def _largest(whole: np.ndarray, piece: np.ndarray, voxels: np.ndarray, one: int) -> list[int]:
    """List the largest pieces of one object."""
    own = np.flatnonzero(whole == one)
    largest: list[int] = piece[own[np.argsort(-voxels[own], kind="stable")[:N_PIECES]]].tolist()
    return largest


def _contact(trees: MergeTrees, main: np.ndarray, whole: int, largest: list[int]) -> int:
    """Find the largest contact between two of the largest pieces of an object, -1 if none of them touch."""
    u, v = trees.actions.u, trees.actions.v
    is_inside = (main[u] == whole) & (main[v] == whole)
    ends = trees.segment[u], trees.segment[v]
    for first, second in combinations(largest, 2):
        is_between = ((ends[0] == first) & (ends[1] == second)) | ((ends[0] == second) & (ends[1] == first))
        candidates = np.flatnonzero(is_inside & is_between)
        if len(candidates):
            return int(candidates[np.argmax(trees.actions.area[candidates])])
    return -1
