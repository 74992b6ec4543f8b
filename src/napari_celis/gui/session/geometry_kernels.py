"""Where contacts and supervoxels lie."""

import numba as nb

from napari_celis.core.kernels.adjacency import find_action
from napari_celis.core.kernels.faces import label_above


@nb.njit(nogil=True, cache=True)
def snap_to_faces(supervoxels, first, second, centroid, distance, position):
    """Find the face of every contact that lies nearest to a given point, the first of equals.

    supervoxels   : int32 (Z, Y, X)  dense index, 0 = background
    first, second : int64, int32     the actions, as in `find_action`
    centroid      : float64 (A, 3)   the point of each action, in voxels
    distance      : float64 (A,)     filled with infinity by the caller; squared distance
    position      : float64 (A, 3)   middle of the face
    """
    Z, Y, X = supervoxels.shape
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                u = supervoxels[z, y, x]
                if u == 0:
                    continue
                for axis in range(3):
                    v = label_above(supervoxels, z, y, x, axis)
                    if v == 0 or v == u:
                        continue
                    row = find_action(first, second, min(u, v), max(u, v))
                    fz, fy, fx = z + 0.5 * (axis == 0), y + 0.5 * (axis == 1), x + 0.5 * (axis == 2)
                    dz, dy, dx = fz - centroid[row, 0], fy - centroid[row, 1], fx - centroid[row, 2]
                    squared = dz * dz + dy * dy + dx * dx
                    if squared < distance[row]:
                        distance[row] = squared
                        position[row, 0], position[row, 1], position[row, 2] = fz, fy, fx


@nb.njit(nogil=True, cache=True)
def grow_boxes(supervoxels, low, high):
    """Grow the box of every supervoxel until it holds all its voxels.

    supervoxels : int32 (Z, Y, X)   dense index
    low         : int64 (N + 1, 3)  filled with the shape by the caller; first voxel along each axis
    high        : int64 (N + 1, 3)  zeroed by the caller; one past the last voxel
    """
    Z, Y, X = supervoxels.shape
    for z in range(Z):
        for y in range(Y):
            for x in range(X):
                i = supervoxels[z, y, x]
                low[i, 0] = min(low[i, 0], z)
                low[i, 1] = min(low[i, 1], y)
                low[i, 2] = min(low[i, 2], x)
                high[i, 0] = max(high[i, 0], z + 1)
                high[i, 1] = max(high[i, 1], y + 1)
                high[i, 2] = max(high[i, 2], x + 1)
