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

LossName = Literal["difference", "log", "linear"]


def log_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Weighted log loss, -|y| [1{y > 0} log a + 1{y < 0} log(1 - a)], one number per row.

    Parameters
    ----------
    logits : Tensor, shape (n,)
        Energies before the sigmoid.
    y : Tensor, shape (n,)
        Signed weights, above 0 for a bad state.
    """
    is_bad = (y > 0).to(logits.dtype)
    loss: Tensor = y.abs() * functional.binary_cross_entropy_with_logits(logits, is_bad, reduction="none")
    return loss


def linear_loss(logits: Tensor, y: Tensor) -> Tensor:
    """Signed linear loss, -y a, one number per row: how the energies enter the scores.

    Parameters
    ----------
    logits : Tensor, shape (n,)
        Energies before the sigmoid.
    y : Tensor, shape (n,)
        Signed weights, above 0 for a bad state.
    """
    return -y * torch.sigmoid(logits)


Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Logits before a merge, logits after it, and `y`: one number."""


def _both(loss: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """Let the energy afterwards follow `y`, and the energy before its opposite."""
    return lambda before, after, y: (loss(after, y) + loss(before, -y)).mean()


def difference_loss(before: Tensor, after: Tensor, y: Tensor) -> Tensor:
    """Mean weighted log loss of the difference of both logits.

    The paper's losses want two energies right by themselves, though the energy before a merge is the same for
    the right and the wrong merges of a place. Only how it changes can tell them apart.

    Parameters
    ----------
    before, after : Tensor, shape (n,)
        Logits of the energy before and after each merge.
    y : Tensor, shape (n,)
        Signed weights, above 0 for a wrong merge.
    """
    return log_loss(after - before, y).mean()


LOSSES: dict[LossName, Loss] = {
    "difference": difference_loss,
    "log": _both(log_loss),
    "linear": _both(linear_loss),
}
