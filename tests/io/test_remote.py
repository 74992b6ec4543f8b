"""Zarr volumes at any address that fsspec knows; here a store in memory."""

import json

import fsspec
import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from napari_celis.core.errors import CelisError, CorruptFileError, MissingDatasetError, MissingExtraError
from napari_celis.core.volume import Volume
from napari_celis.io.remote import open_remote
from napari_celis.io.volumes import write_volume


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    yield system
    if system.exists("/remote"):
        system.rm("/remote", recursive=True)


@pytest.fixture
def voxels():
    return np.random.default_rng(0).integers(0, 255, (6, 40, 70)).astype(np.uint8)


def test_a_pyramid_is_opened_at_any_level(memory, voxels, tmp_path):
    volume = Volume(voxels, (40.0, 4.0, 4.0), (80.0, 8.0, 0.0), "image")
    write_volume(volume, tmp_path / "image.zarr", kind="image")
    memory.put(str(tmp_path / "image.zarr"), "/remote/image.zarr", recursive=True)
    found = open_remote("memory://remote/image.zarr/")
    assert (found.voxel_size_nm, found.offset_nm) == ((40.0, 4.0, 4.0), (80.0, 8.0, 0.0))
    assert_array_equal(found.read(), voxels)
    assert_array_equal(found.data[2:4, 5:9, 60:70], voxels[2:4, 5:9, 60:70])
    coarse = open_remote("memory://remote/image.zarr", level=1)
    assert coarse.voxel_size_nm[2] >= 4.0
    assert open_remote("memory://remote/image.zarr/0").shape == voxels.shape


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_plain_array_says_its_voxel_size_by_resolution(memory, voxels, zarr_format):
    array = zarr.create_array(
        "memory://remote/plain.zarr",
        shape=voxels.shape,
        chunks=(6, 16, 16),
        dtype="uint8",
        zarr_format=zarr_format,
        attributes={"resolution": [40, 4, 4], "offset": [0, 4, 8]},
    )
    array[...] = voxels
    found = open_remote("memory://remote/plain.zarr")
    assert (found.voxel_size_nm, found.offset_nm) == ((40.0, 4.0, 4.0), (0.0, 4.0, 8.0))
    assert found.data.chunks == (6, 16, 16)
    assert_array_equal(found.read(), voxels)


def test_what_is_no_volume_is_told_in_a_sentence(memory):
    with pytest.raises(
        MissingDatasetError, match=r"There is no Zarr volume at memory://remote/nothing.zarr\."
    ):
        open_remote("memory://remote/nothing.zarr")
    memory.pipe("/remote/group.zarr/zarr.json", json.dumps({"zarr_format": 3, "node_type": "group"}).encode())
    with pytest.raises(MissingDatasetError, match="Name an array in it"):
        open_remote("memory://remote/group.zarr")
    memory.pipe("/remote/broken.zarr/zarr.json", b"{")
    with pytest.raises(CorruptFileError, match="cannot be read"):
        open_remote("memory://remote/broken.zarr")
    with pytest.raises(CelisError):
        open_remote("nosuchscheme://bucket/volume.zarr")


def test_codecs_that_run_code_are_refused(memory):
    fields = {"zarr_format": 2, "shape": [4, 4, 4], "chunks": [4, 4, 4], "dtype": "|u1", "order": "C"}
    fields |= {"compressor": {"id": "pickle"}, "filters": [{"id": "pickle"}], "fill_value": 0}
    memory.pipe("/remote/evil.zarr/.zarray", json.dumps(fields).encode())
    with pytest.raises(CelisError, match="pickle"):
        open_remote("memory://remote/evil.zarr")


def test_a_scheme_without_its_package_names_the_package(memory):
    with pytest.raises(MissingExtraError, match="need another package"):
        open_remote("dropbox://folder/volume.zarr")
