"""Train, predict and agglomerate from the command line, on a phantom as small as it may be."""

import json

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from models.small import cut_into_pieces
from napari_celis.cli import app
from napari_celis.core.errors import CelisError, ModelError
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.io.affinities import read_affinities
from napari_celis.io.volumes import open_volume, read_image, read_labels
from napari_celis.training.pipeline import AnnotatedVolume, TrainSettings, train_model


def celis(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A phantom, and a model trained on it for a few seconds, with an interruption."""
    folder = tmp_path_factory.mktemp("model")
    celis("phantom", folder / "phantom.h5", "--shape", 80, 56, 56, "--seed", 3)
    image, truth = (
        open_volume(f"{folder}/phantom.h5:volumes/{name}") for name in ("raw", "labels/neuron_ids")
    )
    pieces = cut_into_pieces(read_labels(truth))
    with h5py.File(folder / "pieces.h5", "w") as file:
        dataset = file.create_dataset("supervoxels", data=pieces)
        dataset.attrs["resolution"], dataset.attrs["offset"] = image.voxel_size_nm, (0.0, 0.0, 0.0)
    records = train_model(
        [AnnotatedVolume(read_image(image), read_labels(truth), pieces)], image.voxel_size_nm,
        TrainSettings(minutes=0.1), folder=folder / "model.safetensors.training",
    )  # fmt: skip
    next(record for record in records if record.stage == "energy of pairwise9")
    records.close()
    celis(
        "train", "--image", f"{folder}/phantom.h5:volumes/raw", "--truth",
        f"{folder}/phantom.h5:volumes/labels/neuron_ids", "--supervoxels",
        f"{folder}/pieces.h5:supervoxels", "-o", folder / "model.safetensors",
        "--minutes", 0.1, "--json", folder / "train.json", "--records", folder / "records.jsonl",
        "--affinities", folder / "unseen.h5", "--resume",
    )  # fmt: skip
    return folder


def test_training_tells_what_it_found(folder):
    figures = json.loads((folder / "train.json").read_text())
    assert set(figures["centre_auc"]) == {"pairwise3", "pairwise9"}
    for policy in ("energy", "learned"):
        curve = figures[policy]["threshold_curve"]
        assert len(curve["threshold"]) == len(curve["vi_change"]) > 0
        assert figures[policy]["vi_change"] <= 0
        assert policy in figures["thresholds"]
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    stages = {line["stage"] for line in lines}
    assert {"energy of pairwise9", "policy", "affinity network 3 of 3"} <= stages
    # What was finished before the interruption is not done again.
    assert not stages & {"affinity network 1 of 3", "affinity network 2 of 3", "energy of pairwise3"}
    done = [line["done"] for line in lines]
    assert done == sorted(done)
    assert not (folder / "model.safetensors.training").exists()


def test_affinities_of_networks_that_did_not_see_the_place(folder):
    affinities = read_affinities(folder / "unseen.h5")
    assert affinities.data.shape == (3, 80, 56, 56)
    assert affinities.voxel_size_nm == (10.0, 10.0, 10.0)


def test_affinities_are_probabilities_in_the_right_place(folder):
    celis(
        "predict", "--image", f"{folder}/phantom.h5:volumes/raw", "--model", folder / "model.safetensors",
        "-o", folder / "affinities.h5",
    )  # fmt: skip
    affinities = read_affinities(folder / "affinities.h5")
    assert affinities.data.shape == (3, 80, 56, 56)
    assert affinities.voxel_size_nm == (10.0, 10.0, 10.0)
    assert 0 <= float(affinities.data.min()) <= float(affinities.data.max()) <= 1


def test_agglomeration_merges_supervoxels_and_keeps_the_voxel_size(folder):
    # A threshold above every score merges all that any centre sees.
    celis(
        "agglomerate", "--image", f"{folder}/phantom.h5:volumes/raw", "--supervoxels",
        f"{folder}/phantom.h5:volumes/labels/neuron_ids", "--model", folder / "model.safetensors",
        "-o", folder / "segmentation.zarr", "--threshold", 1e9, "--json", folder / "run.json",
    )  # fmt: skip
    figures = json.loads((folder / "run.json").read_text())
    volume = open_volume(folder / "segmentation.zarr")
    segmentation, truth = (
        read_labels(volume),
        read_labels(open_volume(f"{folder}/phantom.h5:volumes/labels/neuron_ids")),
    )
    assert volume.voxel_size_nm == (10.0, 10.0, 10.0)
    assert (
        figures["segments"] == len(np.unique(segmentation)) < figures["supervoxels"] == len(np.unique(truth))
    )
    assert score(contingency_table(segmentation, truth)).vi_split == pytest.approx(0.0)


def test_another_contrast_is_said_and_evened_out(folder):
    image = open_volume(f"{folder}/phantom.h5:volumes/raw")
    with h5py.File(folder / "dim.h5", "w") as file:
        dataset = file.create_dataset("raw", data=read_image(image).astype(np.float32) * 0.01 + 3)
        dataset.attrs["resolution"], dataset.attrs["offset"] = image.voxel_size_nm, (0.0, 0.0, 0.0)
    found = {}
    for name in ("phantom.h5:volumes/raw", "dim.h5:raw"):
        said = celis("predict", "--image", f"{folder}/{name}", "--model", folder / "model.safetensors",
                     "-o", folder / "seen.h5")  # fmt: skip
        assert ("brought to the same scale" in said) == name.startswith("dim")
        found[name] = read_affinities(folder / "seen.h5").data
    plain, dim = found.values()
    np.testing.assert_allclose(dim, plain, atol=0.02)


def test_no_merge_says_why(folder):
    output = celis(
        "agglomerate", "--image", f"{folder}/phantom.h5:volumes/raw", "--model", folder / "model.safetensors",
        "-o", folder / "none.zarr", "--threshold", -1e9,
    )  # fmt: skip
    assert "No merge was made: the best score is" in output


def test_everything_in_one_segment_is_remarked_on(folder):
    output = celis(
        "agglomerate", "--image", f"{folder}/phantom.h5:volumes/raw", "--model", folder / "model.safetensors",
        "-o", folder / "one.zarr", "--threshold", 1e9, "--json", folder / "one.json",
    )  # fmt: skip
    figures = json.loads((folder / "one.json").read_text())
    assert figures["segments"] == 1
    assert f"Remark: All {figures['supervoxels']:,} supervoxels became one segment." in output
    assert figures["remark"] in output


def test_another_voxel_size_is_refused_by_name(folder):
    celis("phantom", folder / "flat.h5", "--shape", 48, 96, 96, "--voxel-size", 40, 4, 4)
    with pytest.raises(ModelError, match=r"10 × 10 × 10 nm.*40 × 4 × 4 nm.*--any-voxel-size"):
        celis(
            "predict", "--image", f"{folder}/flat.h5:volumes/raw", "--model", folder / "model.safetensors",
            "-o", folder / "flat-affinities.h5",
        )  # fmt: skip
    assert not (folder / "flat-affinities.h5").exists()


def refused(*arguments):
    """Run a command that must be refused before it works; return why."""
    with pytest.raises(CelisError) as refusal:
        celis(*arguments)
    return str(refusal.value)


def test_names_that_cannot_be_written_are_refused_first(folder):
    given = ("--image", f"{folder}/phantom.h5:volumes/raw", "--model", folder / "model.safetensors")
    assert "chooses the format" in refused("agglomerate", *given, "-o", folder / "seg.foo")
    assert "does not exist" in refused("agglomerate", *given, "-o", folder / "nowhere" / "seg.h5")
    assert "it is a folder" in refused("agglomerate", *given, "-o", folder / "s.h5", "--json", folder)
    assert "cannot hold affinities" in refused("predict", *given, "-o", folder / "affinities.tif")
    given = ("--image", f"{folder}/phantom.h5:volumes/raw", "--truth",
             f"{folder}/phantom.h5:volumes/labels/neuron_ids")  # fmt: skip
    assert "it is a folder" in refused("train", *given, "-o", folder)
    assert "cannot hold affinities" in refused(
        "train", *given, "-o", folder / "m.safetensors", "--affinities", folder / "affinities.npy"
    )


@pytest.mark.parametrize("word", ["--restart", "--anew"])
def test_an_unfinished_training_is_not_thrown_away_unasked(folder, monkeypatch, word):
    unfinished = folder / "half.safetensors.training"
    unfinished.mkdir(exist_ok=True)
    given = ("train", "--image", f"{folder}/phantom.h5:volumes/raw", "--truth",
             f"{folder}/phantom.h5:volumes/labels/neuron_ids", "-o", folder / "half.safetensors")  # fmt: skip
    assert "Add --resume to continue it, or --restart to delete it" in refused(*given)
    assert unfinished.exists()
    both = CliRunner().invoke(app, [str(part) for part in (*given, "--resume", word)])
    assert both.exit_code == 2
    assert unfinished.exists()
    told = []

    def interrupted(*arguments, **more):
        told.append((arguments[2], more["resume"]))
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("napari_celis.training.pipeline.train_model", interrupted)
    options = (word, "--dilation", 2, "--min-voxels", 500, "--device", "cpu")
    result = CliRunner().invoke(app, [str(part) for part in (*given, *options)])
    assert result.exit_code != 0
    assert "Run the same command with --resume to continue" in result.output
    [(settings, is_resumed)] = told
    assert (settings.dilation, settings.min_voxels, settings.device) == (2, 500, "cpu")
    assert not is_resumed


def test_a_model_that_cannot_be_written_loses_no_training(folder, monkeypatch):
    kept = folder / "lost.safetensors.training"
    given = ("train", "--image", f"{folder}/phantom.h5:volumes/raw", "--truth",
             f"{folder}/phantom.h5:volumes/labels/neuron_ids",
             "--supervoxels", f"{folder}/pieces.h5:supervoxels",
             "-o", folder / "lost.safetensors", "--minutes", 0.1)  # fmt: skip

    def full(*arguments):
        raise ModelError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr("napari_celis.models.model_file.save_model", full)
        assert refused(*given) == "The disk is full."
    assert any(kept.iterdir())
    celis(*given, "--resume", "--json", folder / "found.json")
    assert (folder / "lost.safetensors").exists()
    assert not kept.exists()
    figures = json.loads((folder / "found.json").read_text())
    assert 0.5 < figures["affinity_auc"] <= 1
    assert figures["settings"]["minutes"] == 0.1
