"""No command replaces what it reads, nor one of its outputs by another."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr

from napari_celis.cli.outputs import require_distinct
from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.io.samples import bundled_models
from napari_celis.io.volumes import write_volume

IMAGE = np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8)
IDS = (1 + IMAGE // 16).astype(np.uint32)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one of everything, which is also where commands run."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["raw"], file["ids"] = IMAGE, IDS
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["raw"] = IMAGE
    with h5py.File(tmp_path / "aff.h5", "w") as file:
        file["volumes/affinities"] = np.ones((3, 4, 6, 8), np.float32)
    write_volume(Volume(IMAGE), tmp_path / "x.zarr", kind="image")
    zarr.create_array(tmp_path / "plain.zarr", data=IMAGE)
    np.save(tmp_path / "x.npy", IDS)
    (tmp_path / "sections").mkdir()
    write_volume(Volume(IMAGE[:1]), tmp_path / "sections" / "s0.tif", kind="image")
    shutil.copyfile(bundled_models()["phantom"], tmp_path / "m.safetensors")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checksums(folder):
    """Identify the content of every file."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


RUN = "agglomerate --any-voxel-size --model m.safetensors"


@pytest.mark.parametrize(
    "command",
    [
        f"{RUN} --image x.h5:raw -o x.h5:raw",
        f"{RUN} --image x.h5:raw --supervoxels x.h5:ids -o x.h5:ids",
        f"{RUN} --image one.h5 -o one.h5:raw",
        f"{RUN} --image x.h5:raw -o z.npy --json x.h5",
        f"{RUN} --image x.h5:raw -o z.npy --json m.safetensors",
        f"{RUN} --image x.zarr -o x.zarr",
        f"{RUN} --image x.zarr -o x.zarr:0",
        f"{RUN} --image plain.zarr -o plain.zarr:c/labels",
        "predict --any-voxel-size --model m.safetensors --image x.h5:raw -o x.h5:raw",
        "predict --any-voxel-size --model m.safetensors --image x.h5:raw -o a.h5 --json a.h5",
        "evaluate x.npy x.h5:ids --json x.npy",
        "evaluate x.npy x.h5:ids --json x.h5",
        "info x.npy --json x.npy",
        "info sections --json sections/s0.tif",
        "convert x.h5:ids x.h5:ids",
        "convert x.npy z.npy --json z.npy",
        "watershed aff.h5 -o aff.h5:volumes/affinities",
        "watershed aff.h5 -o z.npy --json aff.h5",
        "phantom z.h5 --shape 40 40 40 --json z.h5",
        "pruning-report --supervoxels x.npy --json x.npy",
        "bench --supervoxels x.npy --json x.npy",
        "train --image x.h5:raw --truth x.h5:ids -o x.h5",
        "train --image x.h5:raw --truth x.h5:ids -o z.safetensors --records x.h5",
        "train --image x.h5:raw --truth x.h5:ids -o z.safetensors --json z.safetensors",
        "compare --image x.h5:raw --truth x.npy --model m.safetensors --train-image x.h5:raw --train-truth "
        "x.h5:ids --json x.npy",
    ],
)
def test_an_output_that_is_an_input_or_another_output(celis, folder, command):
    before = checksums(folder)
    code, _, err = celis(*command.split())
    assert code == 1
    assert "would replace" in err or "the same file" in err
    assert checksums(folder) == before


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_other_names_of_an_input(celis, folder, link):
    link("x.npy", "other.npy")
    before = checksums(folder)
    code, _, err = celis("evaluate", "x.npy", "x.h5:ids", "--json", "other.npy")
    assert (code, "would replace" in err) == (1, True)
    assert checksums(folder) == before


@pytest.mark.parametrize(
    ("output", "source"),
    [
        ("x.h5:seg", "x.h5:raw"),
        ("x.h5", "x.h5:raw"),
        ("one.h5:seg", "one.h5"),
        ("x.zarr:labels/seg", "x.zarr"),
        ("sections/seg.npy", "sections"),
        ("new.npy", "x.npy"),
    ],
)
def test_outputs_beside_their_inputs(folder, output, source):
    require_distinct({"--output": output, "--json": Path("new.json")}, {"--image": source})


def test_bodies_are_made_of_two_datasets(folder):
    with h5py.File("fly.h5", "w") as file:
        file["stack"] = IDS
        file["transforms"] = np.stack([np.unique(IDS), np.unique(IDS)], axis=1).astype(np.uint64)
    for name in ("stack", "transforms", "bodies"):
        with pytest.raises(CelisError, match="would replace"):
            require_distinct({"--output": f"fly.h5:{name}"}, {"TRUTH": "fly.h5:bodies"})


def test_supervoxels_into_the_file_of_their_affinities_twice(celis, folder):
    for _ in range(2):
        assert celis("watershed", "aff.h5", "-o", "aff.h5")[0] == 0


@pytest.mark.parametrize(
    "command",
    [
        "evaluate x.npy x.h5:ids --json no/f.json",
        "info x.npy --json no/f.json",
        "convert x.npy no/z.npy",
        "convert x.npy z.npy --json no/f.json",
        "watershed aff.h5 -o no/z.npy",
        "phantom no/z.h5 --shape 40 40 40",
        "bench --json no/f.json",
    ],
)
def test_missing_folders_are_refused_before_the_work(celis, folder, command):
    code, _, err = celis(*command.split())
    assert code == 1
    assert "its folder does not exist. Make the folder first." in err
    assert not (folder / "no").exists()
    assert not (folder / "z.npy").exists()


def test_a_file_in_place_of_the_figures(celis, folder):
    assert celis("evaluate", "x.npy", "x.h5:ids", "--ignore-boundary", 0, "--json", "old.json")[0] == 0
    assert celis("evaluate", "x.npy", "x.h5:ids", "--ignore-boundary", 0, "--json", "old.json")[0] == 0
    assert json.loads((folder / "old.json").read_text())["vi"] == 0


def test_a_dataset_that_nobody_named_is_not_replaced_in_a_file_that_is_read(folder):
    with h5py.File(folder / "x.h5", "a") as file:
        file["volumes/labels/neuron_ids"] = IDS
    inputs = {"--image": "x.h5:raw"}
    with pytest.raises(CelisError, match="would replace volumes/labels/neuron_ids in a file that this"):
        require_distinct({"--output": "x.h5"}, inputs)
    require_distinct({"--output": "x.h5:segmentation"}, inputs)
    require_distinct({"--output": "x.h5:volumes/labels/neuron_ids"}, inputs)
    require_distinct({"--output": "one.h5"}, inputs)
