"""Priority sampling keeps a fixed number and estimates totals without bias."""

import numpy as np
import pytest

from napari_celis.training.sampling import PrioritySample


def draw(weights, size, seed, batches=3):
    sample = PrioritySample(size, np.random.default_rng(seed))
    for part in np.array_split(np.arange(len(weights)), batches):
        sample.add(weights[part], part)
    return sample


def test_totals_of_any_subset_are_unbiased():
    weights = np.random.default_rng(0).pareto(1.0, size=300) + 0.01
    subset = np.arange(300) % 3 == 0
    totals = []
    for seed in range(4000):
        estimate, (index,) = draw(weights, 20, seed).result()
        totals.append(estimate[subset[index]].sum())
    error = np.std(totals) / np.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(weights[subset].sum(), abs=4 * error)
    assert error < 0.05 * weights[subset].sum()


def test_the_way_the_stream_is_cut_does_not_matter_for_the_size():
    weights = np.ones(1000)
    for batches in (1, 7, 500):
        estimate, (index,) = draw(weights, 50, 1, batches).result()
        assert len(index) == len(set(index.tolist())) == 50
        assert estimate.sum() == pytest.approx(1000, rel=0.5)


def test_a_short_stream_is_kept_whole_with_its_own_weights():
    weights = np.array([0.5, 0.0, 2.0])
    estimate, (index,) = draw(weights, 10, 0).result()
    assert index.tolist() == [0, 2]
    assert estimate.tolist() == [0.5, 2.0]


def test_memory_stays_bounded():
    sample = PrioritySample(10, np.random.default_rng(0))
    for _ in range(100):
        sample.add(np.ones(50), np.arange(50))
        assert len(sample._weights) <= 20 + 50
    assert sample.n_seen == 5000
