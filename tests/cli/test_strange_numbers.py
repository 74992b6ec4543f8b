"""Numbers that nobody means, and what is said about them."""

import h5py
import numpy as np
import pytest

from napari_celis.cli.outputs import require_folder_output
from napari_celis.core.errors import CelisError, TrainingError, VolumeError
from napari_celis.core.volume import Volume, role_warnings
from napari_celis.evaluation.metrics import ignore_boundary
from napari_celis.io import disk
from napari_celis.io.samples import sample_volumes
from napari_celis.io.volumes import write_volume
from napari_celis.training.checkpoint import DESCRIPTION, Checkpoint

IDS = np.repeat(np.arange(1, 9, dtype=np.uint32), 27).reshape(6, 6, 6)


@pytest.fixture
def run(celis, tmp_path, monkeypatch):
    """Run a command line beside two small volumes."""
    np.save(tmp_path / "x.npy", IDS)
    with h5py.File(tmp_path / "aff.h5", "w") as file:
        file["volumes/affinities"] = np.ones((3, 4, 6, 8), np.float32)
    monkeypatch.chdir(tmp_path)
    return lambda line: celis(*line.split())


@pytest.mark.parametrize(
    "line",
    [
        *(f"train --image x.npy --truth x.npy -o m --minutes {n}" for n in ("inf", "nan", "1e300")),
        f"train --image x.npy --truth x.npy -o m --seed {10**23}",
        "pruning-report --supervoxels x.npy --seed -1",
    ],
)
def test_wrong_usage(run, line):
    code, _, err = run(line)
    assert code == 2
    assert "Invalid value" in err
    assert "should not have happened" not in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"watershed aff.h5 -o w.npy --size {10**30}", "`size` must be a whole number of voxels"),
        ("convert x.npy y.npy --resample 1e30 1 1", "Give lengths from 0.001 to 1000 nm"),
        ("convert x.npy y.npy --resample 1 1e-9 1", "Give lengths from 0.001 to 1000 nm"),
        ("convert x.npy y.npy --resample nan 1 1", "cannot be"),
    ],
)
def test_one_sentence(run, line, message, tmp_path):
    code, _, err = run(line)
    assert code == 1
    assert message in err
    assert not (tmp_path / "y.npy").exists()


def test_boundaries_wider_than_the_volume_end(run):
    assert run("evaluate x.npy x.npy --ignore-boundary 1000000000")[0] in (0, 1)
    assert ignore_boundary(IDS, 10**12).all()
    assert not ignore_boundary(np.ones((3, 3, 3)), 10**12).any()


def test_volumes_that_the_disk_cannot_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda _: (5000, 4000, 1000))
    noise = Volume(np.ones((10, 20, 30), np.uint8))
    for name in ("v.npy", "v.tif"):
        with pytest.raises(VolumeError, match=r"takes 6e-06 GB, but the disk of .* has 1e-06 GB free"):
            write_volume(noise, tmp_path / name, kind="image")
    for name in ("v.zarr", "v.h5"):
        write_volume(noise, tmp_path / name, kind="image")
        with pytest.raises(VolumeError, match="more than packing can save"):
            write_volume(Volume(np.ones((20, 80, 80), np.uint8)), tmp_path / f"w{name}", kind="image")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["v.h5", "v.zarr"]


def test_image_and_supervoxels_exchanged():
    sample = {name: volume.read() for name, volume in sample_volumes().items()}
    image, supervoxels = sample["image"], sample["supervoxels"]
    assert role_warnings(image, supervoxels) == []
    assert role_warnings(image, None) == []
    assert role_warnings(image.astype(np.float32), supervoxels) == []
    warnings = role_warnings(supervoxels, image)
    assert len(warnings) == 2
    assert all("Are image and supervoxels exchanged?" in warning for warning in warnings)
    assert role_warnings(image[:1, :2, :3], supervoxels[:1, :2, :3]) == []


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(CelisError, match=r"is a file\. Choose another name"):
            require_folder_output("--output", tmp_path / place)
    require_folder_output("--output", tmp_path / "new")


@pytest.mark.parametrize(("content", "what"), [("{", "is damaged"), ('{"identity": "other"}', "other data")])
def test_advice_on_an_unfinished_training_can_be_followed(tmp_path, content, what):
    (tmp_path / DESCRIPTION).write_text(content)
    with pytest.raises(TrainingError, match=what) as caught:
        Checkpoint(tmp_path, "mine", resume=True)
    assert "use --restart instead of --resume" in str(caught.value)
    Checkpoint(tmp_path, "mine", resume=False)
    assert not tmp_path.exists()
