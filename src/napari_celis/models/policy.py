"""The classifier of the learned policy: log-odds that a merge is wrong, from a weighted sum and a forest.

The sum knows few things and bends to none of them; the forest sees the whole contact and follows every
corner of the examples. They err in different places, so half of each is better than either. A policy that
learned where affinities are unsure has a second forest, which sees what the sum sees and what the first
forest says, and speaks for it. Answers of a person change the sum, and what the forest counts beside it; see
`napari_celis.models.refit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from napari_celis.core.errors import ModelError
from napari_celis.models.trees import FlatForest

LEAST_UNCERTAINTY = 0.01
"""Probability that is left where all trees agree: a forest of few examples is too sure of itself."""
LEAST_MOVE = 1e-9
"""Change of a probability below which nothing in particular has changed it."""
HALF_EACH = (0.5, 0.5)
"""What sum and forest count in the score, where nothing was learned from answers."""
FOREST_ALONE = (0.0, 1.0)
"""The same with a second forest, which has seen what the sum sees."""
ARRAYS = ("mean", "scale", "weights", "constant", "shares")
"""The fields that describe the sum, and how it goes together with the forest."""


@dataclass(frozen=True, eq=False)
class PolicyClassifier:
    """A logistic regression over features of actions, and a forest over those of their contacts."""

    mean: np.ndarray
    """Of every feature in training, (F,)."""
    scale: np.ndarray
    """Standard deviation of every feature in training, (F,)."""
    weights: np.ndarray
    """Log-odds per standard deviation, (F,)."""
    constant: np.ndarray
    """Log-odds at the mean, (1,)."""
    forest: FlatForest
    """Gives the probability that a merge is wrong."""
    shares: np.ndarray = field(default_factory=lambda: np.array(HALF_EACH))
    """What sum and forest count in the score, (2,)."""
    second: FlatForest | None = None
    """Gives that probability from the features of the sum and the log-odds of the first forest."""
    are_odds: ClassVar[bool] = True
    """Scores are log-odds that a merge is wrong."""

    def __post_init__(self) -> None:
        arrays = [getattr(self, name) for name in ARRAYS]
        n_features = len(self.mean)
        if any(array.shape != (n,) for array, n in zip(arrays, (*[n_features] * 3, 1, 2), strict=True)):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise ModelError(f"The arrays of the policy do not fit together: {shapes}.")
        if not all(np.isfinite(array).all() for array in arrays) or not (self.scale > 0).all():
            raise ModelError("The policy holds numbers that are not finite, or a feature without a scale.")
        if (self.shares < 0).any():
            raise ModelError("The policy lets its sum or its forest count less than nothing.")
        if self.second is not None and self.second.n_features > n_features + 1:
            raise ModelError("The second forest of the policy looks at more than there is to see.")

    @property
    def n_features(self) -> int:
        """Number of features that the sum looks at."""
        return len(self.mean)

    def contact_odds(self, contacts: np.ndarray) -> np.ndarray:
        """Return what the forest says: log-odds that a merge across each contact is wrong, float64 (m,)."""
        return _log_odds(self.forest.probabilities(contacts))

    def forest_odds(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return what counts beside the sum, float64 (n,): the odds, or what the second forest makes of them.

        Parameters
        ----------
        features : ndarray of float, shape (n, F)
            What the sum sees.
        odds : ndarray of float, shape (n,)
            From `contact_odds`.
        """
        if self.second is None:
            return odds
        return _log_odds(self.second.probabilities(np.column_stack([features, odds])))

    def parts(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Say what each feature adds to the score, and last the forest of the contact, float64 (n, F + 1).

        What is missing to the score holds for every merge. A second forest is a sum of what each of its
        questions changes, see `FlatForest.contributions`, in log-odds.
        """
        if self.second is None:
            return self._terms(features, odds)
        steps = self.second.contributions(np.column_stack([features, odds]))
        steps, before = steps[:, :-1], steps[:, -1]
        # From probabilities to log-odds along the line between both ends.
        moved = steps.sum(axis=1)
        moved_odds = _log_odds(before + moved) - _log_odds(before)
        slope = moved_odds / np.where(np.abs(moved) > LEAST_MOVE, moved, np.inf)
        parts: np.ndarray = self.shares[1] * slope[:, None] * steps
        parts[:, :-1] += self._summed(features)
        return parts

    def _terms(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """What the score is the sum of, but for the constant: each feature's share, and last the forest's."""
        return np.concatenate(
            [self._summed(features), self.shares[1] * self.forest_odds(features, odds)[:, None]], axis=1
        )

    def scores(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return the log-odds that each merge is wrong, float64 (n,)."""
        # Summed row by row, so that an action scores the same to the last bit in any company.
        scores: np.ndarray = self._terms(features, odds).sum(axis=1) + self.shares[0] * self.constant
        return scores

    def lowest_scores(self, low: np.ndarray, high: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return the lowest log-odds that features between two rows each can have, float64 (n,).

        Every operation of `scores` grows with its operands, rounding included: nothing between comes lower.
        """
        best = np.where(self.weights > 0, low, high)
        if self.second is None:
            return self.scores(best, odds)
        rows = (np.column_stack([bound, odds]) for bound in (low, high))
        lowest = self.shares[1] * _log_odds(self.second.lowest_probabilities(*rows))
        parts = np.concatenate([self._summed(best), lowest[:, None]], axis=1)
        scores: np.ndarray = parts.sum(axis=1) + self.shares[0] * self.constant
        return scores

    def _summed(self, features: np.ndarray) -> np.ndarray:
        """What each feature adds, float64 (n, F); exactly nothing where the sum does not count."""
        if not self.shares[0]:
            return np.zeros(features.shape)
        summed: np.ndarray = self.shares[0] * (
            (features.astype(np.float64) - self.mean) / self.scale * self.weights
        )
        return summed

    def to_tensors(self) -> dict[str, Tensor]:
        """Name the arrays for a model file."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        for name, forest in (("forest", self.forest), ("second", self.second)):
            if forest is not None:
                arrays |= {f"{name}.{one.name}": getattr(forest, one.name) for one in fields(FlatForest)}
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> PolicyClassifier:
        """Read back what `to_tensors` returned."""
        forest, second = (
            FlatForest(
                tensors[f"{name}.root"].long().numpy(),
                tensors[f"{name}.nodes"].int().numpy(),
                tensors[f"{name}.number"].float().numpy(),
            )
            if name == "forest" or f"{name}.root" in tensors
            else None
            for name in ("forest", "second")
        )
        assert forest is not None
        # Files from before answers were learned from have no shares.
        there = [name for name in ARRAYS if name in tensors or name != "shares"]
        return cls(**{name: tensors[name].double().numpy() for name in there}, forest=forest, second=second)


def _log_odds(wrong: np.ndarray) -> np.ndarray:
    """Log-odds of a probability that is never quite sure, float64 (n,)."""
    clipped = np.clip(wrong, LEAST_UNCERTAINTY, 1 - LEAST_UNCERTAINTY)
    odds: np.ndarray = np.log(clipped / (1 - clipped))
    return odds
