"""Affinities of a whole volume and image features at chosen centres, tile by tile in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import ModelError
from napari_celis.core.symmetry import choose_symmetries
from napari_celis.core.volume import ArrayLike3D, Box, require_three_axes, require_voxels
from napari_celis.models.affinity_base import AffinityNet
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
    """float32 or uint8 (C, Z, Y, X)"""
    done: int
    """Tiles finished, this one included."""
    total: int


def affinity_tiles(
    net: AffinityNet,
    image: ArrayLike3D,
    *,
    dtype: Any = np.float32,
    with_long_range: bool = False,
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
    with_long_range : bool
        Also return the auxiliary channels.
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
    n_channels = len(net.settings.offsets) if with_long_range else 3
    as_bytes = _is_bytes(dtype)
    parts = _plan(net, image, tile_zyx, memory_gb, box)
    for done, tile in enumerate(parts, start=1):
        features = _tile_features(net, image, tile)
        with torch.inference_mode():
            probabilities = torch.sigmoid(net.logits(features)[0, :n_channels])
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
    with_long_range: bool = False,
    tile_zyx: IntTriple | None = None,
    memory_gb: float = MEMORY_GB,
    progress: Progress | None = None,
) -> np.ndarray:
    """Compute the affinities of a volume; see `affinity_tiles` for the parameters.

    Parameters
    ----------
    net, image, dtype, with_long_range, tile_zyx, memory_gb
        As in `affinity_tiles`.
    progress : callable, optional
        Called as `progress(done, total)` after each tile; an exception it raises ends the work.

    Returns
    -------
    affinities : ndarray of float32 or uint8, shape (C, Z, Y, X)
        Channel c at p joins p and p + `net.settings.offsets[c]`: the neighbours in −z, −y and −x.
    """
    n_channels = len(net.settings.offsets) if with_long_range else 3
    result = np.empty((n_channels, *image.shape), dtype=np.uint8 if _is_bytes(dtype) else np.float32)
    for tile in affinity_tiles(
        net, image, dtype=dtype, with_long_range=with_long_range, tile_zyx=tile_zyx, memory_gb=memory_gb
    ):
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
    symmetries = choose_symmetries(net.settings.voxel_size_nm, n_symmetries, np.random.default_rng(0))
    box = whole(as_shape(image)) if box is None else box
    # Edges of a mirrored image belong to the voxel before: one layer more is needed where there is one.
    around = tuple(slice(max(0, part.start - 1), part.stop) for part in box)
    kept = tuple(slice(part.start - more.start, None) for part, more in zip(box, around, strict=True))
    affinities = np.zeros((3, *(part.stop - part.start for part in box)), dtype=np.float32)
    for index, symmetry in enumerate(symmetries):
        turned = SymmetricImage(image, symmetry)
        wanted = turned.box_of((around[0], around[1], around[2]))
        covered = on_grid(wanted, net)
        found = np.empty((3, *(part.stop - part.start for part in covered)), dtype=np.float32)
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


def features_at(
    net: AffinityNet,
    image: ArrayLike3D,
    centres: np.ndarray,
    *,
    dtype: Any = np.float32,
    tile_zyx: IntTriple | None = None,
    memory_gb: float = MEMORY_GB,
    progress: Progress | None = None,
) -> np.ndarray:
    """Compute image features at some voxels; those of the whole volume are never held.

    Parameters
    ----------
    net, image, tile_zyx, memory_gb, progress
        As in `predict_affinities`.
    centres : ndarray of int, shape (N, 3)
        Voxels inside the volume, in any order; `lattice` makes regular ones.
    dtype : {float32, float16}
        Type of the result.

    Returns
    -------
    features : ndarray, shape (N, F)
        The penultimate layer of the network at each centre.
    """
    centres = np.asarray(centres)
    if centres.ndim != 2 or centres.shape[1] != 3 or centres.dtype.kind not in "iu":
        raise ModelError(f"`centres` must be integers of shape (N, 3), got {centres.dtype} {centres.shape}.")
    if len(centres) and ((centres < 0) | (centres >= np.array(image.shape))).any():
        raise ModelError(f"Some `centres` lie outside the volume of shape {tuple(image.shape)}.")
    result = np.empty((len(centres), net.n_features), dtype=dtype)
    parts = _plan(net, image, tile_zyx, memory_gb)
    for done, tile in enumerate(parts, start=1):
        inside = np.flatnonzero(((centres >= tile.low) & (centres < tile.high)).all(axis=1))
        if len(inside):
            features = _tile_features(net, image, tile)
            z, y, x = torch.from_numpy((centres[inside] - tile.low).astype(np.int64).T).to(features.device)
            result[inside] = features[0, :, z, y, x].T.cpu().numpy()
        if progress is not None:
            progress(done, len(parts))
    return result


def lattice(shape: IntTriple, stride_zyx: IntTriple, first_zyx: IntTriple = (0, 0, 0)) -> np.ndarray:
    """List the voxels of a regular lattice, int32 (N, 3).

    Parameters
    ----------
    shape : IntTriple
        Voxels along z, y, x.
    stride_zyx : IntTriple
        Voxels between two points.
    first_zyx : IntTriple
        The first point.
    """
    axes = [
        np.arange(first, size, stride, dtype=np.int32)
        for first, size, stride in zip(first_zyx, shape, stride_zyx, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


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


@torch.inference_mode()
def _tile_features(net: AffinityNet, image: ArrayLike3D, tile: Tile) -> torch.Tensor:
    """Run a network in evaluation mode over one window, and keep the features of its tile."""
    was_training = net.training
    net.eval()
    try:
        with explained_memory(net.device, "Allow smaller tiles with a lower `memory_gb`, or use the CPU."):
            window = torch.from_numpy(net.standardise(read_window(image, tile))).to(net.device)
            return net.features(window[None, None], tile.core)
    finally:
        net.train(was_training)
