"""Pairs of a box and pairs of voxels, by plain enumeration."""

from __future__ import annotations

import itertools


def offsets_of(box_zyx):
    """Every offset of a box from its centre; an even box has one voxel more above the centre than below."""
    return list(itertools.product(*(range(-((size - 1) // 2), size // 2 + 1) for size in box_zyx)))


def all_pairs(box_zyx, kind):
    """Every unordered pair of offsets that a spec of this kind could look at."""
    offsets = offsets_of(box_zyx)
    if kind == "center":
        return {frozenset([(0, 0, 0), offset]) for offset in offsets if any(offset)}
    return {frozenset(pair) for pair in itertools.combinations(offsets, 2)}


def rand_disagreements(a, b):
    """Count the voxel pairs on which two segmentations disagree; background 0 is with nobody."""
    voxels = list(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
    return sum((p[0] == q[0] != 0) != (p[1] == q[1] != 0) for p, q in itertools.combinations(voxels, 2))
