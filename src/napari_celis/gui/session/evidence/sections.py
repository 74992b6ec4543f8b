"""Sections through a contact: the image, who is who, and outlines that leave the contact free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from skimage.measure import find_contours

NEITHER, FIRST, SECOND = 0, 1, 2
"""Sides of a contact."""
DIMMED = 0.6
"""Brightness of what belongs to neither segment, as a share."""
FILL = 0.42
"""How much of a filled segment is its colour."""
BARE = 4.0
"""No colour comes closer to the contact than this, in voxels of the finest axis: there lies the evidence."""
SOFT = 0.8
"""Blur, in voxels, that takes the stairs out of outlines."""
EDGE = 1.5
"""Blur, in voxels, between bright and dim."""
SHORTEST = 4
"""Outlines with fewer points are specks."""
RING = 2.0
"""How far the ring around a segment that lies at the contact altogether keeps from its voxels, in voxels."""


@dataclass(frozen=True, eq=False)
class Section:
    """One section: rows and columns of voxels around the contact, which lies in the middle."""

    axis: int
    """The axis across it: 0, 1, 2 for z, y, x."""
    index: int
    """Which section, in voxels along that axis."""
    voxel_nm: tuple[float, float]
    """Height and width of a voxel."""
    middle: tuple[float, float]
    """Row and column of the contact, in voxels of this section."""
    plain: np.ndarray
    """The image alone, uint8 (rows, columns, 4); transparent outside the volume."""
    dimmed: np.ndarray
    """The image, dim where neither segment is."""
    filled: np.ndarray
    """The same with the segments in their colours, but for a band along the contact."""
    outlines: tuple[tuple[int, np.ndarray], ...]
    """Side and points, float32 (n, 2) rows and columns; open where they come close to the contact."""


def cut_section(
    image: np.ndarray, side: np.ndarray, colours: np.ndarray, voxel_nm: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[tuple[int, np.ndarray], ...]]:
    """Make the three pictures and the outlines of one section.

    Parameters
    ----------
    image : ndarray of uint8, shape (rows, columns)
        The image.
    side : ndarray of int8, shape (rows, columns)
        `NEITHER`, `FIRST` or `SECOND`; -1 outside the volume.
    colours : ndarray of float, shape (2, 3)
        Of the two sides, from 0 to 1.
    voxel_nm : tuple of float
        Height and width of a voxel.

    Returns
    -------
    plain, dimmed, filled : ndarray of uint8, shape (rows, columns, 4)
        See `Section`.
    outlines : tuple of (int, ndarray)
        See `Section`.
    """
    far = contact_distance(side, voxel_nm) / min(voxel_nm)
    is_bright = (side > NEITHER) | (far < 2 * BARE)
    share = DIMMED + (1 - DIMMED) * ndimage.gaussian_filter(is_bright.astype(np.float32), EDGE)
    alpha = np.where(side < 0, 0, 255).astype(np.uint8)
    grey = image.astype(np.float32)
    dim = grey * share
    colour = np.concatenate([np.zeros((1, 3)), colours])[np.clip(side, 0, 2)] * 255
    weight = FILL * (side > NEITHER) * np.clip((far - BARE) / BARE, 0, 1)
    filled = dim[..., None] * (1 - weight[..., None]) + colour * weight[..., None]
    pictures = (np.dstack([part] * 3) for part in (grey, dim))
    plain, dimmed, tinted = (_with_alpha(part, alpha) for part in (*pictures, filled))
    return plain, dimmed, tinted, outlines_of(side, far)


def contact_distance(side: np.ndarray, voxel_nm: tuple[float, float]) -> np.ndarray:
    """Measure how far every voxel of a section lies from where the two sides touch, in nm.

    Parameters
    ----------
    side : ndarray of int8, shape (rows, columns)
        Who is where.
    voxel_nm : tuple of float
        Height and width of a voxel.
    """
    touches = np.zeros(side.shape, dtype=bool)
    for axis in range(2):
        before, after = np.swapaxes(side, 0, axis)[:-1], np.swapaxes(side, 0, axis)[1:]
        is_face = (before > 0) & (after > 0) & (before != after)
        swapped = np.swapaxes(touches, 0, axis)
        swapped[:-1] |= is_face
        swapped[1:] |= is_face
    if not touches.any():
        return np.full(side.shape, np.inf)
    distance: np.ndarray = ndimage.distance_transform_edt(~touches, sampling=voxel_nm)
    return distance


def outlines_of(side: np.ndarray, far: np.ndarray) -> tuple[tuple[int, np.ndarray], ...]:
    """Draw the border of both sides as smooth lines, and leave out what lies near the contact.

    A side of which nothing would be left is marked by a ring around it.

    Parameters
    ----------
    side : ndarray of int8, shape (rows, columns)
        Who is where.
    far : ndarray of float, shape (rows, columns)
        Distance from the contact, in voxels.
    """
    found: list[tuple[int, np.ndarray]] = []
    for which in (FIRST, SECOND):
        mask = side == which
        if not mask.any():
            continue
        smooth = ndimage.gaussian_filter(mask.astype(np.float32), SOFT)
        parts: list[np.ndarray] = []
        for line in find_contours(smooth, 0.5):
            rows, columns = np.rint(line).astype(int).T
            parts += _runs(line.astype(np.float32), far[rows, columns] > BARE)
        if not parts:
            ring = find_contours(ndimage.distance_transform_edt(~mask), RING)
            parts = [line.astype(np.float32) for line in ring]
        found += [(which, part) for part in parts]
    return tuple(found)


def _runs(line: np.ndarray, keeps: np.ndarray) -> list[np.ndarray]:
    """Split a line into the runs of points that are kept."""
    ends = np.flatnonzero(np.diff(keeps.astype(np.int8))) + 1
    starts = np.concatenate([[0], ends])
    parts = np.split(line, ends)
    return [part for start, part in zip(starts, parts, strict=True) if keeps[start] and len(part) >= SHORTEST]


def _with_alpha(colour: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Make a picture that Qt can show."""
    shown = np.clip(colour, 0, 255).astype(np.uint8)
    return np.ascontiguousarray(np.dstack([shown, alpha]))
