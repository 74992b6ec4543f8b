"""How well contacts of supervoxels are told: a merge of large bodies moves VI by 0.1 bits, but not these.

Each contact of the first state counts by the root of what its merge changes, as in training.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from napari_celis.baselines.problem import Problem
from napari_celis.evaluation.overlaps import overlap
from napari_celis.models.model_file import CelisModel
from napari_celis.pipeline.agglomeration import agglomerator_of
from napari_celis.training.energy import weighted_auc

POWER, N_BINS = 0.5, 10


def changes(problem: Problem) -> np.ndarray:
    """What every merge does to the error: its sign, and the root of its size; 0 where nobody knows."""
    found = overlap(problem.supervoxels, problem.known_truth())
    change = found.changes(problem.actions.u, problem.actions.v)
    weighted: np.ndarray = np.sign(change) * np.abs(change) ** POWER
    return weighted


def mean_affinity_odds(problem: Problem) -> np.ndarray:
    """Log-odds of every contact's mean affinity; higher speaks against a merge."""
    mean = problem.affinity_sums().mean_affinity(np.arange(len(problem.actions)))
    clipped = np.clip(mean, 1e-4, 1 - 1e-4)
    odds: np.ndarray = np.log((1 - clipped) / clipped)
    return odds


def learned_odds(model: CelisModel, problem: Problem) -> np.ndarray:
    """Log-odds that every merge is wrong, as the learned policy has them."""
    with agglomerator_of(
        model, problem.supervoxels, problem.affinities, actions=problem.actions, policy="learned"
    ) as agglomerator:
        return agglomerator.scores()


def fit_line(odds: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Find slope and constant that make odds of anything that grows with them."""

    def loss(parameters: np.ndarray) -> float:
        return log_loss(parameters[0] * odds + parameters[1], y)

    line: np.ndarray = minimize(loss, [1.0, 0.0]).x
    return line


def log_loss(odds: np.ndarray, y: np.ndarray) -> float:
    """Mean logarithmic loss of log-odds that a merge is wrong, in nats."""
    return float(np.abs(y) @ np.logaddexp(0, -np.sign(y) * odds) / np.abs(y).sum())


def contact_figures(odds: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Area under the curve, log loss, and how far probabilities are off on average.

    Parameters
    ----------
    odds : ndarray, shape (A,)
        Log-odds that each merge is wrong.
    y : ndarray, shape (A,)
        From `changes`.
    """
    odds, y = odds[y != 0], y[y != 0]
    weight, wrong = np.abs(y) / np.abs(y).sum(), y > 0
    probability = 1 / (1 + np.exp(-odds))
    bins = np.minimum((probability * N_BINS).astype(int), N_BINS - 1)
    said, found = (np.bincount(bins, weight * values, N_BINS) for values in (probability, wrong))
    return {
        "auc": weighted_auc(odds, y),
        "log_loss": log_loss(odds, y),
        "calibration": float(np.abs(said - found).sum()),
    }
