import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.resampled import resample
from reference.resampling import plain_image, plain_labels

sizes = st.tuples(*[st.integers(1, 9)] * 3)
lengths = st.tuples(*[st.floats(0.4, 3.5)] * 3)


def noise(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 255, shape).astype(np.uint8)


@given(sizes, lengths, st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_every_voxel_is_the_one_of_the_plain_definition(shape, ratios, seed):
    data = noise(shape, seed)
    volume = Volume(data, (2.0, 3.0, 4.0))
    new_size = tuple(old * ratio for old, ratio in zip(volume.voxel_size_nm, ratios, strict=True))
    ratios = tuple(new / old for new, old in zip(new_size, volume.voxel_size_nm, strict=True))
    image = resample(Volume(data.astype(np.float64), volume.voxel_size_nm), new_size, "image").read()
    assert_allclose(image, plain_image(data, ratios, image.shape), atol=1e-9)
    labels = resample(volume, new_size, "labels").read()
    assert_array_equal(labels, plain_labels(data, ratios, labels.shape))


@given(sizes, lengths, st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_parts_equal_the_whole(shape, ratios, seed):
    volume = Volume(noise(shape, seed), (1.0, 1.0, 1.0))
    for kind in ("image", "labels"):
        lazy = resample(volume, ratios, kind)
        whole = lazy.read()
        for z in range(lazy.shape[0]):
            assert_array_equal(lazy.data[z], whole[z])


def test_the_same_size_changes_nothing():
    volume = Volume(noise((4, 5, 6)), (10.0, 8.0, 8.0), (1.0, 2.0, 3.0))
    for kind in ("image", "labels"):
        same = resample(volume, volume.voxel_size_nm, kind)
        assert_array_equal(same.read(), volume.data)
        assert same.offset_nm == volume.offset_nm


def test_where_the_first_voxel_lies():
    volume = Volume(np.zeros((5, 10, 10), np.uint8), (8.0, 4.0, 4.0), (100.0, 0.0, 0.0))
    coarse = resample(volume, (10.0, 10.0, 10.0), "image")
    assert coarse.shape == (4, 4, 4)
    assert coarse.voxel_size_nm == (10.0, 10.0, 10.0)
    assert coarse.offset_nm == (101.0, 3.0, 3.0)


def test_a_slope_stays_a_slope():
    slope = np.arange(40, dtype=np.float64)[:, None, None] * np.ones((1, 3, 3))
    for length in (0.7, 1.6):
        values = resample(Volume(slope), (length, 1.0, 1.0), "image").read()[:, 1, 1]
        assert_allclose(np.diff(values)[3:-3], length, atol=0.15)


@pytest.mark.parametrize("lengths", [(0.0, 1.0, 1.0), (1.0, -2.0, 1.0), (1.0, 1.0, float("nan"))])
def test_impossible_voxels_are_refused(lengths):
    with pytest.raises(VolumeError, match="above 0"):
        resample(Volume(noise((2, 2, 2))), lengths, "image")
