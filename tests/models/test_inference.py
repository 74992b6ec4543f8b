from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from napari_celis.core.errors import ModelError, NotEnoughMemoryError, VolumeError
from napari_celis.core.symmetry import Symmetry
from napari_celis.models import affinity_unet, tiles
from napari_celis.models.affinity import affinity_settings, build_affinity_net
from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.models.inference import (
    affinity_tiles,
    predict_affinities,
    predict_averaged,
)

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = AffinitySettings(width=4, n_features=6, intensity=(100.0, 40.0), long_range=((0, 0, -3),))
SERIAL = replace(SMALL, voxel_size_nm=(40.0, 4.0, 4.0))


def random_image(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, shape).astype(np.uint8)


def trained_like(net):
    """Give batch statistics values that training would: they must act the same in every tile."""
    generator = torch.Generator().manual_seed(0)
    for name, buffer in net.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
    return net


@pytest.fixture(scope="module", params=["isotropic", "serial"])
def net(request):
    return trained_like(build_affinity_net(SMALL if request.param == "isotropic" else SERIAL)).eval()


@pytest.fixture(scope="module")
def paper():
    return build_affinity_net(replace(affinity_settings("paper"), intensity=(100.0, 40.0))).eval()


@given(
    shape=st.tuples(st.integers(4, 16), st.integers(4, 16), st.integers(4, 75)),
    n_parts=st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 5)),
    seed=st.integers(0, 99),
)
@settings(max_examples=8, deadline=None)
def test_tiles_equal_the_whole_everywhere(net, shape, n_parts, seed):
    image = random_image(*shape, seed=seed)
    tile = tuple(-(-size // n) for size, n in zip(shape, n_parts, strict=True))
    whole = predict_affinities(net, image, tile_zyx=shape)
    tiled = predict_affinities(net, image, tile_zyx=tile)
    assert whole.shape == (3, *shape)
    assert_allclose(tiled, whole, atol=1e-5)


def test_interior_equals_the_plain_network(net):
    image = random_image(16, 24, 20)
    window = torch.from_numpy(net.standardise(image))[None, None]
    with torch.no_grad():
        plain = torch.sigmoid(net(window))[0, :3].numpy()
    assert_allclose(predict_affinities(net, image), plain, atol=1e-5)


def test_paper_tiles_overlap_exactly(paper):
    image = random_image(9, 35, 35)
    small = next(affinity_tiles(paper, image, tile_zyx=(2, 6, 5))).affinities
    large = next(affinity_tiles(paper, image, tile_zyx=(3, 5, 8))).affinities
    assert_allclose(small[:, :, :5], large[:, :2, :, :5], atol=1e-5)


def test_little_at_a_time_is_the_same(net, monkeypatch):
    image = random_image(16, 24, 20)
    whole = predict_affinities(net, image)
    monkeypatch.setattr(affinity_unet, "CELLS_AT_ONCE", 1)
    assert_allclose(predict_affinities(net, image), whole, atol=1e-6)


def test_bytes_are_rounded_probabilities(net):
    image = random_image(8, 12, 12)
    exact = predict_affinities(net, image)
    assert exact.dtype == np.float32
    stored = predict_affinities(net, image, dtype=np.uint8)
    assert stored.dtype == np.uint8
    assert_allclose(stored / 255, exact, atol=0.5 / 255 + 1e-6)


class OneWindowAtATime:
    """A lazy array that counts the voxels of its largest read."""

    def __init__(self, data: np.ndarray) -> None:
        self.data, self.shape, self.dtype, self.largest = data, data.shape, data.dtype, 0

    def __getitem__(self, key):
        part = self.data[key]
        self.largest = max(self.largest, part.size)
        return part


def test_lazy_images_are_read_window_by_window(net):
    image = OneWindowAtATime(random_image(8, 8, 160))
    tiled = predict_affinities(net, image, tile_zyx=(8, 8, 40))
    assert image.largest <= 8 * 8 * (40 + 2 * net.halo_zyx[2])
    assert_allclose(tiled, predict_affinities(net, image.data), atol=1e-5)


def test_memory_decides_the_tiles(net):
    shape = (64, 256, 256)
    limit = np.array(shape)
    for memory_gb in (0.05, 0.2, 10):
        tile = tiles.choose_tile(shape, net, memory_gb)
        assert tiles.tile_bytes(np.array(tile), net, limit) <= memory_gb * 1e9
        assert all(size % grid == 0 for size, grid in zip(tile, net.grid_zyx, strict=True))
    assert tile == shape
    with pytest.raises(NotEnoughMemoryError, match="GB"):
        tiles.choose_tile(shape, net, 1e-6)


def test_progress_and_early_end(net):
    image = random_image(8, 16, 16)
    seen = []
    predict_affinities(net, image, tile_zyx=(8, 8, 8), progress=lambda *counts: seen.append(counts))
    assert seen == [(done, 4) for done in (1, 2, 3, 4)]
    parts = affinity_tiles(net, image, tile_zyx=(8, 8, 8))
    first = next(parts)
    parts.close()
    assert (first.done, first.total) == (1, 4)
    whole = predict_affinities(net, image)
    assert_allclose(first.affinities, whole[(slice(None), *first.slices)], atol=1e-5)


def test_training_mode_is_left_as_it_was():
    net = build_affinity_net(SMALL)
    before = net.stem.norm.running_mean.clone()
    predict_affinities(net, random_image(8, 8, 8))
    assert net.training
    assert_array_equal(net.stem.norm.running_mean, before)


def test_bad_input_is_refused(net, paper):
    image = random_image(8, 12, 12)
    with pytest.raises(ModelError, match="9 × 35 × 35"):
        predict_affinities(paper, image)
    with pytest.raises(VolumeError, match="three axes"):
        predict_affinities(net, image[0])
    with pytest.raises(ModelError, match="float64"):
        predict_affinities(net, image, dtype=np.float64)


def test_running_out_of_memory_is_explained(net, monkeypatch):
    def fail(*_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")

    monkeypatch.setattr(type(net), "neighbour_logits", fail)
    with pytest.raises(NotEnoughMemoryError, match="memory_gb"):
        predict_affinities(net, random_image(8, 8, 8))


def test_turned_views_are_averaged():
    net = build_affinity_net(AffinitySettings(width=4, levels=2, n_features=4), seed=3).eval()
    image = np.random.default_rng(3).normal(size=(8, 12, 16)).astype(np.float32)
    assert_allclose(
        predict_averaged(net, image, 1)[:, 1:, 1:, 1:], predict_affinities(net, image)[:, 1:, 1:, 1:]
    )
    mirrored = Symmetry(mirrored=(True, True, True))
    everything = predict_averaged(net, image, 48)
    again = mirrored.undo_affinities(predict_averaged(net, mirrored.apply(image), 48))
    assert_allclose(again, everything, atol=1e-5)
    reports = []
    predict_averaged(net, image, 2, progress=lambda done, total: reports.append(done / total))
    assert reports[-1] == 1.0
    assert reports == sorted(reports)
