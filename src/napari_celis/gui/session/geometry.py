"""Where to look for a contact or a segment, and what lies under a click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session import geometry_kernels as kernels

STEPS_PER_VOXEL = 2
"""Samples along a ray for every voxel of its length."""


@dataclass(frozen=True, eq=False)
class RunGeometry:
    """Positions that every view of an agglomeration needs; they never change."""

    contact: np.ndarray
    """A point on each contact, near its middle, in voxels, float64 (A, 3)."""
    low: np.ndarray
    """First voxel of each supervoxel along the axes, int64 (N + 1, 3)."""
    high: np.ndarray
    """One past the last voxel of each supervoxel along the axes, int64 (N + 1, 3)."""

    @classmethod
    def of(cls, supervoxels: Supervoxels, actions: ActionTable) -> RunGeometry:
        """Find them all in one go.

        Parameters
        ----------
        supervoxels : Supervoxels
            The volume.
        actions : ActionTable
            Its contacts.
        """
        return cls(contact_positions(supervoxels, actions), *supervoxel_boxes(supervoxels))

    def box_of(self, members: np.ndarray) -> tuple[slice, slice, slice]:
        """Return the bounding box of some supervoxels, given by dense index."""
        low, high = self.low[members].min(axis=0), self.high[members].max(axis=0)
        z, y, x = (slice(int(a), int(b)) for a, b in zip(low, high, strict=True))
        return z, y, x


def contact_positions(supervoxels: Supervoxels, actions: ActionTable) -> np.ndarray:
    """Find a point on every contact: the face nearest to the mean of its faces.

    The mean itself can lie far off a contact that is curved or falls into pieces.

    Parameters
    ----------
    supervoxels : Supervoxels
        The volume.
    actions : ActionTable
        Its contacts.

    Returns
    -------
    positions : ndarray of float64, shape (A, 3)
        Middles of faces, in voxels.
    """
    distance = np.full(len(actions), np.inf)
    position = np.zeros((len(actions), 3))
    kernels.snap_to_faces(
        supervoxels.dense,
        actions.first,
        actions.v,
        np.ascontiguousarray(actions.centroid),
        distance,
        position,
    )
    return position


def supervoxel_boxes(supervoxels: Supervoxels) -> tuple[np.ndarray, np.ndarray]:
    """Return the first voxel of every supervoxel, and one past its last, int64 (N + 1, 3) each."""
    low = np.tile(np.array(supervoxels.dense.shape, dtype=np.int64), (supervoxels.n + 1, 1))
    high = np.zeros_like(low)
    kernels.grow_boxes(supervoxels.dense, low, high)
    return low, high


def point_inside(dense: np.ndarray, supervoxel: int, box: tuple[slice, slice, slice]) -> np.ndarray:
    """Return a voxel of a supervoxel in the middle section that it has, near its middle there, float64 (3,).

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Supervoxels.
    supervoxel : int
        Which one.
    box : tuple of slice
        Where it lies.
    """
    z, y, x = box
    middle = (z.start + z.stop - 1) / 2
    for section in sorted(range(z.start, z.stop), key=lambda one: (abs(one - middle), one)):
        found = np.argwhere(dense[section, y, x] == supervoxel)
        if len(found):
            nearest = found[np.linalg.norm(found - found.mean(axis=0), axis=1).argmin()]
            return np.array([section, y.start + nearest[0], x.start + nearest[1]], dtype=np.float64)
    return np.array([middle, (y.start + y.stop) / 2, (x.start + x.stop) / 2])


def supervoxel_at(dense: np.ndarray, position: Sequence[float] | np.ndarray) -> int:
    """Return the supervoxel at a position in voxels; 0 for background and outside.

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Supervoxels.
    position : sequence of float
        z, y, x in voxels.
    """
    voxel = np.rint(np.asarray(position, dtype=np.float64)).astype(np.int64)
    if ((voxel < 0) | (voxel >= dense.shape)).any():
        return 0
    return int(dense[tuple(voxel)])


def supervoxel_along(
    dense: np.ndarray, start: np.ndarray, end: np.ndarray, is_shown: np.ndarray | None = None
) -> tuple[int, np.ndarray]:
    """Return the first supervoxel on the way from `start` to `end`, and the voxel where it was met.

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Supervoxels.
    start, end : ndarray of float, shape (3,)
        Positions in voxels.
    is_shown : ndarray of bool, shape (N + 1,), optional
        Supervoxels that are not shown let the ray through.

    Returns
    -------
    supervoxel : int
        0 if there is none.
    voxel : ndarray of int64, shape (3,)
        Where.
    """
    start, end = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    n_samples = int(np.ceil(np.linalg.norm(end - start) * STEPS_PER_VOXEL)) + 1
    points = start + np.linspace(0.0, 1.0, n_samples)[:, None] * (end - start)
    voxels = np.rint(points).astype(np.int64)
    voxels = voxels[((voxels >= 0) & (voxels < dense.shape)).all(axis=1)]
    met = dense[tuple(voxels.T)]
    is_hit = met > 0 if is_shown is None else (met > 0) & is_shown[met]
    if not is_hit.any():
        return 0, np.zeros(3, dtype=np.int64)
    at = int(is_hit.argmax())
    return int(met[at]), voxels[at]


def repeat_along(positions: np.ndarray, axis: int, stride: int) -> np.ndarray:
    """Repeat lattice positions along one axis: one in every section that they stand for.

    Parameters
    ----------
    positions : ndarray, shape (n, 3)
        Points of a lattice.
    axis : int
        Along which they are repeated.
    stride : int
        Step of the lattice along this axis.

    Returns
    -------
    repeated : ndarray, shape (n * stride, 3)
        The repeats of one position follow one another.
    """
    shift = np.zeros((stride, 3), dtype=positions.dtype)
    shift[:, axis] = np.arange(stride) - (stride - 1) // 2
    repeated: np.ndarray = (positions[:, None, :] + shift).reshape(-1, 3)
    return repeated


def outline(values: np.ndarray, width: int = 1) -> np.ndarray:
    """Blank out everything in a section that lies further than `width` from a border between two values.

    Parameters
    ----------
    values : ndarray of integers, shape (Y, X)
        The edge of the section is no border.
    width : int
        In voxels.
    """
    is_border = np.zeros(values.shape, dtype=bool)
    for axis in range(2):
        for shift in range(1, width + 1):
            before, after = _halves(axis, shift, values.shape[axis])
            differs = values[before] != values[after]
            is_border[before] |= differs
            is_border[after] |= differs
    return np.where(is_border, values, np.zeros((), dtype=values.dtype))


def open_outline(sides: np.ndarray, bare: int) -> np.ndarray:
    """Keep the outermost voxels of two bodies in a section, but for those near to where the two touch.

    Parameters
    ----------
    sides : ndarray of integers, shape (Y, X)
        Which body each voxel belongs to, 0 for none.
    bare : int
        How far from the contact nothing is kept, in voxels.
    """
    lines = outline(sides, 1)
    touches = np.zeros(sides.shape, dtype=bool)
    for axis in range(2):
        before, after = _halves(axis, 1, sides.shape[axis])
        is_face = (sides[before] > 0) & (sides[after] > 0) & (sides[before] != sides[after])
        touches[before] |= is_face
        touches[after] |= is_face
    for y, x in np.argwhere(touches).tolist():
        lines[max(0, y - bare) : y + bare + 1, max(0, x - bare) : x + bare + 1] = 0
    return lines


def _halves(axis: int, shift: int, size: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Select what has a neighbour `shift` further along an axis, and those neighbours."""
    before, after = slice(0, max(0, size - shift)), slice(shift, None)
    whole = slice(None)
    return ((before, whole), (after, whole)) if axis == 0 else ((whole, before), (whole, after))
