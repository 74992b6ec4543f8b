"""Affinities on disk: what is written comes back, and foreign channels are put into our order."""

import h5py
import numpy as np
import pytest
import zarr
from numpy.testing import assert_array_equal

from napari_celis.core.errors import AmbiguousDatasetError, CorruptFileError, MissingDatasetError, VolumeError
from napari_celis.core.watershed import AffinitiesError
from napari_celis.io.affinities import OFFSETS, Affinities, read_affinities, write_affinities

SIZE, OFFSET = (40.0, 4.0, 4.0), (80.0, -8.0, 4.5)
EMPTY = np.zeros((3, 3, 3, 3), np.uint8)


@pytest.fixture
def affinities():
    """Noise, and 0 where there is no neighbour."""
    data = np.random.default_rng(0).integers(0, 256, (3, 6, 12, 14), dtype=np.uint8)
    data[0, 0], data[1, :, 0], data[2, :, :, 0] = 0, 0, 0
    return Affinities(data, SIZE, OFFSET)


@pytest.mark.parametrize("name", ["a.h5", "a.h5:some/where", "a.zarr", "a.zarr:some/where"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_affinities_come_back(tmp_path, affinities, name, dtype):
    data = affinities.data if dtype == np.uint8 else (affinities.data / 255).astype(dtype)
    path = write_affinities(Affinities(data, SIZE, OFFSET), tmp_path / name)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    for target in (path, tmp_path / name):
        read = read_affinities(target)
        assert read.data.dtype == dtype
        assert_array_equal(read.data, data)
        assert (read.voxel_size_nm, read.offset_nm) == (SIZE, OFFSET)


@pytest.mark.parametrize("suffix", ["h5", "zarr"])
def test_writing_leaves_other_datasets_alone(tmp_path, affinities, suffix):
    path = tmp_path / f"a.{suffix}"
    write_affinities(affinities, f"{path}:first")
    write_affinities(affinities, f"{path}:deep/second")
    write_affinities(Affinities(255 - affinities.data), f"{path}:deep/second")
    assert_array_equal(read_affinities(f"{path}:first").data, affinities.data)
    assert_array_equal(read_affinities(f"{path}:deep/second").data, 255 - affinities.data)
    with pytest.raises(AmbiguousDatasetError, match="first"):
        read_affinities(path)
    for taken in ("first/inside", "deep"):
        with pytest.raises(VolumeError):
            write_affinities(affinities, f"{path}:{taken}")
    assert_array_equal(read_affinities(f"{path}:first").data, affinities.data)


def store(path, data, **attributes):
    with h5py.File(path, "w") as file:
        file.create_dataset("affs", data=data).attrs.update(attributes)
    return path


def test_channels_are_chosen_by_their_offsets(tmp_path, affinities):
    """Long-range channels first, axes in another order, two of them looking to +1."""
    ours = affinities.data
    ahead = [np.roll(ours[axis], -1, axis) for axis in range(3)]
    stored = np.stack([np.full_like(ours[0], 7), ours[2], ahead[0], ahead[1]])
    offsets = [[0, 0, -9], [0, 0, -1], [1, 0, 0], [0, 1, 0]]
    read = read_affinities(store(tmp_path / "a.h5", stored, offsets=offsets, resolution=SIZE))
    assert_array_equal(read.data, ours)
    assert read.voxel_size_nm == SIZE


def test_without_offsets_the_first_channels_are_ours(tmp_path, affinities):
    np.save(tmp_path / "a.npy", np.concatenate([affinities.data, affinities.data[:1]]))
    assert_array_equal(read_affinities(tmp_path / "a.npy").data, affinities.data)
    old = zarr.create_array(
        str(tmp_path / "a.zarr"), data=affinities.data, zarr_format=2, attributes={"voxel_size": list(SIZE)}
    )
    assert old.shape == affinities.data.shape
    assert read_affinities(tmp_path / "a.zarr").voxel_size_nm == SIZE


@pytest.mark.parametrize(
    ("data", "attributes", "error", "message"),
    [
        (np.zeros((2, 3, 3, 3), np.uint8), {}, AffinitiesError, "three or more channels"),
        (np.zeros((3, 3, 3), np.uint8), {}, MissingDatasetError, "four axes"),
        (np.zeros((3, 3, 3, 3), np.int64), {}, AffinitiesError, "int64"),
        (np.zeros((3, 3, 0, 3), np.uint8), {}, VolumeError, "empty"),
        (EMPTY, {"offsets": OFFSETS[:2]}, CorruptFileError, "offsets"),
        (EMPTY, {"offsets": "none"}, CorruptFileError, "offsets"),
        (
            EMPTY,
            {"offsets": [[-2, 0, 0], *OFFSETS[1:]]},
            AffinitiesError,
            "along z",
        ),
        (EMPTY, {"resolution": [1, 0, 1]}, CorruptFileError, "cannot be"),
    ],
)
def test_bad_files_are_explained(tmp_path, data, attributes, error, message):
    path = store(tmp_path / "a.h5", data, **attributes)
    with pytest.raises(error, match=message):
        read_affinities(path)


def test_other_formats_are_explained(tmp_path, affinities):
    with pytest.raises(VolumeError, match=r"\.h5 or \.zarr"):
        write_affinities(affinities, tmp_path / "a.npy")
    with pytest.raises(MissingDatasetError, match="no dataset `b`"):
        read_affinities(f"{write_affinities(affinities, tmp_path / 'a.h5')}:b")
    np.savez(tmp_path / "a.npz", affinities.data)
    with pytest.raises(AffinitiesError, match="come as HDF5"):
        read_affinities(tmp_path / "a.npz")
