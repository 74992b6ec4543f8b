"""What a forest sees of a contact: the affinities across it, those inside both segments, and sizes."""

from __future__ import annotations

import numpy as np

from napari_celis.baselines.contacts import BIN_EDGES, COUNT, HISTOGRAM, SQUARES, SUM
from napari_celis.baselines.contraction import Contraction

QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def edge_features(state: Contraction, rows: np.ndarray) -> np.ndarray:
    """Describe some contacts of the current segments.

    Parameters
    ----------
    state : Contraction
        Segments and contacts with their sums.
    rows : ndarray of int, shape (n,)
        Contacts.

    Returns
    -------
    features : ndarray of float32, shape (n, F)
        Of the contact: area, moments, extremes, quantiles, histogram. Of the smaller and the larger segment:
        size, share of its surface that the contact takes, moments and quantiles of its inside. Then how
        contact and insides differ. The order of the two ends does not matter.
    """
    small, large = _by_size(state, state.ends[rows])
    contact = state.contact[rows]
    sums = np.concatenate([contact, state.inside[small], state.inside[large]])
    summary = _summaries(sums).reshape(3, len(rows), -1)
    shares = sums[:, HISTOGRAM] / np.maximum(sums[:, COUNT], 1)[:, None]
    histogram, inside_small, inside_large = shares.reshape(3, len(rows), -1)
    area = contact[:, COUNT]
    scalars = [
        np.log(area),
        state.low[rows],
        state.high[rows],
        np.log(state.size[small]),
        np.log(state.size[large]),
        area / state.surface[small],
        area / state.surface[large],
        area / state.size[small] ** (2 / 3),
        _divergence(inside_small, inside_large),
    ]
    differences = [summary[1] - summary[0], summary[2] - summary[0], np.abs(summary[1] - summary[2])]
    return np.concatenate(
        [np.stack(scalars, axis=1), histogram, *summary, *differences], axis=1, dtype=np.float32
    )


def _by_size(state: Contraction, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort the two ends of every contact, the smaller segment first; equal ones by their index."""
    u, v = np.sort(ends, axis=1).T
    is_sorted = state.size[u] <= state.size[v]
    return np.where(is_sorted, u, v), np.where(is_sorted, v, u)


def _summaries(sums: np.ndarray) -> np.ndarray:
    """Turn rows of sums into mean, standard deviation and quantiles; zeros where nothing was counted."""
    count = np.maximum(sums[:, COUNT], 1)
    mean = sums[:, SUM] / count
    deviation = np.sqrt(np.maximum(sums[:, SQUARES] / count - mean**2, 0))
    return np.concatenate([np.stack([mean, deviation], axis=1), _quantiles(sums[:, HISTOGRAM])], axis=1)


def _quantiles(histogram: np.ndarray) -> np.ndarray:
    """Read quantiles off histograms, along straight lines inside the bins."""
    cumulative = np.cumsum(histogram, axis=1)
    wanted = QUANTILES * cumulative[:, -1:]
    bins = (cumulative[:, None, :] < wanted[:, :, None]).sum(axis=2)
    bins = np.minimum(bins, histogram.shape[1] - 1)
    inside = np.take_along_axis(histogram, bins, axis=1)
    before = np.take_along_axis(cumulative, bins, axis=1) - inside
    share = (wanted - before) / np.maximum(inside, 1)
    quantiles: np.ndarray = BIN_EDGES[bins] + share * np.diff(BIN_EDGES)[bins]
    return quantiles


def _divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Jensen–Shannon divergence of two histograms, in bits."""
    middle = (p + q) / 2
    terms = [
        np.where(part > 0, part * np.log2(np.where(part > 0, part, 1) / np.where(middle > 0, middle, 1)), 0)
        for part in (p, q)
    ]
    divergence: np.ndarray = (terms[0] + terms[1]).sum(axis=1) / 2
    return divergence
