"""Where segments that hold several true objects went wrong: at which merge, or in which supervoxel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.seams import MergeTrees
from napari_celis.evaluation.overlaps import Overlaps

N_OBJECTS = 8
"""Of one segment, this many of its largest objects count."""


@dataclass(frozen=True)
class Blame:
    """What takes most of the error of one segment away."""

    action: int = -1
    """The merge that should be cut; -1 where that helps less than to split a supervoxel."""
    supervoxel: int = -1
    """The supervoxel that should be split, by dense index; -1 where a cut helps more."""


def blame(overlaps: Overlaps, trees: MergeTrees, segments: list[int]) -> list[Blame]:
    """Find what should be cut or split in each of some segments.

    A cut parts a segment in two. A supervoxel that holds several objects is judged by what it would help if
    its share of one of them left the segment.

    Parameters
    ----------
    overlaps : Overlaps
        Voxels that supervoxels share with true objects, by dense index.
    trees : MergeTrees
        The merges that hold segments together.
    segments : list of int
        The supervoxels that these segments are named after, by dense index.
    """
    voxels = _of_largest_objects(overlaps, trees.segment, segments)
    below = trees.below_each(voxels)
    is_one = np.zeros(len(trees.segment), dtype=bool)
    is_one[segments] = True
    nodes = trees.below[is_one[trees.segment[trees.below]]]
    cuts, merges = trees.segment[nodes], trees.merge[nodes]
    gain, fall = _gains(below[nodes], below[cuts])
    is_mixed = is_one[trees.segment] & ((voxels > 0).sum(axis=1) > 1)
    mixed, objects = np.nonzero((voxels > 0) & is_mixed[:, None])
    leaving = np.zeros((len(mixed), voxels.shape[1]), dtype=np.int64)
    leaving[np.arange(len(mixed)), objects] = voxels[mixed, objects]
    splits = trees.segment[mixed]
    split_gain, _ = _gains(leaving, below[splits])
    found = []
    for segment in segments:
        own, inside = np.flatnonzero(cuts == segment), np.flatnonzero(splits == segment)
        best = own[np.argmax(gain[own])] if len(own) else -1
        worst = inside[np.argmax(split_gain[inside])] if len(inside) else -1
        if worst >= 0 and split_gain[worst] > max(0.0, gain[best] if best >= 0 else 0.0):
            found.append(Blame(supervoxel=int(mixed[worst])))
        elif best < 0:
            found.append(Blame())
        else:
            # Where no cut alone helps, the one that parts the objects best is the first of several.
            best = best if gain[best] > 0 else own[np.argmax(fall[own])]
            found.append(Blame(action=int(merges[best])))
    return found


def _of_largest_objects(overlaps: Overlaps, segment: np.ndarray, segments: list[int]) -> np.ndarray:
    """Count voxels of every supervoxel by the rank of their object in the segment, int64 (N + 1, K)."""
    supervoxel = np.repeat(np.arange(len(segment)), np.diff(overlaps.row_start))
    entries = np.flatnonzero(np.isin(segment[supervoxel], segments))
    width = int(overlaps.column.max(initial=0)) + 1
    keys, index = np.unique(
        segment[supervoxel[entries]].astype(np.int64) * width + overlaps.column[entries], return_inverse=True
    )
    sizes = np.bincount(index, weights=overlaps.count[entries], minlength=len(keys))
    order = np.lexsort((-sizes, keys // width))
    start = np.searchsorted(keys // width, keys // width)
    rank = np.empty(len(keys), dtype=np.int64)
    rank[order] = np.arange(len(keys)) - start
    is_large = rank[index] < N_OBJECTS
    voxels = np.zeros((len(segment), N_OBJECTS), dtype=np.int64)
    voxels[supervoxel[entries][is_large], rank[index][is_large]] = overlaps.count[entries][is_large]
    return voxels


def _gains(part: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far VI, and VI merge alone, fall when parts leave segments; both times all voxels.

    part, whole : int64 (n, K)  voxels of each object
    """
    rest = whole - part
    sizes = sum(sign * _entropy(one.sum(axis=1)) for one, sign in ((part, 1), (rest, 1), (whole, -1)))
    shares = _entropy(part).sum(axis=1) + _entropy(rest).sum(axis=1) - _entropy(whole).sum(axis=1)
    return 2 * shares - sizes, shares - sizes


def _entropy(voxels: np.ndarray) -> np.ndarray:
    """Return n log2 n, 0 where there are none."""
    out: np.ndarray = voxels * np.log2(np.maximum(voxels, 1))
    return out
