"""`celis reproduce` as a user would call it, on volumes of their own."""

import json

import h5py
import numpy as np
import pytest

from models.small import small_model
from napari_celis.io.affinities import Affinities, write_affinities
from napari_celis.models.model_file import save_model

VOXEL_NM = (10.0, 10.0, 10.0)
SHAPE = (24, 16, 18)


def checkerboard(cell):
    """Boxes with `cell` voxels along each axis, numbered from 1."""
    index = np.indices(SHAPE) // np.array(cell).reshape(3, 1, 1, 1)
    return (1 + np.ravel_multi_index(tuple(index), tuple(index.max(axis=(1, 2, 3)) + 1))).astype(np.uint32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two volumes of columns cut into blocks, their affinities, and a model with fresh weights."""
    folder = tmp_path_factory.mktemp("reproduce")
    truth, rng = checkerboard((24, 8, 9)), np.random.default_rng(0)
    for name in ("train", "test"):
        data = np.clip(rng.normal(0.6, 0.3, (3, *SHAPE)), 0, 1).astype(np.float32)
        write_affinities(Affinities(data, VOXEL_NM), folder / f"{name}-affinities.h5")
        with h5py.File(folder / f"{name}.h5", "w") as file:
            image = rng.integers(0, 255, SHAPE, dtype=np.uint8)
            for dataset, values in (("raw", image), ("truth", truth), ("sv", checkerboard((4, 4, 9)))):
                file.create_dataset(dataset, data=values).attrs["resolution"] = VOXEL_NM
    save_model(small_model(), folder / "model.safetensors")
    return folder


def options(folder, **changes):
    given = {
        "image": f"{folder}/test.h5:raw",
        "truth": f"{folder}/test.h5:truth",
        "supervoxels": f"{folder}/test.h5:sv",
        "affinities": f"{folder}/test-affinities.h5",
        "model": folder / "model.safetensors",
        "train-image": f"{folder}/train.h5:raw",
        "train-truth": f"{folder}/train.h5:truth",
        "train-supervoxels": f"{folder}/train.h5:sv",
        "train-affinities": f"{folder}/train-affinities.h5",
    } | {name.replace("_", "-"): value for name, value in changes.items()}
    return [part for name, value in given.items() if value is not None for part in (f"--{name}", value)]


def test_sections_of_own_volumes_one_after_the_other(celis, folder, tmp_path):
    out = tmp_path / "out"
    for only in ("networks", "pruning"):
        code, printed, errors = celis("reproduce", "-o", out, *options(folder), "--only", only)
        assert code == 0, errors
        assert "report.html" in printed
    numbers = json.loads((out / "numbers.json").read_text())
    assert list(numbers["sections"]) == ["pruning", "networks"]
    assert numbers["about"]["command"].startswith("celis reproduce -o ")
    assert numbers["about"]["volumes"]["image"] == f"{folder}/test.h5:raw"
    page = (out / "report.html").read_text()
    assert 'id="networks"' in page
    assert "Not measured yet" in page
    code, _, errors = celis("reproduce", "-o", out, *options(folder), "--only", "networks", "--seed", 3)
    assert code == 1
    assert "--restart" in errors
    code, _, errors = celis(
        "reproduce", "-o", out, *options(folder), "--only", "networks", "--seed", 3, "--restart"
    )
    assert code == 0, errors
    assert list(json.loads((out / "numbers.json").read_text())["sections"]) == ["networks"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"truth": None}, "--truth is missing"),
        ({"truth": None, "train_image": None}, "--truth, --train-image are missing"),
        ({"model": "missing.safetensors"}, "no model file"),
        ({"image": "missing.h5:raw"}, "missing.h5"),
    ],
)
def test_mistakes_are_explained(celis, folder, tmp_path, changes, words):
    code, _, errors = celis("reproduce", "-o", tmp_path / "out", *options(folder, **changes))
    assert code == 1
    assert words in errors
    assert errors.strip().count("\n") == 0
    assert not (tmp_path / "out").exists()


def test_folders_that_cannot_be_used(celis, folder, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/thesis.tex").write_text("mine")
    for out, words in (("file", "is a file"), ("full", "something else"), ("no/such/out", "does not exist")):
        code, _, errors = celis("reproduce", "-o", tmp_path / out, *options(folder), "--only", "networks")
        assert code == 1
        assert words in errors
    code, _, errors = celis("reproduce", "-o", folder, *options(folder), "--only", "networks")
    assert code == 1
    assert (tmp_path / "full/thesis.tex").read_text() == "mine"


def test_an_unknown_section_is_wrong_usage(celis, tmp_path):
    code, _, errors = celis("reproduce", "-o", tmp_path / "out", "--only", "speed")
    assert code == 2
    assert "accuracy, subvolumes, pruning, time, networks, learning, proofreading" in " ".join(
        errors.replace("│", " ").split()
    )
