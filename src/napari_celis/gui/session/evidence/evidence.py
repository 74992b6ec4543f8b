"""All that the view of one contact shows, made of the volume and of who is merged with whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from napari_celis.core.volume import Triple
from napari_celis.gui.session.evidence import bodies
from napari_celis.gui.session.evidence.sections import FIRST, SECOND, Section, cut_section

SMALLEST, LARGEST = 26, 64
"""Half of what a section shows across the shorter side of its tile, in voxels of the finest axis."""
AROUND = 1.6
"""The same by how far most of the contact reaches."""
MOST = 0.9
"""Share of the faces of a contact that is its main part."""
SPARE = 1.8
"""How much more is cut out, for tiles that are wide or high."""
ROWS_COLUMNS = {0: (1, 2), 1: (0, 2), 2: (1, 0)}
"""What runs down and to the right in the section across each axis: neighbouring tiles share an axis."""
SMALL = 64
"""A body with fewer samples is drawn from its voxels, and larger than it is."""
BODY = 2.0
"""Half of what is shown in 3-D, by the half of what sections show."""


@dataclass(frozen=True, eq=False)
class Scene:
    """The volume that questions are about; it does not change."""

    dense: np.ndarray
    """Supervoxels, int32 (Z, Y, X)."""
    voxel_nm: Triple
    read_image: Callable[[tuple[slice, slice, slice]], np.ndarray] | None
    """Returns a part of the image as uint8; None without an image."""
    colours: np.ndarray
    """Of the two sides, from 0 to 1, float (2, 3)."""


@dataclass(frozen=True, eq=False)
class Body:
    """The two segments in 3-D."""

    side: np.ndarray
    """Who is where in a cube around the contact, int8 (n, n, n)."""
    axes: np.ndarray
    """From where they are looked at, see `bodies.view_axes`."""
    picture: np.ndarray
    """uint8 (P, P, 4)."""

    def turned(self, right: float, down: float, colours: np.ndarray, *, is_draft: bool) -> Body:
        """Look at them from elsewhere.

        Parameters
        ----------
        right, down : float
            How far the front of the bodies moves, in radians.
        colours : ndarray of float, shape (2, 3)
            Of the two sides.
        is_draft : bool
            Whether a coarse picture will do, because the next one comes soon.
        """
        axes = bodies.turned_axes(self.axes, right, down)
        cube, pixels = (
            (self.side[::2, ::2, ::2], bodies.PIXELS // 2) if is_draft else (self.side, bodies.PIXELS)
        )
        return Body(self.side, axes, bodies.shaded(cube, axes, colours, pixels))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Pictures of one contact."""

    half_nm: float
    """Half of what a section shows across the shorter side of its tile."""
    sections: tuple[Section, ...]
    """Across z, y and x."""
    body: Body | None = None
    """The two bodies in 3-D; None until they are drawn, or where one of them lies elsewhere."""
    is_complete: bool = True
    """Whether the bodies were looked for."""


def look_at(scene: Scene, position: np.ndarray, side_of: np.ndarray, *, with_body: bool = True) -> Evidence:
    """Make the pictures of one contact.

    Parameters
    ----------
    scene : Scene
        The volume.
    position : ndarray of float, shape (3,)
        A point on the contact, in voxels.
    side_of : ndarray of int8, shape (N + 1,)
        1 and 2 for the supervoxels of the two sides, 0 for all others.
    with_body : bool
        Whether to draw the bodies too, which takes most of the time.
    """
    half_nm = _half_of(scene, position, side_of)
    sections = tuple(section_at(scene, position, side_of, axis, half_nm) for axis in range(3))
    body = body_at(scene, position, side_of, half_nm) if with_body else None
    return Evidence(half_nm, sections, body, with_body)


def body_at(scene: Scene, position: np.ndarray, side_of: np.ndarray, half_nm: float) -> Body | None:
    """Draw the two bodies; None if one of them has no voxel around the contact.

    Parameters
    ----------
    scene, position, side_of
        As for `look_at`.
    half_nm : float
        Half of what sections show.
    """
    half_nm, n = BODY * half_nm, bodies.GRID
    voxel_nm = np.array(scene.voxel_nm)
    nm = np.linspace(-half_nm, half_nm, n)
    at = [np.rint(p + nm / size).astype(int) for p, size in zip(position, voxel_nm, strict=True)]
    side = _sampled(scene.dense, side_of, at)
    for which in (FIRST, SECOND):
        _show_small(scene.dense, side_of, at, side, which)
    points = [np.argwhere(side == which) for which in (FIRST, SECOND)]
    if not all(len(found) for found in points):
        return None
    # What lies around the contact says from where to look; the far ends of long bodies do not.
    near = [found[np.argsort(((found - n / 2) ** 2).sum(axis=1))[: n**2]] for found in points]
    axes = bodies.view_axes(*(found.astype(float) for found in near))
    return Body(side, axes, bodies.shaded(side, axes, scene.colours))


def _show_small(
    dense: np.ndarray, side_of: np.ndarray, at: list[np.ndarray], side: np.ndarray, which: int
) -> None:
    """Find the voxels of a body that samples may have missed, and let it be large enough to be seen."""
    if np.count_nonzero(side == which) >= SMALL:
        return
    low = np.array([max(0, int(along[0])) for along in at])
    box = tuple(slice(a, max(a, int(along[-1]) + 1)) for a, along in zip(low, at, strict=True))
    voxels = np.argwhere(side_of[dense[box]] == which) + low
    if not len(voxels):
        return
    small = side == which
    small[tuple(_nearest(along, voxels[:, axis]) for axis, along in enumerate(at))] = True
    # What is one sample wide would be blurred away.
    side[ndimage.binary_dilation(small, np.ones((3, 3, 3), dtype=bool))] = which


def _nearest(along: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the index of the nearest of ascending positions."""
    right = np.clip(np.searchsorted(along, places), 1, len(along) - 1)
    index: np.ndarray = right - (places - along[right - 1] <= along[right] - places)
    return index


def _half_of(scene: Scene, position: np.ndarray, side_of: np.ndarray) -> float:
    """Choose how much to show: all of the contact that lies near, but neither too little nor too much."""
    voxel_nm = np.array(scene.voxel_nm)
    finest = float(voxel_nm.min())
    reach = np.ceil(LARGEST / AROUND * finest / voxel_nm).astype(int)
    middle = np.rint(position).astype(int)
    low, high = np.maximum(middle - reach, 0), np.minimum(middle + reach + 1, scene.dense.shape)
    box = tuple(slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
    side = side_of[scene.dense[box]]
    far = [np.zeros(1)]
    for axis in range(3):
        before, after = np.swapaxes(side, 0, axis)[:-1], np.swapaxes(side, 0, axis)[1:]
        faces = np.argwhere(np.swapaxes((before > 0) & (after > 0) & (before != after), 0, axis))
        if len(faces):
            far.append(np.abs((faces + low - position) * voxel_nm).max(axis=1))
    reach_nm = float(np.quantile(np.concatenate(far), MOST))
    return float(np.clip(AROUND * reach_nm, SMALLEST * finest, LARGEST * finest))


def section_at(scene: Scene, position: np.ndarray, side_of: np.ndarray, axis: int, half_nm: float) -> Section:
    """Cut out one section.

    Parameters
    ----------
    scene, position, side_of
        As for `look_at`.
    axis : int
        The axis across the section.
    half_nm : float
        Half of what it shows across the shorter side of its tile.
    """
    voxel_nm = scene.voxel_nm
    rows, columns = ROWS_COLUMNS[axis]
    middle = np.clip(np.floor(position + 0.5).astype(int), 0, np.array(scene.dense.shape) - 1)
    at: list[Any] = [middle[axis : axis + 1]] * 3
    for other in (rows, columns):
        reach = int(np.ceil(SPARE * half_nm / voxel_nm[other]))
        at[other] = np.arange(middle[other] - reach, middle[other] + reach + 1)
    if middle[axis] - position[axis] == 0.5:
        at[axis] = middle[axis : axis + 1] = _better_of_two(scene.dense, side_of, at, axis)
    side, image = (
        np.moveaxis(part, (rows, columns), (0, 1))[..., 0]
        for part in (_sampled(scene.dense, side_of, at), _image(scene, at))
    )
    size = (voxel_nm[rows], voxel_nm[columns])
    plain, dimmed, filled, outlines = cut_section(image, side, scene.colours, size)
    return Section(
        axis=axis,
        index=int(middle[axis]),
        voxel_nm=size,
        middle=(float(position[rows] - at[rows][0]), float(position[columns] - at[columns][0])),
        plain=plain,
        dimmed=dimmed,
        filled=filled,
        outlines=outlines,
    )


def _better_of_two(dense: np.ndarray, side_of: np.ndarray, at: list[np.ndarray], axis: int) -> np.ndarray:
    """Choose this section or the one before, between which the contact lies: where the smaller side is."""
    before = [*at]
    before[axis] = at[axis] - 1
    sampled = [_sampled(dense, side_of, places) for places in (at, before)]
    counts = np.array([[np.count_nonzero(side == which) for which in (FIRST, SECOND)] for side in sampled])
    smaller = counts[:, counts.sum(axis=0).argmin()]
    return before[axis] if smaller[0] == 0 < smaller[1] else at[axis]


def _sampled(dense: np.ndarray, side_of: np.ndarray, at: list[np.ndarray]) -> np.ndarray:
    """Look up sides at positions along the axes; -1 outside the volume."""
    shape = tuple(len(along) for along in at)
    sides = np.full(shape, -1, dtype=np.int8)
    inside = [
        np.flatnonzero((along >= 0) & (along < size)) for along, size in zip(at, dense.shape, strict=True)
    ]
    if all(len(one) for one in inside):
        places = [along[one] for along, one in zip(at, inside, strict=True)]
        sides[np.ix_(*inside)] = side_of[dense[np.ix_(*places)]]
    return sides


def _image(scene: Scene, at: list[np.ndarray]) -> np.ndarray:
    """Read the image at consecutive positions along the axes; black outside the volume, grey without one."""
    shape = tuple(len(along) for along in at)
    if scene.read_image is None:
        return np.full(shape, 128, dtype=np.uint8)
    image = np.zeros(shape, dtype=np.uint8)
    inside, box = [], []
    for along, size in zip(at, scene.dense.shape, strict=True):
        low, high = max(0, int(along[0])), min(size, int(along[-1]) + 1)
        inside.append(slice(low - int(along[0]), high - int(along[0])))
        box.append(slice(low, high))
    z, y, x = box
    image[tuple(inside)] = scene.read_image((z, y, x))
    return image
