"""Multicut of the probabilities of a random forest, solved by the optional library bioimage-cpp."""

from __future__ import annotations

import numpy as np

from napari_celis.baselines.forest import ForestAgglomeration, ForestScorer
from napari_celis.baselines.judge import Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.sweep import ThresholdGrid, tune

THRESHOLDS = np.array(
    [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9]
)
LEAST = 0.001
"""Probabilities nearer to 0 or 1 than this are taken for this; their logarithms would swamp the sum."""


class ForestMulticut:
    """Join where the forest's probability of a wrong merge is below the threshold, consistently.

    Every contact of two supervoxels is for or against joining them by the difference of the log-odds of its
    score and of the threshold; the partition with the lowest sum of violated contacts is sought.
    """

    tuned_on = "train"

    def __init__(self, forest: ForestAgglomeration) -> None:
        self._forest = forest

    def fit(self, train: Problem) -> float | None:
        """Use the forests of the agglomeration, and tune on the parts that each has not seen."""
        held_out = self._forest.cross_fit(train).held_out
        return tune([(_sweep(slab, scorer), Judge(slab.known_truth())) for slab, scorer in held_out])

    def sweep(self, problem: Problem) -> ThresholdGrid:
        """Solve one multicut per threshold."""
        return _sweep(problem, self._forest.scorer)


def _sweep(problem: Problem, scorer: ForestScorer) -> ThresholdGrid:
    """Score all contacts once."""
    odds = _log_odds(scorer.scores(problem.affinity_sums(), np.arange(len(problem.actions))))

    def make(threshold: float) -> np.ndarray:
        segments = partition(problem, _log_odds(np.array(threshold)) - odds)
        labels: np.ndarray = segments[problem.supervoxels.dense]
        return labels

    return ThresholdGrid(THRESHOLDS, make)


def _log_odds(probability: np.ndarray) -> np.ndarray:
    """Return log(p / (1 − p)), bounded."""
    clipped = np.clip(probability, LEAST, 1 - LEAST)
    odds: np.ndarray = np.log(clipped) - np.log1p(-clipped)
    return odds


def partition(problem: Problem, gains: np.ndarray) -> np.ndarray:
    """Solve a multicut: greedy additive contraction, then Kernighan–Lin.

    Parameters
    ----------
    problem : Problem
        Supervoxels and actions.
    gains : ndarray of float, shape (A,)
        What joining the two ends of each action is worth; negative where they had better stay apart.

    Returns
    -------
    segments : ndarray of int32, shape (N + 1,)
        Segment of every supervoxel; background keeps 0.
    """
    from bioimage_cpp import graph
    from bioimage_cpp.graph import multicut

    edges = np.stack([problem.actions.u, problem.actions.v], axis=1).astype(np.uint64)
    nodes = graph.UndirectedGraph.from_unique_edges(problem.supervoxels.n + 1, edges)
    solver = multicut.ChainedMulticutSolvers(
        [multicut.GreedyAdditiveMulticut(), multicut.KernighanLinMulticut()]
    )
    found = np.asarray(solver.optimize(multicut.MulticutObjective(nodes, gains.astype(np.float64))))
    segments: np.ndarray = np.unique(found[1:], return_inverse=True)[1].astype(np.int32) + 1
    return np.concatenate([np.zeros(1, dtype=np.int32), segments])
