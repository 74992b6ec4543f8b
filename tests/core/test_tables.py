"""The two hash tables against a dict, with keys that all want the same bucket."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.kernels import tables

pytestmark = pytest.mark.kernels


def pair_table(n_entries):
    """Arrays for a pair table, filled with rubbish, and the shift that addresses them."""
    size = 64
    while size < 4 * n_entries:
        size *= 2
    keys, values = np.full(size, 7, np.int64), np.full(size, 7, np.int32)
    seen = np.full(size // 8, ~np.uint64(0))
    return keys, values, seen, tables.pair_clear(keys, seen, n_entries)


def keys_at(bucket, n, shift):
    """The first `n` keys that belong to one bucket."""
    keys = np.arange(20_000, dtype=np.uint64)
    return np.flatnonzero((keys * tables.GOLDEN) >> np.uint64(shift) == bucket)[:n].tolist()


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 10**12), unique=True, max_size=40), st.lists(st.integers(0, 10**12), max_size=10)
)
def test_pairs_are_found_again_and_others_are_not(keys, others):
    *table, shift = pair_table(len(keys))
    for value, key in enumerate(keys):
        assert tables.pair_find(*table, shift, key) == -1
        tables.pair_insert(*table, shift, key, value)
    plain = {key: value for value, key in enumerate(keys)}
    for key in keys + others:
        assert tables.pair_find(*table, shift, key) == plain.get(key, -1)


@pytest.mark.parametrize("bucket", [0, 17, 63], ids=["first", "middle", "last, wraps around"])
def test_pairs_that_want_one_place_get_neighbouring_ones(bucket):
    *table, shift = pair_table(16)
    keys = keys_at(bucket, 17, shift)
    assert len(keys) == 17
    for value, key in enumerate(keys[:16]):
        tables.pair_insert(*table, shift, key, value)
    assert [tables.pair_find(*table, shift, key) for key in keys] == [*range(16), -1]


def test_clearing_forgets_everything():
    *table, shift = pair_table(16)
    for key in range(16):
        tables.pair_insert(*table, shift, key, key)
    shift = tables.pair_clear(table[0], table[2], 3)
    assert all(tables.pair_find(*table, shift, key) == -1 for key in range(16))


def energy_table(size):
    return (
        np.full(size, -1, np.int32),
        np.zeros(size, np.uint64),
        np.zeros(size, np.int64),
        np.zeros(size, np.uint8),
    )


def rows_of(entries):
    centres, hashes, energies = zip(*entries, strict=True) if entries else ((), (), ())
    arrays = np.array(centres, np.int32), np.array(hashes, np.uint64), np.array(energies, np.int64)
    return *arrays, np.ones(len(centres), np.uint8)


ENTRIES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 7), st.integers(0, 2**40)), max_size=30)


@settings(max_examples=25, deadline=None)
@given(ENTRIES, ENTRIES)
def test_energies_are_found_again_and_the_last_word_counts(first, second):
    table = energy_table(128)
    plain = {}
    for entries in (first, second):
        before = len(plain)
        plain.update({(centre, h): energy for centre, h, energy in entries})
        assert tables.energy_insert(*table, *rows_of(entries)) == len(plain) - before
    assert (table[0] >= 0).sum() == len(plain)
    for centre in range(6):
        for h in range(8):
            found = tables.energy_find(*table[:3], np.int32(centre), np.uint64(h))
            assert found == plain[centre, h] if (centre, h) in plain else found == tables.MISSING


def test_energies_that_want_one_place_get_neighbouring_ones():
    size = 16
    centres = np.arange(9, dtype=np.int32)
    # All want the last bucket: the hash undoes what the centre adds.
    hashes = (centres.astype(np.uint64) * tables.GOLDEN) ^ np.uint64(size - 1)
    table = energy_table(size)
    assert (
        tables.energy_insert(
            *table, centres[:8], hashes[:8], centres[:8] * np.int64(5), np.zeros(8, np.uint8)
        )
        == 8
    )
    found = [tables.energy_find(*table[:3], c, h) for c, h in zip(centres, hashes, strict=True)]
    assert found[:8] == (centres[:8] * 5).tolist()
    assert found[8] == tables.MISSING
    assert tables.energy_find(*table[:3], centres[3], hashes[2]) == tables.MISSING


def test_free_places_are_skipped_when_a_table_moves():
    old, new = energy_table(8), energy_table(32)
    tables.energy_insert(*old, *rows_of([(3, 5, 25), (0, 0, 50)]))
    assert tables.energy_insert(*new, *old) == 2
    assert tables.energy_find(*new[:3], np.int32(0), np.uint64(0)) == 50


def test_entries_older_than_two_rounds_are_dropped():
    old, new = energy_table(8), energy_table(32)
    tables.energy_insert(*old, *rows_of([(3, 5, 25), (0, 0, 50)]))
    last_round = np.array([3, 0, 0, 2], np.uint8)
    assert tables.drop_outdated(old[0], old[3], last_round) == 1
    assert tables.energy_insert(*new, *old) == 1
    assert tables.energy_find(*new[:3], np.int32(3), np.uint64(5)) == 25
    assert tables.energy_find(*new[:3], np.int32(0), np.uint64(0)) == tables.MISSING


@pytest.mark.parametrize("n_words", [1, 2, 8])
def test_hashes_of_close_descriptors_differ_also_in_their_low_bits(n_words):
    rows = [np.zeros(n_words, np.uint64)]
    for bit in range(64 * n_words):
        row = np.zeros(n_words, np.uint64)
        row[bit // 64] = np.uint64(1) << np.uint64(bit % 64)
        rows += [row, ~row]
    hashes = np.array([tables.hash_bits(row) for row in rows], dtype=np.uint64)
    assert len(np.unique(hashes)) == len(rows)
    used = np.bincount((hashes & np.uint64(15)).astype(int), minlength=16)
    assert used.min() > 0.3 * used.mean()


def test_few_bits_of_neighbouring_words_do_not_undo_each_other():
    """The highest bit of a word, with two bits of the next one, once gave the hash that there was before."""
    rng = np.random.default_rng(0)
    for _ in range(3):
        row = rng.integers(0, 2**63, 3, dtype=np.uint64)
        found = {int(tables.hash_bits(row))}
        n_rows = 1
        for first in range(64):
            for second in range(64):
                other = row.copy()
                other[0] ^= np.uint64(1) << np.uint64(63)
                other[1] ^= (np.uint64(1) << np.uint64(first)) | (np.uint64(1) << np.uint64(second))
                if first <= second:
                    found.add(int(tables.hash_bits(other)))
                    n_rows += 1
        assert len(found) == n_rows


def test_hashes_of_zeros_depend_on_the_length():
    hashes = {int(tables.hash_bits(np.zeros(n, np.uint64))) for n in range(1, 9)}
    assert len(hashes) == 8
