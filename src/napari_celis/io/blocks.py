"""Walk through a volume in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from napari_celis.core.volume import (
    Volume,
    as_image,
    as_labels,
    count_voxels,
    require_label_type,
    require_numbers,
    unsigned_type,
)
from napari_celis.io.lazy import Box
from napari_celis.io.memory import available_bytes

Kind = Literal["image", "labels"]
Progress = Callable[[int, int], None]
"""Called with the voxels done so far and in all."""

BLOCK_BYTES = 64 * 2**20
"""About this much is held in memory at a time."""
MAX_HELD_BYTES = 2**30
"""Where stored chunks are larger than that, up to this much, so that each is unpacked once."""


def iterate_boxes(shape: Sequence[int], itemsize: int, chunks: Sequence[int] = (1, 1, 1)) -> Iterator[Box]:
    """Cut a shape into boxes that lie on the grid of chunks.

    Parameters
    ----------
    shape : sequence of int
        Size along z, y, x.
    itemsize : int
        Bytes per voxel.
    chunks : sequence of int
        Every box starts at a multiple of this, so that no chunk is written twice.

    Yields
    ------
    box : tuple of slice
        At most about `BLOCK_BYTES`, and always at least one chunk.
    """
    steps = [min(chunk, size) for chunk, size in zip(chunks, shape, strict=True)]
    for axis in (2, 1, 0):
        others = count_voxels(steps) // steps[axis]
        n_affordable = BLOCK_BYTES // (itemsize * others * chunks[axis])
        steps[axis] = min(shape[axis], max(1, n_affordable) * chunks[axis])
    # Loops, because `itertools.product` would write the ranges out first, however long they are.
    z_starts, y_starts, x_starts = (range(0, size, step) for size, step in zip(shape, steps, strict=True))
    for z_start in z_starts:
        for y_start in y_starts:
            for x_start in x_starts:
                z, y, x = (
                    slice(start, min(start + step, size))
                    for start, step, size in zip((z_start, y_start, x_start), steps, shape, strict=True)
                )
                yield z, y, x


def stored_type(volume: Volume, kind: Kind) -> np.dtype[Any]:
    """Say which type a volume is written with: labels unsigned, booleans as bytes, native byte order.

    Parameters
    ----------
    volume : Volume
        What is written.
    kind : Kind
        Whether it is an image or labels.
    """
    if kind == "labels":
        require_label_type(volume.dtype, volume.name)
        return unsigned_type(volume.dtype)
    require_numbers(volume.dtype, volume.name)
    return np.dtype(np.uint8) if volume.dtype.kind == "b" else volume.dtype.newbyteorder("=")


def read_blocks(
    volume: Volume, kind: Kind, chunks: Sequence[int] = (1, 1, 1), progress: Progress | None = None
) -> Iterator[tuple[Box, np.ndarray]]:
    """Read a volume box by box, checked and in the type of `stored_type`.

    Parameters
    ----------
    volume : Volume
        What to read.
    kind : {"image", "labels"}
        Labels may not be negative.
    chunks : sequence of int
        The grid that boxes lie on.
    progress : callable, optional
        Told after each box that the caller has finished with.

    Yields
    ------
    box, voxels : tuple of slice, ndarray
    """
    convert = as_labels if kind == "labels" else as_image
    n_done, n_voxels = 0, count_voxels(volume.shape)
    read = _reader(volume)
    for box in iterate_boxes(volume.shape, volume.dtype.itemsize, chunks):
        voxels = convert(read(box), volume.name)
        yield box, voxels
        n_done += voxels.size
        if progress is not None:
            progress(n_done, n_voxels)


def _reader(volume: Volume) -> Callable[[Box], np.ndarray]:
    """Make a function that reads a box; of large stored chunks the last ones stay in memory."""
    chunks = getattr(volume.data, "chunks", None)
    itemsize = volume.dtype.itemsize
    if not chunks or count_voxels(chunks) * itemsize <= BLOCK_BYTES:
        return lambda box: np.asarray(volume.data[box])
    held: dict[tuple[tuple[int, int], ...], np.ndarray] = {}

    def read(box: Box) -> np.ndarray:
        around = tuple(
            (part.start // chunk * chunk, min(-(-part.stop // chunk) * chunk, size))
            for part, chunk, size in zip(box, chunks, volume.shape, strict=True)
        )
        n_bytes = count_voxels(stop - start for start, stop in around) * itemsize
        if n_bytes > min(MAX_HELD_BYTES, available_bytes() // 4):
            return np.asarray(volume.data[box])
        if around not in held:
            held.clear()
            held[around] = np.asarray(volume.data[tuple(slice(*ends) for ends in around)])
        inside = (
            slice(part.start - start, part.stop - start) for part, (start, _) in zip(box, around, strict=True)
        )
        return held[around][tuple(inside)]

    return read
