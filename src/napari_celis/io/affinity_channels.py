"""Channels of affinities: which neighbour each is about, and those of other tools in our order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_celis.core.errors import CorruptFileError
from napari_celis.core.volume import (
    ArrayLike3D,
    Triple,
    count_voxels,
    format_shape,
    require_numbers,
    require_voxels,
)
from napari_celis.core.watershed import AffinitiesError
from napari_celis.io.failures import reading
from napari_celis.io.memory import require_memory

OFFSETS = ((-1, 0, 0), (0, -1, 0), (0, 0, -1))
"""Our channels: the affinity of a voxel with its neighbour at this offset."""


@dataclass(frozen=True, eq=False)
class Affinities:
    """Nearest-neighbour affinities of a volume."""

    data: np.ndarray
    """Affinity with the neighbours at −z, −y, −x: (3, Z, Y, X), floats from 0 to 1 or uint8 from 0 to 255."""
    voxel_size_nm: Triple = (1.0, 1.0, 1.0)
    """Edge lengths of one voxel in nanometres."""
    offset_nm: Triple = (0.0, 0.0, 0.0)
    """Position of the first voxel in nanometres."""
    name: str = "affinities"
    """Where they came from; appears in messages."""


@dataclass(frozen=True, eq=False)
class AffinityVolume:
    """Affinities of any tool in a file or a layer: opened, and not read yet."""

    data: ArrayLike3D
    """Channels first: (C, Z, Y, X), an array or a lazy one that reads a channel when it is asked for it."""
    offsets: Any = None
    """One row (z, y, x) per channel: channel c at p is the affinity of p with p + offsets[c]. None where
    nothing is known: the first three channels are then taken to be ours, see `OFFSETS`."""
    voxel_size_nm: Triple | None = None
    """Edge lengths of one voxel in nanometres; None where nothing is known."""
    offset_nm: Triple | None = None
    """Position of the first voxel in nanometres; None where nothing is known."""
    name: str = "affinities"
    """Where they came from; appears in messages."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels along z, y, x."""
        _, z, y, x = self.data.shape
        return int(z), int(y), int(x)

    def check(self) -> None:
        """Refuse what cannot be affinities, by its header alone.

        Raises
        ------
        AffinitiesError, CorruptFileError
        """
        self._channels()

    def read(self) -> Affinities:
        """Read the three channels of the nearest neighbours, one at a time, and bring them into our order.

        Returns
        -------
        affinities : Affinities
            Floats of any width come as float32, uint8 as it is; 0 where a voxel has no neighbour to tell of.
        """
        chosen = self._channels()
        stored = np.dtype(self.data.dtype)
        dtype = np.dtype(np.uint8 if stored == np.uint8 else np.float32)
        n_voxels = count_voxels(self.shape)
        require_memory(n_voxels * (3 * dtype.itemsize + stored.itemsize), self.name)
        result = np.zeros((3, *self.shape), dtype)
        with reading(self.name):
            for axis, (channel, shift) in enumerate(chosen):
                # What a voxel says about the next one is what the next one says about this.
                here = np.moveaxis(np.asarray(self.data[channel]), axis, 0)
                np.moveaxis(result[axis], axis, 0)[shift:] = here[: len(here) - shift]
        size, offset = self.voxel_size_nm or (1.0, 1.0, 1.0), self.offset_nm or (0.0, 0.0, 0.0)
        return Affinities(result, size, offset, self.name)

    def _channels(self) -> list[tuple[int, int]]:
        """Check everything, and find the channel of every axis and how far it has to be shifted."""
        shape = tuple(self.data.shape)
        require_channels(shape, np.dtype(self.data.dtype), self.name)
        if self.offsets is None:
            return [(axis, 0) for axis in range(3)]
        offsets = np.asarray(self.offsets)
        if offsets.shape != (shape[0], 3) or offsets.dtype.kind not in "iuf":
            raise CorruptFileError(
                f"{self.name} has {shape[0]} channels but an entry `offsets` that is not one row (z, y, x) "
                "for each. Correct or remove it."
            )
        return [_nearest(offsets, axis, self.name) for axis in range(3)]


def require_channels(shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
    """Refuse what has too few channels, no voxels, or another type than affinities have.

    Parameters
    ----------
    shape : tuple of int
        Channels, then voxels along z, y, x.
    dtype : dtype
        Type of one voxel.
    name : str
        What messages call it.
    """
    if len(shape) != 4 or shape[0] < 3:
        raise AffinitiesError(
            f"{name} has shape {format_shape(shape)}, but affinities have four axes: three or more channels, "
            "then z, y, x. Check that this is the right dataset."
        )
    require_voxels(shape, name)
    require_numbers(dtype, name)
    if dtype != np.uint8 and dtype.kind != "f":
        raise AffinitiesError(
            f"{name} holds {dtype} values, but affinities are floats from 0 to 1 or uint8 from 0 to 255. "
            "Convert them."
        )


def _nearest(offsets: np.ndarray, axis: int, name: str) -> tuple[int, int]:
    """Find the channel of the nearest neighbour along an axis, and by how much it has to be shifted."""
    ours = np.array(OFFSETS[axis])
    for shift, sign in ((0, 1), (1, -1)):
        found = np.flatnonzero((offsets == sign * ours).all(axis=1))
        if len(found):
            return int(found[0]), shift
    raise AffinitiesError(
        f"{name} has no channel for the nearest neighbour along {'zyx'[axis]}; its offsets are "
        f"{offsets.tolist()}. Choose affinities that hold offset 1 along every axis."
    )
