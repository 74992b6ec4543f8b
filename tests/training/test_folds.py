"""Symmetries of a slab: the same supervoxels, actions and errors, seen from another side."""

import numpy as np

from core.problems import random_labels
from napari_celis.core.symmetry import Symmetry
from napari_celis.training.folds import Slab


def test_a_turned_slab_has_the_same_actions_and_errors():
    rng = np.random.default_rng(4)
    labels = random_labels(rng, (8, 9, 10), 12, 0.05)
    truth = (labels % 5 + 1).astype(np.uint64)
    slab = Slab(labels, truth, rng.random((3, *labels.shape)).astype(np.float32))
    upright = slab.upright
    turned = slab.transformed(Symmetry((2, 0, 1), (True, False, True)))
    assert turned.supervoxels.dense.shape == turned.interior.shape == (10, 8, 9)
    ids = {
        tuple(sorted((int(s.supervoxels.ids[u]), int(s.supervoxels.ids[v])))): int(area)
        for s in (upright,)
        for u, v, area in zip(s.actions.u, s.actions.v, s.actions.area, strict=True)
    }
    again = {
        tuple(sorted((int(turned.supervoxels.ids[u]), int(turned.supervoxels.ids[v])))): int(area)
        for u, v, area in zip(turned.actions.u, turned.actions.v, turned.actions.area, strict=True)
    }
    assert ids == again
    n_steps = [int(scene.expert_states((1.0,))[0].sum()) for scene in (upright, turned)]
    assert n_steps[0] == n_steps[1] > 0
    np.testing.assert_allclose(np.sort(upright.interior, axis=None), np.sort(turned.interior, axis=None))


def test_states_lie_along_the_way():
    labels = random_labels(np.random.default_rng(4), (8, 9, 10), 12, 0.0)
    slab = Slab(labels, np.ones_like(labels), np.ones((3, *labels.shape), np.float32))
    states = slab.upright.expert_states((0.0, 0.5, 1.0))
    counts = [int(taken.sum()) for taken in states]
    assert counts[0] == 0
    assert counts[1] == round(counts[2] / 2)
    assert counts[2] == len(np.unique(labels)) - 1


def test_quarters_are_the_slab_in_four_pieces():
    rng = np.random.default_rng(6)
    labels = random_labels(rng, (4, 7, 10), 12, 0.0)
    slab = Slab(labels, labels % 5, rng.random((3, *labels.shape)).astype(np.float32))
    quarters = slab.quarters()
    for field in ("labels", "truth", "affinities"):
        a, b, c, d = (getattr(quarter, field) for quarter in quarters)
        whole = np.concatenate([np.concatenate([a, b], axis=-1), np.concatenate([c, d], axis=-1)], axis=-2)
        np.testing.assert_array_equal(whole, getattr(slab, field))


def test_only_quarters_with_a_truth_are_labelled():
    labels = random_labels(np.random.default_rng(4), (8, 10, 12), 30, 0.0)
    truth = np.ones_like(labels)
    truth[:, :5, :6] = 0
    slab = Slab(labels, truth, np.ones((3, *labels.shape), np.float32))
    assert [quarter.is_labelled for quarter in slab.quarters()] == [False, True, True, True]
    assert not Slab(np.zeros_like(labels), truth, slab.affinities).is_labelled
