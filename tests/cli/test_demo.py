"""`celis demo` and `celis view`, as a stranger would run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from skimage.io import imread

from napari_celis.gui.layers.samples import phantom_model
from napari_celis.io.samples import sample_volumes
from napari_celis.io.volumes import open_volume

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere there is a display")


def celis(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `celis` where there is no display."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.run(
        [sys.executable, "-m", "napari_celis", *map(str, arguments)],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=540,
    )


def running_x_servers() -> set[str]:
    """List the command lines of all virtual displays."""
    lines = (path / "cmdline" for path in Path("/proc").iterdir() if path.name.isdigit())
    return {text for text in map(_read_or_empty, lines) if "-displayfd" in text and "-terminate" in text}


def _read_or_empty(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _count(supervoxels: np.ndarray, segmentation: np.ndarray) -> tuple[int, int, int]:
    """Count supervoxels, segments, and pairs of both that share a voxel."""
    ids, sv = np.unique(supervoxels, return_inverse=True)
    segment_ids, segment = np.unique(segmentation, return_inverse=True)
    pairs = np.unique(sv.ravel() * len(segment_ids) + segment.ravel())
    return len(ids), len(segment_ids), len(pairs)


@linux_only
def test_without_a_display_the_sample_is_drawn_and_measured(tmp_path):
    output = tmp_path / "a folder"
    servers = running_x_servers()
    run = celis("demo", "--output", output, HOME=str(tmp_path / "home"))
    assert run.returncode == 0, run.stderr
    for name in ("screenshot.png", "segmentation.zarr", "figures.json"):
        assert str(output / name) in run.stdout
    assert sorted(path.name for path in output.iterdir()) == [
        "figures.json",
        "screenshot.png",
        "segmentation.zarr",
    ]
    assert not (tmp_path / "home/.config/napari").exists()
    assert running_x_servers() <= servers

    picture = imread(output / "screenshot.png")
    assert picture.shape[:2] == (1000, 1600)
    assert len(np.unique(picture[::4, ::4].reshape(-1, picture.shape[2]), axis=0)) > 1000

    supervoxels = sample_volumes()["supervoxels"]
    segmentation = open_volume(output / "segmentation.zarr")
    assert segmentation.voxel_size_nm == supervoxels.voxel_size_nm
    n_supervoxels, n_segments, n_pairs = _count(supervoxels.read(), segmentation.read())
    assert n_pairs == n_supervoxels
    assert n_segments < n_supervoxels if phantom_model() else n_segments == n_supervoxels
    figures = json.loads((output / "figures.json").read_text())
    assert figures["vi"] == pytest.approx(figures["vi_split"] + figures["vi_merge"])


@linux_only
def test_without_xvfb_one_sentence_says_what_to_install(tmp_path):
    run = celis("demo", "--output", tmp_path, PATH=str(tmp_path))
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("celis: There is no display here, and Xvfb")
    assert "apt-get install xvfb" in run.stderr
    assert list(tmp_path.iterdir()) == []


@linux_only
def test_view_needs_a_display():
    run = celis("view")
    assert run.returncode == 1
    assert run.stderr.startswith("celis: There is no display here")
