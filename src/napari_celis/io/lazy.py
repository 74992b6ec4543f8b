"""A volume on disk that reads when it is sliced, whatever the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import (
    count_voxels,
    format_shape,
    require_numbers,
    require_three_axes,
    require_voxels,
)
from napari_celis.io.failures import reading
from napari_celis.io.memory import format_gb, require_memory

Box = tuple[slice, slice, slice]
"""A part of a volume: three slices with start and stop, inside the volume, in steps of one."""

LARGE_CHUNK_BYTES = 256 * 2**20
"""Chunks below this size may be larger than their volume."""
MAX_CHUNKS = 1_000_000
"""Most chunks that one read may touch; more means a damaged header, or a file that is of no use."""


def require_chunks(chunks: Sequence[int], shape: Sequence[int], itemsize: int, name: str) -> None:
    """Refuse chunks that are larger than the volume they are parts of, or than memory.

    Parameters
    ----------
    chunks, shape : sequence of int
        As a file claims them; a chunk is unpacked whole, however little of it is wanted.
    itemsize : int
        Bytes per voxel.
    name : str
        What messages call the volume.
    """
    n_bytes, whole = (count_voxels(sizes) * itemsize for sizes in (chunks, shape))
    if n_bytes > max(LARGE_CHUNK_BYTES, 2 * whole):
        raise CorruptFileError(
            f"{name} is cut into chunks of {format_shape(chunks)} voxels, {format_gb(n_bytes)} each, but has "
            f"only {format_shape(shape)}. Store it again in smaller chunks, for example 64 × 64 × 64."
        )
    require_memory(n_bytes, name)


class LazyArray:
    """Three-dimensional array that reads from disk, and fails in one sentence.

    Parameters
    ----------
    read_box : callable
        Reads a box; whatever it raises becomes a `CelisError`.
    shape : tuple of int
        Size along z, y, x.
    dtype : dtype
        Type of the stored voxels; they are handed out in native byte order.
    name : str
        What messages call it.
    chunks : tuple of int, optional
        Shape of the parts that are read together, where the format has such parts.
    """

    ndim = 3

    def __init__(
        self,
        read_box: Callable[[Box], Any],
        *,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        name: str,
        chunks: tuple[int, ...] | None = None,
    ) -> None:
        require_numbers(dtype, name)
        require_three_axes(shape, name)
        require_voxels(shape, name)
        self._read_box = read_box
        self._name = name
        self.shape = tuple(int(size) for size in shape)
        self.dtype = dtype.newbyteorder("=")
        self.chunks = None if chunks is None else tuple(max(1, int(size)) for size in chunks)
        if self.chunks is not None:
            require_chunks(self.chunks, self.shape, self.dtype.itemsize, name)

    @property
    def size(self) -> int:
        """Number of voxels."""
        return count_voxels(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that the whole array takes in memory."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<LazyArray {self._name} {self.shape} {self.dtype}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(f"{self._name} lies on disk, so it cannot become an array without a copy.")
        return np.asarray(self[:, :, :], dtype=dtype)

    def __getitem__(self, key: Any) -> np.ndarray:
        slices, dropped = self._as_slices(key)
        first, *others = slices
        if abs(first.step) > 1:
            sections = [self._read((slice(z, z + 1, 1), *others)) for z in _range(first)]
            part = np.concatenate(sections) if sections else self._read((slice(0, 0, 1), *others))
        else:
            part = self._read(slices)
        return part[tuple(0 if is_dropped else slice(None) for is_dropped in dropped)]

    def _as_slices(self, key: Any) -> tuple[tuple[slice, ...], list[bool]]:
        """Complete a key to one slice per axis, and say which axes an integer removes."""
        parts = list(key) if isinstance(key, tuple) else [key]
        if any(part is Ellipsis for part in parts):
            at = next(i for i, part in enumerate(parts) if part is Ellipsis)
            parts[at : at + 1] = [slice(None)] * (self.ndim + 1 - len(parts))
        parts += [slice(None)] * (self.ndim - len(parts))
        if len(parts) > self.ndim:
            raise IndexError(f"{self._name} has three axes, but the index has {len(parts)}.")
        slices = [_as_slice(part, size) for part, size in zip(parts, self.shape, strict=True)]
        return tuple(slices), [not isinstance(part, slice) for part in parts]

    def _read(self, slices: tuple[slice, ...]) -> np.ndarray:
        """Read one box, then apply steps."""
        ranges = [_range(part) for part in slices]
        box = tuple(slice(min(r[0], r[-1]), max(r[0], r[-1]) + 1) if r else slice(0, 0) for r in ranges)
        shape = tuple(part.stop - part.start for part in box)
        if 0 in shape:
            return np.empty([len(r) for r in ranges], self.dtype)
        self._require_affordable(shape)
        with reading(self._name):
            part = np.asarray(self._read_box((box[0], box[1], box[2])))
            if part.shape != shape:
                raise ValueError(f"expected shape {shape} but got {part.shape}")
        steps = tuple(slice(None, None, 1 if len(r) < 2 else r.step) for r in ranges)
        return part.astype(self.dtype, copy=False)[steps]

    def _require_affordable(self, shape: tuple[int, ...]) -> None:
        """Refuse a read that would not fit into memory or would never end."""
        chunks = self.chunks or shape
        require_memory((count_voxels(shape) + count_voxels(chunks)) * self.dtype.itemsize, self._name)
        n_chunks = count_voxels(-(-size // chunk) + 1 for size, chunk in zip(shape, chunks, strict=True))
        if n_chunks > MAX_CHUNKS:
            raise VolumeError(
                f"{self._name} is cut into chunks of {self.chunks} voxels, too small to read {shape} voxels "
                "at once. Store it again in larger chunks, for example 64 × 64 × 64."
            )


def _as_slice(part: Any, size: int) -> slice:
    """Turn an integer or a slice into a slice with whole numbers."""
    if isinstance(part, slice):
        start, stop, step = part.indices(size)
        return slice(start, stop, step)
    index = int(part)
    if not -size <= index < size:
        raise IndexError(f"Index {index} lies outside an axis of {size}.")
    index %= size
    return slice(index, index + 1, 1)


def _range(part: slice) -> range:
    """List the indices of a completed slice; slicing again would wrap the -1 of a backward one."""
    return range(part.start, part.stop, part.step)
