import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from napari_celis.core.errors import LabelsError, ShapeMismatchError, TrainingError
from napari_celis.models.affinity_base import NEIGHBOURS, AffinitySettings
from napari_celis.models.inference import predict_affinities
from napari_celis.training import affinity as module
from napari_celis.training.affinity import AffinityTrainer, train_affinity
from napari_celis.training.affinity_data import UNKNOWN, affinity_targets, prepare_labels
from napari_celis.training.affinity_loss import affinity_loss, judge
from napari_celis.training.affinity_settings import AffinityTraining, affinity_training, hold_out
from reference import affinity as reference

pytestmark = pytest.mark.usefixtures("one_thread")

TINY = AffinityTraining(
    AffinitySettings(width=4, n_features=4, long_range=((0, 0, -2),)),
    patch_zyx=(8, 8, 8),
    learning_rate=0.01,
    warmup=2,
    report_every=1,
    validate_every=4,
    holdout=0.25,
)


@pytest.fixture(scope="module")
def boxes():
    """Bright cells of 6 × 6 × 6 voxels with dark walls, and which cell each voxel is nearest to."""
    places = np.indices((12, 16, 24)) // 6
    truth = (places * np.array([100, 10, 1])[:, None, None, None]).sum(axis=0) + 1
    wall = (np.indices(truth.shape) % 6 % 5 == 0).any(axis=0)
    noise = np.random.default_rng(0).normal(0, 5, truth.shape)
    return np.where(wall, 60, 160) + noise, truth


def test_loss_balances_and_masks():
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.standard_normal((2, 4, 3, 4, 5)))
    targets = torch.from_numpy((rng.random((2, 4, 3, 4, 5)) < 0.8).astype(float))
    known = torch.from_numpy((rng.random((2, 4, 3, 4, 5)) < 0.7).astype(float))
    plain = -(targets * logits.sigmoid().log() + (1 - targets) * (1 - logits.sigmoid()).log())
    near = (plain * known)[:, :3].sum() / known[:, :3].sum()
    far = (plain * known)[:, 3:].sum() / known[:, 3:].sum()
    assert_allclose(affinity_loss(logits, targets, known, balance=0, long_range_weight=0), near)
    assert_allclose(affinity_loss(logits, targets, known, balance=0, long_range_weight=0.5), near + 0.5 * far)
    one = known[:1, :1]
    of_class = [
        (plain[:1, :1] * one * (targets[:1, :1] == value)).sum() / (one * (targets[:1, :1] == value)).sum()
        for value in (0, 1)
    ]
    balanced = affinity_loss(logits[:1, :1], targets[:1, :1], one, balance=1)
    assert_allclose(balanced, (of_class[0] + of_class[1]) / 2)


def test_loss_without_known_affinities_is_zero():
    zeros = torch.zeros(1, 3, 2, 2, 2)
    assert float(affinity_loss(zeros, zeros, zeros)) == 0


def test_figures_equal_the_reference():
    rng = np.random.default_rng(0)
    targets = rng.random((3, 4, 5, 5)) < 0.7
    known = rng.random(targets.shape) < 0.8
    probabilities = np.round(np.clip(rng.normal(0.4 + 0.2 * targets, 0.2), 0, 1), 2)
    figures = judge(probabilities, targets, known)
    assert_allclose(figures.auc, reference.auc(probabilities[known], targets[known]), atol=1e-3)
    chosen = np.where(targets, probabilities, 1 - probabilities)[known]
    assert_allclose(figures.cross_entropy, -np.log(np.clip(chosen, 1e-6, 1 - 1e-6)).mean())
    assert np.isnan(judge(probabilities, np.ones_like(targets), known).auc)


def run(trainer, steps, stop=None):
    records = []
    for record in trainer.run(steps=steps):
        records.append(record)
        if record.step == stop:
            break
    return records


def test_training_learns_walls(boxes):
    image, truth = boxes
    wider = replace(TINY.network, width=8, n_features=8)
    chosen = replace(TINY, network=wider, batch=4, validate_every=20, averaging=0.9)
    training = train_affinity([(image, truth)], chosen, steps=80)
    records = []
    try:
        while True:
            records.append(next(training))
    except StopIteration as end:
        net = end.value
    assert [record.step for record in records] == list(range(1, 81))
    judged = [record for record in records if record.figures is not None]
    assert judged[-1].figures.auc > max(0.95, judged[0].figures.auc)
    assert not net.training
    targets, known = affinity_targets(prepare_labels(truth), NEIGHBOURS)
    assert judge(predict_affinities(net, image), targets, known).auc > 0.9


@pytest.mark.parametrize("preset", ["unet", "paper"])
def test_resuming_gives_the_same_bits(boxes, preset):
    image, truth = boxes
    chosen, n_steps, stop = TINY, 8, 5
    if preset == "paper":
        image, truth = (np.tile(part, (1, 3, 2))[:, :37, :37] for part in (image, truth))
        chosen, n_steps, stop = replace(affinity_training("paper"), patch_zyx=(1, 2, 2), holdout=0), 2, 1
        chosen = replace(chosen, report_every=1, batch=1)
    straight = AffinityTrainer([(image, truth)], chosen, seed=4)
    expected = run(straight, n_steps)
    first = AffinityTrainer([(image, truth)], chosen, seed=4)
    run(first, n_steps, stop)
    tensors, facts = first.state()
    second = AffinityTrainer([(image, truth)], chosen, seed=99)
    torch.rand(3)
    second.resume(tensors, json.loads(json.dumps(facts)))
    resumed = run(second, n_steps)
    assert all(torch.equal(tensor, tensors[name]) for name, tensor in first.state()[0].items())
    assert [record.loss for record in resumed] == [record.loss for record in expected[stop:]]
    assert [record.figures for record in resumed] == [record.figures for record in expected[stop:]]
    for name, tensor in straight.result().state_dict().items():
        assert torch.equal(tensor, second.result().state_dict()[name]), name


def test_short_numbers_follow_the_long_ones(boxes, monkeypatch):
    losses = {}
    larger = replace(TINY, patch_zyx=(12, 12, 12), holdout=0.0)
    for is_fast in (False, True):
        monkeypatch.setattr(module, "has_fast_bfloat16", lambda _, is_fast=is_fast: is_fast)
        trainer = AffinityTrainer([boxes], larger)
        losses[is_fast] = [record.loss for record in trainer.run(steps=6)]
        assert all(weight.dtype == torch.float32 for weight in trainer.result().parameters())
    assert losses[True] != losses[False]
    assert_allclose(losses[True], losses[False], rtol=0.05)


def test_the_best_weights_are_returned_when_validation_gets_worse(boxes, monkeypatch):
    image, truth = boxes
    trainer = AffinityTrainer([(image, truth)], replace(TINY, validate_every=1, patience=3))
    scores = iter([0.3, 0.9, 0.7, 0.7, 0.8, 0.6, 1.0])
    figures = judge(np.full((3, 1, 1, 1), 0.5), np.ones((3, 1, 1, 1), bool), np.ones((3, 1, 1, 1), bool))
    monkeypatch.setattr(module, "judge_several", lambda *_: replace(figures, auc=next(scores)))
    best, rates = None, []
    for record in trainer.run(steps=100):
        rates.append(record.learning_rate)
        if record.is_best:
            best = {name: tensor.clone() for name, tensor in trainer.result().state_dict().items()}
    # After the third worse judgement a quarter of the five steps is left, with a falling rate.
    assert (record.step, trainer.best_step, trainer.is_satisfied) == (6, 2, True)
    assert rates[-1] <= rates[-2]
    assert list(trainer.run(steps=100)) == []
    assert all(torch.equal(tensor, best[name]) for name, tensor in trainer.result().state_dict().items())


def test_several_volumes_are_drawn_from_as_often_as_they_have_labels(boxes):
    image, truth = boxes
    half = np.where(np.arange(24) < 12, truth, 0)
    # The second recording has other grey values, and is brought to those of the first.
    trainer = AffinityTrainer([(image, truth), (3 * image + 50, half)], replace(TINY, holdout=0))
    first, second = trainer._sampler.samplers
    assert_allclose(trainer._sampler._shares, [2 / 3, 1 / 3])
    assert_allclose(first.image.mean(), second.image.mean(), atol=1e-3)
    assert_allclose(first.image.std(), second.image.std(), rtol=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(40):
        known = second.draw(rng).known
        # Nothing is drawn where nothing is known: half of every patch or more, but for the border.
        assert known[0].mean() > 0.3
    losses = [record.loss for record in trainer.run(30)]
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_bad_data_is_refused(boxes):
    image, truth = boxes
    assert list(AffinityTrainer([(image, truth)], TINY).run(steps=0)) == []
    with pytest.raises(ShapeMismatchError, match="truth"):
        AffinityTrainer([(image, truth[1:])], TINY)
    with pytest.raises(LabelsError):
        AffinityTrainer([(image, truth.astype(float))], TINY)
    with pytest.raises(TrainingError, match="0 to less than 1"):
        AffinityTrainer([(image, truth)], replace(TINY, holdout=1))
    trainer = AffinityTrainer([(image, truth)], TINY)
    with pytest.raises(TrainingError, match="does not belong"):
        trainer.resume({}, {})


def test_a_slab_of_the_longest_axis_is_held_out():
    fit, judged = hold_out((10, 40, 20), 0.1)
    assert fit == (slice(None), slice(0, 36), slice(None))
    assert judged == (slice(None), slice(36, None), slice(None))
    assert hold_out((10, 40, 20), 0) == ((slice(None),) * 3, None)


def test_a_given_validation_volume_is_used(boxes):
    image, truth = boxes
    trainer = AffinityTrainer([(image, truth)], TINY, validation=[(image[:8], truth[:8])])
    assert run(trainer, 4)[-1].figures is not None
    unknown = np.full_like(truth, UNKNOWN)
    unknown[0, 0, 0], unknown[5, 5, 5] = 1, 2
    with pytest.raises(TrainingError, match="held out"):
        AffinityTrainer([(image, truth)], TINY, validation=[(image, unknown)])


def test_presets_suit_the_voxel_size():
    flat = affinity_training("unet", (40, 4, 4))
    assert flat.patch_zyx[0] < flat.patch_zyx[1] == flat.patch_zyx[2]
    assert flat.augmentation.missing_section > 0
    assert affinity_training("paper").network.n_features == 512


def test_too_little_data_says_what_is_needed(boxes):
    image, truth = boxes
    with pytest.raises(TrainingError, match=r"12 × 16 × 24.*12 × 35 × 35"):
        AffinityTrainer([(image, truth)], replace(affinity_training("paper"), holdout=0))
