"""The local shape that affinity networks learn beside affinities."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.problems import random_labels
from napari_celis.core.symmetry import all_symmetries
from napari_celis.training import shape_targets
from napari_celis.training.affinity import AffinityTrainer
from napari_celis.training.affinity_data import ShapeMap
from napari_celis.training.affinity_settings import affinity_training
from napari_celis.training.shape_targets import WINDOW_NM, local_shape, transform_shape, window_widths
from reference.shape import shape_at

COARSE_NM = (60.0, 60.0, 60.0)
"""Voxels so large that windows are a few of them wide."""


def draw(seed, shape=(5, 7, 6)):
    return random_labels(np.random.default_rng(seed), shape, 6, 0.3).astype(np.int32)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([3, 64]))
def test_equals_the_definition_in_any_blocks(seed, block):
    labels = draw(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shape_targets, "BLOCK", block)
        found = local_shape(labels, (1, 1, 1), COARSE_NM)
    widths, unit = window_widths(COARSE_NM), np.array(COARSE_NM) / WINDOW_NM
    for place in np.ndindex(labels.shape):
        expected = shape_at(labels, place, widths, unit) if labels[place] > 0 else np.zeros(10)
        np.testing.assert_allclose(found[(slice(None), *place)], expected, atol=2e-3)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(all_symmetries(COARSE_NM)))
def test_a_transformed_shape_is_that_of_transformed_labels(seed, symmetry):
    labels = draw(seed)
    shape = local_shape(labels, (1, 1, 1), COARSE_NM).astype(np.float32)
    turned = local_shape(symmetry.apply(labels), (1, 1, 1), COARSE_NM)
    np.testing.assert_allclose(transform_shape(symmetry, shape), turned, atol=2e-3)


@pytest.mark.parametrize("nm", [(10.0, 10.0, 10.0), (40.0, 8.0, 8.0)])
def test_windows_are_as_wide_as_they_should_be(nm):
    for width, size in zip(window_widths(nm), nm, strict=True):
        assert width % 2 == 1
        assert np.sqrt((width**2 - 1) / 6) * size == pytest.approx(WINDOW_NM, rel=0.25)


@pytest.mark.parametrize("low", [(0, 0, 0), (1, 2, 3), (3, 3, 1)])
def test_a_window_shows_the_cells_of_its_voxels(low):
    labels = np.arange(1, 12 * 12 * 12 + 1, dtype=np.int32).reshape(12, 12, 12)
    values = labels[::2, ::2, ::2][None].repeat(10, axis=0)
    found = ShapeMap(values, (2, 2, 2)).window(low, (6, 6, 6))
    patch = labels[tuple(slice(at, at + 6) for at in low)]
    assert found.shape == (10, 3, 3, 3)
    for z, y, x in np.ndindex(3, 3, 3):
        cell = patch[2 * z : 2 * z + 2, 2 * y : 2 * y + 2, 2 * x : 2 * x + 2]
        assert found[0, z, y, x] in cell


def test_a_network_learns_shape_and_keeps_only_itself():
    rng = np.random.default_rng(0)
    truth = random_labels(rng, (24, 24, 24), 8, 0.0)
    image = (truth * 25 % 255).astype(np.uint8)
    trainers = {}
    for weight in (0.0, 1.0):
        training = affinity_training("unet", (10.0, 10.0, 10.0), holdout=0.0)
        trainer = AffinityTrainer([(image, truth)], replace(training, shape_weight=weight), seed=1)
        list(trainer.run(6))
        trainers[weight] = trainer
    with_shape, without = trainers[1.0], trainers[0.0]
    assert set(with_shape.result().state_dict()) == set(without.result().state_dict())
    assert any(name.startswith("head.") for name in with_shape.state()[0])
    assert not any(name.startswith("head.") for name in without.state()[0])
