"""What each spec counts in the energy: the paper adds them up as they are, here the truth decides.

A descriptor with a large box sees a merge from far more centres than one with a small box. In a plain sum the
large boxes drown the small ones, though single centres of small boxes are surer of what they see.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_celis.models.logistic import fit_logistic

SMALLEST = 1e-6
"""Share of the largest that every spec keeps: the policy looks at each of them, whatever its scale."""
POWER = 0.5
"""Actions weigh |change of error| to this power."""


def fit_shares(sums: Sequence[np.ndarray], errors: Sequence[np.ndarray]) -> np.ndarray:
    """Weigh the specs so that the sum of their energy changes tells right from wrong merges best.

    Changes are divided by the square root of the number of centres, as the error of a sum grows: otherwise a
    few merges with large contacts decide alone.

    Parameters
    ----------
    sums : sequence of ndarray of float, shape (specs, A, 2)
        Energy change of every action by every spec, and the centres that see it, per volume, from networks
        that never saw the volume.
    errors : sequence of ndarray of float, shape (A,)
        Change of the variation of information of the same actions; 0 is unknown.

    Returns
    -------
    shares : ndarray of float64, shape (specs,)
        Above 0, 1 on average.
    """
    both, change = np.concatenate(sums, axis=1), np.concatenate(errors)
    rows = (both[:, :, 0] / np.sqrt(np.maximum(both[:, :, 1].sum(axis=0), 1.0))).T
    is_known = change != 0
    rows, is_wrong = rows[is_known], change[is_known] > 0
    weights = np.abs(change[is_known]) ** POWER
    scale = np.sqrt(weights @ rows**2 / weights.sum())
    scale[scale == 0] = 1.0
    rows = rows / scale
    n_specs = rows.shape[1]
    coefficients, _ = fit_logistic(rows, is_wrong, weights, [1] * n_specs)
    shares = coefficients / scale
    if not shares.sum() > 0:
        return np.ones(n_specs)
    shares = np.maximum(shares, SMALLEST * shares.max())
    normalised: np.ndarray = shares * n_specs / shares.sum()
    return normalised
