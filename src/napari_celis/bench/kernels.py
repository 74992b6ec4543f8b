"""Loops that benchmarks time: ours without what surrounds it, and the bare minimum beside it."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.changes import enter_pairs, load_components, open_lookup, sample_centre


@nb.njit(nogil=True, cache=True)
def sample_everything(flat_supervoxels, layout, offsets, components, scratch):
    """Compute base bits and all flips at every centre; returns the number of flip groups."""
    n_groups = 0
    for region in range(len(layout.centre_start) - 1):
        load_components(layout, components, region, scratch)
        shift, width, n = enter_pairs(layout, components, region, scratch)
        lookup = open_lookup(scratch, shift, width, n)
        for centre in range(layout.centre_start[region], layout.centre_start[region + 1]):
            n_groups += sample_centre(flat_supervoxels, layout, centre, offsets, lookup, scratch)
    return n_groups


@nb.njit(nogil=True, cache=True)
def gather_and_compare(flat_labels, flat_centres, offsets, out):
    """Set one bit per pair whose two ends have the same label; nothing else.

    flat_labels  : int32 (V,)
    flat_centres : int64 (N,)
    offsets      : int64 (2, K)
    out          : uint64 (W,)  overwritten by every centre
    """
    total = np.uint64(0)
    for centre in range(len(flat_centres)):
        position = flat_centres[centre]
        for word in range(len(out)):
            bits = np.uint64(0)
            begin = word * 64
            for i in range(begin, min(begin + 64, offsets.shape[1])):
                if flat_labels[position + offsets[0, i]] == flat_labels[position + offsets[1, i]]:
                    bits |= np.uint64(1) << np.uint64(i - begin)
            out[word] = bits
            total += bits & np.uint64(1)
    return total
