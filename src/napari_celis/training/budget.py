"""Budgets of processor time, turned into amounts of work before the work begins.

The cost of a unit of work is measured once and kept with the training. A busy computer then makes a training
slower and not worse, and an interrupted one does exactly what it would have done.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from napari_celis.training.checkpoint import Checkpoint

SMALLEST_COST = 1e-6
"""Seconds; clocks are coarse."""


def processor_seconds(device: torch.device) -> float:
    """Processor time of this process so far, per thread that torch uses; on a GPU the time of the clock."""
    if device.type != "cpu":
        return time.perf_counter()
    return time.process_time() / torch.get_num_threads()


def kept_cost(checkpoint: Checkpoint, part: str, measure: Callable[[], float]) -> float:
    """Return what a unit of work costs in seconds: as it was kept, or else measured and kept.

    Parameters
    ----------
    checkpoint : Checkpoint
        Keeps it.
    part : str
        Name there.
    measure : callable
        Measures it.
    """
    kept = checkpoint.load(part)
    if kept is not None:
        return float(kept[1]["seconds"])
    seconds = max(SMALLEST_COST, measure())
    checkpoint.keep(part, {}, {"seconds": seconds})
    return seconds


def affordable(seconds: float, cost: float, most: int | None = None) -> int:
    """Count the units of work that fit into a time: one at least, `most` at most.

    Parameters
    ----------
    seconds : float
        The time there is.
    cost : float
        Seconds per unit of work.
    most : int, optional
        Never more than this.
    """
    n = max(1, int(seconds / cost))
    return n if most is None else min(n, most)
