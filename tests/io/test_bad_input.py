"""Every mistake has its own sentence, which says what came and what to do."""

import json
import sys

import h5py
import numcodecs
import numpy as np
import pytest
import tifffile
import volume_samples
import zarr
from numpy.testing import assert_array_equal
from PIL import Image

from napari_celis.core.errors import (
    AmbiguousDatasetError,
    CelisError,
    CorruptFileError,
    LabelsError,
    MissingDatasetError,
    MissingExtraError,
    NotEnoughMemoryError,
    ShapeMismatchError,
    VolumeError,
)
from napari_celis.core.volume import Volume
from napari_celis.io import memory
from napari_celis.io.volumes import (
    list_datasets,
    open_volume,
    read_image,
    read_labels,
    require_same_shape,
    write_volume,
)

ONES = np.ones((3, 4, 5), np.uint8)


def save(path, array):
    """Write an array as other programs would, in the format of the suffix."""
    if path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez(path, array)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["data"] = array
    elif path.suffix == ".tif":
        tifffile.imwrite(path, array, photometric="minisblack")
    else:
        zarr.create_array(path, data=array)
    return path


SUFFIXES = [".npy", ".npz", ".h5", ".zarr"]


@pytest.mark.parametrize(
    "name", ["a.h5", "a.h5:raw", "a.tif", "a.npy", "a.zarr", "a.n5", "a", "C:\\a.h5:raw"]
)
def test_missing_file(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingDatasetError, match="does not exist"):
        open_volume(name)


@pytest.mark.parametrize("format_name", ["hdf5-cremi", "hdf5-flyem", "npz", "zarr2", "zarr3", "n5"])
def test_missing_dataset_lists_those_that_exist(tmp_path, format_name):
    path = volume_samples.FORMATS[format_name](tmp_path)[-1]
    names = [info.name for info in list_datasets(path)]
    with pytest.raises(MissingDatasetError, match="has no dataset `nope`") as caught:
        open_volume(f"{path}:nope")
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize("format_name", ["hdf5-cremi", "hdf5-flyem", "npz", "zarr2", "zarr3", "n5"])
def test_several_volumes_are_listed(tmp_path, format_name):
    path = volume_samples.FORMATS[format_name](tmp_path)[-1]
    names = [info.name for info in list_datasets(path) if info.is_volume]
    assert len(names) > 1
    with pytest.raises(AmbiguousDatasetError, match="several volumes") as caught:
        open_volume(path)
    assert all(name in str(caught.value) for name in names)


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".tif"])
def test_float_labels(tmp_path, suffix):
    path = save(tmp_path / f"v{suffix}", ONES.astype(np.float32))
    with pytest.raises(LabelsError, match="float32 values, but labels must be integers"):
        read_labels(open_volume(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_negative_labels(tmp_path, suffix):
    path = save(tmp_path / f"v{suffix}", ONES.astype(np.int32) - 3)
    with pytest.raises(LabelsError, match="lowest is -2"):
        read_labels(open_volume(path))
    with pytest.raises(LabelsError, match="lowest is -2"):
        write_volume(open_volume(path), tmp_path / "copy.h5", kind="labels")
    assert not (tmp_path / "copy.h5").exists()


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".tif"])
def test_one_section(tmp_path, suffix):
    path = save(tmp_path / f"v{suffix}", ONES[0])
    with pytest.raises(VolumeError, match="one section with shape 4 × 5"):
        open_volume(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_four_axes(tmp_path, suffix):
    path = save(tmp_path / f"v{suffix}", np.stack([ONES, ONES]))
    with pytest.raises(VolumeError, match="has 4 axes"):
        open_volume(path)


def test_arrays_in_memory_are_checked_too():
    for array in (ONES[0], ONES[None]):
        with pytest.raises(VolumeError, match="axes"):
            read_image(Volume(array))
        with pytest.raises(VolumeError, match="axes"):
            read_labels(Volume(array))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_empty_volume(tmp_path, suffix):
    path = save(tmp_path / f"v{suffix}", ONES[:0])
    with pytest.raises(VolumeError, match="is empty: its shape is 0 × 4 × 5"):
        open_volume(path)


def test_empty_volumes_are_not_written(tmp_path):
    with pytest.raises(VolumeError, match="is empty"):
        write_volume(Volume(ONES[:0]), tmp_path / "v.zarr", kind="image")


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".tif"])
def test_nothing_but_background(tmp_path, suffix):
    path = save(tmp_path / f"v{suffix}", 0 * ONES)
    with pytest.raises(LabelsError, match="nothing but background"):
        read_labels(open_volume(path))


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".tif"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_in_an_image(tmp_path, suffix, value):
    array = ONES.astype(np.float32)
    array[1, 2, 3] = value
    with pytest.raises(VolumeError, match="holds 1 or more values that are NaN or infinite"):
        read_image(open_volume(save(tmp_path / f"v{suffix}", array)))


def test_shapes_that_differ():
    image, labels = Volume(ONES), Volume(ONES[:2])
    require_same_shape(image=image, truth=image)
    with pytest.raises(
        ShapeMismatchError, match="`supervoxels` has shape 2 × 4 × 5 but `image` has 3 × 4 × 5"
    ):
        require_same_shape(image=image, supervoxels=labels)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_pickles_are_never_loaded(tmp_path, suffix):
    path = save(tmp_path / f"v{suffix}", np.full((2, 2, 2), None))
    with pytest.raises(VolumeError, match="pickled objects are never loaded"):
        open_volume(path)


def test_objects_in_hdf5(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_dataset("data", (2, 2, 2), h5py.string_dtype())
    with pytest.raises(VolumeError, match="plain numbers"):
        open_volume(tmp_path / "v.h5")


@pytest.mark.parametrize("changes", [{"filters": [{"id": "pickle"}]}, {"compressor": {"id": "json2"}}])
def test_zarr_codecs_that_run_code(tmp_path, changes):
    zarr.create_array(tmp_path / "v.zarr", data=ONES, zarr_format=2)
    metadata = tmp_path / "v.zarr" / ".zarray"
    metadata.write_text(json.dumps(json.loads(metadata.read_text()) | changes))
    with pytest.raises(VolumeError, match="could run code"):
        open_volume(tmp_path / "v.zarr")


@pytest.mark.parametrize("options", [{"zarr_format": 2}, {"zarr_format": 3}, {"shards": (4, 4, 8)}])
def test_blosc_chunks_that_lie_about_their_size(tmp_path, options):
    """The library reads past the end of these, and crashes when it is unlucky."""
    blosc = zarr.codecs.BloscCodec() if options.get("zarr_format") != 2 else numcodecs.Blosc()
    data = np.arange(128, dtype=np.uint16).reshape(4, 4, 8)
    zarr.create_array(tmp_path / "v.zarr", data=data, chunks=(4, 4, 4), compressors=blosc, **options)
    assert_array_equal(open_volume(tmp_path / "v.zarr").read(), data)
    for chunk in (file for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".json"):
        content = chunk.read_bytes()
        if not content.startswith(b"{"):
            chunk.write_bytes(content[:4] + b"\0\0\0\x40" + content[8:12] + b"\x10\0\0\x40" + content[16:])
    with pytest.raises(CorruptFileError, match="a Blosc chunk should have 1073741840 bytes but has"):
        open_volume(tmp_path / "v.zarr").read()


@pytest.mark.parametrize("format_name", [name for name in volume_samples.FORMATS if name != "sections"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.95])
def test_truncated_files(tmp_path, format_name, share):
    target = volume_samples.FORMATS[format_name](tmp_path)[0]
    for file in (file for file in tmp_path.rglob("*") if file.is_file()):
        content = file.read_bytes()
        file.write_bytes(content[: int(share * len(content))])
    if format_name == "tiff" and share > 0.9:
        # What ImageJ needs stands at the front: these voxels are all there.
        assert_array_equal(read_image(open_volume(target)), volume_samples.image())
        return
    with pytest.raises(CelisError) as caught:
        read_image(open_volume(target))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".h5", ".tif", ".npy", ".npz"])
def test_text_under_a_wrong_name(tmp_path, suffix):
    path = tmp_path / f"v{suffix}"
    path.write_text("This is not a volume at all.")
    with pytest.raises(CorruptFileError, match="not what its name says"):
        open_volume(path)


def test_unknown_formats(tmp_path):
    (tmp_path / "v.docx").write_text("text")
    with pytest.raises(VolumeError, match="none of the formats"):
        open_volume(tmp_path / "v.docx")
    Image.fromarray(ONES[0]).save(tmp_path / "v.png")
    with pytest.raises(VolumeError, match="is one section"):
        open_volume(tmp_path / "v.png")
    for name in ("v.docx", "v.n5", "v.npz", "v"):
        with pytest.raises(VolumeError, match="cannot be written"):
            write_volume(Volume(ONES), tmp_path / name, kind="image")


@pytest.mark.parametrize(
    "address", ["https://host/v.zarr", "s3://bucket/v.zarr", "precomputed://gs://bucket/v"]
)
def test_remote_addresses(address):
    with pytest.raises(VolumeError, match="not on this machine's disks"):
        open_volume(address)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_more_memory_than_there_is(tmp_path, suffix, monkeypatch):
    path = save(tmp_path / f"v{suffix}", np.ones((64, 128, 256), np.uint8))
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_500_000)
    with pytest.raises(NotEnoughMemoryError, match=r"needs 0\.00\d+ GB of memory, but 0\.0015 GB are free"):
        read_image(open_volume(path))


def test_absurd_headers_ask_for_memory_not_for_patience(tmp_path):
    zarr.create_array(tmp_path / "v.zarr", shape=(10**6, 10**6, 10**6), chunks=(64, 64, 64), dtype="u8")
    volume = open_volume(tmp_path / "v.zarr")
    assert volume.data[5:7, 10**5, :3].shape == (2, 3)
    with pytest.raises(NotEnoughMemoryError, match="8,000,000,000 GB"):
        read_labels(volume)


def test_a_header_that_claims_more_than_any_file_holds(tmp_path):
    np.save(tmp_path / "v.npy", ONES)
    content = (tmp_path / "v.npy").read_bytes()
    (tmp_path / "v.npy").write_bytes(content.replace(b"(3, 4, 5), }         ", b"(4294967295, 4, 5), }"))
    with pytest.raises(CorruptFileError, match="it should have 85899346"):
        open_volume(tmp_path / "v.npy")


def test_too_many_chunks(tmp_path):
    zarr.create_array(tmp_path / "v.zarr", shape=(200, 200, 200), chunks=(1, 1, 1), dtype="u1")
    with pytest.raises(VolumeError, match="larger chunks"):
        read_image(open_volume(tmp_path / "v.zarr"))


@pytest.mark.parametrize("resolution", [[0, 4, 4], [4, 4], [np.nan, 4, 4], "forty"])
def test_impossible_voxel_sizes(tmp_path, resolution):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["data"] = ONES
        file["data"].attrs["resolution"] = resolution
    with pytest.raises(CorruptFileError, match="resolution"):
        open_volume(tmp_path / "v.h5")
    with pytest.raises(VolumeError, match="cannot be stored"):
        write_volume(Volume(ONES, (0.0, 4.0, 4.0)), tmp_path / "w.h5", kind="image")


def test_levels_that_do_not_exist(tmp_path):
    write_volume(Volume(ONES), tmp_path / "v.zarr", kind="image")
    with pytest.raises(VolumeError, match="has no level 3: it has 1"):
        open_volume(tmp_path / "v.zarr", level=3)
    with pytest.raises(VolumeError, match="has no level 1"):
        open_volume(save(tmp_path / "v.npy", ONES), level=1)


@pytest.mark.parametrize("format_name", ["n5", "precomputed"])
def test_without_tensorstore(tmp_path, format_name, monkeypatch):
    target = volume_samples.FORMATS[format_name](tmp_path)[0]
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    with pytest.raises(MissingExtraError, match=r'pip install "napari-celis\[formats\]"'):
        open_volume(target)
    with pytest.raises(MissingExtraError, match=r"new\.precomputed needs"):
        write_volume(Volume(ONES), tmp_path / "new.precomputed", kind="image")


def test_types_that_precomputed_lacks(tmp_path):
    with pytest.raises(VolumeError, match="Convert it to float32"):
        write_volume(Volume(ONES.astype(np.float64)), tmp_path / "v.precomputed", kind="image")


def test_channels(tmp_path):
    tifffile.imwrite(
        tmp_path / "v.tif", np.ones((3, 2, 4, 5), np.uint8), imagej=True, metadata={"axes": "ZCYX"}
    )
    with pytest.raises(VolumeError, match="holds 2 channels"):
        open_volume(tmp_path / "v.tif")
    tifffile.imwrite(
        tmp_path / "t.tif", np.ones((3, 2, 4, 5), np.uint8), imagej=True, metadata={"axes": "TZYX"}
    )
    with pytest.raises(VolumeError, match="has 4 axes"):
        open_volume(tmp_path / "t.tif")
    group = zarr.open_group(tmp_path / "v.zarr", mode="w")
    group.create_array("0", data=np.ones((3, 2, 4, 5), np.uint8))
    multiscale = {"axes": volume_samples.ome_axes(), "datasets": [{"path": "0"}]}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [multiscale]}
    with pytest.raises(VolumeError, match="holds 3 channels"):
        open_volume(tmp_path / "v.zarr")


def test_sections_that_differ(tmp_path):
    for number, width in enumerate((5, 5, 6)):
        Image.fromarray(np.ones((4, width), np.uint8)).save(tmp_path / f"s{number}.png")
    with pytest.raises(VolumeError, match=r"s2\.png is 4 × 6 uint8, but the first"):
        read_image(open_volume(tmp_path))
    Image.fromarray(np.ones((4, 5, 3), np.uint8)).save(tmp_path / "s0.png")
    with pytest.raises(VolumeError, match="mode RGB"):
        open_volume(tmp_path)
    save(tmp_path / "s3.tif", ONES)
    with pytest.raises(VolumeError, match="mixes TIFF and PNG"):
        open_volume(tmp_path)


def test_folders_without_sections(tmp_path):
    with pytest.raises(MissingDatasetError, match="without TIFF or PNG sections"):
        open_volume(tmp_path)
    save(tmp_path / "stack.tif", ONES)
    with pytest.raises(VolumeError, match="holds 3 pages"):
        open_volume(tmp_path)


def test_supervoxels_missing_from_the_flyem_table(tmp_path):
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file["stack"] = np.arange(8, dtype=np.uint32).reshape(2, 2, 2)
        file["transforms"] = np.array([[1, 10], [2, 10], [3, 11]], np.uint64)
    with pytest.raises(CorruptFileError, match="lacks 4 supervoxels in `transforms`, the first is 4"):
        read_labels(open_volume(f"{tmp_path / 'v.h5'}:bodies"))
