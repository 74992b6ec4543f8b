"""What a classifier sees of the contact of two segments: affinities across it and inside both, and sizes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from napari_celis.core.contacts import BIN_EDGES, COUNT, HISTOGRAM, N_BINS, SQUARES, SUM

QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
N_CONTACT_FEATURES = 9 + N_BINS + 6 * (2 + len(QUANTILES))
"""Columns of `contact_features`: scalars, histogram, three summaries and three differences of them."""


class Decisive(NamedTuple):
    """One feature that a policy sees of a contact."""

    name: str
    sign: int
    """-1 if more of it can only speak for a merge, 0 if nobody knows."""
    part: str
    """What it is called, together with others, where a score is explained."""


DECISIVE = (
    Decisive("mean affinity", -1, "affinity"),
    *(Decisive(f"{quantile:.0%} quantile of the affinities", -1, "affinity") for quantile in QUANTILES),
    Decisive("logarithm of the area", 0, "area"),
    Decisive("share of the smaller surface", -1, "enclosed"),
)
"""The columns of `decisive_features`."""


class ContactRows(NamedTuple):
    """Contacts between segments; of each pair the smaller segment comes first."""

    contact: np.ndarray
    """Sums over the faces of each contact, float64 (n, C)."""
    low: np.ndarray
    """Lowest affinity, float64 (n,)."""
    high: np.ndarray
    """Highest affinity, float64 (n,)."""
    size: np.ndarray
    """Voxels of both segments, float64 (2, n)."""
    surface: np.ndarray
    """Faces of both segments towards others, float64 (2, n)."""
    inside: np.ndarray
    """Sums over the faces inside both segments, float64 (2, n, C)."""


def smaller_first(size: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort the two ends of every contact, the smaller segment first; equal ones by their index."""
    u, v = np.sort(ends, axis=1).T
    is_sorted = size[u] <= size[v]
    return np.where(is_sorted, u, v), np.where(is_sorted, v, u)


def contact_features(rows: ContactRows) -> np.ndarray:
    """Describe contacts.

    Parameters
    ----------
    rows : ContactRows
        Sums of contacts and of the segments on both sides.

    Returns
    -------
    features : ndarray of float32, shape (n, F)
        Of the contact: area, moments, extremes, quantiles, histogram. Of the smaller and the larger segment:
        size, share of its surface that the contact takes, moments and quantiles of its inside. Then how
        contact and insides differ.
    """
    sums = np.concatenate([rows.contact, *rows.inside])
    summary = np.split(_summaries(sums), 3)
    shares = sums[:, HISTOGRAM] / np.maximum(sums[:, COUNT], 1)[:, None]
    histogram, inside_small, inside_large = np.split(shares, 3)
    area = rows.contact[:, COUNT]
    scalars = [
        np.log(area),
        rows.low,
        rows.high,
        np.log(rows.size[0]),
        np.log(rows.size[1]),
        area / rows.surface[0],
        area / rows.surface[1],
        area / rows.size[0] ** (2 / 3),
        _divergence(inside_small, inside_large),
    ]
    differences = [summary[1] - summary[0], summary[2] - summary[0], np.abs(summary[1] - summary[2])]
    return np.concatenate(
        [np.stack(scalars, axis=1), histogram, *summary, *differences], axis=1, dtype=np.float32
    )


def decisive_features(contact: np.ndarray, smaller_surface: np.ndarray) -> np.ndarray:
    """Describe contacts by the few features that carry over from one volume to another.

    Parameters
    ----------
    contact : ndarray of float64, shape (n, C)
        Sums over the faces of each contact.
    smaller_surface : ndarray of float64, shape (n,)
        Faces of the smaller segment towards others.

    Returns
    -------
    features : ndarray of float32, shape (n, 8)
        The columns of `DECISIVE`.
    """
    area = contact[:, COUNT]
    columns = [contact[:, SUM] / area, *_quantiles(contact[:, HISTOGRAM]).T, np.log(area)]
    return np.stack([*columns, area / smaller_surface], axis=1).astype(np.float32)


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
