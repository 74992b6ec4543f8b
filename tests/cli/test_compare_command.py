import json
from functools import partial

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from models.small import small_model
from napari_celis.baselines import forest
from napari_celis.cli import app
from napari_celis.core.errors import CelisError, ModelError, ShapeMismatchError
from napari_celis.io.affinities import Affinities, write_affinities
from napari_celis.models.model_file import save_model

VOXEL_NM = (10.0, 10.0, 10.0)


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *(str(argument) for argument in arguments)])


def checkerboard(shape, cell):
    """Boxes with `cell` voxels along each axis, numbered from 1."""
    index = np.indices(shape) // np.array(cell).reshape(3, 1, 1, 1)
    return (1 + np.ravel_multi_index(tuple(index), tuple(index.max(axis=(1, 2, 3)) + 1))).astype(np.uint32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two volumes of columns cut into blocks, their affinities, and a model with fresh weights."""
    folder = tmp_path_factory.mktemp("compare")
    shape = (24, 16, 18)
    truth, supervoxels = checkerboard(shape, (24, 8, 9)), checkerboard(shape, (4, 4, 9))
    for seed, name in enumerate(("train", "test")):
        rng = np.random.default_rng(seed)
        data = np.zeros((3, *shape), dtype=np.float32)
        for axis in range(3):
            labels, channel = np.moveaxis(truth, axis, 0), np.moveaxis(data[axis], axis, 0)
            channel[1:] = np.where(labels[1:] == labels[:-1], 0.8, 0.2)
        data = np.clip(data + rng.normal(0, 0.3, data.shape), 0, 1).astype(np.float32)
        with h5py.File(folder / f"{name}.h5", "w") as file:
            for dataset, values in (
                ("raw", rng.integers(0, 255, shape, dtype=np.uint8)),
                ("truth", truth),
                ("supervoxels", supervoxels),
            ):
                file.create_dataset(dataset, data=values).attrs["resolution"] = VOXEL_NM
        write_affinities(Affinities(data, VOXEL_NM), folder / f"{name}-affinities.h5")
    save_model(small_model(), folder / "model.safetensors")
    return folder


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr(forest, "ForestSettings", partial(forest.ForestSettings, n_trees=5, n_epochs=1))


def arguments(folder, **changes):
    """The usual command line; `changes` replace options, None leaves one out."""
    options = {
        "image": f"{folder}/test.h5:raw",
        "truth": f"{folder}/test.h5:truth",
        "supervoxels": f"{folder}/test.h5:supervoxels",
        "affinities": f"{folder}/test-affinities.h5",
        "model": folder / "model.safetensors",
        "train-image": f"{folder}/train.h5:raw",
        "train-truth": f"{folder}/train.h5:truth",
        "train-supervoxels": f"{folder}/train.h5:supervoxels",
        "train-affinities": f"{folder}/train-affinities.h5",
        "ignore-boundary": 1,
    } | {name.replace("_", "-"): value for name, value in changes.items()}
    return [part for name, value in options.items() if value is not None for part in (f"--{name}", value)]


def test_table_json_and_plot(tmp_path, folder):
    result = run(*arguments(folder, json=tmp_path / "figures.json", plot=tmp_path / "curves.png"))
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    names = ["none", "mean_affinity", "watershed", "forest", "forest_multicut", "celis_energy", "oracle"]
    assert set(figures) <= set(names)
    assert {"none", "mean_affinity", "watershed", "celis_energy", "oracle"} <= set(figures)
    for name, of_method in figures.items():
        assert name in result.stdout
        assert set(of_method) >= {"vi", "vi_split", "vi_merge", "vi_nats", "rand_f1", "adapted_rand"}
        assert set(of_method) >= {"threshold", "tuned_on", "seconds", "segments", "ignore_boundary", "curve"}
    assert figures["oracle"]["vi"] == pytest.approx(0, abs=1e-9)
    assert figures["mean_affinity"]["vi"] < 0.5 * figures["none"]["vi"]
    assert figures["none"]["segments"] == 6 * 4 * 2
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"figures.json", "curves.png"}


def test_affinities_and_supervoxels_come_from_the_model(tmp_path, folder):
    result = run(
        *arguments(
            folder, affinities=None, train_affinities=None, supervoxels=None, json=tmp_path / "figures.json"
        )
    )
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "figures.json").read_text())["none"]["segments"] >= 1


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"plot": "curves.gif"}, CelisError, ".png, .pdf or .svg"),
        ({"json": "no/such/folder/figures.json"}, CelisError, "folder does not exist"),
        ({"model": "missing.safetensors"}, ModelError, "no model file"),
    ],
)
def test_mistakes_are_explained(folder, changes, error, words):
    result = run(*arguments(folder, **changes))
    assert isinstance(result.exception, error)
    assert words in str(result.exception)


def test_volumes_of_other_shapes_or_voxel_sizes_are_explained(tmp_path, folder):
    np.save(tmp_path / "truth.npy", np.ones((24, 16, 17), dtype=np.uint32))
    result = run(*arguments(folder, truth=tmp_path / "truth.npy"))
    assert isinstance(result.exception, ShapeMismatchError)
    np.save(tmp_path / "image.npy", np.ones((24, 16, 18), dtype=np.uint8))
    result = run(*arguments(folder, image=tmp_path / "image.npy"))
    assert isinstance(result.exception, ModelError)
    assert "--any-voxel-size" in str(result.exception)
    assert run(*arguments(folder, image=tmp_path / "image.npy"), "--any-voxel-size").exit_code == 0


def test_halves_of_one_volume(tmp_path, folder):
    whole, given = {"affinities": None, "train_affinities": None}, {}
    with h5py.File(folder / "test.h5") as file, h5py.File(tmp_path / "deep.h5", "w") as deep:
        for name, option in (("raw", "image"), ("truth", "truth"), ("supervoxels", "supervoxels")):
            voxels = np.concatenate([file[name], file[name][:8]])
            for group, part in (("", slice(None)), ("train_", slice(0, 16)), ("test_", slice(16, 32))):
                deep.create_dataset(group + name, data=voxels[part]).attrs["resolution"] = VOXEL_NM
            whole |= {option: f"{tmp_path}/deep.h5:{name}", f"train_{option}": None}
            given |= {option: f"{tmp_path}/deep.h5:test_{name}"}
            given |= {f"train_{option}": f"{tmp_path}/deep.h5:train_{name}"}
    found = []
    for changes in (whole, {**whole, **given}):
        result = run(*arguments(folder, **changes, json=tmp_path / "figures.json"))
        assert result.exit_code == 0, result.output
        figures = json.loads((tmp_path / "figures.json").read_text())
        found.append({name: (one["vi"], one["segments"]) for name, one in figures.items()})
    assert found[0] == found[1]
    shallow = {"image": f"{folder}/test.h5:raw", "truth": f"{folder}/test.h5:truth", "supervoxels": None}
    assert "24 sections, too few" in str(run(*arguments(folder, **whole | shallow)).exception)


@pytest.mark.parametrize("left_out", [{"train_truth": None}, {"train_image": None, "train_truth": None}])
def test_half_of_a_training_volume_is_refused(folder, left_out):
    result = run(*arguments(folder, **left_out))
    assert "Give both" in str(result.exception)
