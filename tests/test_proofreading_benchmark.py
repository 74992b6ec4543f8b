"""The programs of benchmarks/proofreading, on a phantom as small as it may be."""

import json
import shutil
import subprocess
import sys

import h5py
import pytest

from models.small import cut_into_pieces
from napari_celis.io.samples import bundled_models
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A phantom in the CREMI layout, and the bundled model in place of one that was trained for the fold."""
    folder = tmp_path_factory.mktemp("proofreading")
    phantom = make_phantom(PhantomSettings(shape_zyx=(40, 56, 56), seed=3))
    with h5py.File(folder / "phantom.h5", "w") as file:
        for name, data in (
            ("volumes/raw", phantom.image),
            ("volumes/labels/neuron_ids", phantom.truth),
            ("volumes/labels/supervoxels", cut_into_pieces(phantom.truth)),
        ):
            file[name] = data
            file[name].attrs["resolution"] = (10.0, 10.0, 10.0)
    shutil.copy(bundled_models()["phantom"], folder / "y-low-0-16.safetensors")
    return folder


def program(checkout, folder, name, *arguments):
    command = [sys.executable, checkout / "benchmarks/proofreading" / name, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_orders_are_compared_and_what_is_done_is_not_done_again(checkout, folder):
    results = folder / "results.jsonl"
    for _ in range(2):
        program(
            checkout, folder, "run.py", folder / "phantom.h5", "--models", folder, "--work", folder / "work",
            "--folds", "y-low", "z-low", "--kinds", "bare", "--results", results,
        )  # fmt: skip
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    keys = [(row["model"], row["order"], row["learns"], row["mistakes"], row["seed"]) for row in rows]
    assert len(keys) == len(set(keys)) == 13
    for row in rows:
        vi = list(row["vi"].values())
        if row["order"] == "best":
            assert vi == sorted(vi, reverse=True)
    table = program(checkout, folder, "table.py", results)
    assert "by expected gain, learning" in table
    assert "expected to be left / was left" in table
