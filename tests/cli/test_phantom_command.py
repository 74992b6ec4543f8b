import json

import numpy as np
import pytest
from typer.testing import CliRunner

from napari_celis.cli import app
from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.io.volumes import open_volume, write_volume
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

SMALL = ("--shape", 24, 32, 40, "--seed", 5)


def run(*arguments):
    return CliRunner().invoke(app, ["phantom", *(str(argument) for argument in arguments)])


@pytest.mark.parametrize("name", ["made.h5", "made.zarr"])
def test_image_and_truth_are_written(tmp_path, name):
    (tmp_path / "new folder").mkdir()
    path, figures_path = tmp_path / "new folder" / name, tmp_path / "figures.json"
    result = run(path, *SMALL, "--voxel-size", 20, 10, 10, "--json", figures_path)
    assert result.exit_code == 0, result.output
    made = make_phantom(PhantomSettings((24, 32, 40), (20.0, 10.0, 10.0), seed=5))
    image, truth = (open_volume(f"{path}:{name}") for name in ("volumes/raw", "volumes/labels/neuron_ids"))
    np.testing.assert_array_equal(image.read(), made.image)
    np.testing.assert_array_equal(truth.read(), made.truth)
    assert image.voxel_size_nm == truth.voxel_size_nm == (20.0, 10.0, 10.0)
    assert truth.dtype == np.uint64
    figures = json.loads(figures_path.read_text())
    assert figures["shape_zyx"] == [24, 32, 40]
    assert figures["objects"] == made.truth.max()
    assert figures["necks"] == made.necks.as_records()
    assert [entry.name for entry in path.parent.iterdir()] == [name]


@pytest.mark.parametrize("name", ["made.h5", "made.zarr"])
def test_phantom_replaces_a_phantom(tmp_path, name):
    path = tmp_path / name
    for seed in (1, 2):
        assert run(path, "--shape", 16, 24, 24, "--seed", seed).exit_code == 0
    made = make_phantom(PhantomSettings((16, 24, 24), seed=2))
    np.testing.assert_array_equal(open_volume(f"{path}:volumes/raw").read(), made.image)


@pytest.mark.parametrize("name", ["precious.h5", "precious.zarr"])
def test_other_volumes_are_not_overwritten(tmp_path, name):
    path = tmp_path / name
    precious = Volume(np.ones((4, 5, 6), dtype=np.uint8))
    write_volume(precious, f"{path}:volumes/other", kind="image")
    result = run(path, *SMALL)
    assert isinstance(result.exception, CelisError)
    assert "would be lost" in str(result.exception)
    np.testing.assert_array_equal(open_volume(f"{path}:volumes/other").read(), precious.data)


def test_folder_with_other_files_is_not_overwritten(tmp_path):
    path = tmp_path / "notes.zarr"
    path.mkdir()
    (path / "notes.txt").write_text("keep me")
    assert isinstance(run(path, *SMALL).exception, CelisError)
    assert (path / "notes.txt").read_text() == "keep me"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--shape", 4, 32, 40), "16 voxels or more"),
        (("--shape", 1024, 1024, 1024), "of memory"),
        (("--voxel-size", 0, 4, 4), "between 1 and"),
        (("--voxel-size", "nan", 4, 4), "between 1 and"),
        (("--seed", -1), "negative"),
    ],
)
def test_bad_input_ends_in_a_sentence(tmp_path, monkeypatch, arguments, words):
    monkeypatch.setattr("napari_celis.io.memory.available_bytes", lambda: 2**30)
    result = run(tmp_path / "made.h5", *arguments)
    assert isinstance(result.exception, CelisError)
    assert words in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_name_must_hold_two_volumes(tmp_path):
    result = run(tmp_path / "made.tif", *SMALL)
    assert isinstance(result.exception, CelisError)
    assert ".zarr" in str(result.exception)


def test_two_numbers_are_wrong_usage(tmp_path):
    assert run(tmp_path / "made.h5", "--shape", 24, 32).exit_code == 2


def test_failed_write_leaves_nothing(tmp_path, monkeypatch):
    def fail(volume, target, *, kind):
        if kind == "labels":
            raise OSError(28, "No space left on device")
        return write_volume(volume, target, kind=kind)

    monkeypatch.setattr("napari_celis.io.volumes.write_volume", fail)
    result = run(tmp_path / "made.h5", *SMALL)
    assert isinstance(result.exception, CelisError)
    assert "Free some space" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
