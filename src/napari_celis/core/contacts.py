"""Statistics of the affinities across contacts; sums only, so that merged contacts add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import WHOLE, ActionTable
from napari_celis.core.kernels import contacts as kernels
from napari_celis.core.supervoxels import Supervoxels

BIN_EDGES = np.array(
    [0, 0.01, 0.03, 0.06, 0.1, 0.16, 0.25, 0.37, 0.5, 0.63, 0.75, 0.84, 0.9, 0.94, 0.97, 0.99, 1.0]
)
"""Bins of the histograms: narrow at both ends, where networks put most of their answers."""
N_BINS = len(BIN_EDGES) - 1
COUNT, SUM, SQUARES, HISTOGRAM = 0, 1, 2, slice(3, 3 + N_BINS)
"""Columns of a row of sums: whole numbers, affinities and their squares in units of 1 / `UNITS`."""
UNITS = kernels.UNITS


@dataclass(frozen=True, eq=False)
class ContactStatistics:
    """Additive statistics of the face affinities of actions and of supervoxels."""

    contact: np.ndarray
    """Count, sum, sum of squares and histogram of every action, int64 (A, 3 + N_BINS)."""
    low: np.ndarray
    """Smallest affinity of every action, float64 (A,)."""
    high: np.ndarray
    """Largest affinity of every action, float64 (A,)."""
    inside: np.ndarray
    """The same sums over the faces inside every supervoxel, int64 (N + 1, 3 + N_BINS)."""


def measure_contacts(
    supervoxels: Supervoxels,
    actions: ActionTable,
    affinities: np.ndarray,
    begin_zyx: tuple[int, int, int] = WHOLE,
) -> ContactStatistics:
    """Collect the statistics in one pass over the volume.

    Parameters
    ----------
    supervoxels : Supervoxels
        What touches.
    actions : ActionTable
        All actions between them.
    affinities : ndarray of float32 or uint8, shape (3, Z, Y, X)
        Channel c at p is the affinity of p with the voxel before it along axis c.
    begin_zyx : tuple of int
        As in `ActionTable.from_supervoxels`, with which the actions were found.
    """
    bin_of_level = np.searchsorted(BIN_EDGES[1:-1], np.arange(256) / 255, side="right").astype(np.uint8)
    contact = np.zeros((len(actions), 3 + N_BINS), dtype=np.int64)
    low, high = np.full(len(actions), np.inf), np.full(len(actions), -np.inf)
    inside = np.zeros((supervoxels.n + 1, 3 + N_BINS), dtype=np.int64)
    scale = 1.0 / 255.0 if affinities.dtype == np.uint8 else 1.0
    kernels.add_faces(
        supervoxels.dense,
        affinities,
        begin_zyx,
        scale,
        actions.first,
        actions.v,
        bin_of_level,
        contact,
        low,
        high,
        inside,
    )
    return ContactStatistics(contact, low, high, inside)
