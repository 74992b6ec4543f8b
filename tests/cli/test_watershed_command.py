import json
import re
import subprocess
import sys
from dataclasses import asdict

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from napari_celis.cli import app
from napari_celis.core.seeded_watershed import SeededSettings, seeded_watershed
from napari_celis.core.watershed import WatershedError, WatershedSettings, watershed
from napari_celis.io.affinities import Affinities, write_affinities
from napari_celis.io.volumes import open_volume

SIZE, OFFSET = (40.0, 4.0, 4.0), (80.0, -8.0, 4.5)


def run(*arguments):
    return CliRunner().invoke(app, ["watershed", *(str(argument) for argument in arguments)])


@pytest.fixture
def affinities():
    """Two slabs with a wall of low affinity between them, and noise."""
    data = np.random.default_rng(0).integers(245, 256, (3, 6, 12, 14), dtype=np.uint8)
    data[2, :, :, 7] = 20
    return Affinities(data, SIZE, OFFSET)


@pytest.mark.parametrize("name", ["sv.h5", "sv.zarr", "sv.npy", "sv.tif"])
def test_supervoxels_keep_voxel_size_and_offset(tmp_path, affinities, name):
    path = write_affinities(affinities, tmp_path / "a.h5")
    result = run(path, "-o", tmp_path / name, "--json", tmp_path / "figures.json")
    assert result.exit_code == 0, result.output
    volume = open_volume(tmp_path / name)
    assert_array_equal(volume.read(), watershed(affinities.data))
    assert volume.voxel_size_nm == pytest.approx(SIZE)
    assert volume.offset_nm == pytest.approx(OFFSET)
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["supervoxels"] == 2
    assert figures["method"] == "paper"
    assert figures["settings"] == {"low": 0.95, "high": 0.95, "merge": 0.5, "size": 1000}
    assert "2 supervoxels" in result.stdout


def test_options_reach_the_watershed(tmp_path, affinities):
    path = write_affinities(affinities, tmp_path / "a.h5")
    result = run(path, "-o", tmp_path / "sv.npy", "--low", 0.97, "--high", 0.99, "--merge", 0.9, "--size", 5)
    assert result.exit_code == 0, result.output
    expected = watershed(affinities.data, WatershedSettings(0.97, 0.99, 0.9, 5))
    assert_array_equal(open_volume(tmp_path / "sv.npy").read(), expected)


def test_seeds_know_the_voxel_size(tmp_path, affinities):
    path = write_affinities(affinities, tmp_path / "a.h5")
    options = "--method", "seeded", "--foreground", 0.6, "--separation", 8
    result = run(path, "-o", tmp_path / "sv.npy", *options, "--json", tmp_path / "figures.json")
    assert result.exit_code == 0, result.output
    settings = SeededSettings(foreground=0.6, separation_nm=8.0)
    expected = seeded_watershed(affinities.data, SIZE, settings)
    assert_array_equal(open_volume(tmp_path / "sv.npy").read(), expected)
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert (figures["method"], figures["supervoxels"]) == ("seeded", expected.max())
    assert figures["settings"] == asdict(settings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--method", "seeded", "--low", 0.5, "--size", 3),
            "--low, --size: not an option of --method seeded",
        ),
        (("--foreground", 0.5), "--foreground: not an option of --method paper. .* --method seeded"),
        (("--method", "seeded", "--foreground", "nan"), "`foreground` must be"),
        (("--method", "seeded", "--separation", "inf"), "`separation_nm` must be"),
    ],
)
def test_options_that_do_not_fit_the_method(tmp_path, options, message):
    result = run(tmp_path / "missing.h5", "-o", tmp_path / "sv.npy", *options)
    assert isinstance(result.exception, WatershedError)
    assert re.search(message, str(result.exception))


def test_truth_beside_the_affinities_survives(tmp_path, affinities):
    path = write_affinities(affinities, tmp_path / "a.h5")
    with h5py.File(path, "a") as file:
        file["volumes/labels/neuron_ids"] = np.full(affinities.data.shape[1:], 21, np.uint64)
    assert run(path, "-o", path).exit_code == 0
    with h5py.File(path) as file:
        assert (file["volumes/labels/neuron_ids"][:] == 21).all()
        assert file["volumes/labels/supervoxels"][:].max() == 2


def test_much_background_is_pointed_out(tmp_path, affinities):
    affinities.data[:, :, :8] = 100
    result = run(write_affinities(affinities, tmp_path / "a.h5"), "-o", tmp_path / "sv.npy")
    assert "a lower --low leaves less background" in result.stdout


def test_nothing_but_background_is_explained(tmp_path, affinities):
    path = write_affinities(Affinities(affinities.data // 3), tmp_path / "a.h5")
    result = run(path, "-o", tmp_path / "sv.npy")
    assert isinstance(result.exception, WatershedError)
    assert "Lower it" in str(result.exception)
    assert not (tmp_path / "sv.npy").exists()


def test_thresholds_are_checked_before_anything_is_read(tmp_path):
    result = run(tmp_path / "missing.h5", "-o", tmp_path / "sv.npy", "--low", 0.99)
    assert isinstance(result.exception, WatershedError)
    assert "`low` (0.99) is above `high` (0.95)" in str(result.exception)


@pytest.mark.parametrize(("options", "code"), [(("-o", "sv.npy"), 0), (("-o", "sv.xyz"), 1), ((), 2)])
def test_exit_codes(tmp_path, affinities, options, code):
    path = write_affinities(affinities, tmp_path / "a.h5")
    command = [sys.executable, "-c", "from napari_celis.cli import main; main()", "watershed", str(path)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
