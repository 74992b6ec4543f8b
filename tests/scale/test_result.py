"""A finished result: opened without reading, and the command that goes on with it."""

import shutil

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from napari_celis.cli import blockwise as command
from napari_celis.cli.app import app
from napari_celis.io.lazy import LazyArray
from napari_celis.io.volumes import open_volume
from napari_celis.scale.begin import begin_run
from napari_celis.scale.result import open_result, resume_arguments
from napari_celis.scale.run import MODEL, BlockRun
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.storage import RunStore
from scale.box_world import OFFSET_NM, SIZE_NM, make_request, run_all, workers


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    request = make_request(tmp_path_factory.mktemp("finished"), threshold=-0.1 - 1e-17, rule="owner")
    with workers() as client:
        return run_all(request, client)[0]


def test_its_levels_are_those_of_the_volume_and_stay_on_disk(finished):
    finest, *coarser = open_result(finished)
    assert isinstance(finest.data, LazyArray)
    assert (finest.voxel_size_nm, finest.offset_nm) == (SIZE_NM, OFFSET_NM)
    assert_array_equal(finest.read(), open_volume(finished.store.url).read())
    for level, volume in enumerate(coarser, start=1):
        stored = open_volume(finished.store.url, level=level)
        assert (volume.voxel_size_nm, volume.offset_nm) == (stored.voxel_size_nm, stored.offset_nm)
        assert_array_equal(volume.read(), stored.read())


def test_a_run_that_is_not_finished_has_no_segmentation(finished, tmp_path):
    shutil.copytree(finished.store.url, tmp_path / "result.zarr")
    shutil.rmtree(tmp_path / "result.zarr/celis/done/metadata")
    with pytest.raises(BlockwiseError, match="is not finished"):
        open_result(BlockRun(RunStore(str(tmp_path / "result.zarr"))))


def test_the_command_that_goes_on_belongs_to_the_same_settings(finished, monkeypatch):
    asked = []

    def run(request, *arguments):
        asked.append(request)
        return {"failed": [], "lost": 0}

    monkeypatch.setattr(command, "_run", run)
    words = resume_arguments(finished, finished.store.path(MODEL))
    app(words, standalone_mode=False)
    assert begin_run(asked[0]).settings == finished.settings
    assert np.float64(asked[0].threshold) == finished.settings.threshold
