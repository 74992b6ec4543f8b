"""Changes of the variation of information by merging two rows of a contingency table."""

import numba as nb
import numpy as np


@nb.njit(nogil=True, cache=True)
def _n_log_n(n):
    return n * np.log2(n) if n > 0 else 0.0


@nb.njit(nogil=True, cache=True)
def merge_changes(row_start, column, count, size, rows_a, rows_b, out):
    """Write, in bits times voxels, how the variation of information changes when two rows become one.

    row_start : int64 (R + 1,)  entries of each row
    column    : int64 (P,)      ascending within a row
    count     : float64 (P,)    voxels of each entry
    size      : float64 (R,)    voxels of each row
    rows_a, rows_b : int64 (n,) the pairs; a pair of equal rows gives 0
    out       : float64 (n,)
    """
    for i in range(len(out)):
        a, b = rows_a[i], rows_b[i]
        out[i] = 0.0
        if a == b:
            continue
        change = _n_log_n(size[a] + size[b]) - _n_log_n(size[a]) - _n_log_n(size[b])
        p, q = row_start[a], row_start[b]
        while p < row_start[a + 1] and q < row_start[b + 1]:
            if column[p] < column[q]:
                p += 1
            elif column[p] > column[q]:
                q += 1
            else:
                both = _n_log_n(count[p] + count[q]) - _n_log_n(count[p]) - _n_log_n(count[q])
                change -= 2.0 * both
                p += 1
                q += 1
        out[i] = change
