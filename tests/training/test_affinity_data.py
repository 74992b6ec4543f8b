from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from napari_celis.core.errors import TrainingError
from napari_celis.core.symmetry import all_symmetries
from napari_celis.models.affinity_base import NEIGHBOURS
from napari_celis.training import affinity_data
from napari_celis.training.affinity_data import OUTSIDE, PatchSampler, affinity_targets, prepare_labels
from napari_celis.training.augmentation import Augmentation, vary_intensity
from reference import affinity as reference

OFFSETS = (*NEIGHBOURS, (-3, 0, 0), (0, 2, 0), (1, -1, 2))
PLAIN = Augmentation(contrast=0, brightness=0, gamma=0, noise=0)

labels = hnp.arrays(
    np.int32, hnp.array_shapes(min_dims=3, max_dims=3, max_side=4), elements=st.integers(-1, 3)
)


@given(labels)
@settings(max_examples=40, deadline=None)
def test_targets_equal_the_reference(ids):
    for mine, expected in zip(
        affinity_targets(ids, OFFSETS), reference.affinity_targets(ids, OFFSETS), strict=True
    ):
        assert_array_equal(mine, expected)


@given(labels, st.sampled_from(all_symmetries((1, 1, 1))))
@settings(max_examples=40, deadline=None)
def test_targets_of_turned_labels_describe_the_turned_labels(ids, symmetry):
    turned = symmetry.apply(ids)
    targets, known = affinity_targets(turned, NEIGHBOURS)
    expected, expected_known = reference.affinity_targets(turned, NEIGHBOURS)
    assert_array_equal(targets, expected)
    assert_array_equal(known, expected_known)


def test_a_margin_supplies_neighbours():
    ids = np.random.default_rng(1).integers(-1, 4, (9, 10, 11)).astype(np.int32)
    targets, known = affinity_targets(ids, OFFSETS)
    inner = (slice(None), slice(3, -3), slice(2, -2), slice(2, -2))
    cut, cut_known = affinity_targets(ids, OFFSETS, (3, 2, 2))
    assert_array_equal(cut, targets[inner])
    assert_array_equal(cut_known, known[inner])


@given(
    hnp.arrays(np.uint8, hnp.array_shapes(min_dims=3, max_dims=3, max_side=4), elements=st.integers(0, 2)),
    st.integers(0, 3),
)
@settings(max_examples=40, deadline=None)
def test_dilation_takes_what_is_near_another_object(truth, dilation):
    near = affinity_data._near_boundary(truth.astype(np.int32), dilation, (1, 1, 1))
    # Steps go through the volume, objects or not; only from unknown voxels no boundary spreads.
    expected = reference.near_boundary(truth, dilation)
    assert not (near & ~expected & (truth > 0)).any()
    if not (truth == 0).any():
        assert_array_equal(near, expected)


def test_labels_know_unknown_and_outside():
    truth = np.zeros((1, 1, 12), dtype=np.uint64)
    truth[..., 1:5], truth[..., 5:9], truth[..., 9:11] = 2**60, 7, 9
    assert prepare_labels(truth).ravel().tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 0]
    wide = prepare_labels(truth, dilation=1)
    assert wide.ravel().tolist() == [0, 1, 1, 1, -1, -1, 2, 2, -1, -1, 3, 0]
    known_background = prepare_labels(truth, background="outside")
    assert known_background.ravel().tolist() == [-1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, -1]
    without_small = prepare_labels(truth, min_voxels=3)
    assert without_small.ravel().tolist() == [0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0]
    both = prepare_labels(truth, min_voxels=3, dilation=1)
    assert both.ravel().tolist() == [0, 1, 1, 1, -1, -1, 2, 2, -1, -1, 0, 0]


def test_boundaries_are_not_widened_across_coarse_sections():
    truth = np.ones((4, 4, 4), dtype=int)
    truth[2:] = 2
    assert (prepare_labels(truth, dilation=3, voxel_size_nm=(40, 4, 4)) > 0).all()
    assert (prepare_labels(truth, dilation=1, voxel_size_nm=(4, 4, 4))[1:3] == OUTSIDE).all()
    with pytest.raises(TrainingError, match="dilation"):
        prepare_labels(truth, dilation=3)


@pytest.mark.parametrize(
    ("truth", "options"),
    [
        (np.zeros((3, 3, 3), int), {}),
        (np.ones((3, 3, 3), int), {}),
        (np.arange(27).reshape(3, 3, 3), {"min_voxels": 10}),
    ],
)
def test_truth_without_a_boundary_is_refused(truth, options):
    with pytest.raises(TrainingError, match="no boundary"):
        prepare_labels(truth, **options)


def test_patches_have_the_targets_of_what_they_show():
    rng = np.random.default_rng(0)
    ids = rng.integers(1, 9, (10, 12, 14)).astype(np.int32)
    sampler = PatchSampler(ids.astype(np.float32), ids, (4, 6, 5), (1, 0, 2), OFFSETS, (1, 1, 1), PLAIN)
    for _ in range(20):
        patch = sampler.draw(rng)
        assert patch.image.shape == (6, 6, 9)
        shown = patch.image[1:-1, :, 2:-2].astype(np.int32)
        expected, inside = affinity_targets(shown, OFFSETS)
        assert_array_equal(patch.targets[inside], expected[inside])
        assert patch.known[inside].all()


def test_patches_without_labels_are_drawn_again():
    ids = np.zeros((8, 8, 40), dtype=np.int32)
    image = np.zeros(ids.shape, dtype=np.float32)
    sampler = PatchSampler(image, ids, (8, 8, 8), (0, 0, 0), NEIGHBOURS, (1, 1, 1), PLAIN)
    with pytest.raises(TrainingError, match="known label"):
        sampler.draw(np.random.default_rng(0))
    ids[..., 20:24] = 1
    rng = np.random.default_rng(0)
    assert all(sampler.draw(rng).known.any() for _ in range(10))


def test_intensity_is_varied_within_its_limits():
    rng = np.random.default_rng(0)
    image = rng.standard_normal((6, 8, 8)).astype(np.float32)
    assert_allclose(vary_intensity(image, rng, PLAIN), image, atol=1e-6)
    strong = Augmentation(contrast=0.5, brightness=1, gamma=0.5, noise=0.5)
    varied = [vary_intensity(image, rng, strong) for _ in range(4)]
    assert all(np.isfinite(v).all() and v.dtype == np.float32 for v in varied)
    assert len({v.tobytes() for v in varied}) == 4
    spoiled = vary_intensity(image, rng, replace(PLAIN, missing_section=1, blurred_section=1))
    assert (spoiled == 0).all(axis=(1, 2)).sum() == 1
    assert np.abs(spoiled - image).any(axis=(1, 2)).sum() <= 2
