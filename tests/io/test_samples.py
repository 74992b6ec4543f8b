import importlib.util
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from napari_celis.core.errors import MissingDatasetError
from napari_celis.io import samples
from napari_celis.io.volumes import open_volume, read_labels
from napari_celis.synthetic.phantom import make_phantom

MEGABYTE = 10**6


@pytest.fixture(scope="module")
def volumes():
    return {name: volume.read() for name, volume in samples.sample_volumes().items()}


@pytest.fixture(scope="module")
def facts():
    readme = (samples.sample_folder() / "README.md").read_text()
    return dict(re.findall(r"^\| ([^|`]+) \| ([^|`]+) \|$", readme, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def maker(checkout):
    path = checkout / "scripts" / "make_sample_data.py"
    spec = importlib.util.spec_from_file_location("make_sample_data", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sample_opens_with_its_voxel_size(volumes):
    assert set(volumes) == {"image", "supervoxels", "truth"}
    opened = samples.sample_volumes()
    for name, volume in opened.items():
        assert volume.shape == (96, 160, 160)
        assert volume.voxel_size_nm == (10.0, 10.0, 10.0)
        assert volume.dtype == (np.uint8 if name == "image" else np.uint64)
        if name != "image":
            read_labels(volume)


def test_sample_leaves_room_for_models():
    sizes = {path.name: path.stat().st_size for path in samples.sample_folder().glob("phantom*")}
    assert sum(sizes.values()) < 3 * MEGABYTE


def test_readme_tells_the_truth(volumes, facts):
    assert facts["shape (z, y, x)"] == " × ".join(map(str, volumes["image"].shape))
    assert facts["objects"] == f"{len(np.unique(volumes['truth'])):,}"
    assert facts["supervoxels"] == f"{len(np.unique(volumes['supervoxels'])):,}"


def test_necks_need_an_agglomeration(volumes, facts):
    necks = json.loads((samples.sample_folder() / samples.NECKS_NAME).read_text())
    assert facts["thin necks"] == str(len(necks))
    ends = [np.array([neck[end] for neck in necks]).T for end in ("base_zyx", "head_zyx")]
    base, head = (volumes["truth"][tuple(end)] for end in ends)
    np.testing.assert_array_equal(base, head)
    np.testing.assert_array_equal(base, [neck["object_id"] for neck in necks])
    base, head = (volumes["supervoxels"][tuple(end)] for end in ends)
    assert facts["necks inside one supervoxel"] == str(np.count_nonzero(base == head))


def test_script_gives_these_voxels_again(volumes, maker):
    made = make_phantom(maker.SETTINGS)
    np.testing.assert_array_equal(made.image, volumes["image"])
    np.testing.assert_array_equal(made.truth, volumes["truth"])


def test_script_makes_a_whole_sample(tmp_path, monkeypatch, maker):
    monkeypatch.setattr(maker, "SETTINGS", replace(maker.SETTINGS, shape_zyx=(32, 80, 80)))
    maker.main(tmp_path / "sample")
    opened = {
        name: open_volume(f"{tmp_path}/sample/{samples.FILE_NAME}:{dataset}")
        for name, dataset in samples.DATASETS.items()
    }
    assert {volume.shape for volume in opened.values()} == {(32, 80, 80)}
    supervoxels, truth = (read_labels(opened[name]) for name in ("supervoxels", "truth"))
    assert supervoxels.min() > 0
    assert len(np.unique(supervoxels)) > len(np.unique(truth))
    assert sorted(path.name for path in (tmp_path / "sample").iterdir()) == [
        "README.md",
        samples.NECKS_NAME,
        samples.FILE_NAME,
    ]


def test_missing_sample_is_explained(monkeypatch):
    monkeypatch.setattr(samples, "FILE_NAME", "no such file.h5")
    with pytest.raises(MissingDatasetError, match="make_sample_data"):
        samples.sample_folder()
