"""Faces between supervoxels."""

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def count_faces(supervoxels, begin):
    """Count the voxel faces between two different supervoxels, background left out.

    supervoxels : int32 (Z, Y, X)  dense index, 0 = background
    begin       : three ints       faces count whose upper voxel lies at or behind this along every axis
    """
    n = 0
    Z, Y, X = supervoxels.shape
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                u = supervoxels[z, y, x]
                if u == 0:
                    continue
                for axis in range(3):
                    z2, y2, x2 = z + (axis == 0), y + (axis == 1), x + (axis == 2)
                    if z2 >= Z or y2 >= Y or x2 >= X or z2 < begin[0] or y2 < begin[1] or x2 < begin[2]:
                        continue
                    v = supervoxels[z2, y2, x2]
                    n += v != 0 and v != u
    return n


@nb.njit(nogil=True, cache=True)
def write_faces(supervoxels, begin, n_supervoxels, keys, positions):
    """List every face between two supervoxels.

    supervoxels : int32 (Z, Y, X)  dense index, 0 = background
    begin       : three ints       as in `count_faces`
    keys        : int64 (F,)       smaller index * (n_supervoxels + 1) + larger index
    positions   : float32 (F, 3)   middle of the face, in voxels
    """
    n = 0
    width = np.int64(n_supervoxels + 1)
    Z, Y, X = supervoxels.shape
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                u = supervoxels[z, y, x]
                if u == 0:
                    continue
                for axis in range(3):
                    z2, y2, x2 = z + (axis == 0), y + (axis == 1), x + (axis == 2)
                    if z2 >= Z or y2 >= Y or x2 >= X or z2 < begin[0] or y2 < begin[1] or x2 < begin[2]:
                        continue
                    v = supervoxels[z2, y2, x2]
                    if v == 0 or v == u:
                        continue
                    keys[n] = np.int64(min(u, v)) * width + max(u, v)
                    positions[n, 0] = 0.5 * (z + z2)
                    positions[n, 1] = 0.5 * (y + y2)
                    positions[n, 2] = 0.5 * (x + x2)
                    n += 1


@nb.njit(nogil=True, cache=True)
def find_action(first, second, u, v):
    """Return the row of the action between u < v, or -1.

    first  : int64 (N + 2,)  rows first[u] to first[u + 1] are the actions whose smaller end is u
    second : int32 (A,)      larger ends, ascending within each such run
    """
    low, high = first[u], first[u + 1]
    while low < high:
        middle = (low + high) // 2
        if second[middle] < v:
            low = middle + 1
        else:
            high = middle
    if low < first[u + 1] and second[low] == v:
        return low
    return -1
