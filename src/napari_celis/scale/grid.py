"""Blocks: the parts of a volume that are worked on one by one, each with a halo around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import Box


@dataclass(frozen=True)
class Block:
    """One part of a volume."""

    index: int
    core: Box
    """The voxels that it is responsible for; those of all blocks cover the volume once."""
    window: Box
    """The core and a halo around it, inside the volume."""

    @property
    def name(self) -> str:
        """What files about it are called."""
        return f"{self.index:08d}"

    @property
    def shape(self) -> IntTriple:
        """Voxels of the core."""
        return shape_of(self.core)

    @property
    def place(self) -> str:
        """Where it lies, for messages."""
        return "z {}–{}, y {}–{}, x {}–{}".format(
            *(edge for part in self.core for edge in (part.start, part.stop - 1))
        )


@dataclass(frozen=True)
class BlockGrid:
    """All blocks of a volume."""

    shape: IntTriple
    """Voxels of the volume."""
    block_zyx: IntTriple
    """Voxels of a block; the last one of a row is clipped to the volume."""
    halo_zyx: IntTriple = (0, 0, 0)
    """Voxels around it."""
    align_zyx: IntTriple = (1, 1, 1)
    """Windows begin at multiples of this, so that descriptors have the centres of the whole volume."""

    @property
    def counts(self) -> IntTriple:
        """Blocks along z, y, x."""
        z, y, x = (-(-size // block) for size, block in zip(self.shape, self.block_zyx, strict=True))
        return z, y, x

    def __len__(self) -> int:
        return prod(self.counts)

    def __iter__(self) -> Iterator[Block]:
        return (self.block(index) for index in range(len(self)))

    def block(self, index: int) -> Block:
        """Return a block by its number; numbers run along x first."""
        position = [int(n) for n in np.unravel_index(index, self.counts)]
        core = [
            slice(n * block, min((n + 1) * block, size))
            for n, block, size in zip(position, self.block_zyx, self.shape, strict=True)
        ]
        window = [
            slice(max(0, part.start - halo) // align * align, min(part.stop + halo, size))
            for part, halo, align, size in zip(core, self.halo_zyx, self.align_zyx, self.shape, strict=True)
        ]
        return Block(index, (core[0], core[1], core[2]), (window[0], window[1], window[2]))

    def touching(self, box: Sequence[slice]) -> list[int]:
        """List the numbers of the blocks whose cores share voxels with a box."""
        spans = [
            range(part.start // block, min(-(-part.stop // block), n))
            for part, block, n in zip(box, self.block_zyx, self.counts, strict=True)
        ]
        return [int(np.ravel_multi_index(position, self.counts)) for position in product(*spans)]


def shape_of(box: Sequence[slice]) -> IntTriple:
    """Return the voxels of a box along z, y, x."""
    z, y, x = (part.stop - part.start for part in box)
    return z, y, x


def inside(box: Sequence[slice], outer: Sequence[slice]) -> Box:
    """Say where a box lies in an array that holds an outer one.

    Parameters
    ----------
    box : sequence of slice
        In voxels of the volume.
    outer : sequence of slice
        In voxels of the volume; it contains the box.
    """
    z, y, x = (
        slice(part.start - base.start, part.stop - base.start) for part, base in zip(box, outer, strict=True)
    )
    return z, y, x


def grown(box: Sequence[slice], before: int, behind: int, shape: Sequence[int]) -> Box:
    """Add layers to a box on every side, as far as the volume goes.

    Parameters
    ----------
    box : sequence of slice
        In voxels of the volume.
    before : int
        Layers to add at the lower end of each axis.
    behind : int
        Layers to add at the upper end of each axis.
    shape : sequence of int
        Shape of the volume.
    """
    z, y, x = (
        slice(max(0, part.start - before), min(part.stop + behind, size))
        for part, size in zip(box, shape, strict=True)
    )
    return z, y, x
