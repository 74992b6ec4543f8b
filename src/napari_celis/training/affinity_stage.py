"""The affinity networks of a training run: one per fold for the other one, and one for everything."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from napari_celis.models.affinity import from_tensors, to_tensors
from napari_celis.models.affinity_base import AffinityNet
from napari_celis.models.device import choose_device
from napari_celis.models.inference import predict_affinities, predict_averaged
from napari_celis.models.intensity import in_known_range, measure_intensity
from napari_celis.training.affinity import AffinityTrainer, ImageAndTruth
from napari_celis.training.affinity_settings import AffinityTraining
from napari_celis.training.annotated import AnnotatedVolume, Folds, Piece, labelled_box
from napari_celis.training.budget import affordable, kept_cost, processor_seconds
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.records import Records, TrainRecord, within

AVERAGED_SYMMETRIES = 6
"""Symmetries of the image that affinities are averaged over: each order of the axes of cubes once."""
KEEP_SECONDS = 30.0
"""An interruption loses at most this much of an affinity network's training."""
VALIDATIONS, JUDGED_EVERY = 20, 50
"""How often a network is judged on the other fold in the course of its steps, at most; and the fewest steps
between two judgements."""
PATIENCE = 8
"""Judgements without a better one after which its learning rate falls to 0, and it ends."""
JUDGED_BOX = (32, 160, 160)
"""Voxels of each piece of the other fold that a network is judged by."""
LEAST_TRAINING = 0.2
"""Share of a network's time that is for training, however large the volume is that it is used on."""
REHEARSED = 3
"""Steps that are measured, after as many that are not."""


@dataclass(frozen=True)
class AffinityPlan:
    """How much work an affinity network is worth."""

    settings: AffinityTraining
    steps: int
    """Along which the learning rate falls."""
    seed: int
    device: str

    @property
    def judged(self) -> AffinityTraining:
        """The settings with judgements along the way."""
        every = max(JUDGED_EVERY, self.steps // VALIDATIONS)
        return replace(self.settings, validate_every=every, patience=PATIENCE)


@dataclass(frozen=True, eq=False)
class FittedAffinity:
    """A trained network, and how its training ended."""

    net: AffinityNet
    ending: dict[str, Any]
    """`steps`, `best_step`, and `ended`: `time` or `no longer better`."""


def plan_affinity(
    volumes: Sequence[AnnotatedVolume],
    settings: AffinityTraining,
    seconds: float,
    checkpoint: Checkpoint,
    *,
    seed: int,
    device: str,
) -> AffinityPlan:
    """Find out how many steps a network can make in a time that also has to do for using it.

    Parameters
    ----------
    volumes : sequence of AnnotatedVolume
        What to learn from.
    settings : AffinityTraining
        How.
    seconds : float
        Processor time per thread, for one of three networks.
    checkpoint : Checkpoint
        Keeps what was measured.
    seed : int
        Of weights, patches and dropout.
    device : str
        See `choose_device`.
    """
    rehearsal = _Rehearsal(volumes, replace(settings, report_every=1), seed, device)
    step = kept_cost(checkpoint, "cost of a step", rehearsal.step)
    voxel = kept_cost(checkpoint, "cost of a voxel", rehearsal.voxel)
    judging = voxel * sum(min(math.prod(JUDGED_BOX), one.image.size) for one in volumes)
    predicting = voxel * AVERAGED_SYMMETRIES * sum(one.image.size for one in volumes) / 2
    left = max(seconds - predicting, LEAST_TRAINING * seconds)
    few = affordable(left, step + judging / JUDGED_EVERY)
    many = affordable(left - VALIDATIONS * judging, step)
    return AffinityPlan(settings, max(few, many), seed, device)


class _Rehearsal:
    """Measures what training and predicting cost, with a network that is then thrown away."""

    def __init__(
        self, volumes: Sequence[AnnotatedVolume], settings: AffinityTraining, seed: int, device: str
    ) -> None:
        self._volumes, self._settings, self._seed, self._device = volumes, settings, seed, device

    @cached_property
    def _trainer(self) -> AffinityTrainer:
        pairs = [(one.image, one.truth) for one in self._volumes]
        return AffinityTrainer(pairs, self._settings, seed=self._seed, device=self._device)

    def step(self) -> float:
        """Seconds of one step; the first ones are slower and do not count."""
        trainer, begin = self._trainer, 0.0
        for record in trainer.run(2 * REHEARSED):
            if record.step == REHEARSED:
                begin = processor_seconds(trainer.net.device)
        return (processor_seconds(trainer.net.device) - begin) / REHEARSED

    def voxel(self) -> float:
        """Seconds that the affinities of one voxel take."""
        net = self._trainer.result()
        image = self._volumes[0].image[tuple(slice(0, size) for size in JUDGED_BOX)]
        begin = processor_seconds(net.device)
        predict_affinities(net, image)
        return (processor_seconds(net.device) - begin) / image.size


def fit_affinity(
    part: str,
    volumes: Sequence[ImageAndTruth],
    plan: AffinityPlan,
    checkpoint: Checkpoint,
    *,
    validation: Sequence[ImageAndTruth] | None = None,
) -> Records[FittedAffinity]:
    """Train one affinity network, or go on with it where the checkpoint has it.

    Parameters
    ----------
    part : str
        Name on the checkpoint, and of the stage.
    volumes : sequence of (ndarray, ndarray)
        Images and truths to learn from.
    plan : AffinityPlan
        How, and how long.
    checkpoint : Checkpoint
        Keeps the trainer's state every so often, and the network when it is done.
    validation : sequence of (ndarray, ndarray), optional
        What to judge it by; when it no longer gets better there, it ends.
    """
    finished, ended = checkpoint.load(part), checkpoint.load(f"{part}-ending")
    if finished is not None and ended is not None:
        return FittedAffinity(from_tensors(*finished).to(choose_device(plan.device)), ended[1])
    settings = plan.judged if validation else plan.settings
    trainer = AffinityTrainer(
        volumes, settings, seed=plan.seed, validation=validation or None, device=plan.device
    )
    unfinished = f"{part}-unfinished"
    earlier = checkpoint.load(unfinished)
    if earlier is not None:
        trainer.resume(*earlier)
    kept = time.monotonic()
    for record in trainer.run(plan.steps):
        if time.monotonic() - kept > KEEP_SECONDS:
            checkpoint.keep(unfinished, *trainer.state())
            kept = time.monotonic()
        figures = {"loss": record.loss}
        if record.figures is not None:
            figures["auc"] = record.figures.auc
        yield TrainRecord(part, record.step / plan.steps, figures)
    net = trainer.result()
    ending = {
        "steps": trainer.step,
        "best_step": trainer.best_step if validation else trainer.step,
        "ended": "no longer better" if trainer.is_satisfied else "time",
    }
    checkpoint.keep(f"{part}-ending", {}, ending)
    checkpoint.keep(part, *to_tensors(net))
    checkpoint.drop(unfinished)
    return FittedAffinity(net, ending)


def cross_fitted_affinities(
    volumes: Sequence[AnnotatedVolume], folds: Folds, plan: AffinityPlan, checkpoint: Checkpoint
) -> Records[tuple[list[np.ndarray], list[dict[str, Any]]]]:
    """Predict each fold with a network that was trained on the other one.

    Parameters
    ----------
    volumes : sequence of AnnotatedVolume
        What is learned from.
    folds : Folds
        Which pieces of the volumes belong to which fold.
    plan : AffinityPlan
        Network, settings and amount of work.
    checkpoint : Checkpoint
        Keeps what is finished, and gives it back after a break.

    Returns
    -------
    affinities : list of ndarray of float32, shape (3, Z, Y, X)
        One per volume.
    endings : list of dict
        How the training of each network ended.
    """
    affinities = [np.empty((3, *one.image.shape), dtype=np.float16) for one in volumes]
    endings = []
    for index, fold in enumerate(folds):
        other = [_cut(volumes, piece) for piece in folds[1 - index]]
        records = fit_affinity(
            f"affinity network {index + 1} of 3", other, plan, checkpoint, validation=_judged(volumes, fold)
        )
        fitted = yield from within(records, index / 2, (index + 1) / 2)
        endings.append(fitted.ending)
        kept = checkpoint.load(f"affinities {index + 1}")
        if kept is None:
            found = {
                str(n): torch.from_numpy(_predict(fitted.net, volumes[piece.volume].image, piece))
                for n, piece in enumerate(fold)
            }
            checkpoint.keep(f"affinities {index + 1}", found, {})
        else:
            found = kept[0]
        for n, piece in enumerate(fold):
            affinities[piece.volume][:, piece.sections] = found[str(n)].numpy()
    return [own.astype(np.float32) for own in affinities], endings


def _cut(volumes: Sequence[AnnotatedVolume], piece: Piece) -> ImageAndTruth:
    """Take the sections of a piece."""
    own = volumes[piece.volume]
    return own.image[piece.sections], own.truth[piece.sections]


def _judged(volumes: Sequence[AnnotatedVolume], fold: Sequence[Piece]) -> list[ImageAndTruth]:
    """Take the middle of the labelled part of each piece, where it has something to tell apart."""
    boxes = []
    for piece in fold:
        image, truth = _cut(volumes, piece)
        box = tuple(
            slice(max(own.start, middle - size // 2), min(own.stop, middle + (size + 1) // 2))
            for own, size in zip(labelled_box(truth, (1, 1, 1)), JUDGED_BOX, strict=True)
            for middle in [(own.start + own.stop) // 2]
        )
        if len(np.unique(truth[box][truth[box] > 0])) > 1:
            boxes.append((image[box], truth[box]))
    return boxes


def _predict(net: AffinityNet, image: np.ndarray, piece: Piece) -> np.ndarray:
    """Predict the affinities of a piece with the image around it, float16 (3, Z, Y, X).

    Half precision before and after an interruption, so that both go on from the same numbers.
    """
    begin = max(0, piece.start - net.halo_zyx[0])
    seen = in_known_range(image, net.settings.intensity, measure_intensity(image))
    around = np.asarray(seen[begin : piece.stop + net.halo_zyx[0], :, :])
    found = predict_averaged(net, around, AVERAGED_SYMMETRIES)
    return found[:, piece.start - begin : piece.stop - begin].astype(np.float16)
