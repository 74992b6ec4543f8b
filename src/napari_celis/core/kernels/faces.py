"""The label on the other side of a voxel's face."""

import numba as nb


@nb.njit(nogil=True, cache=True)
def label_above(labels, z, y, x, axis):
    """Return the label of the next voxel along an axis, 0 outside the volume.

    labels : int32 (Z, Y, X)
    """
    Z, Y, X = labels.shape
    z2, y2, x2 = z + (axis == 0), y + (axis == 1), x + (axis == 2)
    if z2 >= Z or y2 >= Y or x2 >= X:
        return labels.dtype.type(0)
    return labels[z2, y2, x2]


@nb.njit(nogil=True, cache=True)
def label_below(labels, z, y, x, axis):
    """Return the label of the voxel before along an axis, 0 outside the volume.

    labels : int32 (Z, Y, X)
    """
    z2, y2, x2 = z - (axis == 0), y - (axis == 1), x - (axis == 2)
    if z2 < 0 or y2 < 0 or x2 < 0:
        return labels.dtype.type(0)
    return labels[z2, y2, x2]
