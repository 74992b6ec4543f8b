"""The affinity networks of a training run: one per slab for the other one, and one for everything."""

from __future__ import annotations

import time

import numpy as np
import torch

from napari_celis.models.affinity import from_tensors, to_tensors
from napari_celis.models.affinity_base import AffinityNet
from napari_celis.models.device import choose_device
from napari_celis.models.inference import predict_averaged
from napari_celis.training.affinity import AffinityTrainer
from napari_celis.training.affinity_settings import AffinityTraining
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.records import Records, TrainRecord, within

AVERAGED_SYMMETRIES = 4
"""Symmetries of the image that affinities are averaged over; more of them gain hardly anything."""
KEEP_SECONDS = 30.0
"""An interruption loses at most this much of an affinity network's training."""


def fit_affinity(
    part: str,
    image: np.ndarray,
    truth: np.ndarray,
    settings: AffinityTraining,
    minutes: float,
    checkpoint: Checkpoint,
    *,
    seed: int,
    device: str,
) -> Records[AffinityNet]:
    """Train one affinity network, or go on with it where the workbench has it.

    Parameters
    ----------
    part : str
        Name on the workbench, and of the stage.
    image, truth : ndarray, shape (Z, Y, X)
        What to learn from.
    settings : AffinityTraining
        How.
    minutes : float
        Time, that of earlier runs included.
    checkpoint : Checkpoint
        Keeps the trainer's state every so often, and the network when it is done.
    seed : int
        Of weights, patches and dropout.
    device : str
        See `choose_device`.
    """
    finished = checkpoint.load(part)
    if finished is not None:
        return from_tensors(*finished).to(choose_device(device))
    trainer = AffinityTrainer(image, truth, settings, seed=seed, device=device)
    unfinished = f"{part}-unfinished"
    earlier = checkpoint.load(unfinished)
    if earlier is not None:
        trainer.resume(*earlier)
    kept = time.monotonic()
    for record in trainer.run(minutes=minutes):
        if time.monotonic() - kept > KEEP_SECONDS:
            checkpoint.keep(unfinished, *trainer.state())
            kept = time.monotonic()
        figures = {"loss": record.loss}
        if record.figures is not None:
            figures["auc"] = record.figures.auc
        yield TrainRecord(part, record.seconds / (60 * minutes), figures)
    net = trainer.result()
    checkpoint.keep(part, *to_tensors(net))
    checkpoint.drop(unfinished)
    return net


def cross_fitted_affinities(
    image: np.ndarray,
    truth: np.ndarray,
    bounds: list[slice],
    settings: AffinityTraining,
    minutes: float,
    checkpoint: Checkpoint,
    *,
    seed: int,
    device: str,
) -> Records[np.ndarray]:
    """Predict each of two slabs with a network that was trained on the other one, float32 (3, Z, Y, X)."""
    kept = checkpoint.load("affinities")
    if kept is not None:
        whole: np.ndarray = kept[0]["affinities"].numpy().astype(np.float32)
        return whole
    affinities = np.empty((3, *image.shape), dtype=np.float16)
    for index, part in enumerate(bounds):
        other = bounds[1 - index]
        records = fit_affinity(
            f"affinity network {index + 1} of 3", image[other], truth[other], settings, minutes / 2,
            checkpoint, seed=seed, device=device,
        )  # fmt: skip
        net = yield from within(records, index / 2, (index + 1) / 2)
        begin = max(0, part.start - net.halo_zyx[0])
        around = slice(begin, part.stop + net.halo_zyx[0])
        found = predict_averaged(net, image[around], AVERAGED_SYMMETRIES)
        affinities[:, part] = found[:, part.start - begin : part.stop - begin]
    # Half precision before and after an interruption, so that both go on from the same numbers.
    checkpoint.keep("affinities", {"affinities": torch.from_numpy(affinities)}, {})
    return affinities.astype(np.float32)
