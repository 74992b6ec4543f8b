"""A training that is interrupted anywhere ends with the same bits as one that is not, on several volumes."""

import itertools
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors import safe_open

from models.small import cut_into_pieces
from napari_celis.models.model_file import save_model
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training import affinity_stage, budget
from napari_celis.training.pipeline import AnnotatedVolume, TrainSettings, train_model

pytestmark = pytest.mark.usefixtures("one_thread")

RESUMED = (
    "affinity network 1 of 3",
    "energy of pairwise9",
    "threshold of energy",
    "errors of policy",
    "affinity network 3 of 3",
)
SETTINGS = TrainSettings(minutes=0.01)


@pytest.fixture(scope="module")
def volumes():
    """Two volumes; of the second only a part is labelled."""
    found = []
    for seed, name in ((3, "first"), (4, "second")):
        phantom = make_phantom(PhantomSettings(shape_zyx=(20, 40, 40), seed=seed))
        truth = phantom.truth.copy()
        if name == "second":
            truth[:, :8] = 0
        found.append(AnnotatedVolume(phantom.image, truth, cut_into_pieces(phantom.truth, size=10), name))
    return found


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Time passes only when somebody looks at the clock, so that costs are the same in every run."""
    ticks = itertools.count()
    monkeypatch.setattr(budget, "time", SimpleNamespace(process_time=lambda: 0.01 * next(ticks)))
    monkeypatch.setattr(affinity_stage, "KEEP_SECONDS", -1.0)


def finish(records):
    while True:
        try:
            next(records)
        except StopIteration as end:
            return end.value


def bits_of(trained, path):
    with safe_open(save_model(trained.model, path), framework="np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def test_every_interruption_ends_with_the_same_bits(volumes, tmp_path):
    folder, snapshots = tmp_path / "whole.training", {}
    training = train_model(volumes, (10.0, 10.0, 10.0), SETTINGS, folder=folder)
    while True:
        try:
            record = next(training)
        except StopIteration as end:
            trained = end.value
            break
        # As if the computer had died at this record.
        if folder.exists():
            snapshots[record.stage] = kept = tmp_path / f"{record.stage}.training"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
    networks = [f"affinity network {n} of 3" for n in (1, 2, 3)]
    assert set(snapshots) == {
        *networks, "supervoxels", "expert", "energy of pairwise3", "energy of pairwise9",
        "shares of the specs", "threshold of energy", "policy", "errors of policy",
    }  # fmt: skip
    expected, description = bits_of(trained, tmp_path / "whole.safetensors")
    figures = trained.model.figures
    assert [one["steps"] > 3 for one in figures["affinity_networks"]] == [True] * 3
    assert [one["name"] for one in figures["volumes"]] == ["first", "second"]
    for one in figures["volumes"]:
        assert one["vi_supervoxels"] > one["vi_learned"] > 0
        assert 0.5 < one["affinity_auc"] < 1
    for stage in RESUMED:
        kept = snapshots[stage]
        again = finish(train_model(volumes, (10.0, 10.0, 10.0), SETTINGS, folder=kept, resume=True))
        found, other = bits_of(again, tmp_path / f"{kept.stem}.safetensors")
        assert other == description, stage
        for name, tensor in expected.items():
            np.testing.assert_array_equal(found[name], tensor, err_msg=f"{stage}: {name}")
        for own, whole in zip(again.affinities, trained.affinities, strict=True):
            np.testing.assert_array_equal(own, whole)


def test_what_is_finished_is_not_done_again(volumes, tmp_path, monkeypatch):
    folder = tmp_path / "model.training"
    first = finish(train_model(volumes, (10.0, 10.0, 10.0), SETTINGS, folder=folder))
    kept = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = finish(train_model(volumes, (10.0, 10.0, 10.0), SETTINGS, folder=folder, resume=True))
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == kept
    assert again.model.figures == first.model.figures
    first.checkpoint.clear()
    assert not folder.exists()
