"""Hash tables as plain arrays: component pairs of one region, and energies seen before."""

import numba as nb
import numpy as np

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xBF58476D1CE4E5B9)
EMPTY = -1
MISSING = np.iinfo(np.int64).min
"""Stands for an energy that was never seen."""


@nb.njit(nogil=True, cache=True, inline="always")
def spread(key, shift):
    """Map an integer to the top `64 - shift` bits of its product with the golden ratio."""
    return np.int64((np.uint64(key) * GOLDEN) >> np.uint64(shift))


@nb.njit(nogil=True, cache=True)
def pair_clear(keys, seen, n_entries):
    """Empty a pair table for up to `n_entries` and return the shift that addresses it.

    keys : int64 (P,)   P a power of two; the first 4 * n_entries or more are used
    seen : uint64 (P / 8,)  a bitmap over finer hashes that answers most misses without a probe
    """
    size, log_size = 64, 6
    while size < 4 * n_entries:
        size *= 2
        log_size += 1
    keys[:size] = EMPTY
    seen[: size // 8] = 0
    return 64 - log_size


@nb.njit(nogil=True, cache=True, inline="always")
def pair_find(keys, values, seen, shift, key):
    """Return the value stored for `key`, or -1."""
    fine = spread(key, shift - 3)
    if (seen[fine >> 6] >> np.uint64(fine & 63)) & np.uint64(1) == 0:
        return -1
    mask = (np.int64(1) << np.int64(64 - shift)) - 1
    bucket = fine >> 3
    while keys[bucket] != EMPTY:
        if keys[bucket] == key:
            return np.int64(values[bucket])
        bucket = (bucket + 1) & mask
    return -1


@nb.njit(nogil=True, cache=True)
def pair_insert(keys, values, seen, shift, key, value):
    """Store `value` for a key that is not in the table."""
    fine = spread(key, shift - 3)
    seen[fine >> 6] |= np.uint64(1) << np.uint64(fine & 63)
    mask = (np.int64(1) << np.int64(64 - shift)) - 1
    bucket = fine >> 3
    while keys[bucket] != EMPTY:
        bucket = (bucket + 1) & mask
    keys[bucket] = key
    values[bucket] = value


@nb.njit(nogil=True, cache=True)
def hash_bits(bits):
    """Hash one packed descriptor to 64 bits.

    Every bit of a word must reach all bits of the hash before the next word comes in: a product carries the
    highest bit nowhere, so that few bits of two neighbouring words could undo each other.
    """
    h = np.uint64(len(bits)) * GOLDEN
    for w in range(len(bits)):
        h ^= bits[w]
        h ^= h >> np.uint64(32)
        h *= MIX
        h ^= h >> np.uint64(29)
        h *= GOLDEN
        h ^= h >> np.uint64(32)
    return h


@nb.njit(nogil=True, cache=True)
def energy_find(centres, hashes, energies, centre, h):
    """Return the energy of descriptor hash `h` at `centre`, or `MISSING` when it was never seen.

    centres : int32 (P,)  P a power of two, -1 where free
    """
    mask = np.int64(len(centres) - 1)
    bucket = np.int64((h ^ (np.uint64(centre) * GOLDEN)) & np.uint64(mask))
    while centres[bucket] != EMPTY:
        if centres[bucket] == centre and hashes[bucket] == h:
            return energies[bucket]
        bucket = (bucket + 1) & mask
    return MISSING


@nb.njit(nogil=True, cache=True)
def energy_insert(centres, hashes, energies, rounds, new_centres, new_hashes, new_energies, new_rounds):
    """Store energies and return how many were new; the caller keeps buckets free."""
    mask = np.int64(len(centres) - 1)
    added = 0
    for i in range(len(new_centres)):
        centre, h = new_centres[i], new_hashes[i]
        if centre == EMPTY:
            continue
        bucket = np.int64((h ^ (np.uint64(centre) * GOLDEN)) & np.uint64(mask))
        while centres[bucket] != EMPTY and not (centres[bucket] == centre and hashes[bucket] == h):
            bucket = (bucket + 1) & mask
        added += centres[bucket] == EMPTY
        centres[bucket] = centre
        hashes[bucket] = h
        energies[bucket] = new_energies[i]
        rounds[bucket] = new_rounds[i]
    return added


@nb.njit(nogil=True, cache=True)
def drop_outdated(centres, rounds, last_round):
    """Free the buckets of entries from before their centre's last two rounds, and return how many there were.

    The table can be copied afterwards, but no longer searched.
    """
    dropped = 0
    for bucket in range(len(centres)):
        centre = centres[bucket]
        if centre != EMPTY and np.uint8(last_round[centre] - rounds[bucket]) > np.uint8(1):
            centres[bucket] = EMPTY
            dropped += 1
    return dropped
