"""Halve volumes: images by the mean, labels by the majority, so that no id is made up."""

from __future__ import annotations

from itertools import product

import numpy as np

from napari_celis.core.volume import Triple, as_triple

SMALLEST = 64
"""A pyramid ends when no axis that would be halved is longer than this."""

Factors = tuple[int, int, int]


def choose_factors(shape: tuple[int, ...], voxel_size_nm: Triple) -> Factors | None:
    """Say which axes to halve next.

    Parameters
    ----------
    shape : tuple of int
        Of the finest level so far.
    voxel_size_nm : tuple of float
        An axis whose voxels are already twice as long as the shortest waits for the others.

    Returns
    -------
    factors : tuple of int or None
        1 or 2 per axis; None when the volume is small enough.
    """
    shortest = min((length for length, n in zip(voxel_size_nm, shape, strict=True) if n > 1), default=0.0)
    is_halved = [n > 1 and length < 2 * shortest for length, n in zip(voxel_size_nm, shape, strict=True)]
    if not any(n > SMALLEST for n, halved in zip(shape, is_halved, strict=True) if halved):
        return None
    z, y, x = (2 if halved else 1 for halved in is_halved)
    return z, y, x


def coarser_shape(shape: tuple[int, ...], factors: Factors) -> tuple[int, int, int]:
    """Round up, so that the border keeps its voxels.

    Parameters
    ----------
    shape : tuple of int
        Voxels along z, y, x.
    factors : Factors
        How many voxels become one, along each axis.
    """
    z, y, x = (-(-n // factor) for n, factor in zip(shape, factors, strict=True))
    return z, y, x


def coarser_geometry(voxel_size_nm: Triple, offset_nm: Triple, factors: Factors) -> tuple[Triple, Triple]:
    """Give size and centre of the first coarse voxel, which lies between the voxels it stands for.

    Parameters
    ----------
    voxel_size_nm : Triple
        Voxel size along z, y, x.
    offset_nm : Triple
        Position of the first voxel.
    factors : Factors
        How many voxels become one, along each axis.
    """
    size = as_triple(length * factor for length, factor in zip(voxel_size_nm, factors, strict=True))
    offset = as_triple(
        start + length * (factor - 1) / 2
        for start, length, factor in zip(offset_nm, voxel_size_nm, factors, strict=True)
    )
    return size, offset


def shrink_image(image: np.ndarray, factors: Factors) -> np.ndarray:
    """Average groups of voxels; integers are rounded.

    Parameters
    ----------
    image : ndarray
        Grey values.
    factors : Factors
        How many voxels become one, along each axis.
    """
    views = _views(image, factors)
    total = np.zeros(views[0].shape, np.float64)
    for view in views:
        total += view
    total /= len(views)
    return (total if image.dtype.kind == "f" else np.rint(total)).astype(image.dtype)


def shrink_labels(labels: np.ndarray, factors: Factors) -> np.ndarray:
    """Keep the most frequent id of each group of voxels, the first one in case of a tie.

    Parameters
    ----------
    labels : ndarray
        Labels, (Z, Y, X).
    factors : Factors
        How many voxels become one, along each axis.
    """
    views = _views(labels, factors)
    best, best_votes = views[0].copy(), np.zeros(views[0].shape, np.uint8)
    for candidate in views:
        votes = np.zeros_like(best_votes)
        for view in views:
            votes += view == candidate
        is_better = votes > best_votes
        best[is_better] = candidate[is_better]
        np.maximum(best_votes, votes, out=best_votes)
    return best


def _views(array: np.ndarray, factors: Factors) -> list[np.ndarray]:
    """Take the voxels of each group apart, repeating the last one of an odd axis."""
    padding = [(0, -n % factor) for n, factor in zip(array.shape, factors, strict=True)]
    padded = np.pad(array, padding, mode="edge")
    starts = product(*(range(factor) for factor in factors))
    return [padded[z :: factors[0], y :: factors[1], x :: factors[2]] for z, y, x in starts]
