"""Time becomes an amount of work once, and stays that amount."""

from dataclasses import replace

import numpy as np
import pytest

from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.training import affinity_stage
from napari_celis.training.affinity_settings import AffinityTraining
from napari_celis.training.affinity_stage import plan_affinity
from napari_celis.training.annotated import AnnotatedVolume
from napari_celis.training.budget import affordable, kept_cost
from napari_celis.training.checkpoint import Checkpoint

pytestmark = pytest.mark.usefixtures("one_thread")

TINY = AffinityTraining(AffinitySettings(width=4, n_features=4), patch_zyx=(8, 8, 8), holdout=0.0)


def test_work_fits_into_the_time():
    assert affordable(10.0, 3.0) == 3
    assert affordable(10.0, 3.0, 2) == 2
    assert affordable(1.0, 3.0) == affordable(-1.0, 3.0) == 1


def test_a_cost_is_measured_once(tmp_path):
    checkpoint = Checkpoint(tmp_path, "same", resume=True)
    costs = iter([2.5, 7.0])
    assert kept_cost(checkpoint, "cost", lambda: next(costs)) == 2.5
    assert kept_cost(Checkpoint(tmp_path, "same", resume=True), "cost", lambda: next(costs)) == 2.5
    assert kept_cost(Checkpoint(None, "same", resume=True), "cost", lambda: next(costs)) == 7.0
    assert kept_cost(Checkpoint(None, "same", resume=True), "cost", lambda: 0.0) > 0


@pytest.mark.parametrize(
    ("seconds", "step", "voxel", "steps"),
    [
        (100.0, 0.1, 0.0, 1000),
        # One judgement of 3,072 voxels in 50 steps, and six looks at half of them.
        (100.0, 0.1, 1e-4, 933),
        # At most 20 judgements, however many steps there are.
        (1000.0, 0.1, 1e-4, 9929),
        (4.0, 0.1, 1e-4, 29),
        # Using the network would take all of the time; a fifth of it is for training all the same.
        (100.0, 1.0, 0.1, 3),
    ],
)
def test_steps_leave_time_for_using_the_network(monkeypatch, tmp_path, seconds, step, voxel, steps):
    monkeypatch.setattr(affinity_stage._Rehearsal, "step", lambda _: step)
    monkeypatch.setattr(affinity_stage._Rehearsal, "voxel", lambda _: voxel)
    volume = AnnotatedVolume(np.zeros((12, 16, 16)), np.ones((12, 16, 16), int))
    checkpoint = Checkpoint(tmp_path, "same", resume=True)
    plan = plan_affinity([volume], TINY, seconds, checkpoint, seed=0, device="cpu")
    assert plan.steps == pytest.approx(steps, abs=1)
    assert plan.judged.validate_every >= affinity_stage.JUDGED_EVERY
    # Another, slower day changes nothing.
    monkeypatch.setattr(affinity_stage._Rehearsal, "step", lambda _: 9 * step)
    assert plan_affinity([volume], TINY, seconds, checkpoint, seed=0, device="cpu") == plan


def test_costs_are_really_measured(monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr(affinity_stage, "processor_seconds", lambda _: float(next(ticks)))
    truth = (np.indices((12, 16, 16)) // 6).sum(axis=0) + 1
    image = np.random.default_rng(0).integers(0, 255, truth.shape, dtype=np.uint8)
    volumes = [AnnotatedVolume(image, truth)]
    rehearsal = affinity_stage._Rehearsal(volumes, replace(TINY, report_every=1), 0, "cpu")
    assert rehearsal.step() == 1 / affinity_stage.REHEARSED
    assert rehearsal.voxel() == 1 / image.size
