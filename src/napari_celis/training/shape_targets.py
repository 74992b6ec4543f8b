"""Local shape of true objects, which an affinity network learns beside its affinities (Sheridan et al. 2023).

At every cell of the network's finest grid: how much of a window around it belongs to the same object, where
the middle of that part lies, and how it stretches. Boundaries alone say little about objects; a network that
also has to tell their shape keeps thin ones whole. At run time the shape is not computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
from scipy import ndimage

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.symmetry import Symmetry

WINDOW_NM = 80.0
"""Standard deviation of the window: two running means, one after the other."""
PAIRS = tuple(combinations(range(3), 2))
N_CHANNELS = 1 + 3 + 3 + len(PAIRS)
"""Share of the window, offset of the middle, variances, correlations."""
OFFSETS, VARIANCES, CORRELATIONS = slice(1, 4), slice(4, 7), slice(7, 10)
BLOCK = 64
"""Cells along each axis that are done at once: objects are then no larger than that."""
CELL_VARIANCE = 1 / 12
"""Of one cell, in squared cells; without it, correlations of objects one cell thin would be noise."""


def local_shape(labels: np.ndarray, cell: IntTriple, voxel_size_nm: Sequence[float]) -> np.ndarray:
    """Describe the shape of the object around every cell.

    Parameters
    ----------
    labels : ndarray of int, shape (Z, Y, X)
        Objects from 1 on; others have no shape.
    cell : tuple of int
        Voxels per cell. A cell has the label of its first voxel.
    voxel_size_nm : sequence of float
        Along z, y, x.

    Returns
    -------
    shape : ndarray of float16, (10, Z', Y', X')
        Zero outside objects. Lengths in units of `WINDOW_NM`.
    """
    coarse = np.ascontiguousarray(labels[tuple(slice(None, None, step) for step in cell)])
    size_nm = np.multiply(cell, voxel_size_nm)
    widths = window_widths(size_nm)
    reach = [2 * (width // 2) for width in widths]
    found = np.zeros((N_CHANNELS, *coarse.shape), dtype=np.float16)
    for core, around in _blocks(coarse.shape, reach):
        block = coarse[around]
        inner = tuple(
            slice(own.start - out.start, own.stop - out.start) for own, out in zip(core, around, strict=True)
        )
        for label in np.unique(block[inner]):
            if label > 0:
                _describe(block == label, widths, size_nm, inner, found[(slice(None), *core)])
    return found


def window_widths(cell_size_nm: Sequence[float] | np.ndarray) -> IntTriple:
    """Return the odd number of cells that each of the two running means covers, per axis."""
    # A running mean over w cells has a variance of (w² - 1) / 12, and there are two.
    wanted = [np.sqrt(6 * (WINDOW_NM / size) ** 2 + 1) for size in cell_size_nm]
    z, y, x = (2 * int(width // 2) + 1 for width in wanted)
    return z, y, x


def _blocks(
    shape: tuple[int, ...], reach: Sequence[int]
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Cut a volume into blocks, each with what its windows see around it."""
    for low in product(*(range(0, size, BLOCK) for size in shape)):
        core = tuple(slice(at, min(at + BLOCK, size)) for at, size in zip(low, shape, strict=True))
        around = tuple(
            slice(max(0, own.start - far), min(size, own.stop + far))
            for own, far, size in zip(core, reach, shape, strict=True)
        )
        yield core, around


def _describe(
    mask: np.ndarray,
    widths: IntTriple,
    size_nm: np.ndarray,
    inner: tuple[slice, ...],
    out: np.ndarray,
) -> None:
    """Write the shape of one object into the cells of a block that it fills."""
    box = ndimage.find_objects(mask.view(np.uint8))[0]
    inside = mask[box].astype(np.float32)
    places = [
        np.arange(size, dtype=np.float32).reshape([-1 if other == axis else 1 for other in range(3)])
        - size / 2
        for axis, size in enumerate(inside.shape)
    ]

    # What the first mean spreads beyond the box, the second brings back.
    margins = [(width // 2, width // 2) for width in widths]
    kept = tuple(slice(low, low + size) for (low, _), size in zip(margins, inside.shape, strict=True))

    def blurred(values: np.ndarray) -> np.ndarray:
        once = ndimage.uniform_filter(np.pad(values, margins), widths, mode="constant")
        smooth: np.ndarray = ndimage.uniform_filter(once, widths, mode="constant")[kept]
        return smooth

    # Rounding may leave less than nothing far outside the object, where nobody reads it.
    share = np.maximum(blurred(inside), np.finfo(np.float32).eps)
    middle = [blurred(inside * place) / share for place in places]
    variance = [
        np.maximum(blurred(inside * place * place) / share - mean * mean, 0) + CELL_VARIANCE
        for place, mean in zip(places, middle, strict=True)
    ]
    unit = size_nm / WINDOW_NM
    channels = [share]
    channels += [(middle[axis] - places[axis]) * unit[axis] for axis in range(3)]
    channels += [variance[axis] * unit[axis] ** 2 for axis in range(3)]
    channels += [
        (blurred(inside * places[a] * places[b]) / share - middle[a] * middle[b])
        / np.sqrt(variance[a] * variance[b])
        for a, b in PAIRS
    ]
    # The part of the box that lies in the block itself, and not around it.
    own = tuple(slice(max(b.start, i.start), min(b.stop, i.stop)) for b, i in zip(box, inner, strict=True))
    here = tuple(slice(o.start - b.start, o.stop - b.start) for o, b in zip(own, box, strict=True))
    there = tuple(slice(o.start - i.start, o.stop - i.start) for o, i in zip(own, inner, strict=True))
    filled = mask[own]
    for channel, values in enumerate(channels):
        out[channel][there][filled] = np.broadcast_to(values, inside.shape)[here][filled]


def transform_shape(symmetry: Symmetry, shape: np.ndarray) -> np.ndarray:
    """Return what `local_shape` says of labels that a symmetry was applied to.

    Parameters
    ----------
    symmetry : Symmetry
        Exchanges and mirrors axes.
    shape : ndarray, (10, Z, Y, X)
        From `local_shape`.
    """
    moved = symmetry.apply(shape)
    signs = [-1 if is_mirrored else 1 for is_mirrored in symmetry.mirrored]
    found = moved.copy()
    for axis, source in enumerate(symmetry.axes):
        found[OFFSETS][axis] = signs[axis] * moved[OFFSETS][source]
        found[VARIANCES][axis] = moved[VARIANCES][source]
    for n, (a, b) in enumerate(PAIRS):
        source = PAIRS.index(tuple(sorted((symmetry.axes[a], symmetry.axes[b]))))
        found[CORRELATIONS][n] = signs[a] * signs[b] * moved[CORRELATIONS][source]
    return found
