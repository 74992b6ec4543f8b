"""Refit the last stage of a policy: from the model's own examples and the answers of a person.

The stage is a logistic regression over what the sum sees and what the forest says. The forest stays as it
is; how much it counts is learned too, so that a forest of another kind of data is heard less. The model's
examples count as much as a fixed number of answers, so few answers matter, and many decide.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from napari_celis.core.contact_features import DECISIVE, QUANTILES
from napari_celis.core.lessons import Lesson
from napari_celis.core.questions import SLIPS
from napari_celis.models.examples import PolicyRows
from napari_celis.models.logistic import Prior, fit_logistic
from napari_celis.models.policy import PolicyClassifier
from napari_celis.models.trees import FlatForest

PRIOR_ANSWERS = 100.0
"""Answers that all examples of the model together count as much as."""
RIDGE, CONSTANT_RIDGE = 1.0, 0.1
"""Penalties for leaving what the model said, in answers: they decide where there are no examples."""
START_WEIGHT = -2.0
"""Log-odds per standard deviation of the mean affinity, where nothing was ever learned."""


class Refit:
    """Learns from answers by what a model knew before.

    Parameters
    ----------
    classifier : PolicyClassifier
        Of the model.
    examples : PolicyRows, optional
        What it was fitted to; without them, the classifier alone says what was known.
    """

    def __init__(self, classifier: PolicyClassifier, examples: PolicyRows | None = None) -> None:
        self._classifier, self.examples = classifier, examples
        n_energies = classifier.n_features - len(DECISIVE)
        self._signs = [*(feature.sign for feature in DECISIVE), *([1] * n_energies), 1]
        of_sum, of_forest = classifier.shares
        coefficients = np.append(of_sum * classifier.weights, of_forest)
        self._prior = coefficients, float(of_sum * classifier.constant[0])
        self._rows, self._is_wrong, self._weights = (
            np.empty((0, len(self._signs))),
            np.empty(0, bool),
            np.empty(0),
        )
        if examples is not None:
            weights = examples.weights.astype(np.float64)
            self._rows = self._columns(examples.features, examples.odds.astype(np.float64))
            self._is_wrong, self._weights = examples.is_wrong, PRIOR_ANSWERS * weights / weights.sum()

    def classifier(self, lessons: tuple[Lesson, ...]) -> PolicyClassifier:
        """Learn from answers; without any, the classifier is that of the model."""
        if not lessons:
            return self._classifier
        features, odds, is_wrong = self._answers(lessons)
        weights = np.concatenate([self._weights, self._trust(features, odds, is_wrong)])
        coefficients, constant = fit_logistic(
            np.concatenate([self._rows, self._columns(features, odds)]),
            np.concatenate([self._is_wrong, is_wrong]),
            weights,
            self._signs,
            RIDGE / weights.sum(),
            Prior(*self._prior, CONSTANT_RIDGE / weights.sum()),
        )
        return replace(
            self._classifier,
            weights=coefficients[:-1],
            constant=np.array([constant]),
            shares=np.array([1.0, coefficients[-1]]),
        )

    def examples_with(self, lessons: tuple[Lesson, ...]) -> PolicyRows | None:
        """Return the model's examples and the answers, for a model that goes on from here."""
        if not lessons:
            return self.examples
        features, odds, is_wrong = self._answers(lessons)
        weights = self._trust(features, odds, is_wrong)
        if self.examples is None:
            return PolicyRows.of(features, odds, is_wrong, weights)
        own = self.examples
        return PolicyRows.of(
            np.concatenate([own.features.astype(np.float64), features]),
            np.concatenate([own.odds.astype(np.float64), odds]),
            np.concatenate([own.is_wrong, is_wrong]),
            np.concatenate([self._weights, weights]),
        )

    def _answers(self, lessons: tuple[Lesson, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Put answers into arrays; of those about the very same contact only the newest counts."""
        newest = {(one.features.tobytes(), one.contact.tobytes()): one for one in lessons}
        features = np.stack([one.features for one in newest.values()])
        said = self._classifier.contact_odds(np.stack([one.contact for one in newest.values()]))
        odds = self._classifier.forest_odds(features, said)
        return features, odds, np.array([one.is_wrong for one in newest.values()])

    def _trust(self, features: np.ndarray, odds: np.ndarray, is_wrong: np.ndarray) -> np.ndarray:
        """Probability that each answer is no slip, given what the model said before, float64 (n,).

        One that the model finds incredible counts less.
        """
        coefficients, constant = self._prior
        # Summed row by row: a product of matrices would add up in another order in other company.
        score = (self._columns(features, odds) * coefficients).sum(axis=1) + constant
        expected = 1.0 / (1.0 + np.exp(np.clip(np.where(is_wrong, -score, score), -500, 500)))
        trust: np.ndarray = (1 - SLIPS) * expected / ((1 - SLIPS) * expected + SLIPS * (1 - expected))
        return trust

    def _columns(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return what the stage sees: features by their spread, then what the forest says, float64."""
        scaled = (features.astype(np.float64) - self._classifier.mean) / self._classifier.scale
        return np.concatenate([scaled, odds[:, None]], axis=1)


def start_classifier(n_specs: int) -> PolicyClassifier:
    """Make a classifier for a model that has none: only the mean affinity counts, until answers come.

    Parameters
    ----------
    n_specs : int
        Descriptor specs of the model, whose energies may count later.
    """
    n_affinities = 1 + len(QUANTILES)
    # Affinities are about 0 or about 1; contacts have some hundred faces, a tenth of a surface.
    mean = np.array([*[0.5] * n_affinities, 5.0, 0.1, *[0.0] * n_specs])
    scale = np.array([*[0.25] * n_affinities, 1.5, 0.1, *[1.0] * n_specs])
    weights = np.zeros(len(mean))
    weights[0] = START_WEIGHT
    undecided = FlatForest(
        np.zeros(1, np.int64), np.array([[-2, -1, -1]], np.int32), np.array([0.5], np.float32)
    )
    return PolicyClassifier(mean, scale, weights, np.zeros(1), undecided, np.array([1.0, 0.0]))
