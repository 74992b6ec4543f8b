"""The room that is still free while a phantom grows, and the skeletons that fill it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.volume import Triple
from napari_celis.synthetic import kernels

CELL_NM = 25
PADDING_NM = 150
"""Neurites grow beyond the volume, so that its border looks like its middle."""
REACH_NM = 250
"""Room is not measured farther than this."""
MOAT_NM = 120
STEP_NM = 20
"""Distance between the balls of a strand."""
THINNEST_NM = 32
"""Least radius of a tube that is not a neck."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Voxel centres in whole nanometres, per axis."""

    zs: np.ndarray
    """Position of each plane along z, int64."""
    ys: np.ndarray
    """Position of each row along y, int64."""
    xs: np.ndarray
    """Position of each column along x, int64."""
    voxel_size_nm: Triple
    """Edge lengths of one voxel."""

    @classmethod
    def of(cls, shape: tuple[int, int, int], voxel_size_nm: Triple) -> Grid:
        """Lay voxel (0, 0, 0) at the origin.

        Parameters
        ----------
        shape : tuple of int
            Voxels along z, y, x.
        voxel_size_nm : Triple
            Voxel size along z, y, x.
        """
        zs, ys, xs = (
            np.rint(np.arange(n) * size).astype(np.int64)
            for n, size in zip(shape, voxel_size_nm, strict=True)
        )
        return cls(zs, ys, xs, voxel_size_nm)

    @property
    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three axes, as the kernels take them."""
        return self.zs, self.ys, self.xs

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels along z, y, x."""
        return len(self.zs), len(self.ys), len(self.xs)

    def voxels(self, points_nm: np.ndarray) -> np.ndarray:
        """Index of the voxel around each point; it may lie outside the volume."""
        return np.asarray(np.rint(points_nm / np.array(self.voxel_size_nm)).astype(np.int64))

    def holds(self, voxels: np.ndarray) -> np.ndarray:
        """Tell which voxel indices lie inside the volume."""
        return np.asarray(((voxels >= 0) & (voxels < self.shape)).all(axis=-1))


@dataclass(frozen=True, eq=False)
class NeckPlan:
    """A thin bridge that the skeletons ask for; the voxels decide later whether it came out thin."""

    path_nm: np.ndarray
    """Points from the middle of the base to the middle of the head, (M, 3) whole nanometres."""
    radius_nm: int
    """Half the width of the bridge."""
    length_nm: float
    """Distance between the surfaces of base and head."""
    head_nm: int
    """Radius of the head; around it the neurite keeps `MOAT_NM` away from itself."""
    owner: int
    """Number of the neurite."""

    @property
    def middle_nm(self) -> np.ndarray:
        """Point of the path in the middle of the moat."""
        towards = self.path_nm - self.path_nm[-1]
        distances = np.sqrt((towards * towards).sum(axis=1))
        return np.asarray(self.path_nm[int(np.abs(distances - self.head_nm - MOAT_NM // 2).argmin())])


@dataclass(frozen=True, eq=False)
class Skeletons:
    """Balls along the middle of every neurite, in whole nanometres, z, y, x."""

    points_nm: np.ndarray
    """Centres, (N, 3) int64."""
    radii_nm: np.ndarray
    """Radii, (N,) int64."""
    owners: np.ndarray
    """Number of the neurite of each ball, from 1, (N,) int32."""
    strands: np.ndarray
    """Number of the unbranched stretch of each ball, (N,) int32; its balls follow one another."""
    necks: tuple[NeckPlan, ...]
    """The thin bridges."""


class FreeSpace:
    """Distance to the nearest neurite on a coarse grid, and every ball put into it so far."""

    def __init__(self, extent_nm: np.ndarray) -> None:
        self.extent_nm = extent_nm
        cells = (extent_nm + 2 * PADDING_NM) // CELL_NM + 1
        self.clearance = np.full(cells, REACH_NM, dtype=np.int32)
        self._nearest = np.zeros(cells, dtype=np.int32)
        self._origin = np.full(3, -PADDING_NM, dtype=np.int64)
        self._points: list[np.ndarray] = []
        self._radii: list[np.ndarray] = []
        self._owners: list[int] = []
        self.necks: list[NeckPlan] = []
        self.n_neurites = 0

    def new_neurite(self) -> int:
        """Number the next neurite."""
        self.n_neurites += 1
        return self.n_neurites

    def holds(self, points: np.ndarray) -> np.ndarray:
        """Tell which points lie in the volume or in the padding around it."""
        inside = (points >= -PADDING_NM) & (points <= self.extent_nm + PADDING_NM)
        return np.asarray(inside.all(axis=-1))

    def room_at(self, points: np.ndarray) -> np.ndarray:
        """Distance from each point to the nearest neurite; everything outside counts as free."""
        cells = self._cells(points)
        held = ((cells >= 0) & (cells < self.clearance.shape)).all(axis=-1)
        z, y, x = np.where(held[..., None], cells, 0).T
        return np.where(held, self.clearance[z, y, x], REACH_NM)

    def fill(self, points: np.ndarray, radii: np.ndarray, owner: int) -> None:
        """Take the room of some balls of a neurite without adding them to its skeleton.

        Parameters
        ----------
        points : ndarray
            Middles of the balls, in nm.
        radii : ndarray
            Radii of the balls, in nm.
        owner : int
            The neurite.
        """
        kernels.lower_clearance(
            self.clearance, self._nearest, self._origin, CELL_NM, points, radii, owner, REACH_NM
        )

    def add(self, points: np.ndarray, radii: np.ndarray, owner: int) -> None:
        """Add one strand of balls to a neurite and take their room."""
        whole = np.rint(points).astype(np.int64).reshape(-1, 3)
        sizes = np.rint(radii).astype(np.int64).reshape(-1)
        if len(whole):
            self.fill(whole, sizes, owner)
            self._points.append(whole)
            self._radii.append(sizes)
            self._owners.append(owner)

    def open_position(self, rng: np.random.Generator) -> np.ndarray:
        """Pick the roomiest of a few random points."""
        points = rng.uniform(np.full(3, -PADDING_NM), self.extent_nm + PADDING_NM, size=(8, 3))
        return np.asarray(points[int(self.room_at(points).argmax())])

    def widest(self) -> tuple[np.ndarray, int]:
        """Find the point with the most room, and how much it has."""
        cell = np.unravel_index(int(self.clearance.argmax()), self.clearance.shape)
        return np.array(cell) * CELL_NM - PADDING_NM, int(self.clearance[cell])

    def nearest_owner(self, point: np.ndarray) -> int:
        """Find the neurite whose surface is nearest to a point in the space, 0 while there is none."""
        cell = np.clip(self._cells(point), 0, np.array(self._nearest.shape) - 1)
        return int(self._nearest[tuple(cell)])

    def share_taken(self) -> float:
        """Share of the cells that lie inside a neurite."""
        return float(np.count_nonzero(self.clearance <= 0) / self.clearance.size)

    def _cells(self, points: np.ndarray) -> np.ndarray:
        """Index of the cell around each point; it may lie outside."""
        return np.asarray((np.rint(points).astype(np.int64) - self._origin + CELL_NM // 2) // CELL_NM)

    def skeletons(self) -> Skeletons:
        """Gather everything that was added."""
        lengths = [len(points) for points in self._points]
        return Skeletons(
            points_nm=np.concatenate(self._points),
            radii_nm=np.concatenate(self._radii),
            owners=np.repeat(np.array(self._owners, dtype=np.int32), lengths),
            strands=np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
            necks=tuple(self.necks),
        )


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scale to length one along the last axis."""
    return np.asarray(vectors / np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True)))
