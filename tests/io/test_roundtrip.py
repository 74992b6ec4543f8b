"""Whatever is written comes back: voxels, ids, voxel size and offset, to the last bit."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import tifffile
import volume_samples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from napari_celis.core.volume import Volume
from napari_celis.io import blocks
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

TARGETS = ["v.zarr", "v.zarr:a/b", "v.h5", "v.h5:some/where", "v.tif", "v.npy", "v.precomputed"]
LARGEST = 2**64 - 1
FEW = settings(max_examples=15, deadline=None)

shapes = st.tuples(*[st.integers(1, 9)] * 3)
sizes = st.tuples(*[st.floats(1e-3, 1e6)] * 3)
offsets = st.tuples(*[st.floats(-1e9, 1e9)] * 3)
label_arrays = shapes.flatmap(
    lambda shape: st.sampled_from([np.uint8, np.uint16, np.uint32, np.uint64]).flatmap(
        lambda dtype: hnp.arrays(dtype, shape)
    )
)
images = shapes.flatmap(
    lambda shape: st.sampled_from([np.uint8, np.int16, np.uint16, np.float32]).flatmap(
        lambda dtype: hnp.arrays(dtype, shape)
    )
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("roundtrip")


def there_and_back(volume: Volume, folder: Path, target: str, kind: str) -> Volume:
    for old in folder.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    write_volume(volume, folder / target, kind=kind)
    assert [entry.name for entry in folder.iterdir()] == [target.partition(":")[0]]
    return open_volume(folder / target)


def assert_same(found: Volume, wanted: Volume) -> None:
    assert found.dtype == wanted.dtype
    assert_array_equal(found.read(), wanted.data)
    assert found.voxel_size_nm == wanted.voxel_size_nm
    assert found.offset_nm == wanted.offset_nm


@pytest.mark.parametrize("target", TARGETS)
@given(data=label_arrays, size=sizes, offset=offsets)
@FEW
def test_labels_come_back(folder, target, data, size, offset):
    volume = Volume(data, size, offset)
    assert_same(there_and_back(volume, folder, target, "labels"), volume)


@pytest.mark.parametrize("target", TARGETS)
@given(data=images, size=sizes, offset=offsets)
@FEW
def test_images_come_back(folder, target, data, size, offset):
    volume = Volume(data, size, offset)
    assert_same(there_and_back(volume, folder, target, "image"), volume)


@pytest.mark.parametrize("target", TARGETS)
def test_largest_ids_survive(folder, target):
    data = np.array([LARGEST, LARGEST - 1, 2**63, 2**53 + 1, 1, 0, 7, 8], np.uint64).reshape(2, 2, 2)
    volume = Volume(data, (40.0, 4.0, 4.0), (0.1, 1 / 3, -7e-5))
    assert_same(there_and_back(volume, folder, target, "labels"), volume)


@pytest.mark.parametrize("target", TARGETS)
def test_signed_labels_become_unsigned(folder, target):
    volume = Volume(np.arange(27, dtype=np.int64).reshape(3, 3, 3))
    found = there_and_back(volume, folder, target, "labels")
    assert found.dtype == np.uint64
    assert_array_equal(found.read(), volume.data)


@pytest.mark.parametrize("target", TARGETS)
def test_large_volumes_pass_in_blocks(folder, target, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 2**14)
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2**16, (70, 66, 130), dtype=np.uint16)
    read_sizes = []

    class Lazy:
        shape, dtype = data.shape, data.dtype

        def __getitem__(self, key):
            part = data[key]
            read_sizes.append(part.size)
            return part

    reports = []
    write_volume(
        Volume(Lazy()), folder / "large" / target, kind="image", progress=lambda *n: reports.append(n)
    )
    assert max(read_sizes) <= max(64**3, 2**13)
    assert reports[-1] == (data.size, data.size)
    assert_array_equal(open_volume(folder / "large" / target).read(), data)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.int32, np.int64, np.float16, np.float64, ">u8", ">f4"]
)
@pytest.mark.parametrize("target", ["v.zarr", "v.h5", "v.npy", "v.tif"])
def test_other_types_keep_their_values(folder, target, dtype):
    data = np.arange(24).reshape(2, 3, 4).astype(dtype)
    found = there_and_back(Volume(data), folder, target, "image")
    assert found.dtype == (np.uint8 if data.dtype.kind == "b" else data.dtype.newbyteorder("="))
    assert_array_equal(found.read(), data)


def test_a_copy_through_every_format_is_exact(folder):
    volume = Volume(volume_samples.labels(), (30.5, 4.01, 4.0), (1e-3, 2.5, -3.75))
    for number, target in enumerate(TARGETS):
        write_volume(volume, folder / f"chain-{number}" / target, kind="labels")
        volume = open_volume(folder / f"chain-{number}" / target)
    assert_same(volume, Volume(volume_samples.labels(), (30.5, 4.01, 4.0), (1e-3, 2.5, -3.75)))


def test_adding_to_an_hdf5_file_keeps_the_rest(folder):
    path = folder / "both.h5"
    image = Volume(volume_samples.image(), (40.0, 4.0, 4.0))
    labels = Volume(volume_samples.labels(), (40.0, 4.0, 4.0), (0.0, 8.0, 12.0))
    write_volume(image, path, kind="image")
    write_volume(labels, path, kind="labels")
    write_volume(labels, path, kind="labels")
    assert [info.name for info in list_datasets(path)] == ["volumes/labels/neuron_ids", "volumes/raw"]
    assert_same(open_volume(f"{path}:volumes/raw"), image)
    assert_same(open_volume(f"{path}:volumes/labels/neuron_ids"), labels)


def test_a_volume_can_replace_its_own_file(folder):
    for target in ("self.zarr", "self.h5", "self.npy", "self.tif", "self.precomputed"):
        volume = Volume(volume_samples.labels(), (40.0, 4.0, 4.0))
        write_volume(volume, folder / target, kind="labels")
        write_volume(open_volume(folder / target), folder / target, kind="labels")
        assert_same(open_volume(folder / target), volume)


def test_imagej_reads_our_voxel_size(folder):
    path = folder / "fiji.tif"
    write_volume(Volume(volume_samples.image(), (40.0, 4.0, 8.0)), path, kind="image")
    with tifffile.TiffFile(path) as tif:
        assert tif.is_imagej
        assert tif.imagej_metadata["spacing"] == 40.0
        assert tif.imagej_metadata["unit"] == "nm"
        x, y = (tif.pages.first.tags[tag].value for tag in ("XResolution", "YResolution"))
        assert x[1] / x[0] == 8.0
        assert y[1] / y[0] == 4.0


def test_a_voxel_size_changed_in_imagej_wins(folder):
    path = folder / "changed.tif"
    note = '{"voxel_size_nm": [40.0, 4.0, 4.0], "offset_nm": [1.0, 2.0, 3.0]}'
    metadata = {"axes": "ZYX", "spacing": 0.05, "unit": "um", "Info": f"Title: x\n{note}"}
    tifffile.imwrite(path, volume_samples.image(), imagej=True, metadata=metadata, resolution=(200.0, 100.0))
    volume = open_volume(path)
    assert volume.voxel_size_nm == pytest.approx((50.0, 10.0, 5.0))
    assert volume.offset_nm == (1.0, 2.0, 3.0)
