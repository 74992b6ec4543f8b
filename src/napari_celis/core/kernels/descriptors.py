"""Binary shape descriptors of a labelled block."""

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def write_bits(components, centres, pairs, out):
    """Set bit j of row i when both ends of pair j lie in the same component.

    components : int32 (Z, Y, X)  component inside one connectivity region, 0 = connected to nothing
    centres    : int32 (N, 3)     centre + offset must stay inside `components`
    pairs      : int32 (K, 2, 3)  the offsets of the descriptor spec
    out        : uint64 (N, W)    zeroed by the caller, W = ceil(K / 64)
    """
    for i in range(len(centres)):
        z, y, x = centres[i, 0], centres[i, 1], centres[i, 2]
        for j in range(len(pairs)):
            a = components[z + pairs[j, 0, 0], y + pairs[j, 0, 1], x + pairs[j, 0, 2]]
            b = components[z + pairs[j, 1, 0], y + pairs[j, 1, 1], x + pairs[j, 1, 2]]
            if a == b and a != 0:
                out[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
