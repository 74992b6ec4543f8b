"""`celis train` takes several volumes, and refuses those that do not belong together."""

import json

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from models.small import cut_into_pieces
from napari_celis.cli.app import app
from napari_celis.core.errors import CelisError
from napari_celis.io.affinities import read_affinities
from napari_celis.models.model_file import load_model
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two phantoms, and their images at another voxel size."""
    folder = tmp_path_factory.mktemp("volumes")
    for seed, name in enumerate("ab"):
        phantom = make_phantom(PhantomSettings(shape_zyx=(20, 40, 40), seed=seed + 3))
        pieces = cut_into_pieces(phantom.truth, size=10)
        with h5py.File(folder / f"{name}.h5", "w") as file:
            for key, data in (("raw", phantom.image), ("truth", phantom.truth), ("pieces", pieces)):
                file.create_dataset(key, data=data).attrs["resolution"] = (10.0, 10.0, 10.0)
            coarse = file.create_dataset("coarse", data=phantom.image)
            coarse.attrs["resolution"] = (40.0, 10.0, 10.0)
    return folder


def volumes(folder, images=("a.h5:raw", "b.h5:raw"), truths=("a.h5:truth", "b.h5:truth"), pieces=()):
    words = []
    for option, targets in (("--image", images), ("--truth", truths), ("--supervoxels", pieces)):
        words += [word for target in targets for word in (option, folder / target)]
    return words


def run(folder, *words):
    arguments = ["train", *words, "-o", folder / "model.safetensors", "--minutes", 0.1]
    return CliRunner().invoke(app, [str(word) for word in arguments])


def refused(folder, *words):
    error = run(folder, *words).exception
    assert isinstance(error, CelisError)
    assert not list(folder.glob("model.safetensors*"))
    return str(error)


def test_two_volumes(folder):
    pieces = "a.h5:pieces", "b.h5:pieces"
    outputs = ["--affinities", folder / "a-unseen.h5", "--affinities", folder / "b-unseen.h5"]
    result = run(folder, *volumes(folder, pieces=pieces), *outputs, "--json", folder / "found.json")
    assert result.exit_code == 0, result.output
    figures = json.loads((folder / "found.json").read_text())
    assert [one["name"] for one in figures["volumes"]] == ["a.h5:raw", "b.h5:raw"]
    for one in figures["volumes"]:
        assert f"{one['name']}, by what did not learn from it: AUC" in result.output
    assert "Affinity network 3: " in result.output
    assert "steps, then " in result.output
    a, b = (read_affinities(folder / f"{name}-unseen.h5").data for name in "ab")
    assert a.shape == b.shape == (3, 20, 40, 40)
    assert not np.array_equal(a, b)
    assert load_model(folder / "model.safetensors").figures["volumes"] == figures["volumes"]
    (folder / "model.safetensors").unlink()


def test_options_that_do_not_pair(folder):
    sentence = refused(folder, *volumes(folder, truths=("a.h5:truth",)))
    assert sentence.startswith("--image was given twice and --truth once.")
    sentence = refused(folder, *volumes(folder, pieces=("a.h5:pieces",)))
    assert "--supervoxels once" in sentence
    assert "or not at all" in sentence
    assert "--affinities once" in refused(folder, *volumes(folder), "--affinities", folder / "x.h5")


def test_volumes_that_do_not_belong_together(folder):
    sentence = refused(folder, *volumes(folder, images=("a.h5:raw", "b.h5:coarse")))
    assert "b.h5:coarse measure 40 × 10 × 10 nm, those of" in sentence
    sentence = refused(folder, *volumes(folder, truths=("b.h5:truth", "a.h5:truth")))
    assert "a.h5:raw follows the boundaries of" in sentence
    assert sentence.endswith("Give images and truths in the same order.")


def test_an_output_that_would_replace_the_second_volume(folder):
    with h5py.File(folder / "b.h5") as file:
        before = file["raw"][:]
    unseen = ("--affinities", folder / "x.h5", "--affinities", folder / "b.h5:raw")
    assert "would replace" in refused(folder, *volumes(folder), *unseen)
    with h5py.File(folder / "b.h5") as file:
        np.testing.assert_array_equal(file["raw"][:], before)
