"""A logistic regression whose coefficients have known signs: few numbers, and none that fools itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize


def fit_logistic(
    rows: np.ndarray, is_one: np.ndarray, weights: np.ndarray, signs: Sequence[int], ridge: float = 0.0
) -> tuple[np.ndarray, float]:
    """Fit the log-odds of a class as a weighted sum.

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

    Returns
    -------
    coefficients : ndarray of float64, shape (F,)
    constant : float
        Log-odds where all features are 0.
    """
    sign = np.where(is_one, -1.0, 1.0)
    share = weights / weights.sum()

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients = parameters[:-1]
        margin = sign * (rows @ coefficients + parameters[-1])
        slope = share * sign / (1.0 + np.exp(-np.clip(margin, -500, 500)))
        value = share @ np.logaddexp(0.0, margin) + ridge * coefficients @ coefficients
        return float(value), np.append(slope @ rows + 2 * ridge * coefficients, slope.sum())

    bounds = [(0.0 if one > 0 else None, 0.0 if one < 0 else None) for one in signs]
    begin = np.append(np.asarray(signs, dtype=np.float64), 0.0)
    found = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)])
    return found.x[:-1], float(found.x[-1])
