"""Count how often each pair of ids occurs, in a hash table of rows (segment, truth, count)."""

import numba as nb
import numpy as np

ZERO = np.uint64(0)
HALF = np.uint64(32)
LOW_BITS = np.uint64(0xFFFFFFFF)
# Odd 32-bit constants: a product of two 32-bit halves never overflows 64 bits, so plain Python agrees.
MIX_1 = np.uint64(0x9E3779B1)
MIX_2 = np.uint64(0x85EBCA77)
MIX_3 = np.uint64(0xC2B2AE3D)


@nb.njit(nogil=True, cache=True)
def stir(state, value):
    """Mix a 64-bit value into a 64-bit state; every bit of both reaches the low half."""
    low = ((state ^ value) & LOW_BITS) * MIX_1
    high = ((state ^ value) >> HALF) * MIX_2
    mixed = low ^ (high << HALF | high >> HALF)
    return mixed ^ ((mixed >> HALF) * MIX_3)


@nb.njit(nogil=True, cache=True)
def find_bucket(buckets, segment, truth):
    """Find the row that holds the pair, or the free row where it belongs.

    buckets : uint64 (N, 3)  N a power of two; a row is free while its count is 0, and one always is
    """
    mask = np.uint64(buckets.shape[0] - 1)
    mixed = stir(stir(ZERO, segment), truth)
    bucket = np.int64((mixed ^ (mixed >> HALF)) & mask)
    while buckets[bucket, 2] != ZERO and (buckets[bucket, 0] != segment or buckets[bucket, 1] != truth):
        bucket = (bucket + 1) & np.int64(mask)
    return bucket


@nb.njit(nogil=True, cache=True)
def add_pairs(segments, truths, start, n_used, buckets):
    """Count the pairs from `start` on, and stop early when the table is half full.

    segments, truths : uint64 (V,)    a pair whose truth is 0 is skipped
    buckets            : uint64 (N, 3)  changed in place

    Returns the position of the first pair not counted (V when done) and the number of rows used.
    """
    n_voxels = segments.shape[0]
    most_used = buckets.shape[0] // 2
    position = start
    while position < n_voxels:
        segment, truth = segments[position], truths[position]
        # Neighbours mostly hold the same pair: look it up once per run.
        end = position + 1
        while end < n_voxels and segments[end] == segment and truths[end] == truth:
            end += 1
        if truth != ZERO:
            bucket = find_bucket(buckets, segment, truth)
            if buckets[bucket, 2] == ZERO:
                if n_used == most_used:
                    return position, n_used
                buckets[bucket, 0] = segment
                buckets[bucket, 1] = truth
                n_used += 1
            buckets[bucket, 2] += np.uint64(end - position)
        position = end
    return position, n_used


@nb.njit(nogil=True, cache=True)
def move_pairs(old_buckets, buckets):
    """Copy every row in use into a larger, zeroed table.

    old_buckets, buckets : uint64 (N, 3), (M, 3)
    """
    for row in range(old_buckets.shape[0]):
        if old_buckets[row, 2] != ZERO:
            bucket = find_bucket(buckets, old_buckets[row, 0], old_buckets[row, 1])
            buckets[bucket, 0] = old_buckets[row, 0]
            buckets[bucket, 1] = old_buckets[row, 1]
            buckets[bucket, 2] = old_buckets[row, 2]
