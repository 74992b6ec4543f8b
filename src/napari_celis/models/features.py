"""Image features of a centre: where the membranes around it are.

The interior probability of a voxel is its lowest affinity to a face neighbour, as in the paper's comparison
with GALA. Read on a small grid across the box of a spec, it tells the energy model where the membranes are.
"""

from __future__ import annotations

import numpy as np

from napari_celis.core.descriptors import DescriptorSpec


def interior_probability(affinities: np.ndarray) -> np.ndarray:
    """Return the lowest affinity of every voxel to its face neighbours, float32 (Z, Y, X).

    Parameters
    ----------
    affinities : ndarray of float, shape (3, Z, Y, X)
        Affinity of each voxel to its neighbour in -z, -y, -x; the first layer of each axis has no such
        neighbour and is ignored.
    """
    interior = np.ones(affinities.shape[1:], dtype=np.float32)
    for axis in range(3):
        inner = np.moveaxis(affinities[axis], axis, 0)[1:]
        own = np.moveaxis(interior, axis, 0)
        np.minimum(own[1:], inner, out=own[1:])
        np.minimum(own[:-1], inner, out=own[:-1])
    return interior


def grid_offsets(spec: DescriptorSpec, grid: int) -> np.ndarray:
    """Spread `grid` points per axis evenly over the box of a spec, int64 (n, 3); fewer where it is thin."""
    axes = [
        np.unique(np.linspace(-low, high, min(grid, low + high + 1)).round()).astype(np.int64)
        for low, high in zip(spec.low_zyx, spec.high_zyx, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def layout_features(interior: np.ndarray, centres: np.ndarray, spec: DescriptorSpec, grid: int) -> np.ndarray:
    """Read the interior probability on a grid around every centre.

    Parameters
    ----------
    interior : ndarray of float, shape (Z, Y, X)
        From `interior_probability`.
    centres : ndarray of int, shape (N, 3)
        Positions whose box lies inside the volume.
    spec : DescriptorSpec
        Gives the box.
    grid : int
        Points per axis.

    Returns
    -------
    features : ndarray of float16, shape (N, n)
        One column per point of the grid.
    """
    _, height, width = interior.shape
    steps = np.array([height * width, width, 1], dtype=np.int64)
    flat = interior.astype(np.float16).reshape(-1)
    features: np.ndarray = flat[
        (centres.astype(np.int64) @ steps)[:, None] + grid_offsets(spec, grid) @ steps
    ]
    return features
