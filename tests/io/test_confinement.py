"""A volume from a stranger shows what is in it, and no other file of the user."""

import json
import os

import h5py
import numpy as np
import pytest
import tensorstore
import tifffile
import zarr
from numpy.testing import assert_array_equal

from napari_celis.core.errors import CelisError, CorruptFileError, VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.affinities import read_affinities
from napari_celis.io.confinement import SETTING
from napari_celis.io.volumes import list_datasets, open_volume, write_volume

SECRET = np.full((4, 6, 8), 77, np.uint8)
SEEN = np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8)


@pytest.fixture
def private(tmp_path):
    """Files of the user, in one folder; volumes of strangers come into another."""
    folder = tmp_path / "private"
    folder.mkdir()
    with h5py.File(folder / "secret.h5", "w") as file:
        file["data"], file["group/data"] = SECRET, SECRET
        file["affinities"] = np.ones((3, 4, 6, 8), np.float32)
    (folder / "secret.raw").write_bytes(SECRET.tobytes())
    zarr.create_array(folder / "secret.zarr", data=SECRET)
    write_volume(Volume(SECRET), folder / "secret.tif", kind="image")
    write_volume(Volume(SECRET), folder / "secret.precomputed", kind="image")
    (tmp_path / "strange").mkdir()
    return folder


@pytest.fixture
def strange(tmp_path, private):
    return tmp_path / "strange"


def hdf5_external_link(path, private):
    with h5py.File(path, "w") as file:
        file["data"] = h5py.ExternalLink(str(private / "secret.h5"), "data")


def hdf5_link_to_a_group(path, private):
    with h5py.File(path, "w") as file:
        file["inside"] = h5py.ExternalLink(str(private / "secret.h5"), "group")
        file["data"] = h5py.SoftLink("/inside/data")


def hdf5_raw_storage(path, private):
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "data", SECRET.shape, "u1", external=[(str(private / "secret.raw"), 0, SECRET.size)]
        )


def hdf5_virtual(path, private):
    layout = h5py.VirtualLayout(SECRET.shape, "u1")
    layout[:] = h5py.VirtualSource(str(private / "secret.h5"), "data", SECRET.shape)
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("data", layout)


def hdf5_virtual_of_a_link(path, private):
    layout = h5py.VirtualLayout(SECRET.shape, "u1")
    layout[:] = h5py.VirtualSource(".", "other", SECRET.shape)
    with h5py.File(path, "w") as file:
        file["other"] = h5py.ExternalLink(str(private / "secret.h5"), "data")
        file.create_virtual_dataset("data", layout)


HDF5 = [
    hdf5_external_link,
    hdf5_link_to_a_group,
    hdf5_raw_storage,
    hdf5_virtual,
    hdf5_virtual_of_a_link,
]


@pytest.mark.parametrize("make", HDF5)
def test_hdf5_that_leads_to_other_files(strange, private, make, monkeypatch):
    make(strange / "x.h5", private)
    with pytest.raises(VolumeError, match="leads out of the volume"):
        open_volume(f"{strange / 'x.h5'}:data").read()
    monkeypatch.setenv(SETTING, "1")
    assert_array_equal(open_volume(f"{strange / 'x.h5'}:data").read(), SECRET)


def test_bodies_and_affinities_of_other_files(strange, private):
    with h5py.File(strange / "x.h5", "w") as file:
        file["stack"] = h5py.ExternalLink(str(private / "secret.h5"), "data")
        file["transforms"] = np.array([[77, 1]], np.uint64)
        file["affinities"] = np.ones((3, 4, 6, 8), np.float32)
        del file["affinities"]
        file["affinities"] = h5py.ExternalLink(str(private / "secret.h5"), "affinities")
    with pytest.raises(VolumeError, match="leads out of the volume"):
        open_volume(f"{strange / 'x.h5'}:bodies")
    with pytest.raises(CelisError):
        read_affinities(f"{strange / 'x.h5'}:affinities")


def test_nothing_is_written_through_a_link(strange, private):
    with h5py.File(strange / "x.h5", "w") as file:
        file["inside"] = h5py.ExternalLink(str(private / "secret.h5"), "group")
    before = (private / "secret.h5").read_bytes()
    with pytest.raises(VolumeError, match="leads out of the volume"):
        write_volume(Volume(SEEN), f"{strange / 'x.h5'}:inside/new", kind="image")
    assert (private / "secret.h5").read_bytes() == before


def test_links_inside_a_file(strange):
    layout = h5py.VirtualLayout(SEEN.shape, "u1")
    layout[:] = h5py.VirtualSource(".", "group/data", SEEN.shape)
    with h5py.File(strange / "x.h5", "w") as file:
        file["group/data"] = SEEN
        file["group/near"] = h5py.SoftLink("data")
        file["soft"] = h5py.SoftLink("/group")
        file["hard"] = file["group"]
        file.create_virtual_dataset("virtual", layout)
        file["circle"] = h5py.SoftLink("circle")
    for name in ("group/data", "group/near", "soft/data", "soft/near", "hard/data", "virtual"):
        assert_array_equal(open_volume(f"{strange / 'x.h5'}:{name}").read(), SEEN)
    with pytest.raises(CorruptFileError, match="circle of links"):
        open_volume(f"{strange / 'x.h5'}:circle")


def zarr_array(folder, private):
    (folder / "x.zarr").symlink_to(private / "secret.zarr")
    group = zarr.open_group(folder / "group.zarr", mode="w")
    group.create_array("seen", data=SEEN)
    (folder / "group.zarr" / "data").symlink_to(private / "secret.zarr")
    return f"{folder / 'group.zarr'}:data"


def zarr_level(folder, private):
    write_volume(Volume(SEEN), folder / "x.zarr", kind="image")
    os.rename(folder / "x.zarr" / "0", folder / "aside")
    (folder / "x.zarr" / "0").symlink_to(private / "secret.zarr")
    return folder / "x.zarr"


def zarr_chunk(folder, private):
    zarr.create_array(folder / "x.zarr", data=SEEN, compressors=None)
    chunk = folder / "x.zarr" / "c" / "0" / "0" / "0"
    chunk.unlink()
    chunk.symlink_to(private / "secret.raw")
    return folder / "x.zarr"


def zarr_chunk_of_version_2(folder, private):
    zarr.create_array(folder / "x.zarr", data=SEEN, compressors=None, zarr_format=2)
    (folder / "x.zarr" / "0.0.0").unlink()
    (folder / "x.zarr" / "0.0.0").symlink_to(private / "secret.raw")
    return folder / "x.zarr"


def zarr_path(folder, private):
    group = zarr.open_group(folder / "x.zarr", mode="w")
    group.create_array("0", data=SEEN)
    return f"{folder / 'x.zarr'}:../../private/secret.zarr"


def precomputed_key(folder, private):
    write_volume(Volume(SEEN), folder / "x.precomputed", kind="image")
    info = json.loads((folder / "x.precomputed" / "info").read_text())
    info["scales"][0]["key"] = "../../private/secret.precomputed/0"
    (folder / "x.precomputed" / "info").write_text(json.dumps(info))
    return folder / "x.precomputed"


def precomputed_scale(folder, private):
    write_volume(Volume(SEEN), folder / "x.precomputed", kind="image")
    os.rename(folder / "x.precomputed" / "0", folder / "aside")
    (folder / "x.precomputed" / "0").symlink_to(private / "secret.precomputed" / "0")
    return folder / "x.precomputed"


def precomputed_chunk(folder, private):
    write_volume(Volume(SEEN, (4.0, 4.0, 4.0), (8.0, 4.0, 12.0)), folder / "x.precomputed", kind="image")
    (chunk,) = (folder / "x.precomputed" / "0").iterdir()
    chunk.unlink()
    chunk.symlink_to(private / "secret.raw")
    return folder / "x.precomputed"


def n5_block(folder, private):
    spec = {
        "driver": "n5",
        "kvstore": {"driver": "file", "path": f"{folder / 'x.n5' / 'data'}/"},
        "metadata": {
            "dimensions": SEEN.shape[::-1],
            "blockSize": [4, 3, 2],
            "dataType": "uint8",
            "compression": {"type": "raw"},
        },
    }
    tensorstore.open(spec, create=True).result().T.write(SEEN).result()
    block = folder / "x.n5" / "data" / "1" / "1" / "1"
    header = block.read_bytes()[:16]
    block.unlink()
    (private / "block").write_bytes(header + bytes(24))
    block.symlink_to(private / "block")
    return f"{folder / 'x.n5'}:data"


def section(folder, private):
    (folder / "sections").mkdir()
    tifffile.imwrite(folder / "sections" / "s0.tif", SEEN[0])
    tifffile.imwrite(private / "page.tif", SECRET[0])
    (folder / "sections" / "s1.tif").symlink_to(private / "page.tif")
    return folder / "sections"


FOLDERS = [
    zarr_array,
    zarr_level,
    zarr_chunk,
    zarr_chunk_of_version_2,
    zarr_path,
    precomputed_key,
    precomputed_scale,
    precomputed_chunk,
    n5_block,
    section,
]


@pytest.mark.parametrize("make", FOLDERS)
def test_folders_that_lead_to_other_files(strange, private, make):
    with pytest.raises(VolumeError, match="leads out of the volume"):
        open_volume(make(strange, private)).read()


@pytest.mark.parametrize("make", [make for make in FOLDERS if make is not precomputed_key])
def test_links_are_followed_if_the_user_asks(strange, private, make, monkeypatch):
    monkeypatch.setenv(SETTING, "1")
    open_volume(make(strange, private)).read()


def test_links_inside_a_folder_and_to_a_whole_volume(strange):
    write_volume(Volume(SEEN), strange / "x.zarr", kind="image")
    os.rename(strange / "x.zarr" / "0", strange / "x.zarr" / "kept")
    (strange / "x.zarr" / "0").symlink_to("kept")
    assert_array_equal(open_volume(strange / "x.zarr").read(), SEEN)
    (strange / "link.zarr").symlink_to(strange / "x.zarr")
    assert_array_equal(open_volume(strange / "link.zarr").read(), SEEN)


def test_a_listing_stays_inside_and_ends(strange, private):
    """Folders that lead back to themselves, several times each, would take for ever."""
    group = zarr.open_group(strange / "x.zarr", mode="w")
    group.create_array("a/data", data=SEEN)
    (strange / "x.zarr" / "a" / "out").symlink_to(private / "secret.zarr")
    for number in range(20):
        (strange / "x.zarr" / "a" / f"self{number}").symlink_to(strange / "x.zarr")
    assert [info.name for info in list_datasets(strange / "x.zarr")] == ["a/data"]
    (strange / "x.n5" / "a").mkdir(parents=True)
    (strange / "x.n5" / "attributes.json").write_text('{"n5": "2.0.0"}')
    for number in range(20):
        (strange / "x.n5" / "a" / f"self{number}").symlink_to(strange / "x.n5")
    with pytest.raises(CelisError, match="holds no N5 dataset"):
        list_datasets(strange / "x.n5")


@pytest.mark.parametrize("name", ["../private/secret.tif", "secret.tif"])
def test_sections_of_other_files_in_ome_metadata(strange, private, name):
    tifffile.imwrite(strange / "x.ome.tif", SEEN, ome=True, metadata={"axes": "ZYX"})
    tif = tifffile.TiffFile(strange / "x.ome.tif")
    xml = tif.ome_metadata
    tif.close()
    if name == "secret.tif":
        (strange / name).symlink_to(private / name)
    entry = f'<TiffData IFD="0" PlaneCount="4"><UUID FileName="{name}">urn:uuid:1</UUID></TiffData>'
    begin, end = xml.index("<TiffData"), xml.index("</Pixels>")
    tifffile.imwrite(
        strange / "x.ome.tif",
        SEEN,
        description=xml[:begin] + entry + xml[end:],
        metadata=None,
        photometric="minisblack",
    )
    with pytest.raises(VolumeError, match="Export the set as one file"):
        open_volume(strange / "x.ome.tif")


@pytest.mark.parametrize("dataset", ["../name", "../../name", "a/../../name"])
def test_nothing_is_written_outside_a_store(strange, dataset):
    for existing in (False, True):
        if existing:
            zarr.open_group(strange / "x.zarr", mode="w")
        with pytest.raises(VolumeError, match="leads out of the file"):
            write_volume(Volume(SEEN), f"{strange / 'x.zarr'}:{dataset}", kind="image")
    assert [entry.name for entry in strange.iterdir()] == ["x.zarr"]


def test_nothing_is_written_through_a_link_in_a_store(strange, private):
    zarr.open_group(strange / "x.zarr", mode="w")
    (strange / "x.zarr" / "out").symlink_to(private)
    with pytest.raises(VolumeError, match="leads out of the volume"):
        write_volume(Volume(SEEN), f"{strange / 'x.zarr'}:out/new", kind="image")
    assert not (private / "new").exists()


@pytest.mark.parametrize("name", ["x.h5", "x.tif", "x.npy", "x.npz", "x", "x.zarr"])
def test_pipes_are_refused_at_once(strange, name):
    os.mkfifo(strange / name)
    with pytest.raises(VolumeError, match="is a pipe or a device"):
        open_volume(strange / name)
    (strange / f"link-{name}").symlink_to(strange / name)
    with pytest.raises(VolumeError, match="is a pipe or a device"):
        open_volume(strange / f"link-{name}")


def test_pipes_inside_a_volume(strange):
    zarr.create_array(strange / "x.zarr", data=SEEN)
    chunk = strange / "x.zarr" / "c" / "0" / "0" / "0"
    chunk.unlink()
    os.mkfifo(chunk)
    with pytest.raises(VolumeError, match="is a pipe or a device"):
        open_volume(strange / "x.zarr").read()
    (strange / "x.zarr" / "zarr.json").unlink()
    os.mkfifo(strange / "x.zarr" / "zarr.json")
    with pytest.raises(CelisError):
        open_volume(strange / "x.zarr")
