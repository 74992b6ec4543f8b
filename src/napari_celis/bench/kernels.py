"""Loops that benchmarks time: ours without what surrounds it, and the bare minimum beside it."""

import numba as nb
import numpy as np

from napari_celis.core.kernels.changes import open_lookup, sample_centre
from napari_celis.core.kernels.entries import enter_pairs, load_components


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


@nb.njit(nogil=True, cache=True)
def write_cells(seeds, spacing, labels):
    """Give every voxel to its nearest seed; there is one seed somewhere in every cube of a grid.

    seeds   : float32 (Z', Y', X', 3)  where in its cube each seed lies, 0 to 1
    spacing : int                      edge of a cube in voxels
    labels  : int32 (Z, Y, X)          written, counted from 1
    """
    n_z, n_y, n_x, _ = seeds.shape
    for z in range(labels.shape[0]):
        for y in range(labels.shape[1]):
            for x in range(labels.shape[2]):
                best, least = 0, np.inf
                cz, cy, cx = z // spacing, y // spacing, x // spacing
                for a in range(max(cz - 1, 0), min(cz + 2, n_z)):
                    for b in range(max(cy - 1, 0), min(cy + 2, n_y)):
                        for c in range(max(cx - 1, 0), min(cx + 2, n_x)):
                            dz = (a + seeds[a, b, c, 0]) * spacing - z
                            dy = (b + seeds[a, b, c, 1]) * spacing - y
                            dx = (c + seeds[a, b, c, 2]) * spacing - x
                            distance = dz * dz + dy * dy + dx * dx
                            if distance < least:
                                least = distance
                                best = (a * n_y + b) * n_x + c + 1
                labels[z, y, x] = best
