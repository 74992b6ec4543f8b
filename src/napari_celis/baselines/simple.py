"""Methods that learn nothing: no merging, mean affinity, and the oracle that sees the truth."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from napari_celis.baselines.judge import Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.sweep import Hierarchy, Sweep, agglomerate, tune
from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.evaluation.expert import expert_steps
from napari_celis.evaluation.overlaps import overlap


class Method(Protocol):
    """One line of the comparison."""

    @property
    def tuned_on(self) -> str | None:
        """What decided the threshold: `train`, `model` for one that came with it, `test`, or None."""

    def fit(self, train: Problem) -> float | None:
        """Learn what there is to learn, and return the threshold; only this volume may decide it."""

    def sweep(self, problem: Problem) -> Sweep:
        """Agglomerate a volume, for all thresholds at once."""


class NoMerging:
    """The supervoxels as they are."""

    tuned_on = None

    def fit(self, train: Problem) -> float | None:
        """Nothing to decide."""
        return None

    def sweep(self, problem: Problem) -> Hierarchy:
        """Take no action."""
        return Hierarchy(problem, np.empty(0, dtype=np.int64), np.empty(0))


class MeanAffinity:
    """Merge across the contact with the highest mean affinity; the score is 1 minus that mean."""

    tuned_on = "train"
    needs_segments = False

    def fit(self, train: Problem) -> float | None:
        """Tune the threshold."""
        return tune([(self.sweep(train), Judge(train.known_truth()))])

    def sweep(self, problem: Problem) -> Hierarchy:
        """Agglomerate until nothing touches."""
        return agglomerate(problem, self)

    def scores(self, sums: AffinitySums, contacts: np.ndarray) -> np.ndarray:
        """Return 1 minus the mean affinity over all faces between two segments.

        Parameters
        ----------
        sums : AffinitySums
            Affinities of contacts and segments.
        contacts : ndarray of int, shape (n,)
            Which contacts to score.
        """
        return 1.0 - sums.mean_affinity(contacts)


class Oracle:
    """Greedy on the VI against the truth of the volume itself: the best these supervoxels allow greedily."""

    tuned_on = "test"

    def fit(self, train: Problem) -> float | None:
        """Merge whatever lowers the VI."""
        return 0.0

    def sweep(self, problem: Problem) -> Hierarchy:
        """Follow the expert; scores are changes of the VI in bits."""
        overlaps = overlap(problem.supervoxels, problem.known_truth())
        steps = list(expert_steps(problem.graph(), overlaps))
        return Hierarchy(
            problem,
            np.array([step.action_index for step in steps], dtype=np.int64),
            np.array([step.change for step in steps], dtype=np.float64),
        )
