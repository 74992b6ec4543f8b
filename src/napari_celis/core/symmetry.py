"""Symmetries of a block of voxels: axes in another order, some of them mirrored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

SAME_SIZE = 1.1
"""Axes whose voxel sizes differ by less than this factor may be exchanged."""


@dataclass(frozen=True)
class Symmetry:
    """Exchange axes, then mirror some of them; by default nothing changes."""

    axes: tuple[int, int, int] = (0, 1, 2)
    """Which axis of the source becomes each axis of the result."""
    mirrored: tuple[bool, bool, bool] = (False, False, False)
    """Which axes of the result are mirrored."""

    def apply(self, volume: np.ndarray) -> np.ndarray:
        """Transform the last three axes; a contiguous copy."""
        first = volume.ndim - 3
        order = (*range(first), *(first + axis for axis in self.axes))
        return np.ascontiguousarray(np.flip(volume.transpose(order), self._mirrored(first)))

    def undo(self, volume: np.ndarray) -> np.ndarray:
        """Transform the last three axes back; a view."""
        first = volume.ndim - 3
        order = (*range(first), *(first + axis for axis in np.argsort(self.axes).tolist()))
        return np.flip(volume, self._mirrored(first)).transpose(order)

    def undo_affinities(self, affinities: np.ndarray) -> np.ndarray:
        """Transform affinities of a transformed image back to those of the image.

        Parameters
        ----------
        affinities : ndarray, shape (3, Z, Y, X)
            Channel c at p joins p and the voxel before it along axis c.

        Returns
        -------
        restored : ndarray, shape (3, ...)
            The same of the image as it was; 0 where there is no voxel before.
        """
        restored = np.zeros_like(self.undo(affinities))
        for channel, axis in enumerate(self.axes):
            own = np.moveaxis(self.undo(affinities[channel]), axis, 0)
            # Mirrored, the voxel before has become the voxel behind.
            edges = own[:-1] if self.mirrored[channel] else own[1:]
            np.moveaxis(restored[axis], axis, 0)[1:] = edges
        return restored

    def source(self, size: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return the sizes along the source's axes that become `size`."""
        sizes = [0, 0, 0]
        for target, axis in enumerate(self.axes):
            sizes[axis] = size[target]
        return sizes[0], sizes[1], sizes[2]

    def _mirrored(self, first: int) -> tuple[int, ...]:
        return tuple(first + axis for axis, is_mirrored in enumerate(self.mirrored) if is_mirrored)


def all_symmetries(
    voxel_size_nm: Sequence[float], *, exchange: bool = True, mirror: bool = True
) -> list[Symmetry]:
    """List the symmetries that keep the voxel size, the identity first: 48 for cubes, 16 for thick sections.

    Parameters
    ----------
    voxel_size_nm : sequence of float
        Axes of nearly the same voxel size may be exchanged.
    exchange, mirror : bool
        Whether axes may be exchanged, and mirrored, at all.
    """
    size = np.asarray(voxel_size_nm)
    orders = [
        axes
        for axes in permutations(range(3))
        if np.all(np.maximum(size / size[list(axes)], size[list(axes)] / size) < SAME_SIZE)
    ]
    mirrors = product((False, True) if mirror else (False,), repeat=3)
    both = product(orders if exchange else orders[:1], list(mirrors))
    return [Symmetry((a, b, c), (z, y, x)) for (a, b, c), (z, y, x) in both]


def choose_symmetries(voxel_size_nm: Sequence[float], n: int, rng: np.random.Generator) -> list[Symmetry]:
    """Draw `n` different symmetries, or all there are; the identity is always among them.

    Parameters
    ----------
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    n : int
        How many.
    rng : Generator
        Makes every random choice.
    """
    first, *others = all_symmetries(voxel_size_nm)
    chosen = rng.permutation(len(others))[: n - 1]
    return [first, *(others[i] for i in chosen)]


def spread_symmetries(voxel_size_nm: Sequence[float], n: int) -> list[Symmetry]:
    """List `n` symmetries, or all there are, that differ as much as they can; the identity comes first.

    Every order of the axes comes once before any comes again, those that turn the volume before those that
    exchange two axes. The latter begin with all axes mirrored.

    Parameters
    ----------
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    n : int
        How many.
    """
    turns: dict[tuple[int, int, int], list[Symmetry]] = {}
    exchanges: dict[tuple[int, int, int], list[Symmetry]] = {}
    for symmetry in all_symmetries(voxel_size_nm):
        is_exchange = sum(place == axis for place, axis in enumerate(symmetry.axes)) == 1
        (exchanges if is_exchange else turns).setdefault(symmetry.axes, []).append(symmetry)
    orders = [*turns.values(), *(own[::-1] for own in exchanges.values())]
    return [symmetry for together in zip(*orders, strict=True) for symmetry in together][:n]
