"""Symmetries of a slab: the same supervoxels, actions and errors, seen from another side."""

import numpy as np

from core.problems import random_labels
from napari_celis.core.symmetry import Symmetry
from napari_celis.training.folds import Slab
from napari_celis.training.shape_stage import SMALLEST_WINDOW, learnable_window


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


def test_a_window_is_the_middle_of_every_section():
    rng = np.random.default_rng(6)
    labels = random_labels(rng, (4, 20, 40), 12, 0.0)
    slab = Slab(labels, labels % 5, rng.random((3, *labels.shape)).astype(np.float32))
    assert slab.window(1.0, 5) is slab.window(7.0, 5) is slab
    quarter = slab.window(0.25, 5)
    np.testing.assert_array_equal(quarter.labels, labels[:, 5:15, 10:30])
    np.testing.assert_array_equal(quarter.truth, slab.truth[:, 5:15, 10:30])
    np.testing.assert_array_equal(quarter.affinities, slab.affinities[..., 5:15, 10:30])
    assert slab.window(0.0, 24).labels.shape == (4, 20, 24)


def test_a_window_grows_until_something_can_be_learned():
    _, y, x = np.indices((6, 160, 160))
    labels = (1 + x // 8 + 100 * (y // 8)).astype(np.uint64)
    # In the middle all is one object; only far off there is another one.
    truth = np.where(x < 40, 1, 2).astype(np.uint64)
    slab = Slab(labels, truth, np.ones((3, *labels.shape), np.float32))
    assert learnable_window(slab, 0.8).labels.shape == slab.window(0.8, SMALLEST_WINDOW).labels.shape
    grown = learnable_window(slab, 0.1)
    assert slab.window(0.4, SMALLEST_WINDOW).labels.shape == grown.labels.shape
    assert set(np.unique(grown.truth)) == {1, 2}
    # Where there is nothing at all, all of it is looked at.
    nothing = Slab(labels, np.ones_like(truth), slab.affinities)
    assert learnable_window(nothing, 0.1) is nothing
