"""`celis bench` measures a run in a real window, and does without where there is none."""

from __future__ import annotations

import json

import numpy as np
from typer.testing import CliRunner

from core.problems import random_labels
from napari_celis.cli import app
from napari_celis.core.errors import MissingExtraError
from napari_celis.gui.plugin import responsiveness

FIGURES = {
    "stall_ms",
    "stall_p99_ms",
    "prepare_stall_ms",
    "recolour_hz",
    "first_merge_seconds",
    "window_merges",
}


def bench(tmp_path):
    np.save(tmp_path / "labels.npy", random_labels(np.random.default_rng(0), (36, 36, 36), 12, 0.0))
    arguments = [
        "--supervoxels",
        tmp_path / "labels.npy",
        "--only",
        "stall_ms",
        "--json",
        tmp_path / "b.json",
    ]
    result = CliRunner().invoke(app, ["bench", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result, json.loads((tmp_path / "b.json").read_text())


def test_a_run_in_a_window_is_measured(qapp, tmp_path):
    result, figures = bench(tmp_path)
    assert set(figures) >= FIGURES
    assert all(figures[name] > 0 for name in FIGURES)
    assert figures["viewer_growth_mb"] >= 0
    assert figures["window_merges"] >= 11
    assert "goal < 100" in result.stdout
    assert "not measured" not in result.stderr


def test_without_qt_the_rest_is_measured(tmp_path, monkeypatch):
    def no_qt():
        raise MissingExtraError("Qt is not there.")

    monkeypatch.setattr(responsiveness, "require_qt", no_qt)
    result, figures = bench(tmp_path)
    assert "The window was not measured: Qt is not there.\n" in result.stderr
    assert "stall_ms" not in figures
