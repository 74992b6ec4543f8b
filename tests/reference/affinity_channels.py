"""Affinities voxel by voxel: what any tool's channels say about a voxel and its neighbour at −z, −y, −x."""

import numpy as np


def nearest_affinities(stored, offsets):
    """Look up every pair of neighbours, in the first channel that tells of it; 0 where there is no neighbour.

    stored : (C, Z, Y, X), channel c at p is about p and p + offsets[c]
    """
    offsets = [tuple(int(step) for step in offset) for offset in offsets]
    result = np.zeros((3, *stored.shape[1:]), stored.dtype)
    for axis in range(3):
        back = tuple(-1 if other == axis else 0 for other in range(3))
        ahead = tuple(-step for step in back)
        for p in np.ndindex(*stored.shape[1:]):
            neighbour = tuple(a + b for a, b in zip(p, back, strict=True))
            if min(neighbour) < 0:
                # Nobody can say anything here; what a channel holds there is passed on if it is ours.
                result[(axis, *p)] = stored[(offsets.index(back), *p)] if back in offsets else 0
            elif back in offsets:
                result[(axis, *p)] = stored[(offsets.index(back), *p)]
            else:
                result[(axis, *p)] = stored[(offsets.index(ahead), *neighbour)]
    return result
