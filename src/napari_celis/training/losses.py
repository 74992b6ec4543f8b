"""Losses of the energy model, with the sign that makes a bad merge raise the energy.

The paper writes both as things to maximise; here they are minimised. `y` is the change of the segmentation
error that a merge brings: above 0 is a bad merge, whose descriptor afterwards must get a high energy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

LossName = Literal["log", "linear"]


def log_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Weighted log loss, -|y| [1{y > 0} log a + 1{y < 0} log(1 - a)], one number per row."""
    is_bad = (y > 0).to(logits.dtype)
    loss: Tensor = y.abs() * functional.binary_cross_entropy_with_logits(logits, is_bad, reduction="none")
    return loss


def linear_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Signed linear loss, -y a, one number per row: how the energies enter the scores."""
    return -y * torch.sigmoid(logits)


LOSSES: dict[LossName, Callable[[Tensor, Tensor], Tensor]] = {"log": log_loss, "linear": linear_loss}


def merge_loss(loss: Callable[[Tensor, Tensor], Tensor], before: Tensor, after: Tensor, y: Tensor) -> Tensor:
    """Mean loss of merges: the energy afterwards should follow `y`, the energy before its opposite."""
    return (loss(after, y) + loss(before, -y)).mean()
