"""Parts and coarser copies of volumes, computed when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Triple, Volume, as_triple, format_shape
from napari_celis.io.blocks import Kind
from napari_celis.io.lazy import Box, LazyArray
from napari_celis.io.pyramid import (
    Factors,
    choose_factors,
    coarser_geometry,
    coarser_shape,
    shrink_image,
    shrink_labels,
)

Range = tuple[int, int]
"""First voxel, and the one behind the last."""


def relabelled(dense: np.ndarray, table: np.ndarray, like: Volume, name: str) -> Volume:
    """Make the volume `table[dense]`, such as a segmentation of supervoxels, without computing it.

    Parameters
    ----------
    dense : ndarray of int, shape (Z, Y, X)
        Indices into `table`.
    table : ndarray, shape (N + 1,)
        The new value of each index.
    like : Volume
        Gives voxel size and offset.
    name : str
        What messages call it.
    """
    data = LazyArray(lambda box: table[dense[box]], shape=dense.shape, dtype=table.dtype, name=name)
    return replace(like, data=data, name=name)


def cropped(volume: Volume, ranges: Sequence[Range]) -> Volume:
    """Cut a box out of a volume; it keeps its position in space.

    Parameters
    ----------
    volume : Volume
        What to cut.
    ranges : sequence of (int, int)
        For z, y and x the first voxel, and the one behind the last.
    """
    for axis, (low, high), size in zip("zyx", ranges, volume.shape, strict=True):
        if not 0 <= low < high <= size:
            raise VolumeError(
                f"The crop runs from {low} to {high} along {axis}, but {volume.name} has {size} voxels along "
                f"it. Choose a part of 0 to {size}."
            )
    starts = [low for low, _ in ranges]
    offset = as_triple(
        first + low * size
        for first, low, size in zip(volume.offset_nm, starts, volume.voxel_size_nm, strict=True)
    )
    data = LazyArray(
        lambda box: volume.data[_shifted(box, starts)],
        shape=tuple(high - low for low, high in ranges),
        dtype=volume.dtype,
        name=volume.name,
    )
    return replace(volume, data=data, offset_nm=offset)


def level_sizes(shape: tuple[int, int, int], voxel_size_nm: Triple) -> list[Triple]:
    """List the voxel sizes of the levels that a volume can be written at, the finest first.

    Parameters
    ----------
    shape : tuple of int
        Voxels along z, y, x.
    voxel_size_nm : Triple
        Voxel size along z, y, x.
    """
    sizes = [voxel_size_nm]
    while (factors := choose_factors(shape, voxel_size_nm)) is not None:
        shape = coarser_shape(shape, factors)
        voxel_size_nm, _ = coarser_geometry(voxel_size_nm, (0.0, 0.0, 0.0), factors)
        sizes.append(voxel_size_nm)
    return sizes


def at_level(volume: Volume, level: int, kind: Kind) -> Volume:
    """Halve a volume `level` times, the way a pyramid does: images by the mean, labels by the majority.

    Parameters
    ----------
    volume : Volume
        What to halve.
    level : int
        How often.
    kind : Kind
        Whether it is an image or labels.
    """
    for done in range(level):
        factors = choose_factors(volume.shape, volume.voxel_size_nm)
        if factors is None:
            raise VolumeError(
                f"{volume.name} with {format_shape(volume.shape)} voxels has no level {level - done} below "
                "it: it is small already. Choose a finer level."
            )
        volume = _halved(volume, factors, kind)
    return volume


def _halved(volume: Volume, factors: Factors, kind: Kind) -> Volume:
    """Shrink a volume once, while it is read."""
    shrink = shrink_labels if kind == "labels" else shrink_image

    def read_box(box: Box) -> np.ndarray:
        fine = tuple(
            slice(part.start * factor, min(part.stop * factor, size))
            for part, factor, size in zip(box, factors, volume.shape, strict=True)
        )
        return shrink(np.asarray(volume.data[fine]), factors)

    size, offset = coarser_geometry(volume.voxel_size_nm, volume.offset_nm, factors)
    shape = coarser_shape(volume.shape, factors)
    data = LazyArray(read_box, shape=shape, dtype=volume.dtype, name=volume.name)
    return replace(volume, data=data, voxel_size_nm=size, offset_nm=offset)


def _shifted(box: Box, starts: Sequence[int]) -> Box:
    """Move a box of the part into the whole."""
    z, y, x = (slice(part.start + start, part.stop + start) for part, start in zip(box, starts, strict=True))
    return z, y, x
