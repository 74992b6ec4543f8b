import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from napari_celis.cli import app
from napari_celis.core.errors import LabelsError, ShapeMismatchError
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import ignore_boundary, score

SCORES = ("vi", "vi_split", "vi_merge", "vi_nats", "rand_f1", "rand_precision", "rand_recall", "adapted_rand")


def run(*arguments):
    return CliRunner().invoke(app, ["evaluate", *(str(argument) for argument in arguments)])


@pytest.fixture
def volumes():
    """Truth 21 and 22 side by side; 21 is cut into segments 1 and 2, and 2 holds a part of 22 as well."""
    truth = np.full((8, 8, 16), 21, dtype=np.uint64)
    truth[:, :, 8:] = 22
    truth[0, 0, 0] = 0
    segmentation = np.ones((8, 8, 16), dtype=np.uint64)
    segmentation[:, 4:, :] = 2
    segmentation[:, :4, 8:] = 2**64 - 1
    return segmentation, truth


@pytest.fixture
def paths(tmp_path, volumes):
    for name, volume in zip(("seg.npy", "truth.npy"), volumes, strict=True):
        np.save(tmp_path / name, volume)
    return tmp_path / "seg.npy", tmp_path / "truth.npy"


def test_json_holds_the_figures_twice(tmp_path, volumes, paths):
    result = run(*paths, "--json", tmp_path / "figures.json")
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    everywhere = score(contingency_table(*volumes))
    inside = score(contingency_table(*volumes, ignore_boundary(volumes[1], 2)))
    for key in SCORES:
        assert figures[key] == pytest.approx(getattr(everywhere, key))
        assert figures["ignore_boundary"][key] == pytest.approx(getattr(inside, key))
    assert figures["ignore_boundary"]["n"] == 2
    assert figures["counts"] == {
        "voxels": 1023,
        "segments": 3,
        "truth_segments": 2,
        "background_voxels": 0,
    }


def test_faults_are_listed_by_id(tmp_path, paths):
    result = run(*paths, "--ignore-boundary", 0, "--json", tmp_path / "figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert {fault["object_id"] for fault in figures["worst_splits"]} == {21, 22}
    assert [fault["object_id"] for fault in figures["worst_merges"]] == [2]
    assert figures["worst_merges"][0]["piece_ids"] == [21, 22]
    assert "segment 2: " in result.stdout
    assert f"{2**64 - 1} (256)" in result.stdout


def test_boundary_0_changes_nothing(tmp_path, paths):
    run(*paths, "--ignore-boundary", 0, "--json", tmp_path / "figures.json")
    figures = json.loads((tmp_path / "figures.json").read_text())
    inside = figures.pop("ignore_boundary")
    assert inside == {"n": 0, **figures}


def test_unassigned_voxels_are_counted(tmp_path, volumes, paths):
    segmentation = np.where(volumes[0] == 1, 0, volumes[0])
    np.save(paths[0], segmentation)
    run(*paths, "--json", tmp_path / "figures.json")
    counts = json.loads((tmp_path / "figures.json").read_text())["counts"]
    assert (counts["segments"], counts["background_voxels"]) == (2, 255)


def test_table_is_readable_and_lists_can_be_left_out(paths):
    result = run(*paths, "--worst", 0)
    assert result.exit_code == 0
    assert "VI split (bits)" in result.stdout
    assert "> 2 from boundary" in result.stdout
    assert "Worst" not in result.stdout


def test_agreement_has_no_faults_to_list(paths):
    result = run(paths[1], paths[1])
    assert result.exit_code == 0
    assert "Worst" not in result.stdout


def test_boundary_that_covers_everything_is_explained(paths):
    result = run(*paths, "--ignore-boundary", 8)
    assert isinstance(result.exception, LabelsError)
    assert "thinner boundary" in str(result.exception)


def test_different_shapes_are_explained(tmp_path, paths):
    np.save(tmp_path / "cropped.npy", np.ones((8, 8, 8), dtype=np.uint64))
    result = run(tmp_path / "cropped.npy", paths[1], "--json", tmp_path / "figures.json")
    assert isinstance(result.exception, ShapeMismatchError)
    assert not (tmp_path / "figures.json").exists()


@pytest.mark.parametrize(
    ("options", "code"), [((), 0), (("--ignore-boundary", "-1"), 2), (("--ignore-boundary", "8"), 1)]
)
def test_exit_codes(paths, options, code):
    command = [sys.executable, "-c", "from napari_celis.cli import main; main()", "evaluate"]
    done = subprocess.run([*command, *map(str, paths), *options], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.startswith("celis: `truth` has no labelled voxel")


def test_an_image_in_place_of_labels_is_remarked_on(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "image.npy", rng.integers(1, 255, (16, 16, 16), dtype=np.uint8))
    np.save(tmp_path / "labels.npy", np.arange(1, 17, dtype=np.uint8).repeat(256).reshape(16, 16, 16))
    result = run(tmp_path / "image.npy", tmp_path / "labels.npy", "--ignore-boundary", "0")
    assert result.exit_code == 0
    assert "Remark: SEG looks like grey values" in result.output
    assert "TRUTH looks" not in result.output
    assert (
        "looks like"
        not in run(tmp_path / "labels.npy", tmp_path / "labels.npy", "--ignore-boundary", "0").output
    )
