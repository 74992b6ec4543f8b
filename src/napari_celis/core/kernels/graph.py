"""Which centres lie in a component that a merge can reach in the graph of components."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.entries import enter_pairs, load_components


@nb.njit(nogil=True, cache=True)
def near_centres(flat_supervoxels, layout, components, regions, k1, k2, mask_start, scratch, is_near, masks):
    """Mark the centres that lie in k1[i], in k2[i] or in a component with an active pair to one of them.

    mask_start : int64 (n + 1,)
    scratch    : named tuple of `napari_celis.core.buffers`; its component and pair tables are overwritten
    is_near    : bool (>= components of the largest region + 1,)  scratch
    masks      : uint64 (mask_start[-1],)  zeroed by the caller
    """
    for i in range(len(regions)):
        region = regions[i]
        load_components(layout, components, region, scratch)
        _, width, n = enter_pairs(layout, components, region, scratch)
        is_near[:width] = False
        is_near[k1[i]] = is_near[k2[i]] = True
        for e in range(n):
            a, b = scratch.entry_a[e], scratch.entry_b[e]
            if a == k1[i] or a == k2[i]:
                is_near[b] = True
            elif b == k1[i] or b == k2[i]:
                is_near[a] = True
        first = layout.centre_start[region]
        for c in range(layout.centre_start[region + 1] - first):
            if is_near[scratch.table[flat_supervoxels[layout.flat_centres[first + c]]]]:
                masks[mask_start[i] + (c >> 6)] |= np.uint64(1) << np.uint64(c & 63)
