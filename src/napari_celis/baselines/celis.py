"""CELIS itself as lines of the comparison."""

from __future__ import annotations

import numpy as np

from napari_celis.baselines.problem import Problem
from napari_celis.baselines.sweep import Hierarchy
from napari_celis.models.model_file import CelisModel, PolicyName
from napari_celis.pipeline.agglomeration import agglomerator_of

HIGHEST_SCORE: dict[PolicyName, float] = {"energy": 256.0, "learned": 6.0}
"""Runs go on up to these scores, well beyond any sensible threshold, for the sake of the curve."""


class Celis:
    """Greedy by one of the policies of a model; the threshold is the one that training chose.

    Parameters
    ----------
    model : CelisModel
        A trained model.
    policy : PolicyName
        What orders its merges.
    """

    tuned_on = "model"

    def __init__(self, model: CelisModel, policy: PolicyName) -> None:
        self.model, self.policy = model, policy

    def fit(self, train: Problem) -> float | None:
        """Learn nothing here: the model was trained before."""
        return self.model.thresholds[self.policy]

    def sweep(self, problem: Problem) -> Hierarchy:
        """Agglomerate greedily and keep every step."""
        with agglomerator_of(
            self.model,
            problem.supervoxels,
            problem.affinities,
            actions=problem.actions,
            policy=self.policy,
        ) as agglomerator:
            steps = list(agglomerator.steps(HIGHEST_SCORE[self.policy]))
        return Hierarchy(
            problem,
            np.array([step.action_index for step in steps], dtype=np.int64),
            np.array([step.score for step in steps]),
        )
