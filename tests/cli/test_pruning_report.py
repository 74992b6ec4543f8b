import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from napari_celis.bench.paper_cost import CURVES
from napari_celis.bench.pruning_plot import spread_labels
from napari_celis.cli import app
from napari_celis.core.errors import CelisError, SpecError, VolumeError

SMALL = ("--specs", "pairwise9,center17", "--stride", "8", "--steps", "5")


def run(*arguments):
    return CliRunner().invoke(app, ["pruning-report", *(str(argument) for argument in arguments)])


@pytest.fixture
def cells(tmp_path):
    """A volume of cubes with 6 voxels a side, under one path."""
    index = np.indices((24, 30, 30)) // 6
    np.save(tmp_path / "cells.npy", (1 + np.ravel_multi_index(tuple(index), (4, 5, 5))).astype(np.uint32))
    return tmp_path / "cells.npy"


def test_json_holds_every_curve_and_both_ratios(tmp_path, cells):
    result = run("--supervoxels", cells, "--crop", 24, 24, 30, *SMALL, "--json", tmp_path / "figures.json")
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["shape_zyx"] == [24, 24, 30]
    assert figures["supervoxels"] == 4 * 5 * 5
    assert figures["specs"] == ["pairwise9", "center17"]
    assert figures["steps"] == 5
    assert set(figures["cumulative"]) == set(CURVES)
    for name in CURVES:
        assert len(figures["cumulative"][name]) == 6
        assert figures["cumulative"][name][-1] == figures["first_scores"][name] + figures["updates"][name]
    assert 0 < figures["evaluations_vs_lower_bound"] <= 1
    assert 0 < figures["lookups_vs_paper"] < 1


def test_table_names_the_rules_and_the_stand_in(cells):
    result = run("--supervoxels", cells, *SMALL)
    assert result.exit_code == 0, result.output
    for words in (
        "5 merges by a stand-in energy",
        "CR + visibility",
        "all four rules",
        "lower bound",
        "ours",
    ):
        assert words in result.stdout


def test_same_seed_same_counts(tmp_path, cells):
    for name in ("a.json", "b.json"):
        run("--supervoxels", cells, *SMALL, "--seed", 3, "--json", tmp_path / name)
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()


@pytest.mark.parametrize(("name", "begin"), [("curves.png", b"\x89PNG"), ("curves.SVG", b"<?xml")])
def test_curves_are_drawn(tmp_path, cells, name, begin):
    result = run("--supervoxels", cells, *SMALL, "--plot", tmp_path / name)
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).read_bytes().startswith(begin)
    assert {path.name for path in tmp_path.iterdir()} == {"cells.npy", name}


def test_one_supervoxel_has_nothing_to_merge(tmp_path):
    np.save(tmp_path / "one.npy", np.ones((20, 20, 20), dtype=np.uint32))
    paths = tmp_path / "figures.json", tmp_path / "curves.png"
    result = run("--supervoxels", tmp_path / "one.npy", *SMALL, "--json", paths[0], "--plot", paths[1])
    assert result.exit_code == 0, result.output
    figures = json.loads(paths[0].read_text())
    assert figures["steps"] == 0
    assert figures["evaluations_vs_lower_bound"] is None


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (("--crop", 24, 31, 30), VolumeError, "smaller --crop"),
        (("--specs", "pairwise8"), SpecError, "pairwise9, pairwise17"),
        (("--specs", "paper"), SpecError, "larger than the volume"),
        (("--plot", "curves.gif"), CelisError, ".png, .pdf or .svg"),
        (("--json", "no/such/folder/figures.json"), CelisError, "folder does not exist"),
    ],
)
def test_mistakes_are_explained(cells, options, error, words):
    result = run("--supervoxels", cells, *options)
    assert isinstance(result.exception, error)
    assert words in str(result.exception)


@pytest.mark.parametrize(("options", "code"), [(("--crop", "1", "1", "99"), 1), (("--steps", "0"), 2)])
def test_exit_codes(cells, options, code):
    command = [sys.executable, "-c", "from napari_celis.cli import main; main()", "pruning-report"]
    done = subprocess.run(
        [*command, "--supervoxels", str(cells), *options], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code == 1:
        assert done.stderr.startswith("celis: A block of")


def test_labels_keep_their_order_and_distance():
    wanted = np.array([0.9, 0.5, 0.49, 0.48, 0.1])
    places = spread_labels(wanted, gap=0.05)
    assert (np.diff(places) <= -0.05 + 1e-12).all()
    assert places[0] == 0.9
    assert places[4] == 0.1
    assert places[2] == pytest.approx(0.49)
