"""Energies seen before come back, never wrong ones, and never more than the bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.states import agglomerate, assert_exact, reference_of
from napari_celis.core.energy import FULL, UNITS, EnergyCache, evaluate
from napari_celis.core.errors import EnergyError
from napari_celis.core.kernels import tables

BATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2**64 - 1)), max_size=30), min_size=1, max_size=6
)


def energy_of(centre, h):
    return centre * 31 + h % 1009


def insert(cache, batch):
    centres, hashes = zip(*batch, strict=True) if batch else ((), ())
    energies = np.array([energy_of(*key) for key in batch], np.int64)
    cache.insert(np.array(centres, np.int32), np.array(hashes, np.uint64), energies)


def find(cache, key):
    arrays = cache.arrays
    return tables.energy_find(
        arrays.centres, arrays.hashes, arrays.energies, np.int32(key[0]), np.uint64(key[1])
    )


@pytest.mark.kernels
@settings(max_examples=20, deadline=None)
@given(BATCHES, st.sampled_from([0, 1, 7, 40, 10**6]))
def test_what_is_found_is_right_and_the_newest_is_there(batches, max_entries):
    cache = EnergyCache(max_entries, 31)
    keys = []
    for batch in batches:
        insert(cache, batch)
        keys += batch
        assert cache.n_entries == (cache.arrays.centres >= 0).sum() <= max_entries
        for key in keys:
            energy = find(cache, key)
            assert energy == energy_of(*key) or (energy == tables.MISSING and max_entries < 1000)
        for key in batch[:max_entries] if cache.n_forgotten else batch:
            if len(batch) <= max_entries:
                assert find(cache, key) == energy_of(*key)
    assert (cache.n_forgotten == 0) or max_entries < 1000


@pytest.mark.kernels
def test_the_table_grows_before_it_is_full():
    cache = EnergyCache(10**5, 3000)
    keys = [(centre, centre << 40) for centre in range(3000)]
    for begin in range(0, 3000, 500):
        insert(cache, keys[begin : begin + 500])
        assert cache.n_entries <= FULL * len(cache.arrays.centres)
    assert (cache.n_entries, cache.n_forgotten) == (3000, 0)
    assert all(find(cache, key) == energy_of(*key) for key in keys)


@pytest.mark.kernels
def test_a_run_that_goes_on_and_on_needs_no_larger_table():
    """What a centre saw long ago goes first; what untouched centres see stays."""
    cache = EnergyCache(10**6, 2300)
    insert(cache, [(centre, 1) for centre in range(2300)])
    cache.make_ready()
    size = len(cache.arrays.centres)
    for n in range(2, 600):
        insert(cache, [(centre, n * 7 + k) for centre in range(20) for k in range(10)])
    assert len(cache.arrays.centres) == size
    assert cache.n_forgotten > 0
    assert all(find(cache, (centre, 1)) == energy_of(centre, 1) for centre in range(20, 2300))
    assert all(find(cache, (3, 599 * 7 + k)) == energy_of(3, 599 * 7 + k) for k in range(10))
    assert find(cache, (3, 1)) == tables.MISSING


def test_a_full_cache_starts_again_with_the_newest():
    cache = EnergyCache(10, 12)
    insert(cache, [(centre, 1) for centre in range(8)])
    insert(cache, [(centre, 2) for centre in range(8, 12)])
    assert (cache.n_entries, cache.n_forgotten) == (4, 8)
    assert find(cache, (0, 1)) == tables.MISSING
    assert find(cache, (9, 2)) == energy_of(9, 2)


def test_a_full_cache_first_gives_up_what_is_outdated():
    cache = EnergyCache(10, 12)
    insert(cache, [(centre, 1) for centre in range(6)])
    insert(cache, [(centre, 2) for centre in range(3)])
    insert(cache, [(centre, 3) for centre in range(3)])
    assert (cache.n_entries, cache.n_forgotten) == (9, 3)
    assert find(cache, (0, 1)) == tables.MISSING
    assert all(find(cache, key) == energy_of(*key) for key in [(5, 1), (2, 2), (2, 3)])


@pytest.mark.parametrize("cache_entries", [0, 3, 100])
def test_a_bounded_cache_changes_no_score(cache_entries):
    with agglomerate(cache_entries=cache_entries) as small, agglomerate() as large:
        for one, other in zip(small.steps(0.5), large.steps(0.5), strict=True):
            assert one.action_index == other.action_index
            np.testing.assert_allclose(small.scores(), large.scores(), rtol=1e-9, atol=1e-9)
        assert len(large.history) > 3
        small.cut(one.u_id, one.v_id)
        assert_exact(small, reference_of(small))
        assert all(scores.cache.n_entries <= cache_entries for scores in small.specs)


class Answers:
    """An energy model that always answers the same."""

    def __init__(self, answer):
        self.answer = answer

    def energies(self, spec_index, centres, bits):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0.5, np.nan], "1 energies .* not finite"),
        ([np.inf, -np.inf], "2 energies .* not finite"),
        ([0.5], r"\(1,\) energies for 2"),
        ([[0.5], [0.5]], r"\(2, 1\) energies for 2"),
        (0.5, "energies for 2"),
        (None, "energies for 2"),
    ],
)
def test_what_is_no_energy_is_refused(answer, message):
    with pytest.raises(EnergyError, match=message):
        evaluate(Answers(answer), 0, np.zeros(2, np.int32), np.zeros((2, 1), np.uint64))


def test_energies_are_copied_because_a_model_may_use_its_buffer_again():
    buffer = np.array([0.25, 0.75])
    energies = evaluate(Answers(buffer), 0, np.zeros(2, np.int32), np.zeros((2, 1), np.uint64))
    buffer[:] = -1
    assert (energies / UNITS).tolist() == [0.25, 0.75]


def test_a_model_is_not_asked_about_nothing():
    energies = evaluate(Answers(None), 0, np.zeros(0, np.int32), np.zeros((0, 1), np.uint64))
    assert energies.shape == (0,)
    assert energies.dtype == np.int64
