"""Watershed alone: how far the affinities get without any agglomeration of given supervoxels."""

from __future__ import annotations

import numpy as np

from napari_celis.baselines.judge import Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.sweep import ThresholdGrid, tune
from napari_celis.core.watershed import WatershedSettings, watershed

THRESHOLDS = np.array([0.0003, 0.001, 0.003, 0.006, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.4, 0.5])
"""1 − T_h: voxels joined by an affinity of at least T_h are never separated."""


class WatershedAlone:
    """The watershed of the same affinities, its own basins instead of the given supervoxels.

    T_h is swept. T_l is 0, so that every voxel belongs to a segment; T_e and T_s are those of the paper.
    """

    tuned_on = "train"

    def __init__(self, settings: WatershedSettings | None = None) -> None:
        self._settings = settings or WatershedSettings(low=0.0)

    def fit(self, train: Problem) -> float | None:
        """Choose T_h."""
        return tune([(self.sweep(train), Judge(train.known_truth()))])

    def sweep(self, problem: Problem) -> ThresholdGrid:
        """Cut the volume again for every threshold."""

        def make(threshold: float) -> np.ndarray:
            settings = self._settings
            return watershed(
                problem.affinities,
                WatershedSettings(settings.low, 1.0 - threshold, settings.merge, settings.size),
            )

        return ThresholdGrid(THRESHOLDS, make)
