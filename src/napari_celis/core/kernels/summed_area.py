"""Which centres have a component anywhere in their box: one summed-area table per region."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.entries import load_components


@nb.njit(nogil=True, cache=True)
def sum_components(supervoxels, low, high, table, k1, k2, out):
    """Write the summed-area table of "this voxel lies in component k1 or k2" over one block.

    supervoxels : int32 (Z, Y, X)
    low, high   : int64 (3,)     the block, `high` exclusive
    table       : int32 (N + 1,) component of every supervoxel of the block
    out         : int32 (>= block + 1 per axis); out[z, y, x] counts the voxels of the block before (z, y, x)

    The table has one more entry than the block along every axis, and the last one is filled too: the paper
    stops one short of it.
    """
    n_z, n_y, n_x = high[0] - low[0], high[1] - low[1], high[2] - low[2]
    out[0, : n_y + 1, : n_x + 1] = 0
    for z in range(1, n_z + 1):
        out[z, 0, : n_x + 1] = 0
        for y in range(1, n_y + 1):
            out[z, y, 0] = 0
            row = 0
            for x in range(1, n_x + 1):
                k = table[supervoxels[low[0] + z - 1, low[1] + y - 1, low[2] + x - 1]]
                row += k in (k1, k2)
                out[z, y, x] = row + out[z - 1, y, x] + out[z, y - 1, x] - out[z - 1, y - 1, x]


@nb.njit(nogil=True, cache=True)
def count_in_box(sums, z0, y0, x0, z1, y1, x1):
    """Count the voxels in the half-open box from (z0, y0, x0) to (z1, y1, x1) of a summed-area table."""
    upper = sums[z1, y1, x1] - sums[z1, y0, x1] - sums[z1, y1, x0] + sums[z1, y0, x0]
    lower = sums[z0, y1, x1] - sums[z0, y0, x1] - sums[z0, y1, x0] + sums[z0, y0, x0]
    return upper - lower


@nb.njit(nogil=True, cache=True)
def visible_centres(
    supervoxels,
    layout,
    lows,
    highs,
    centres,
    box,
    components,
    regions,
    k1,
    k2,
    mask_start,
    scratch,
    sums,
    masks,
):
    """Mark the centres with a voxel of k1[i] or k2[i] in their box, for every joined region i.

    lows, highs : int64 (R, 3)  boxes of all regions
    centres     : int32 (N, 3)
    box         : int64 (2, 3)  voxels of the descriptor's box below and above its centre, both included
    mask_start  : int64 (n + 1,)
    scratch     : named tuple of `napari_celis.core.buffers`; its component table is overwritten
    sums        : int32 (>= largest region + 1 per axis)  scratch
    masks       : uint64 (mask_start[-1],)  zeroed by the caller
    """
    for i in range(len(regions)):
        region = regions[i]
        low = lows[region]
        load_components(layout, components, region, scratch)
        sum_components(supervoxels, low, highs[region], scratch.table, k1[i], k2[i], sums)
        first = layout.centre_start[region]
        for c in range(layout.centre_start[region + 1] - first):
            z, y, x = (
                centres[first + c, 0] - low[0],
                centres[first + c, 1] - low[1],
                centres[first + c, 2] - low[2],
            )
            n = count_in_box(
                sums, z - box[0, 0], y - box[0, 1], x - box[0, 2],
                z + box[1, 0] + 1, y + box[1, 1] + 1, x + box[1, 2] + 1,
            )  # fmt: skip
            if n > 0:
                masks[mask_start[i] + (c >> 6)] |= np.uint64(1) << np.uint64(c & 63)
