"""Affinities of a whole volume, tile by tile in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import ModelError
from napari_celis.core.symmetry import spread_symmetries
from napari_celis.core.volume import ArrayLike3D, Box, require_three_axes, require_voxels
from napari_celis.models.affinity_base import NEIGHBOURS, AffinityNet
from napari_celis.models.device import explained_memory
from napari_celis.models.tiles import (
    Tile,
    choose_tile,
    on_grid,
    read_window,
    require_context,
    tiles,
    whole,
)
from napari_celis.models.views import SymmetricImage

MEMORY_GB = 1.5
"""Default budget for one tile."""

Progress = Callable[[int, int], None]
"""Called with the number of tiles done and of all tiles."""


@dataclass(frozen=True, eq=False)
class AffinityTile:
    """The affinities of one part of a volume."""

    slices: tuple[slice, slice, slice]
    """Where they belong."""
    affinities: np.ndarray
    """float32 or uint8 (3, Z, Y, X)"""
    done: int
    """Tiles finished, this one included."""
    total: int


def affinity_tiles(
    net: AffinityNet,
    image: ArrayLike3D,
    *,
    dtype: Any = np.float32,
    tile_zyx: IntTriple | None = None,
    memory_gb: float = MEMORY_GB,
    box: Box | None = None,
) -> Iterator[AffinityTile]:
    """Compute affinities part by part, to store each one before the next.

    Parameters
    ----------
    net : AffinityNet
        On the device that is to do the work.
    image : array or lazy array, shape (Z, Y, X)
        Grey values as in the file; only one window at a time is read.
    dtype : {float32, uint8}
        uint8 stores probability × 255.
    tile_zyx : tuple of int, optional
        Size of a tile, rounded up to the network's grid. Unless given, `memory_gb` decides.
    memory_gb : float
        Budget for the computation of one tile.
    box : three slices, optional
        The part that is wanted, see `on_grid`; everything by default.

    Yields
    ------
    tile : AffinityTile
        Disjoint parts that cover the volume or the box; values do not depend on the size of the tiles.
    """
    as_bytes = _is_bytes(dtype)
    parts = _plan(net, image, tile_zyx, memory_gb, box)
    for done, tile in enumerate(parts, start=1):
        with torch.inference_mode():
            probabilities = torch.sigmoid(_tile_logits(net, image, tile)[0])
            if as_bytes:
                probabilities = (probabilities * 255).round().to(torch.uint8)
        z, y, x = (high - low for low, high in zip(tile.low, tile.high, strict=True))
        values = probabilities[:, :z, :y, :x].contiguous().cpu().numpy()
        yield AffinityTile(tile.slices, values, done, len(parts))


def predict_affinities(
    net: AffinityNet,
    image: ArrayLike3D,
    *,
    dtype: Any = np.float32,
    tile_zyx: IntTriple | None = None,
    memory_gb: float = MEMORY_GB,
    progress: Progress | None = None,
) -> np.ndarray:
    """Compute the affinities of a volume; see `affinity_tiles` for the parameters.

    Parameters
    ----------
    net, image, dtype, tile_zyx, memory_gb
        As in `affinity_tiles`.
    progress : callable, optional
        Called as `progress(done, total)` after each tile; an exception it raises ends the work.

    Returns
    -------
    affinities : ndarray of float32 or uint8, shape (3, Z, Y, X)
        Channel c at p joins p and its neighbour in −z, −y or −x.
    """
    result = np.empty((len(NEIGHBOURS), *image.shape), dtype=np.uint8 if _is_bytes(dtype) else np.float32)
    for tile in affinity_tiles(net, image, dtype=dtype, tile_zyx=tile_zyx, memory_gb=memory_gb):
        result[(slice(None), *tile.slices)] = tile.affinities
        if progress is not None:
            progress(tile.done, tile.total)
    return result


def predict_averaged(
    net: AffinityNet,
    image: ArrayLike3D,
    n_symmetries: int,
    *,
    box: Box | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Average the affinities that a network finds in several symmetries of the image.

    Parameters
    ----------
    net : AffinityNet
        On the device that is to do the work.
    image : array or lazy array, shape (Z, Y, X)
        Grey values as in the file.
    n_symmetries : int
        How many symmetries of its voxels, the image as it is among them; always the same ones.
    box : three slices, optional
        The part that is wanted; everything by default. Only this part and its context are read.
    progress : callable, optional
        Called as `progress(done, total)`, in thousandths; an exception it raises ends the work.

    Returns
    -------
    affinities : ndarray of float32, shape (3, Z, Y, X)
        Of the box, with the values that it has in the affinities of the whole image.
    """
    symmetries = spread_symmetries(net.settings.voxel_size_nm, n_symmetries)
    box = whole(as_shape(image)) if box is None else box
    # Edges of a mirrored image belong to the voxel before: one layer more is needed where there is one.
    around = tuple(slice(max(0, part.start - 1), part.stop) for part in box)
    kept = tuple(slice(part.start - more.start, None) for part, more in zip(box, around, strict=True))
    affinities = np.zeros((len(NEIGHBOURS), *(part.stop - part.start for part in box)), dtype=np.float32)
    for index, symmetry in enumerate(symmetries):
        turned = SymmetricImage(image, symmetry)
        wanted = turned.box_of((around[0], around[1], around[2]))
        covered = on_grid(wanted, net)
        found = np.empty((len(NEIGHBOURS), *(part.stop - part.start for part in covered)), dtype=np.float32)
        for tile in affinity_tiles(net, turned, box=covered):
            inside = (
                slice(part.start - low.start, part.stop - low.start)
                for part, low in zip(tile.slices, covered, strict=True)
            )
            found[(slice(None), *inside)] = tile.affinities
            if progress is not None:
                progress(round(1000 * (index + tile.done / tile.total) / len(symmetries)), 1000)
        beyond = (slice(part.start - low.start, None) for part, low in zip(wanted, covered, strict=True))
        affinities += symmetry.undo_affinities(found[(slice(None), *beyond)])[(slice(None), *kept)]
    affinities /= len(symmetries)
    return affinities


def _is_bytes(dtype: Any) -> bool:
    """Decide between the two types that affinities are stored as."""
    if np.dtype(dtype) not in (np.dtype(np.uint8), np.dtype(np.float32)):
        raise ModelError(f"Affinities are stored as float32 or uint8, not as {np.dtype(dtype)}.")
    return bool(np.dtype(dtype) == np.dtype(np.uint8))


def as_shape(image: ArrayLike3D) -> IntTriple:
    """Return voxels along z, y, x; refuses anything but a volume with voxels."""
    require_three_axes(image.shape, "`image`")
    require_voxels(image.shape, "`image`")
    return int(image.shape[0]), int(image.shape[1]), int(image.shape[2])


def _plan(
    net: AffinityNet,
    image: ArrayLike3D,
    tile_zyx: IntTriple | None,
    memory_gb: float,
    box: Box | None = None,
) -> list[Tile]:
    """List the tiles of a volume, after looking whether the network can see it at all."""
    shape = as_shape(image)
    require_context(shape, net)
    if tile_zyx is None:
        tile_zyx = choose_tile(shape, net, memory_gb, box)
    z, y, x = (-(-size // grid) * grid for size, grid in zip(tile_zyx, net.grid_zyx, strict=True))
    return list(tiles(shape, net, (z, y, x), box))


def _tile_logits(net: AffinityNet, image: ArrayLike3D, tile: Tile) -> torch.Tensor:
    """Run a network in evaluation mode over one window, and keep the logits of its tile."""
    was_training = net.training
    net.eval()
    try:
        with explained_memory(net.device, "Allow smaller tiles with a lower `memory_gb`, or use the CPU."):
            window = torch.from_numpy(net.standardise(read_window(image, tile))).to(net.device)
            return net.neighbour_logits(window[None, None], tile.core)
    finally:
        net.train(was_training)
