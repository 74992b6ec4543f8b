"""What the affinity network minimises, and the figures that judge it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

N_NEIGHBOURS = 3
HISTOGRAM_BINS = 4096


def affinity_loss(
    logits: torch.Tensor,
    targets: torch.Tensor,
    known: torch.Tensor,
    *,
    balance: float = 1.0,
    long_range_weight: float = 0.5,
) -> torch.Tensor:
    """Cross-entropy over the known affinities, with both classes balanced inside every patch.

    Parameters
    ----------
    logits : Tensor of float, shape (N, C, Z, Y, X)
        What the network says.
    targets, known : Tensor of float, same shape
        0 or 1 each.
    balance : float
        1 gives both classes the same total weight, 0 gives every affinity the same weight, and values
        between are between.
    long_range_weight : float
        Weight of all channels after the three neighbours together.

    Returns
    -------
    loss : Tensor, shape ()
    """
    losses = functional.binary_cross_entropy_with_logits(logits, targets, reduction="none")
    losses = losses * class_weights(targets, known, balance)
    near = losses[:, :N_NEIGHBOURS].sum() / known[:, :N_NEIGHBOURS].sum().clamp(min=1)
    if logits.shape[1] == N_NEIGHBOURS or long_range_weight == 0:
        return near
    far = losses[:, N_NEIGHBOURS:].sum() / known[:, N_NEIGHBOURS:].sum().clamp(min=1)
    return near + long_range_weight * far


def class_weights(targets: torch.Tensor, known: torch.Tensor, balance: float) -> torch.Tensor:
    """Weigh each affinity by how rare its class is in its patch and channel; 0 where it is unknown.

    Parameters
    ----------
    targets : Tensor, shape (N, C, Z, Y, X)
        0 or 1 for each affinity.
    known : Tensor, shape (N, C, Z, Y, X)
        1 where the truth is known, otherwise 0.
    balance : float
        As in `affinity_loss`.
    """
    axes = (2, 3, 4)
    total = known.sum(axes, keepdim=True)
    ones = (targets * known).sum(axes, keepdim=True)
    # A class that a patch lacks gets no weight, so the other one keeps at most its half: no patch shouts.
    heavy = (total / (2 * ones).clamp(min=1)) ** balance
    light = (total / (2 * (total - ones)).clamp(min=1)) ** balance
    return known * torch.where(targets > 0, heavy, light)


@dataclass(frozen=True)
class AffinityFigures:
    """How well affinities to the three neighbours agree with the truth."""

    cross_entropy: float
    """Mean over all known affinities, in nats, unbalanced."""
    balanced_cross_entropy: float
    """Mean of the means of both classes."""
    auc: float
    """Probability that an affinity inside an object is higher than one across a boundary."""


def judge(probabilities: np.ndarray, targets: np.ndarray, known: np.ndarray) -> AffinityFigures:
    """Compare predicted affinities with the truth.

    Parameters
    ----------
    probabilities : ndarray of float, any shape
        Predicted affinities.
    targets, known : ndarray of bool, same shape
        From `affinity_targets`.

    Returns
    -------
    figures : AffinityFigures
        The AUC comes from a histogram with 4096 bins. Without one of the classes it is NaN.
    """
    chosen, is_one = probabilities[known].astype(np.float64), targets[known]
    clipped = np.clip(chosen, 1e-6, 1 - 1e-6)
    losses = -np.log(np.where(is_one, clipped, 1 - clipped))
    classes = [float(losses[is_one == value].mean()) for value in (True, False) if (is_one == value).any()]
    bins = np.minimum((chosen * HISTOGRAM_BINS).astype(np.int64), HISTOGRAM_BINS - 1)
    ones = np.bincount(bins[is_one], minlength=HISTOGRAM_BINS)
    zeros = np.bincount(bins[~is_one], minlength=HISTOGRAM_BINS)
    below = np.cumsum(zeros) - zeros
    pairs = float(ones.sum()) * float(zeros.sum())
    auc = float((ones * (below + 0.5 * zeros)).sum()) / pairs if pairs else float("nan")
    return AffinityFigures(float(losses.mean()), float(np.mean(classes)), auc)


def judge_several(parts: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> AffinityFigures:
    """Judge several volumes as one; each part is as in `judge`."""
    known = [(probabilities[is_known], targets[is_known]) for probabilities, targets, is_known in parts]
    probabilities, targets = (np.concatenate(column) for column in zip(*known, strict=True))
    return judge(probabilities, targets, np.ones(targets.shape, dtype=bool))
