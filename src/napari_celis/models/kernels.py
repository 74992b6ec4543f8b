"""Compiled loops of the energy models."""

import numba as nb
import numpy as np

BYTE = np.uint64(255)
ONE = np.uint64(1)


@nb.njit(nogil=True, cache=True)
def add_columns(total, plus, minus, word, columns):
    """Add the columns of the bits in `plus` to a sum and take off those of the bits in `minus`.

    total       : float64 (H,)
    plus, minus : uint64, bits 64 * word to 64 * word + 63 of a descriptor; no bit is in both
    columns     : float32 (K, H)
    """
    rest = plus | minus
    bit = word * 64
    while rest != 0:
        # Most words hold few set bits: eight zeros at a time are passed over.
        if rest & BYTE == 0:
            rest >>= np.uint64(8)
            plus >>= np.uint64(8)
            bit += 8
            continue
        if rest & ONE:
            column = columns[bit]
            if plus & ONE:
                for h in range(len(total)):
                    total[h] += column[h]
            else:
                for h in range(len(total)):
                    total[h] -= column[h]
        rest >>= ONE
        plus >>= ONE
        bit += 1


@nb.njit(nogil=True, cache=True)
def first_layer(bits, group, columns, base, total, out):
    """Write the rectified first layer of every row; rows of one centre share most of the work.

    Rows of one centre differ in few bits, so adding the columns of these bits to the sum of the centre's first
    row beats a matrix product. In float64 the result does not depend on which row came first.

    bits    : uint64 (M, W)   packed descriptors
    group   : int64 (M,)      which centre, counted within the batch, ascending
    columns : float32 (K, H)  weights of the bits
    base    : float64 (P, H)  what the features of each centre contribute, bias included; changed here
    total   : float64 (H,)    scratch
    out     : float32 (M, H)
    """
    zero = np.uint64(0)
    first = 0
    for m in range(len(bits)):
        shared = base[group[m]]
        if m == 0 or group[m] != group[m - 1]:
            first = m
            for word in range(bits.shape[1]):
                add_columns(shared, bits[m, word], zero, word, columns)
        total[:] = shared
        for word in range(bits.shape[1]):
            changed = bits[m, word] ^ bits[first, word]
            if changed != 0:
                add_columns(total, changed & bits[m, word], changed & ~bits[m, word], word, columns)
        for h in range(len(total)):
            out[m, h] = max(total[h], 0.0)
