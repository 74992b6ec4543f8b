"""The model of memory against the peak of a process: never below it, and not far above it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import napari_celis
from gui.conftest import small_volumes
from models.small import small_model
from napari_celis.core.errors import NotEnoughMemoryError
from napari_celis.core.volume import Volume
from napari_celis.io.affinities import Affinities, AffinityVolume, write_affinities
from napari_celis.io.samples import bundled_models, sample_volumes
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import load_model
from napari_celis.pipeline import memory
from napari_celis.pipeline.checks import require_room_for_scores
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.memory import bytes_needed
from napari_celis.pipeline.recipe import prepare_inputs

MEASURE = """
import json, sys, psutil
from napari_celis.io.affinities import open_affinities
from napari_celis.io.samples import bundled_models, sample_volumes
from napari_celis.models.model_file import load_model
from napari_celis.pipeline import agglomeration
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.memory import bytes_needed
from napari_celis.pipeline.recipe import prepare

supervoxels, affinities = sys.argv[1:]
volumes = sample_volumes()
choice = Choice(
    volumes["image"],
    volumes["supervoxels"] if supervoxels == "given" else None,
    affinities=open_affinities(affinities) if affinities else None,
    model=load_model(bundled_models()["phantom"]),
)
before = psutil.Process().memory_info().rss
prepared = prepare(choice)
for _ in range(200):
    prepared.agglomerator.step(prepared.threshold)
# The system's own count: a thread that looks now and then misses a short peak on a busy machine.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = 1024 * int(status["VmHWM"].split()[0])
print(json.dumps([peak - before, bytes_needed(choice)]))
"""


@pytest.fixture(scope="module")
def affinities(tmp_path_factory):
    """What the bundled network finds in the sample; supervoxels made of it are few."""
    data = affinities_of(load_model(bundled_models()["phantom"]), sample_volumes()["image"].read())
    path = tmp_path_factory.mktemp("affinities") / "affinities.h5"
    write_affinities(Affinities(data, (10.0, 10.0, 10.0)), path)
    return str(path)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell the peak otherwise")
@pytest.mark.parametrize(
    ("supervoxels", "with_affinities"), [("given", False), ("given", True), ("made", True)]
)
def test_peak_of_a_process(supervoxels, with_affinities, affinities):
    folder = Path(napari_celis.__file__).parents[1]
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, supervoxels, affinities if with_affinities else ""],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )
    peak, model = json.loads(result.stdout)
    # How far tiles of the network overlap in time depends on how busy the computer is: 640 to 930 MB.
    assert peak <= model <= 1.75 * peak, f"{peak / 1e6:.0f} MB, by the model {model / 1e6:.0f} MB"


def huge(role):
    """A volume that nobody could hold."""
    return Volume(np.broadcast_to(np.uint8(1), (4000, 8000, 8000)), (10.0, 10.0, 10.0), name=role)


def test_it_grows_with_what_there_is_to_do():
    model = load_model(bundled_models()["phantom"])
    image, labels = huge("image"), huge("supervoxels")
    given = bytes_needed(Choice(image, labels, model=model))
    assert bytes_needed(Choice(image, labels)) < given < bytes_needed(Choice(image, model=model))
    in_bytes = AffinityVolume(np.broadcast_to(np.uint8(1), (3, 4000, 8000, 8000)))
    in_floats = AffinityVolume(np.broadcast_to(np.float32(1), (3, 4000, 8000, 8000)))
    assert bytes_needed(Choice(None, labels, affinities=in_bytes, model=model)) < bytes_needed(
        Choice(None, labels, affinities=in_floats, model=model)
    )
    assert given > 10e12


def test_supervoxels_that_are_finer_than_expected_are_refused_before_they_are_scored(monkeypatch):
    given = Choice(**small_volumes(), model=small_model())
    with monkeypatch.context() as patch:
        patch.setattr(memory, "ACTION", 10**9)
        with pytest.raises(NotEnoughMemoryError, match="Scoring 104 contacts of supervoxels needs 104 GB"):
            require_room_for_scores(given, prepare_inputs(given).atoms)
