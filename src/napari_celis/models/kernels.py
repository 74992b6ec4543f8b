"""Compiled loops of the energy models."""

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def first_layer(bits, group, first_row, columns, base, out):
    """Write the rectified first layer of every row from that of the first row of its centre.

    Rows of one centre differ in few bits, so adding the columns of these bits beats a matrix product.

    bits      : uint64 (M, W)   packed descriptors
    group     : int64 (M,)      which centre, counted within the batch
    first_row : int64 (P,)      the row whose sum is in `base`
    columns   : float32 (K, H)  weights of the bits
    base      : float32 (P, H)  sums of the first rows, features and bias included, not rectified
    out       : float32 (M, H)
    """
    zero = np.float32(0.0)
    for m in range(len(bits)):
        own, first = out[m], first_row[group[m]]
        own[:] = base[group[m]]
        for word in range(bits.shape[1]):
            difference = bits[m, word] ^ bits[first, word]
            bit = word * 64
            while difference != 0:
                if difference & np.uint64(1):
                    column = columns[bit]
                    if (bits[m, word] >> np.uint64(bit & 63)) & np.uint64(1):
                        for h in range(len(own)):
                            own[h] += column[h]
                    else:
                        for h in range(len(own)):
                            own[h] -= column[h]
                difference >>= np.uint64(1)
                bit += 1
        for h in range(len(own)):
            own[h] = max(own[h], zero)
