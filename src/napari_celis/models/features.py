"""Image features of a centre: where the membranes around it are, and between which pairs of a descriptor.

The interior probability of a voxel is its lowest affinity to a face neighbour, as in the paper's comparison
with GALA. Read on a small grid across the box of a spec, it tells the energy model where the membranes are.
Its lowest value on the straight line between the two ends of a pair is the image's evidence that they are
connected, to be held against the bit that says whether the segmentation connects them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.models import kernels

LAYOUT_GRID = 5
"""Points per axis of the layout, unless a model says otherwise."""


@dataclass(frozen=True, eq=False)
class CentreFeatures:
    """What the energy model of one spec knows of the image at every centre."""

    layout: np.ndarray
    """Interior probability on a grid around the centre, float16 (N, F)."""
    evidence: np.ndarray
    """Evidence that the ends of each pair are connected, 255 is certain, uint8 (N, K)."""

    def __len__(self) -> int:
        return len(self.layout)

    def at(self, centres: np.ndarray) -> CentreFeatures:
        """Pick some centres."""
        return CentreFeatures(self.layout[centres], self.evidence[centres])

    @classmethod
    def join(cls, parts: Sequence[CentreFeatures]) -> CentreFeatures:
        """Put the centres of several volumes one after the other."""
        return cls(
            np.concatenate([part.layout for part in parts]), np.concatenate([part.evidence for part in parts])
        )


def centre_features(
    interior: np.ndarray, centres: np.ndarray, spec: DescriptorSpec, grid: int
) -> CentreFeatures:
    """Compute the image features of every centre of a spec.

    Parameters
    ----------
    interior : ndarray of float, shape (Z, Y, X)
        From `interior_probability`.
    centres : ndarray of int, shape (N, 3)
        Positions whose box lies inside the volume.
    spec : DescriptorSpec
        Gives box and pairs.
    grid : int
        Points per axis of the layout.
    """
    return CentreFeatures(
        layout_features(interior, centres, spec, grid), pair_evidence(interior, centres, spec)
    )


def pair_evidence(interior: np.ndarray, centres: np.ndarray, spec: DescriptorSpec) -> np.ndarray:
    """Find the lowest interior probability between the ends of every pair, uint8 (N, K).

    Parameters
    ----------
    interior : ndarray
        Probability to be inside a cell, (Z, Y, X).
    centres : ndarray
        Positions, (N, 3).
    spec : DescriptorSpec
        The descriptor spec.
    """
    steps = np.array([interior.shape[1] * interior.shape[2], interior.shape[2], 1], dtype=np.int64)
    start, offsets = [0], []
    for first, second in spec.pairs.astype(np.int64):
        offsets.append(line(first, second) @ steps)
        start.append(start[-1] + len(offsets[-1]))
    levels = (interior.reshape(-1) * 255).round().astype(np.uint8)
    evidence = np.empty((len(centres), spec.n_bits), dtype=np.uint8)
    kernels.lowest_on_lines(
        levels, centres.astype(np.int64) @ steps, np.array(start), np.concatenate(offsets), evidence
    )
    return evidence


def line(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """List the voxels on the straight line between two offsets, ends included, int64 (n, 3).

    Parameters
    ----------
    first, second : ndarray
        Offset z, y, x.
    """
    n = int(np.abs(second - first).max()) + 1
    share = np.linspace(0.0, 1.0, n)[:, None]
    voxels: np.ndarray = np.floor(first + share * (second - first) + 0.5).astype(np.int64)
    return voxels


def interior_probability(affinities: np.ndarray) -> np.ndarray:
    """Return the lowest affinity of every voxel to its face neighbours, float32 (Z, Y, X).

    Parameters
    ----------
    affinities : ndarray of float, or uint8 as probability × 255, shape (3, Z, Y, X)
        Affinity of each voxel to its neighbour in -z, -y, -x; the first layer of each axis has no such
        neighbour and is ignored.
    """
    interior = np.ones(affinities.shape[1:], dtype=np.float32)
    unit = np.float32(1 / 255 if affinities.dtype == np.uint8 else 1)
    for axis in range(3):
        inner = np.moveaxis(affinities[axis], axis, 0)[1:] * unit
        own = np.moveaxis(interior, axis, 0)
        np.minimum(own[1:], inner, out=own[1:])
        np.minimum(own[:-1], inner, out=own[:-1])
    return interior


def grid_offsets(spec: DescriptorSpec, grid: int) -> np.ndarray:
    """Spread `grid` points per axis evenly over the box of a spec, int64 (n, 3); fewer where it is thin.

    Parameters
    ----------
    spec : DescriptorSpec
        The descriptor spec.
    grid : int
        Points per axis.
    """
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
