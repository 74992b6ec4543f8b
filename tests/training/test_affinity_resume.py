"""An affinity network that was interrupted goes on where it was."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.training import affinity, affinity_stage
from napari_celis.training.affinity_settings import AffinityTraining
from napari_celis.training.affinity_stage import AffinityPlan, fit_affinity
from napari_celis.training.checkpoint import Checkpoint

pytestmark = pytest.mark.usefixtures("one_thread")

TINY = AffinityTraining(
    AffinitySettings(width=4, n_features=4), patch_zyx=(8, 8, 8), warmup=2, report_every=2, holdout=0.0
)
STEPS = 14


@pytest.fixture
def all_kept(monkeypatch):
    """Keep the state at every record."""
    monkeypatch.setattr(affinity_stage, "KEEP_SECONDS", -1.0)


@pytest.fixture
def trainers(monkeypatch):
    """Every trainer that is made."""
    made = []

    class Remembered(affinity.AffinityTrainer):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(affinity_stage, "AffinityTrainer", Remembered)
    return made


def training(folder, *, resume):
    rng = np.random.default_rng(0)
    truth = (np.indices((12, 16, 16)) // 6).sum(axis=0) + 1
    image = rng.integers(0, 255, truth.shape, dtype=np.uint8)
    checkpoint = Checkpoint(folder, "same", resume=resume)
    plan = AffinityPlan(TINY, STEPS, 1, "cpu")
    return fit_affinity("net", [(image, truth)], plan, checkpoint)


def finish(records):
    """The records that were left, and the network."""
    seen = []
    while True:
        try:
            seen.append(next(records))
        except StopIteration as end:
            return seen, end.value.net


def weights_of(net):
    return {name: tensor.numpy() for name, tensor in net.state_dict().items()}


def files_in(folder):
    return sorted(path.name for path in folder.glob("*.safetensors"))


def test_an_interrupted_network_ends_like_one_that_was_not(tmp_path, all_kept, trainers):
    expected, straight = finish(training(tmp_path / "straight", resume=False))
    assert len(expected) >= 6

    folder = tmp_path / "interrupted"
    run = training(folder, resume=False)
    first = [next(run) for _ in range(3)]
    run.close()
    assert files_in(folder) == ["net-unfinished.safetensors"]
    assert trainers[-1].step == 3 * TINY.report_every

    torch.rand(5)
    run = training(folder, resume=True)
    rest = [next(run)]
    assert trainers[-1].step == 4 * TINY.report_every
    more, net = finish(run)
    rest += more

    assert len(trainers) == 3
    assert first + rest == expected
    assert trainers[-1].step == trainers[0].step
    for name, weights in weights_of(straight).items():
        np.testing.assert_array_equal(weights_of(net)[name], weights, err_msg=name)
    assert files_in(folder) == ["net-ending.safetensors", "net.safetensors"]


def test_a_finished_network_is_not_trained_again(tmp_path, all_kept, trainers):
    _, net = finish(training(tmp_path, resume=False))
    records, again = finish(training(tmp_path, resume=True))
    assert records == []
    assert len(trainers) == 1
    for name, weights in weights_of(net).items():
        np.testing.assert_array_equal(weights_of(again)[name], weights, err_msg=name)


def test_without_resume_it_begins_anew(tmp_path, all_kept, trainers):
    run = training(tmp_path, resume=False)
    first = [next(run) for _ in range(2)]
    run.close()
    run = training(tmp_path, resume=False)
    assert [next(run) for _ in range(2)] == first
    assert trainers[-1].step == 2 * TINY.report_every
    run.close()


def test_the_state_is_kept_only_every_so_often(tmp_path, all_kept, monkeypatch):
    now = itertools.count(step=20.0)
    monkeypatch.setattr(affinity_stage, "KEEP_SECONDS", 30.0)
    monkeypatch.setattr(affinity_stage, "time", SimpleNamespace(monotonic=lambda: next(now)))
    kept = []
    monkeypatch.setattr(
        Checkpoint, "keep", lambda _, part, tensors, facts: kept.append((part, facts["step"]))
    )
    run = training(tmp_path, resume=False)
    for n_kept in (0, 1, 1, 2, 2):
        next(run)
        assert len(kept) == n_kept
    assert kept == [("net-unfinished", 4), ("net-unfinished", 8)]
    run.close()
