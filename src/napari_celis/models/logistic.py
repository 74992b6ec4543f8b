"""A logistic regression whose coefficients have known signs: few numbers, and none that fools itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize


class Prior(NamedTuple):
    """What is believed before any row was seen; rows have to speak against it."""

    coefficients: np.ndarray
    """Shape (F,)."""
    constant: float
    constant_ridge: float
    """Penalty on the squared difference from the constant."""


def fit_logistic(
    rows: np.ndarray,
    is_one: np.ndarray,
    weights: np.ndarray,
    signs: Sequence[int],
    ridge: float = 0.0,
    prior: Prior | None = None,
) -> tuple[np.ndarray, float]:
    """Fit the log-odds of a class as a weighted sum; the same to the bit, whatever the number of threads.

    Parameters
    ----------
    rows : ndarray of float, shape (n, F)
        Features of about the same spread.
    is_one : ndarray of bool, shape (n,)
        Which rows belong to the class.
    weights : ndarray of float, shape (n,)
        What each row counts.
    signs : sequence of int, length F
        1 or -1 for a coefficient that may only be positive or negative, 0 for one that may be anything.
    ridge : float
        Penalty on squared coefficients, against the weighted mean of the log loss.
    prior : Prior, optional
        Where the penalty is 0; by default where all coefficients are, and the constant is free.

    Returns
    -------
    coefficients : ndarray of float64, shape (F,)
    constant : float
        Log-odds where all features are 0.
    """
    sign = np.where(is_one, -1.0, 1.0)
    share = weights / weights.sum()
    middle = np.zeros(len(signs) + 1) if prior is None else np.append(prior.coefficients, prior.constant)
    penalty = np.append(np.full(len(signs), ridge), 0.0 if prior is None else prior.constant_ridge)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        # Products of matrices would add up in another order with another number of threads.
        margin = sign * (np.einsum("ij,j->i", rows, parameters[:-1]) + parameters[-1])
        slope = share * sign / (1.0 + np.exp(-np.clip(margin, -500, 500)))
        away = parameters - middle
        value = np.sum(share * np.logaddexp(0.0, margin)) + np.sum(penalty * away**2)
        return float(value), np.append(np.einsum("i,ij->j", slope, rows), slope.sum()) + 2 * penalty * away

    bounds = [(0.0 if one > 0 else None, 0.0 if one < 0 else None) for one in signs]
    begin = np.append(signs, 0.0) if prior is None else middle
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)])
    return found.x[:-1], float(found.x[-1])
