"""What seeds suggest: how much of their segment lies closer to them than to seeds of the other side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_celis.core.volume import Triple

FURTHEST = 16
"""How far around a seed is looked, in voxels of the finest axis."""


def voxels_around(
    dense: np.ndarray,
    members: np.ndarray,
    seeds: Sequence[Sequence[int]],
    others: Sequence[Sequence[int]],
    voxel_size_nm: Triple = (1.0, 1.0, 1.0),
) -> int:
    """Count the voxels of a segment around the seeds of one side, half the way to the other side.

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Supervoxels by dense index.
    members : ndarray of int
        Those of the segment.
    seeds, others : sequence of (z, y, x)
        Voxels of this side, and of the other one.
    voxel_size_nm : tuple of float
        Along z, y, x.
    """
    size = np.array(voxel_size_nm)
    far = np.array(others)
    found = []
    for seed in np.array(seeds):
        # Squares of whole numbers are exact.
        nearest = float((((far - seed) * size) ** 2).sum(axis=1).min())
        limit = min(nearest / 4, (FURTHEST * float(size.min())) ** 2)
        reach = np.ceil(np.sqrt(limit) / size).astype(int)
        low, high = np.maximum(seed - reach, 0), np.minimum(seed + reach + 1, dense.shape)
        places = np.ogrid[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        squared = sum(((at - s) * nm) ** 2 for at, s, nm in zip(places, seed, size, strict=True))
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        inside = np.argwhere((squared <= limit) & np.isin(dense[box], members)) + low
        found.append(np.ravel_multi_index(tuple(inside.T), dense.shape))
    return len(np.unique(np.concatenate(found)))
