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
def find_slot(slots, segment, truth):
    """Find the row that holds the pair, or the free row where it belongs.

    slots : uint64 (N, 3)  N a power of two; a row is free while its count is 0, and one always is
    """
    mask = np.uint64(slots.shape[0] - 1)
    mixed = stir(stir(ZERO, segment), truth)
    slot = np.int64((mixed ^ (mixed >> HALF)) & mask)
    while slots[slot, 2] != ZERO and (slots[slot, 0] != segment or slots[slot, 1] != truth):
        slot = (slot + 1) & np.int64(mask)
    return slot


@nb.njit(nogil=True, cache=True)
def add_pairs(segments, truths, start, n_used, slots):
    """Count the pairs from `start` on, and stop early when the table is half full.

    segments, truths : uint64 (V,)    a pair whose truth is 0 is skipped
    slots            : uint64 (N, 3)  changed in place

    Returns the position of the first pair not counted (V when done) and the number of rows used.
    """
    n_voxels = segments.shape[0]
    most_used = slots.shape[0] // 2
    position = start
    while position < n_voxels:
        segment, truth = segments[position], truths[position]
        # Neighbours mostly hold the same pair: look it up once per run.
        end = position + 1
        while end < n_voxels and segments[end] == segment and truths[end] == truth:
            end += 1
        if truth != ZERO:
            slot = find_slot(slots, segment, truth)
            if slots[slot, 2] == ZERO:
                if n_used == most_used:
                    return position, n_used
                slots[slot, 0] = segment
                slots[slot, 1] = truth
                n_used += 1
            slots[slot, 2] += np.uint64(end - position)
        position = end
    return position, n_used


@nb.njit(nogil=True, cache=True)
def move_pairs(old_slots, slots):
    """Copy every row in use into a larger, zeroed table.

    old_slots, slots : uint64 (N, 3), (M, 3)
    """
    for row in range(old_slots.shape[0]):
        if old_slots[row, 2] != ZERO:
            slot = find_slot(slots, old_slots[row, 0], old_slots[row, 1])
            slots[slot, 0] = old_slots[row, 0]
            slots[slot, 1] = old_slots[row, 1]
            slots[slot, 2] = old_slots[row, 2]
