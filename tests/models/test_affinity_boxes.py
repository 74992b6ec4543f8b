"""Parts of an image are seen as they are in the whole: affinities of a box, grey values, views."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from models.small import small_model
from napari_celis.core.errors import ModelError
from napari_celis.core.symmetry import spread_symmetries
from napari_celis.models.affinity import build_affinity_net
from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.models.apply import affinities_of
from napari_celis.models.inference import predict_averaged
from napari_celis.models.intensity import IntensitySums, measure_intensity
from napari_celis.models.views import FiniteImage, RescaledImage, SymmetricImage

pytestmark = pytest.mark.usefixtures("one_thread")

ROUNDING = 2e-6
"""Convolutions over windows of other sizes add up in another order; affinities are from 0 to 1."""
SMALL = AffinitySettings(width=4, n_features=6, intensity=(100.0, 40.0))


@pytest.fixture(scope="module", params=[(10.0, 10.0, 10.0), (40.0, 4.0, 4.0)], ids=["cubes", "sections"])
def net(request):
    return build_affinity_net(replace(SMALL, voxel_size_nm=request.param)).eval()


@st.composite
def boxes(draw, shape):
    parts = []
    for size in shape:
        start = draw(st.integers(0, size - 1))
        parts.append(slice(start, draw(st.integers(start + 1, size))))
    return tuple(parts)


class Counted:
    """An image that knows which voxels were read."""

    def __init__(self, voxels):
        self.voxels, self.shape, self.dtype = voxels, voxels.shape, voxels.dtype
        self.seen = np.zeros(voxels.shape, dtype=bool)

    def __getitem__(self, key):
        self.seen[key] = True
        return self.voxels[key]


@settings(max_examples=12, deadline=None)
@given(st.tuples(st.integers(6, 14), st.integers(8, 20), st.integers(8, 40)), st.data(), st.integers(1, 8))
def test_affinities_of_a_box_are_those_of_the_whole(net, shape, data, n_symmetries):
    image = np.random.default_rng(0).integers(1, 255, shape).astype(np.uint8)
    box = data.draw(boxes(shape))
    whole = predict_averaged(net, image, n_symmetries)
    part = predict_averaged(net, image, n_symmetries, box=box)
    assert_allclose(part, whole[(slice(None), *box)], rtol=0, atol=ROUNDING)
    everything = predict_averaged(net, image, n_symmetries, box=tuple(slice(0, n) for n in shape))
    assert_array_equal(everything, whole)


def test_only_a_box_and_its_context_are_read(net):
    image = Counted(np.random.default_rng(0).integers(1, 255, (16, 96, 160)).astype(np.uint8))
    box = (slice(4, 8), slice(40, 50), slice(100, 120))
    predict_averaged(net, image, 4, box=box)
    far = max(net.halo_zyx) + max(net.grid_zyx) + 1
    for axis, part in enumerate(box):
        read = np.flatnonzero(image.seen.any(axis=tuple(i for i in range(3) if i != axis)))
        assert part.start - far <= read[0] <= part.start
        assert part.stop - 1 <= read[-1] < part.stop + far


def test_another_recording_is_brought_to_the_known_scale_by_the_whole_image():
    model = small_model()
    image = np.random.default_rng(0).normal(400, 90, (12, 16, 20)).astype(np.float32)
    image[:, :, :10] *= 0.5
    whole = affinities_of(model, image)
    box = (slice(2, 9), slice(0, 16), slice(0, 7))
    part = affinities_of(model, image, box=box, intensity=measure_intensity(image))
    assert_allclose(part, whole[(slice(None), *box)], rtol=0, atol=ROUNDING)


@given(st.tuples(*[st.integers(1, 6)] * 3), st.data(), st.integers(1, 48), st.sampled_from([10.0, 40.0]))
def test_a_symmetry_of_an_image_is_read_part_by_part(shape, data, n, thickness):
    image = np.arange(np.prod(shape)).reshape(shape)
    box = data.draw(boxes(shape))
    for symmetry in spread_symmetries((thickness, 10.0, 10.0), n):
        view, whole = SymmetricImage(image, symmetry), symmetry.apply(image)
        assert view.shape == whole.shape
        there = view.box_of(box)
        assert_array_equal(view[there], whole[there])
        assert_array_equal(view[there], symmetry.apply(image[box]))


@given(st.integers(0, 2**32), st.sampled_from(["uint8", "int16", "uint16", "uint32", "int64"]))
def test_sums_of_grey_values_of_parts_are_exact(seed, dtype):
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    image = rng.integers(max(info.min, -(2**40)), min(info.max, 2**40), (4, 5, 6), dtype=dtype)
    image[rng.random(image.shape) < 0.3] = 0
    parts = IntensitySums()
    for corner in np.ndindex(2, 1, 3):
        parts += IntensitySums.of(
            image[
                tuple(
                    slice(2 * at, 2 * at + 2) if n > 1 else slice(None)
                    for at, n in zip(corner, (2, 1, 3), strict=True)
                )
            ]
        )
    values = [int(value) for value in image.reshape(-1) if value]
    assert parts == IntensitySums.of(image)
    assert (parts.count, parts.total, parts.squares) == (
        len(values),
        sum(values),
        sum(value * value for value in values),
    )
    if len(set(values)) > 1:
        assert_allclose(parts.intensity(), (np.mean(values), np.std(values)), rtol=1e-9, atol=1e-6)


def test_sums_of_a_trillion_voxels_are_exact():
    half = 10**12 // 2
    sums = IntensitySums(half, half * 100, half * 100**2) + IntensitySums(half, half * 160, half * 160**2)
    assert sums.intensity() == (130.0, 30.0)


def test_sums_of_floats_give_mean_and_deviation():
    image = np.random.default_rng(0).normal(1e-3, 1e-4, (20, 20, 20)).astype(np.float32)
    parts = IntensitySums.of(image[:7]) + IntensitySums.of(image[7:])
    assert_allclose(parts.intensity(), (image.mean(dtype=float), image.std(dtype=float)), rtol=1e-9)


@pytest.mark.parametrize("value", [0, 7, 0.1])
def test_an_image_of_one_value_is_refused_whatever_its_parts(value):
    image = np.full((4, 4, 4), value)
    with pytest.raises(ModelError, match="same value everywhere"):
        (IntensitySums.of(image[:1]) + IntensitySums.of(image[1:])).intensity()


def test_views_change_what_is_read():
    image = np.array([[[1.0, np.nan, np.inf, -np.inf, 5.0]]], dtype=np.float32)
    assert_array_equal(FiniteImage(image)[:, :, :], [[[1, 0, 0, 0, 5]]])
    assert_array_equal(FiniteImage(np.ones((1, 1, 2), np.uint8))[:, :, 1:], [[[1]]])
    assert_array_equal(RescaledImage(np.ones((1, 1, 2), np.uint8), 2, 3)[:, :, 1:], [[[5]]])
