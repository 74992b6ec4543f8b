"""Train one local energy network."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from napari_celis.core.descriptors import unpack_bits
from napari_celis.core.errors import TrainingError
from napari_celis.models.device import explained_memory
from napari_celis.models.energy import EnergyNetwork
from napari_celis.models.features import CentreFeatures
from napari_celis.training.examples import Examples
from napari_celis.training.losses import LOSSES, LossName


@dataclass(frozen=True)
class EnergyTraining:
    """How an energy network is trained."""

    loss: LossName = "difference"
    batch: int = 2048
    """Examples per step; each gives two rows, before and after."""
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    max_epochs: int = 30
    patience: int = 3
    """Epochs without a better validation loss before it stops."""
    seed: int = 0


@dataclass(frozen=True)
class EnergyRecord:
    """One epoch."""

    spec_name: str
    epoch: int
    loss: float
    validation_loss: float
    validation_auc: float
    """How well the energy change of single centres tells false merges from true ones."""


def train_energy(
    spec_name: str,
    network: EnergyNetwork,
    fit: Examples,
    fit_features: CentreFeatures,
    held_out: Examples,
    held_out_features: CentreFeatures,
    settings: EnergyTraining,
    device: torch.device | str = "cpu",
    *,
    keep_best: bool = True,
) -> Iterator[EnergyRecord]:
    """Train until the held-out examples get no better; the network ends with its best or its last weights.

    Parameters
    ----------
    network : EnergyNetwork
        Trained in place.
    fit, held_out : Examples
        From different places: the held-out ones decide when to stop.
    fit_features, held_out_features : CentreFeatures
        Image features of all centres of the tilings that the examples point into.
    keep_best : bool
        Whether the held-out examples decide which weights are kept; otherwise the last ones are.

    Yields
    ------
    record : EnergyRecord
        One per epoch.
    """
    device = torch.device(device)
    network.to(device)
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )
    loss = LOSSES[settings.loss]
    best, best_loss, waited = copy.deepcopy(network.state_dict()), float("inf"), 0
    for epoch in range(settings.max_epochs):
        network.train()
        losses = []
        order = rng.permutation(len(fit))
        for chosen in np.array_split(order, max(1, len(order) // settings.batch)):
            with explained_memory(device, "Use the preset `fast`, or the CPU with --device cpu."):
                before, after, y = _logits(network, fit, fit_features, chosen, device)
                value = loss(before, after, y)
                optimiser.zero_grad(set_to_none=True)
                value.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            losses.append(float(value.detach()))
            if not math.isfinite(losses[-1]):
                raise TrainingError(
                    f"The loss of the energy model `{spec_name}` became {losses[-1]}. Try another --seed."
                )
        validation, auc = _validate(network, held_out, held_out_features, settings, device)
        if validation < best_loss:
            best, best_loss, waited = copy.deepcopy(network.state_dict()), validation, 0
        else:
            waited += 1
        yield EnergyRecord(spec_name, epoch, float(np.mean(losses)), validation, auc)
        if waited >= settings.patience:
            break
    if keep_best:
        network.load_state_dict(best)
    network.eval()


def _logits(
    network: EnergyNetwork,
    examples: Examples,
    features: CentreFeatures,
    chosen: np.ndarray,
    device: torch.device,
) -> tuple[Tensor, Tensor, Tensor]:
    """Evaluate chosen examples before and after their merge; also their signed weights."""
    n_bits = network.settings.n_bits
    rows = np.concatenate([examples.before[chosen], examples.after[chosen]])
    bits = torch.from_numpy(unpack_bits(rows, n_bits).astype(np.float32)).to(device)
    own = features.at(examples.centres[chosen])
    layout = torch.from_numpy(own.layout.astype(np.float32)).to(device)
    evidence = torch.from_numpy(own.evidence).to(device).float() / 255
    logits = network(bits, layout.repeat(2, 1), evidence.repeat(2, 1))
    return *logits.split(len(chosen)), torch.from_numpy(examples.y[chosen]).to(device)


@torch.no_grad()
def _validate(
    network: EnergyNetwork,
    examples: Examples,
    features: CentreFeatures,
    settings: EnergyTraining,
    device: torch.device,
) -> tuple[float, float]:
    """Loss and area under the curve on the held-out examples."""
    network.eval()
    losses, changes = [], []
    everything = np.arange(len(examples))
    for chosen in np.array_split(everything, max(1, len(everything) // settings.batch)):
        before, after, y = _logits(network, examples, features, chosen, device)
        losses.append(len(chosen) * float(LOSSES[settings.loss](before, after, y)))
        changes.append((torch.sigmoid(after) - torch.sigmoid(before)).cpu().numpy())
    return sum(losses) / len(examples), weighted_auc(np.concatenate(changes), examples.y)


def weighted_auc(score: np.ndarray, y: np.ndarray) -> float:
    """Chance that a false merge (y > 0) scores higher than a true one, both drawn by weight.

    Parameters
    ----------
    score : ndarray, shape (n,)
        Score of each merge.
    y : ndarray, shape (n,)
        Signed weight of each merge, above 0 for a false one.
    """
    order = np.argsort(score, kind="stable")
    weight, is_false, score = np.abs(y[order]).astype(np.float64), y[order] > 0, score[order]
    group = np.cumsum(np.concatenate([[0], score[1:] != score[:-1]]))
    true = np.bincount(group, weights=weight * ~is_false)
    false = np.bincount(group, weights=weight * is_false)
    below = np.cumsum(true) - true
    total = true.sum() * false.sum()
    return float((false * (below + 0.5 * true)).sum() / total) if total else float("nan")
