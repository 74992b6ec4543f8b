"""Cut a volume into tiles that a network can be run on one by one, with the result of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import ModelError, NotEnoughMemoryError
from napari_celis.core.volume import ArrayLike3D, Box, format_shape
from napari_celis.models.affinity_base import AffinityNet


@dataclass(frozen=True)
class Tile:
    """A box whose outputs are wanted, and the window of image that decides them."""

    low: IntTriple
    """First voxel whose outputs are kept."""
    high: IntTriple
    """End, exclusive, within the volume."""
    window_low: IntTriple
    """First voxel that the network reads; negative where the image is continued beyond its border."""
    window_high: IntTriple
    core: tuple[slice, slice, slice]
    """The kept outputs, up to the next grid point, among all outputs of the window."""

    @property
    def slices(self) -> tuple[slice, slice, slice]:
        """Where the kept outputs lie in the volume."""
        z, y, x = (slice(a, b) for a, b in zip(self.low, self.high, strict=True))
        return z, y, x


def tiles(shape: IntTriple, net: AffinityNet, tile_zyx: IntTriple, box: Box | None = None) -> Iterator[Tile]:
    """Cover a volume, or a box of it, with tiles that begin on the network's grid.

    Parameters
    ----------
    shape : tuple of int
        Size of the volume.
    net : AffinityNet
        Decides halo and grid.
    tile_zyx : tuple of int
        Size of the kept part, a multiple of the grid; the last tiles are clipped to the volume.
    box : three slices, optional
        What to cover, as `on_grid` returns it; everything by default.

    Yields
    ------
    tile : Tile
    """
    box = whole(shape) if box is None else box
    axes = [
        [
            _span(begin, box[axis].stop, axis, shape, net, tile_zyx)
            for begin in range(box[axis].start, box[axis].stop, tile_zyx[axis])
        ]
        for axis in range(3)
    ]
    for z, y, x in product(*axes):
        yield Tile(
            (z.low, y.low, x.low),
            (z.high, y.high, x.high),
            (z.window_low, y.window_low, x.window_low),
            (z.window_high, y.window_high, x.window_high),
            (z.core, y.core, x.core),
        )


class _Span(NamedTuple):
    """A tile along one axis."""

    low: int
    high: int
    window_low: int
    window_high: int
    core: slice


def whole(shape: IntTriple) -> Box:
    """Return the box that is all of a volume."""
    z, y, x = (slice(0, size) for size in shape)
    return z, y, x


def on_grid(box: Box, net: AffinityNet) -> Box:
    """Let a box begin on the network's grid, as every window of a volume has to."""
    z, y, x = (
        slice(part.start // grid * grid, part.stop) for part, grid in zip(box, net.grid_zyx, strict=True)
    )
    return z, y, x


def _span(begin: int, last: int, axis: int, shape: IntTriple, net: AffinityNet, tile_zyx: IntTriple) -> _Span:
    """Place one tile along one axis; `last` is the end of what is covered."""
    size, grid, halo = shape[axis], net.grid_zyx[axis], net.halo_zyx[axis]
    end = min(begin + tile_zyx[axis], last)
    kept = -(-(end - begin) // grid) * grid
    if net.is_valid:
        return _Span(begin, end, begin - halo, begin + kept + halo, slice(0, kept))
    # The network pads with zeros by itself: beyond the volume there is nothing to read but the last cell.
    window_low = max(0, begin - halo)
    window_high = min(begin + kept + halo, -(-size // grid) * grid)
    core = slice(begin - window_low, begin - window_low + kept)
    return _Span(begin, end, window_low, window_high, core)


def read_window(image: ArrayLike3D, tile: Tile) -> np.ndarray:
    """Read the window of a tile; beyond the border the image is mirrored.

    Parameters
    ----------
    image : ArrayLike3D
        Grey values.
    tile : Tile
        The tile.
    """
    bounds = list(zip(tile.window_low, tile.window_high, image.shape, strict=True))
    inside = np.asarray(image[tuple(slice(max(0, low), min(high, size)) for low, high, size in bounds)])
    missing = [(max(0, -low), max(0, high - size)) for low, high, size in bounds]
    return np.pad(inside, missing, mode="symmetric")


def choose_tile(shape: IntTriple, net: AffinityNet, memory_gb: float, box: Box | None = None) -> IntTriple:
    """Find the largest tiles whose computation stays within a memory budget.

    Parameters
    ----------
    shape : tuple of int
        Size of the volume.
    net : AffinityNet
        Says how many bytes a voxel takes.
    memory_gb : float
        Budget for one tile, in addition to the result.
    box : three slices, optional
        What the tiles have to cover; everything by default.

    Returns
    -------
    tile_zyx : tuple of int
        A multiple of the network's grid, at most the volume or the box.

    Raises
    ------
    NotEnoughMemoryError
        If not even one cell of the grid with its halo fits.
    """
    grid = np.array(net.grid_zyx)
    limit = -(-np.array(shape) // grid) * grid
    sides = [part.stop - part.start for part in box or whole(shape)]
    most = -(-np.array(sides) // grid) * grid
    tile = most.copy()
    while tile_bytes(tile, net, limit) > memory_gb * 1e9:
        if (tile == grid).all():
            raise NotEnoughMemoryError(
                f"The network needs {tile_bytes(tile, net, limit) / 1e9:.2g} GB for the smallest tile, but "
                f"`memory_gb` is {memory_gb:g}. Allow more memory, or use a smaller network."
            )
        # Cut the longest side into one part more: near-cubic tiles have the least halo.
        axis = int(np.argmax(np.where(tile > grid, tile, 0)))
        n_parts = -(-most[axis] // tile[axis]) + 1
        even = -(-most[axis] // (n_parts * grid[axis])) * grid[axis]
        tile[axis] = min(even, tile[axis] - grid[axis])
    return int(tile[0]), int(tile[1]), int(tile[2])


def tile_bytes(tile: np.ndarray, net: AffinityNet, limit: np.ndarray) -> int:
    """Estimate the memory that one tile takes.

    Parameters
    ----------
    tile : ndarray
        Voxels along z, y, x.
    net : AffinityNet
        The network.
    limit : ndarray
        Voxels of the whole volume along z, y, x.
    """
    window = tile + 2 * np.array(net.halo_zyx)
    if not net.is_valid:
        window = np.minimum(window, limit)
    return int(np.prod(window, dtype=float) * net.window_bytes + np.prod(tile, dtype=float) * net.core_bytes)


def require_context(shape: IntTriple, net: AffinityNet) -> None:
    """Refuse a volume that is smaller than what the network looks at.

    Parameters
    ----------
    shape : IntTriple
        Voxels along z, y, x.
    net : AffinityNet
        The network.
    """
    needed = tuple(2 * halo + 1 for halo in net.halo_zyx) if net.is_valid else net.grid_zyx
    if any(size < need for size, need in zip(shape, needed, strict=True)):
        raise ModelError(
            f"The volume has {format_shape(shape)} voxels, but the network `{net.settings.preset}` needs at "
            f"least {format_shape(needed)}. Give a larger volume, or use another preset."
        )
