"""What a classifier sees of the contact of two segments: affinities across it and inside both, and sizes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contacts import BIN_EDGES, N_BINS
from napari_celis.core.kernels import contact_features as kernels

QUANTILES = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
N_CONTACT_FEATURES = 9 + N_BINS + 6 * (2 + len(QUANTILES))
"""Columns of `contact_features`: scalars, histogram, three summaries and three differences of them."""


class Decisive(NamedTuple):
    """One feature that a policy sees of a contact."""

    name: str
    sign: int
    """-1 if more of it can only speak for a merge, 0 if it can speak for either."""
    part: str
    """What it is called, together with others, where a score is explained."""


DECISIVE = (
    Decisive("mean affinity", -1, "membrane"),
    *(Decisive(f"{quantile:.0%} quantile of the affinities", -1, "membrane") for quantile in QUANTILES),
    Decisive("logarithm of the area", 0, "contact size"),
    Decisive("share of the smaller surface", -1, "shared surface"),
)
"""The columns of `decisive_features`."""


def contact_features(sums: AffinitySums, contacts: np.ndarray) -> np.ndarray:
    """Describe contacts of two segments by all that is known of their affinities and sizes.

    Parameters
    ----------
    sums : AffinitySums
        Of contacts and segments.
    contacts : ndarray of int, shape (n,)
        Open contacts of the graph.

    Returns
    -------
    features : ndarray of float32, shape (n, N_CONTACT_FEATURES)
        Of the contact: area, moments, extremes, quantiles, histogram. Of the smaller and the larger segment:
        size, share of its surface that the contact takes, moments and quantiles of its inside. Then how
        contact and insides differ.
    """
    out = np.empty((len(contacts), N_CONTACT_FEATURES), dtype=np.float32)
    summary = np.empty((3, 2 + len(QUANTILES)))
    kernels.describe(
        sums.graph.arrays, sums.contact, sums.low, sums.high, sums.inside, contacts, BIN_EDGES, QUANTILES,
        summary, out,
    )  # fmt: skip
    return out


def decisive_features(sums: AffinitySums, contacts: np.ndarray) -> np.ndarray:
    """Describe contacts by the few features that carry over from one volume to another, float32 (n, 8).

    Parameters
    ----------
    sums, contacts
        As in `contact_features`. The columns are those of `DECISIVE`.
    """
    out = np.empty((len(contacts), len(DECISIVE)), dtype=np.float32)
    kernels.describe_briefly(
        sums.graph.arrays, sums.contact, contacts, BIN_EDGES, QUANTILES, np.empty(len(QUANTILES)), out
    )
    return out
