"""`celis bench` measures what it is asked for, on the data it names."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from core.problems import random_labels
from napari_celis.cli import app


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "labels.npy"
    np.save(path, random_labels(np.random.default_rng(0), (36, 36, 36), 40, 0.0))
    return path


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        ("evaluations_vs_lower_bound", {"evaluations_vs_lower_bound", "lookups_vs_paper"}),
        ("score_error", {"score_error"}),
        ("step_p95_ms", {"step_p95_ms", "undo_p95_ms"}),
        ("refit_p95_ms", {"refit_p95_ms", "refit_answers", "refit_contacts"}),
    ],
)
def test_one_figure_alone(labels, key, keys, tmp_path):
    arguments = ["bench", "--supervoxels", labels, "--only", key, "--steps", 5, "--json", tmp_path / "b.json"]
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0
    assert "labels.npy, 36 × 36 × 36 voxels, 5 steps" in result.output
    figures = json.loads((tmp_path / "b.json").read_text())
    assert keys <= set(figures)
    assert all(figures[name] >= 0 for name in keys)
    assert figures["shape"] == [36, 36, 36]


def test_an_unknown_figure_is_wrong_usage():
    result = CliRunner().invoke(app, ["bench", "--only", "happiness"])
    assert result.exit_code == 2
    assert "happiness" in result.output


def test_without_a_truth_nobody_can_answer(labels):
    arguments = ["bench", "--supervoxels", str(labels), "--only", "gap_closed_after_20_answers"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert "give --image, --truth and --model too" in result.output
