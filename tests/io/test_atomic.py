"""Nothing half-written under the final name, and nothing deleted that is not ours."""

import subprocess
import sys
import time

import numpy as np
import pytest
import volume_samples
import zarr
from numpy.testing import assert_array_equal

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io import blocks, hdf5
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

NAMES = ["v.zarr", "v.zarr:group/v", "v.h5", "v.tif", "v.npy", "v.precomputed"]


class Breaking:
    """A lazy array that fails half-way."""

    shape, dtype = (6, 7, 8), np.dtype(np.uint64)

    def __getitem__(self, key):
        if key[0].start > 2:
            raise CorruptFileError("The source broke.")
        return volume_samples.labels()[key]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 7 * 8 * 8)
    monkeypatch.setattr("napari_celis.io.ome_zarr.CHUNK", 1)
    monkeypatch.setattr("napari_celis.io.precomputed_scales.CHUNK", 1)
    monkeypatch.setattr(hdf5, "CHUNKS", (1, 7, 8))


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_leaves_nothing(tmp_path, name):
    with pytest.raises(CorruptFileError, match="The source broke"):
        write_volume(Volume(Breaking()), tmp_path / name, kind="labels")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_leaves_the_old_volume(tmp_path, name):
    old = Volume(volume_samples.labels(), (40.0, 4.0, 4.0))
    write_volume(old, tmp_path / name, kind="labels")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CorruptFileError):
        write_volume(Volume(Breaking()), tmp_path / name, kind="labels")
    assert sorted(tmp_path.rglob("*")) == before
    assert_array_equal(open_volume(tmp_path / name).read(), old.data)


@pytest.mark.parametrize("name", ["v.zarr", "v.h5", "v.tif", "v.npy", "v.precomputed"])
def test_a_killed_process_leaves_the_old_volume(tmp_path, name):
    write_volume(Volume(volume_samples.labels()), tmp_path / name, kind="labels")
    program = f"""
import time, numpy as np
from napari_celis.core.volume import Volume
from napari_celis.io import blocks
from napari_celis.io.volumes import write_volume
blocks.BLOCK_BYTES = 8 * 64 * 64
class Slow:
    shape, dtype = (6, 64, 64), np.dtype(np.uint64)
    def __getitem__(self, key):
        if key[0].start >= 3:
            print("now", flush=True)
            time.sleep(600)
        return np.ones(tuple(len(range(*k.indices(n))) for k, n in zip(key, self.shape)), np.uint64)
class Whole(Slow):
    def __getitem__(self, key):
        print("now", flush=True)
        time.sleep(600)
array = Slow() if "{name}".endswith(("tif", "npy")) else Whole()
write_volume(Volume(array), {str(tmp_path / name)!r}, kind="labels")
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"now\n"
    time.sleep(0.05)
    process.kill()
    process.wait()
    process.stdout.close()
    assert_array_equal(open_volume(tmp_path / name).read(), volume_samples.labels())


@pytest.mark.parametrize("name", ["v.zarr", "v.precomputed"])
def test_foreign_folders_are_not_replaced(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.txt").write_text("precious")
    with pytest.raises(VolumeError, match="will not be replaced"):
        write_volume(Volume(volume_samples.labels()), tmp_path / name, kind="labels")
    assert (tmp_path / name / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize("name", ["v.zarr", "v.precomputed"])
def test_volumes_with_something_else_inside_are_not_replaced(tmp_path, name):
    write_volume(Volume(volume_samples.labels()), tmp_path / name, kind="labels")
    (tmp_path / name / "notes.txt").write_text("precious")
    with pytest.raises(VolumeError, match="will not be replaced"):
        write_volume(Volume(volume_samples.labels()), tmp_path / name, kind="labels")


def test_a_zarr_with_several_volumes_is_not_replaced(tmp_path):
    for group in ("raw", "labels/ids"):
        write_volume(Volume(volume_samples.labels()), f"{tmp_path / 'v.zarr'}:{group}", kind="labels")
    assert [info.name for info in list_datasets(tmp_path / "v.zarr")] == ["labels/ids", "raw"]
    for target in ("v.zarr", "v.zarr:labels"):
        with pytest.raises(VolumeError, match="will not be replaced"):
            write_volume(Volume(volume_samples.labels()), tmp_path / target, kind="labels")


def test_names_that_are_taken(tmp_path):
    volume = Volume(volume_samples.labels())
    (tmp_path / "v.zarr").write_text("")
    with pytest.raises(VolumeError, match="is a file"):
        write_volume(volume, tmp_path / "v.zarr", kind="labels")
    (tmp_path / "v.tif").mkdir()
    with pytest.raises(VolumeError, match="is a folder"):
        write_volume(volume, tmp_path / "v.tif", kind="labels")
    write_volume(volume, f"{tmp_path / 'v.h5'}:a/b", kind="labels")
    for dataset, what in (("a", "a group"), ("a/b/c", "a dataset")):
        with pytest.raises(VolumeError, match=f"holds {what}"):
            write_volume(volume, f"{tmp_path / 'v.h5'}:{dataset}", kind="labels")
    for name in ("w.tif", "w.npy", "w.precomputed"):
        with pytest.raises(VolumeError, match="without a name"):
            write_volume(volume, f"{tmp_path / name}:x", kind="labels")


def test_adding_to_what_is_no_group(tmp_path):
    zarr.open_group(tmp_path / "two.zarr", mode="w", zarr_format=2)
    group = zarr.open_group(tmp_path / "three.zarr", mode="w", zarr_format=3)
    group.create_array("ids", data=volume_samples.labels())
    with pytest.raises(VolumeError, match="not a Zarr version 3 group"):
        write_volume(Volume(volume_samples.labels()), f"{tmp_path / 'two.zarr'}:x", kind="labels")
    with pytest.raises(VolumeError, match="is an array"):
        write_volume(Volume(volume_samples.labels()), f"{tmp_path / 'three.zarr'}:ids/x", kind="labels")


def test_a_damaged_hdf5_file_is_not_extended(tmp_path):
    (tmp_path / "v.h5").write_text("not HDF5")
    with pytest.raises(CorruptFileError, match=r"v\.h5 cannot be read"):
        write_volume(Volume(volume_samples.labels()), tmp_path / "v.h5", kind="labels")
    assert (tmp_path / "v.h5").read_text() == "not HDF5"


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("napari_celis.io.atomic.sync_file", fail)
    with pytest.raises(
        VolumeError, match=r"v\.npy could not be written: No space left on device\. Free some"
    ):
        write_volume(Volume(volume_samples.labels()), tmp_path / "v.npy", kind="labels")
    assert list(tmp_path.iterdir()) == []
