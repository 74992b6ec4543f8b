"""Compiled loops of the energy models."""

import numba as nb
import numpy as np

import napari_celis.core.kernel_cache  # noqa: F401, a damaged cache must not fail them

BYTE = np.uint64(255)
ONE = np.uint64(1)


@nb.njit(nogil=True, cache=True)
def list_bits(bits, word, out, n):
    """Append the numbers of the bits set in one word of a descriptor to `out`; returns the new length."""
    bit = word * 64
    while bits != 0:
        # Most words hold few set bits: eight zeros at a time are passed over.
        if bits & BYTE == 0:
            bits >>= np.uint64(8)
            bit += 8
            continue
        if bits & ONE:
            out[n] = bit
            n += 1
        bits >>= ONE
        bit += 1
    return n


@nb.njit(nogil=True, cache=True)
def add_columns(total, chosen, n, sign, columns, weighted, evidence):
    """Add or take off the chosen columns, two at a time because each pass over the sum costs as much.

    total    : float64 (H,)
    chosen   : int64 (>= n,)
    columns  : float32 (K, H)  added as they are
    weighted : float32 (K, H)  added times the evidence
    evidence : uint8 (K,)
    """
    width = len(total)
    i = 0
    while i + 2 <= n:
        k, m = chosen[i], chosen[i + 1]
        a, b, c, d = columns[k], weighted[k], columns[m], weighted[m]
        v, w = np.float64(evidence[k]), np.float64(evidence[m])
        for h in range(width):
            total[h] += sign * ((a[h] + v * b[h]) + (c[h] + w * d[h]))
        i += 2
    if i < n:
        k = chosen[i]
        a, b, v = columns[k], weighted[k], np.float64(evidence[k])
        for h in range(width):
            total[h] += sign * (a[h] + v * b[h])


@nb.njit(nogil=True, cache=True)
def first_layer(bits, group, columns, weighted, evidence, base, total, chosen, out):
    """Write the rectified first layer of every row; rows of one centre share most of the work.

    Rows of one centre differ in few bits, so adding the columns of these bits to the sum of the centre's
    first row beats a matrix product. In float64 the result does not depend on which row came first.

    bits     : uint64 (M, W)   packed descriptors
    group    : int64 (M,)      which centre, counted within the batch, ascending
    columns  : float32 (K, H)  weights of the bits
    weighted : float32 (K, H)  weights of the bits times their evidence
    evidence : uint8 (P, K)    of each centre
    base     : float64 (P, H)  what the features of each centre contribute, bias included; changed here
    total    : float64 (H,)    scratch
    chosen   : int64 (2, K)    scratch
    out      : float32 (M, H)
    """
    n_words = bits.shape[1]
    plus, minus = chosen[0], chosen[1]
    first = 0
    for m in range(len(bits)):
        shared, seen = base[group[m]], evidence[group[m]]
        n_plus, n_minus = 0, 0
        if m == 0 or group[m] != group[m - 1]:
            first = m
            for word in range(n_words):
                n_plus = list_bits(bits[m, word], word, plus, n_plus)
            add_columns(shared, plus, n_plus, 1.0, columns, weighted, seen)
            total[:] = shared
        else:
            for word in range(n_words):
                changed = bits[m, word] ^ bits[first, word]
                n_plus = list_bits(changed & bits[m, word], word, plus, n_plus)
                n_minus = list_bits(changed & bits[first, word], word, minus, n_minus)
            total[:] = shared
            add_columns(total, plus, n_plus, 1.0, columns, weighted, seen)
            add_columns(total, minus, n_minus, -1.0, columns, weighted, seen)
        own = out[m]
        for h in range(len(total)):
            own[h] = max(total[h], 0.0)


@nb.njit(nogil=True, cache=True)
def lowest_on_lines(values, centres, start, offsets, out):
    """Find the lowest value on each line around each centre.

    values  : uint8 (V,)       flat volume
    centres : int64 (N,)       flat positions
    start   : int64 (K + 1,)   where the offsets of each line begin
    offsets : int64 (n,)       flat
    out     : uint8 (N, K)
    """
    for c in range(len(centres)):
        for k in range(len(start) - 1):
            lowest = np.uint8(255)
            for i in range(start[k], start[k + 1]):
                lowest = min(lowest, values[centres[c] + offsets[i]])
            out[c, k] = lowest
