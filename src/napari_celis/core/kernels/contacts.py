"""Affinity statistics of contacts and of the inside of supervoxels."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.adjacency import find_action
from napari_celis.core.kernels.faces import label_below

UNITS = 2.0**36
"""Sums of a hundred million faces still fit into 64 bits."""


@nb.njit(nogil=True, cache=True)
def _add(sums, row, affinity, bin_of_level):
    """Add one affinity to a row: count, sum, sum of squares, then the histogram.

    Affinities and squares are counted in whole units, so that sums are exact in any order.
    """
    sums[row, 0] += 1
    sums[row, 1] += np.int64(affinity * UNITS + 0.5)
    sums[row, 2] += np.int64(affinity * affinity * UNITS + 0.5)
    sums[row, 3 + bin_of_level[int(affinity * 255.0 + 0.5)]] += 1


@nb.njit(nogil=True, cache=True)
def add_faces(supervoxels, affinities, begin, scale, first, second, bin_of_level, contact, low, high, inside):
    """Add the affinity of every voxel face to the contact or the supervoxel that it belongs to.

    supervoxels   : int32 (Z, Y, X)      dense index, 0 = background
    affinities    : (3, Z, Y, X)         channel c at p joins p and its neighbour below along axis c
    begin         : three ints           faces count whose upper voxel lies at or behind this on every axis
    scale         : float                affinity of one unit of `affinities`
    first, second : int64, int32         the actions, as in `find_action`
    bin_of_level  : uint8 (256,)         histogram bin of an affinity in steps of 1/255
    contact       : int64 (A, 3 + B)     count, sum and sum of squares in units, histogram
    low, high     : float64 (A,)         smallest and largest affinity of a contact
    inside        : int64 (N + 1, 3 + B)
    """
    Z, Y, X = supervoxels.shape
    for z in range(begin[0], Z):
        for y in range(begin[1], Y):
            for x in range(begin[2], X):
                u = supervoxels[z, y, x]
                if u == 0:
                    continue
                for axis in range(3):
                    v = label_below(supervoxels, z, y, x, axis)
                    if v == 0:
                        continue
                    affinity = float(affinities[axis, z, y, x]) * scale
                    if u == v:
                        _add(inside, u, affinity, bin_of_level)
                        continue
                    row = find_action(first, second, min(u, v), max(u, v))
                    _add(contact, row, affinity, bin_of_level)
                    low[row] = min(low[row], affinity)
                    high[row] = max(high[row], affinity)
