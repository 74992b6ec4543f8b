"""Settings of supervoxels are chosen by the error that an agglomeration ends with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.problems import random_labels
from napari_celis.core.seeded_watershed import SeededSettings
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training.affinity_data import affinity_targets
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.folds import Slab
from napari_celis.training.supervoxel_stage import (
    candidates,
    cut_again,
    error_of,
    mean_affinity_curve,
    tune_supervoxels,
)
from reference.agglomeration import mean_affinity_steps

NM = (10.0, 10.0, 10.0)


def finish(records):
    while True:
        try:
            next(records)
        except StopIteration as end:
            return end.value


@pytest.fixture(scope="module")
def slabs():
    """Two phantoms with affinities that are right but for noise."""
    found = []
    for seed in (5, 6):
        truth = make_phantom(PhantomSettings(shape_zyx=(24, 48, 48), seed=seed)).truth
        targets, _ = affinity_targets(truth.astype(np.int64), ((-1, 0, 0), (0, -1, 0), (0, 0, -1)))
        noise = np.random.default_rng(seed).normal(0, 0.3, targets.shape)
        affinities = np.clip(0.15 + 0.7 * targets + noise, 0, 1).astype(np.float32)
        found.append(Slab(np.ones(truth.shape, np.uint64), truth, affinities))
    return found


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_curve_is_that_of_a_plain_agglomeration(seed):
    rng = np.random.default_rng(seed)
    shape = (4, 6, 7)
    labels = random_labels(rng, shape, 12, 0.0).astype(np.uint64)
    truth = random_labels(rng, shape, 4, 0.2).astype(np.uint64)
    truth[0, 0, 0] = 1
    affinities = rng.random((3, *shape)).astype(np.float32)
    curve = mean_affinity_curve(Slab(labels, truth, affinities))
    states = [(0.0, labels), *mean_affinity_steps(labels, affinities)]
    errors = [score(contingency_table(merged, truth)).vi for _, merged in states]
    assert len(curve.vi) == len(states)
    np.testing.assert_allclose(curve.vi, np.array(errors) - errors[0], atol=1e-9)
    highest = np.maximum.accumulate([value for value, _ in states[1:]])
    np.testing.assert_allclose(curve.score[1:], highest, atol=1e-6)


def test_the_best_settings_are_chosen_and_kept(slabs, tmp_path):
    checkpoint = Checkpoint(tmp_path / "kept", "x", resume=False)
    chosen = finish(tune_supervoxels(slabs, NM, SeededSettings(), checkpoint))
    errors = {
        one: error_of([cut_again(slab, NM, one) for slab in slabs]) for one in candidates(SeededSettings())
    }
    # The defaults stay unless others are clearly better.
    assert errors[chosen] <= min(errors.values()) + 0.01
    assert max(errors.values()) > min(errors.values()) + 0.01
    again = Checkpoint(tmp_path / "kept", "x", resume=True)
    assert finish(tune_supervoxels([], NM, SeededSettings(), again)) == chosen
