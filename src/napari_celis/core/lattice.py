"""Which centres and regions a spec has in a volume, axis by axis: there are too many to list them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.descriptors import DescriptorSpec, IntTriple
from napari_celis.core.regions import Tiling, tile


@dataclass(frozen=True, eq=False)
class Region:
    """One connectivity region: its box, and the centres that it owns."""

    index: int
    """Number in the spec's `Tiling`."""
    low: np.ndarray
    """First voxel, int64 (3,)."""
    high: np.ndarray
    """End, exclusive, int64 (3,)."""
    lattice: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Centres along z, y and x."""

    def centres(self) -> np.ndarray:
        """List the centres, int64 (n, 3), in the order of the tiling."""
        grid = np.meshgrid(*self.lattice, indexing="ij")
        return np.stack([axis.ravel() for axis in grid], axis=1).astype(np.int64)

    @property
    def slices(self) -> tuple[slice, slice, slice]:
        """The box as an index into the volume."""
        z, y, x = (slice(int(a), int(b)) for a, b in zip(self.low, self.high, strict=True))
        return z, y, x


@dataclass(frozen=True, eq=False)
class Lattice:
    """The centres and connectivity regions of one spec in one volume."""

    spec: DescriptorSpec
    shape: IntTriple
    axes: tuple[Tiling, Tiling, Tiling]
    """The tiles along each axis, with a single one across."""

    @classmethod
    def of(cls, shape: Sequence[int], spec: DescriptorSpec) -> Lattice:
        """Lay the lattice of a spec into a volume; refuses a box that does not fit.

        Parameters
        ----------
        shape : sequence of int
            Voxels along z, y, x.
        spec : DescriptorSpec
            The descriptor spec.
        """
        axes = []
        for axis in range(3):
            line = list(spec.box_zyx)
            line[axis] = int(shape[axis])
            axes.append(tile(line, spec))
        z, y, x = (int(size) for size in shape)
        return cls(spec, (z, y, x), (axes[0], axes[1], axes[2]))

    def positions(self, axis: int) -> np.ndarray:
        """List the coordinates of the centres along one axis, ascending."""
        return self.axes[axis].centres[:, axis]

    def contains(self, position: Sequence[float]) -> bool:
        """Tell whether a position in voxels lies in the volume."""
        return all(-0.5 <= p < size - 0.5 for p, size in zip(position, self.shape, strict=True))

    def snap(self, position: Sequence[float]) -> IntTriple:
        """Return the centre nearest to a position in voxels."""
        nearest = [
            self.positions(axis)[np.abs(self.positions(axis) - value).argmin()]
            for axis, value in enumerate(position)
        ]
        return int(nearest[0]), int(nearest[1]), int(nearest[2])

    def region_of(self, centre: Sequence[int]) -> Region:
        """Return the region that owns a centre of the lattice."""
        tiles = tuple(
            line.region_of(int(np.searchsorted(self.positions(axis), centre[axis])))
            for axis, line in enumerate(self.axes)
        )
        lattice = tuple(
            self.positions(axis)[line.centre_start[n] : line.centre_start[n + 1]]
            for axis, (line, n) in enumerate(zip(self.axes, tiles, strict=True))
        )
        index = int(np.ravel_multi_index(tiles, [line.n_regions for line in self.axes]))
        low, high = self._edges(tiles)
        return Region(index, low, high, (lattice[0], lattice[1], lattice[2]))

    def neighbours(self, region: Region) -> list[tuple[np.ndarray, np.ndarray]]:
        """List first voxel and end of the regions around one, itself among them; at most 27."""
        counts = [line.n_regions for line in self.axes]
        middle = [int(n) for n in np.unravel_index(region.index, counts)]
        spans = [range(max(m - 1, 0), min(m + 2, n)) for m, n in zip(middle, counts, strict=True)]
        return [self._edges((z, y, x)) for z in spans[0] for y in spans[1] for x in spans[2]]

    def edges(self, axis: int) -> np.ndarray:
        """List where regions begin and end along one axis, in voxels, ascending, without repeats."""
        line = self.axes[axis]
        return np.unique(np.concatenate([line.low[:, axis], line.high[:, axis]]))

    def centres_between(self, start: Sequence[float], end: Sequence[float]) -> list[IntTriple]:
        """List the centres along a straight line, from the one nearest to `start` to that of `end`.

        Parameters
        ----------
        start, end : sequence of float
            Positions in voxels.
        """
        first, last = (np.array(self.snap(point)) for point in (start, end))
        n_steps = int(np.abs((last - first) // np.array(self.spec.stride_zyx)).max())
        shares = np.linspace(0, 1, n_steps + 1)[:, None]
        return list(dict.fromkeys(self.snap(point) for point in first + shares * (last - first)))

    def _edges(self, tiles: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return first voxel and end of a region, given its number along each axis."""
        low = [line.low[n, axis] for axis, (line, n) in enumerate(zip(self.axes, tiles, strict=True))]
        high = [line.high[n, axis] for axis, (line, n) in enumerate(zip(self.axes, tiles, strict=True))]
        return np.array(low), np.array(high)
