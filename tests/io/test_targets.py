from pathlib import Path

import numpy as np
import pytest

from napari_celis.core.volume import Volume
from napari_celis.io.kinds import guess_kind
from napari_celis.io.targets import Format, split_target
from napari_celis.io.units import nm_per_unit


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "path", "dataset"),
    [
        ("train.h5", "train.h5", None),
        ("train.h5:volumes/raw", "train.h5", "volumes/raw"),
        ("train.h5:/volumes/raw/", "train.h5", "volumes/raw"),
        ("train.h5:", "train.h5", None),
        ("dir/x.ome.zarr:labels/a:b", "dir/x.ome.zarr", "labels/a:b"),
        ("x.zarr/:raw", "x.zarr/", "raw"),
        ("C:\\data\\train.h5:volumes/raw", "C:\\data\\train.h5", "volumes/raw"),
        ("C:\\data\\train.h5", "C:\\data\\train.h5", None),
        ("C:/data/folder", "C:/data/folder", None),
        ("run 12:30/out.zarr", "run 12:30/out.zarr", None),
        ("run 12:30/out.h5:x", "run 12:30/out.h5", "x"),
        ("UPPER.H5:x", "UPPER.H5", "x"),
    ],
)
def test_paths_that_do_not_exist_yet(text, path, dataset):
    assert split_target(text) == (Path(path), dataset, None)
    assert split_target(Path(text)) == (Path(path), dataset, None)


def test_existing_paths_decide():
    Path("odd.h5:name.npy").write_text("")
    Path("plain").write_text("")
    Path("a.h5").write_text("")
    assert split_target("odd.h5:name.npy") == (Path("odd.h5:name.npy"), None, None)
    assert split_target("plain:x/y") == (Path("plain"), "x/y", None)
    assert split_target("a.h5:b.h5:c") == (Path("a.h5"), "b.h5:c", None)


def test_a_plain_folder_holds_no_datasets():
    Path("run").mkdir()
    assert split_target("run:1/out") == (Path("run:1/out"), None, None)


def test_schemes():
    assert split_target("precomputed://a/b") == (Path("a/b"), None, Format.PRECOMPUTED)
    assert split_target("file:///a/b.h5:c") == (Path("/a/b.h5"), "c", None)


@pytest.mark.parametrize(
    ("dtype", "name", "target", "kind"),
    [
        ("f4", "labels.h5", "", "image"),
        ("u1", "v.h5:volumes/raw", "", "image"),
        ("u1", "v.h5:volumes/labels/ids", "", "labels"),
        ("u1", "v.h5:x", "truth.zarr", "labels"),
        ("u8", "v.h5:x", "", "labels"),
        ("u2", "v.h5:x", "", "image"),
        ("u8", "v.h5:x", "raw.zarr", "image"),
        ("u1", "labels/neurons/x.h5", "", "image"),
    ],
)
def test_guessing_the_kind(dtype, name, target, kind):
    assert guess_kind(Volume(np.zeros((1, 1, 1), dtype), name=name), target) == kind


@pytest.mark.parametrize(
    ("unit", "nm"),
    [
        ("nm", 1.0),
        ("Nanometre", 1.0),
        ("MICRONS", 1e3),
        ("µm", 1e3),
        ("μm", 1e3),
        ("angstrom", 0.1),
        ("Å", 0.1),
    ],
)
def test_units(unit, nm):
    assert nm_per_unit(unit) == nm


@pytest.mark.parametrize("unit", [None, "pixel", "second", "", 7])
def test_no_units(unit):
    assert nm_per_unit(unit) is None
