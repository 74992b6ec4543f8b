"""Channels of other tools in any order and direction, against a look-up voxel by voxel."""

import h5py
import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from napari_celis.io.affinities import list_affinities, open_affinities, read_affinities
from napari_celis.io.affinity_channels import OFFSETS, AffinityVolume
from reference.affinity_channels import nearest_affinities

FAR = [(0, 6, 0), (0, 0, -6), (-2, 0, 0), (0, 3, 3), (0, 18, 0)]


@st.composite
def layouts(draw):
    """Nearest neighbours in one or both directions, and others between them."""
    signs = draw(st.lists(st.sampled_from([(1,), (-1,), (1, -1)]), min_size=3, max_size=3))
    pairs = [(ours, sign) for ours, own in zip(OFFSETS, signs, strict=True) for sign in own]
    near = [tuple(sign * step for step in ours) for ours, sign in pairs]
    return draw(st.permutations(near + draw(st.lists(st.sampled_from(FAR), max_size=4))))


@settings(max_examples=60, deadline=None)
@given(
    layouts(),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.sampled_from([np.uint8, np.float32, np.float16]),
    st.integers(0, 2**31),
)
def test_channels_come_in_our_order(offsets, shape, dtype, seed):
    stored = np.random.default_rng(seed).integers(0, 256, (len(offsets), *shape)).astype(dtype)
    read = AffinityVolume(stored, offsets).read()
    assert read.data.dtype == (np.uint8 if dtype == np.uint8 else np.float32)
    assert_array_equal(read.data, nearest_affinities(stored, offsets))


def test_a_file_of_seven_channels_that_look_ahead(tmp_path):
    """As CREMI's A+ volumes hold them: +z, +y, +x, then long-range ones."""
    offsets = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 6, 0], [0, 0, 6], [0, 18, 0], [0, 0, 18]]
    stored = np.random.default_rng(0).integers(0, 256, (7, 4, 8, 9), dtype=np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("volumes/affinities", data=stored)
        dataset.attrs.update(offsets=offsets, resolution=(40.0, 4.0, 4.0))
        file.create_dataset("volumes/raw", data=stored[0])
    opened = open_affinities(tmp_path / "a.h5")
    assert (opened.shape, opened.voxel_size_nm, opened.offset_nm) == ((4, 8, 9), (40.0, 4.0, 4.0), None)
    assert_array_equal(opened.read().data, nearest_affinities(stored, offsets))
    assert list_affinities(tmp_path / "a.h5") == [f"{tmp_path}/a.h5:volumes/affinities"]


def test_volara_calls_them_neighborhood(tmp_path):
    stored = np.random.default_rng(0).integers(0, 256, (4, 3, 5, 6), dtype=np.uint8)
    neighborhood = [[0, 0, 1], [0, -1, 0], [3, 0, 0], [1, 0, 0]]
    zarr.create_array(
        str(tmp_path / "a.zarr"),
        data=stored,
        zarr_format=2,
        attributes={"neighborhood": neighborhood, "voxel_size": [1, 40, 4, 4], "offset": [40, 0, 0]},
    )
    read = read_affinities(tmp_path / "a.zarr")
    assert_array_equal(read.data, nearest_affinities(stored, neighborhood))
    assert (read.voxel_size_nm, read.offset_nm) == ((40.0, 4.0, 4.0), (40.0, 0.0, 0.0))


@pytest.mark.parametrize("name", ["image.tif", "notes.npz"])
def test_other_formats_offer_nothing(tmp_path, name):
    np.savez(tmp_path / "notes.npz", np.zeros((3, 2, 2, 2)))
    (tmp_path / "image.tif").write_bytes(b"II*\x00" + bytes(20))
    assert list_affinities(tmp_path / name) == []
