"""Arrays that kernels write to, allocated once per thread or spec and used again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from napari_celis.core.regions import RegionTable

ROWS = 1 << 15
"""Descriptors per batch: large enough for fast matrix products, small enough to stay in cache."""
MATRIX_ENTRIES = 1 << 22
"""Pairs of components that a matrix may hold: 16 MB, for two thousand components in one region."""


class Rows(NamedTuple):
    """Descriptors whose energy is wanted; those that the cache does not know are listed with their bits."""

    energy: np.ndarray
    """Energy of each row in units, `MISSING` where it is not known, int64."""
    missing: np.ndarray
    """Which rows are missing, int32; the other arrays run parallel to this one."""
    centre: np.ndarray
    hash: np.ndarray
    bits: np.ndarray


class Terms(NamedTuple):
    """Energy differences, each between two rows, and the leader slot that gains or loses it.

    Without a row, only that the centre sees the pair; without a base, the energy of the centre itself.
    """

    target: np.ndarray
    base: np.ndarray
    row: np.ndarray
    sign: np.ndarray


class Scratch(NamedTuple):
    """Working memory of the kernels in `kernels.changes`."""

    table: np.ndarray
    """Component of every supervoxel of the volume, in the region at hand."""
    keys: np.ndarray
    """The pair table: keys, entries and a bitmap that answers most misses."""
    values: np.ndarray
    filter: np.ndarray
    matrix: np.ndarray
    """Entry of every pair of components of a region, if they are few enough."""
    entry_slot: np.ndarray
    """Leader of each entry, -1 when no action could merge the pair."""
    entry_a: np.ndarray
    entry_b: np.ndarray
    partner: np.ndarray
    """The entry that becomes the same pair by the merge at hand, or -1."""
    stamps: np.ndarray
    """Last centre that sampled the entry."""
    groups: np.ndarray
    """Group of the entry at that centre."""
    entry_sums: np.ndarray
    """Sums of the entry after the merge at hand, and whether its energies are known."""
    entry_known: np.ndarray
    ends: np.ndarray
    """Components at both ends of every pair at the centre at hand."""
    entries: np.ndarray
    """Entry of every pair there."""
    hits: np.ndarray
    """Pairs with an entry."""
    group_entry: np.ndarray
    group_bits: np.ndarray
    flat_bits: np.ndarray
    """The same memory as `group_bits`, with one axis."""
    base: np.ndarray
    after: np.ndarray


class Buffers(NamedTuple):
    """Everything one thread needs to work on one spec."""

    rows: Rows
    terms: Terms
    scratch: Scratch
    counts: np.ndarray
    """Rows, missing rows, terms, centres sampled."""


def allocate(table: RegionTable, n_supervoxels: int, n_columns: int) -> Buffers:
    """Allocate for the largest region of a spec.

    Parameters
    ----------
    table : RegionTable
        The regions of a spec.
    n_supervoxels : int
        How many supervoxels there are.
    n_columns : int
        Columns of the sums per slot.
    """
    spec = table.tiling.spec
    n_entries = 2 * table.max_slots + 1
    n_keys = 64
    while n_keys < 4 * n_entries:
        n_keys *= 2
    n_rows = max(ROWS, 4 * spec.n_bits)
    group_bits = np.empty((spec.n_bits, spec.n_words), np.uint64)
    return Buffers(
        rows=Rows(
            energy=np.empty(n_rows, np.int64),
            missing=np.empty(n_rows, np.int32),
            centre=np.empty(n_rows, np.int32),
            hash=np.empty(n_rows, np.uint64),
            bits=np.empty((n_rows, spec.n_words), np.uint64),
        ),
        terms=Terms(
            target=np.empty(n_rows, np.int64),
            base=np.empty(n_rows, np.int32),
            row=np.empty(n_rows, np.int32),
            sign=np.empty(n_rows, np.int8),
        ),
        scratch=Scratch(
            table=np.zeros(n_supervoxels + 1, np.int32),
            keys=np.empty(n_keys, np.int64),
            values=np.empty(n_keys, np.int32),
            filter=np.empty(n_keys // 8, np.uint64),
            matrix=np.empty(min((table.max_places + 1) ** 2, MATRIX_ENTRIES), np.int32),
            entry_slot=np.empty(n_entries, np.int64),
            entry_a=np.empty(n_entries, np.int32),
            entry_b=np.empty(n_entries, np.int32),
            partner=np.empty(n_entries, np.int32),
            stamps=np.empty(n_entries, np.int64),
            groups=np.empty(n_entries, np.int32),
            entry_sums=np.empty((n_entries, n_columns), np.int64),
            entry_known=np.empty(n_entries, np.bool_),
            ends=np.empty((2, spec.n_bits), np.int32),
            entries=np.empty(spec.n_bits, np.int32),
            hits=np.empty(spec.n_bits + 1, np.int32),
            group_entry=np.empty(spec.n_bits, np.int32),
            group_bits=group_bits,
            flat_bits=group_bits.reshape(-1),
            base=np.empty(spec.n_words, np.uint64),
            after=np.empty(spec.n_words, np.uint64),
        ),
        counts=np.zeros(4, np.int64),
    )
