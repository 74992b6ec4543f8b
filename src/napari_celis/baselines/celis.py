"""CELIS itself as one line of the comparison."""

from __future__ import annotations

import numpy as np

from napari_celis.baselines.problem import Problem
from napari_celis.baselines.sweep import Hierarchy
from napari_celis.models.apply import agglomerator_of
from napari_celis.models.checkpoint import CelisModel

HIGHEST_SCORE = 256.0
"""The run goes on up to this score, well beyond any sensible threshold, for the sake of the curve."""


class CelisEnergy:
    """Greedy by the sum of energy changes; the threshold is the one that training chose."""

    tuned_on = "model"

    def __init__(self, model: CelisModel) -> None:
        self.model = model

    def fit(self, train: Problem) -> float | None:
        """Learn nothing here: the model was trained before."""
        return self.model.threshold

    def sweep(self, problem: Problem) -> Hierarchy:
        """Agglomerate greedily and keep every step."""
        with agglomerator_of(self.model, problem.supervoxels, problem.affinities) as agglomerator:
            steps = list(agglomerator.steps(HIGHEST_SCORE))
        return Hierarchy(
            problem,
            np.array([step.action_index for step in steps], dtype=np.int64),
            np.array([step.score for step in steps]),
        )
