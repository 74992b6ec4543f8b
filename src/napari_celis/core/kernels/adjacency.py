"""Faces between supervoxels."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.faces import label_above


@nb.njit(nogil=True, cache=True)
def list_faces(supervoxels, begin, n_supervoxels, keys, positions):
    """List every face between two supervoxels, and return their number; count only when `keys` is empty.

    supervoxels : int32 (Z, Y, X)  dense index, 0 = background
    begin       : three ints       faces count whose upper voxel lies at or behind this along every axis
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
                    if z + (axis == 0) < begin[0] or y + (axis == 1) < begin[1] or x + (axis == 2) < begin[2]:
                        continue
                    v = label_above(supervoxels, z, y, x, axis)
                    if v == 0 or v == u:
                        continue
                    if len(keys) > 0:
                        keys[n] = np.int64(min(u, v)) * width + max(u, v)
                        positions[n, 0] = z + 0.5 * (axis == 0)
                        positions[n, 1] = y + 0.5 * (axis == 1)
                        positions[n, 2] = x + 0.5 * (axis == 2)
                    n += 1
    return n


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
