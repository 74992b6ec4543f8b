"""The volumes that a block-wise run reads: opened from a path or a URL, and read box by box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import ArrayLike3D, Box, Volume, format_shape
from napari_celis.io.affinities import open_affinities
from napari_celis.io.affinity_channels import AffinityVolume
from napari_celis.io.remote import open_remote
from napari_celis.io.volumes import open_volume
from napari_celis.scale.grid import grown, inside, shape_of
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.storage import is_url

MOST_READ = 16
"""How many times more voxels than wanted may be unpacked for a block before it is refused."""


def open_input(target: str) -> Volume:
    """Open an image or labels from a path or a URL."""
    return open_remote(target) if is_url(target) else open_volume(target)


def open_input_affinities(target: str) -> AffinityVolume:
    """Open affinities of another network."""
    if is_url(target):
        raise BlockwiseError(
            f"{target} cannot be read: affinities of other networks are read from files. Copy them first."
        )
    return open_affinities(target)


@dataclass(frozen=True, eq=False)
class ChannelWindow:
    """A box of all channels of affinities, read channel by channel."""

    data: ArrayLike3D
    box: Box

    @property
    def shape(self) -> tuple[int, ...]:
        """Channels, then voxels along z, y, x."""
        return (int(self.data.shape[0]), *shape_of(self.box))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of one value."""
        return np.dtype(self.data.dtype)

    def __getitem__(self, channel: int) -> np.ndarray:
        return np.asarray(self.data[(channel, *self.box)])


def read_affinity_box(affinities: AffinityVolume, box: Box) -> np.ndarray:
    """Read the affinities of a box in our order, as they are in the whole, float32 or uint8 (3, Z, Y, X).

    Parameters
    ----------
    affinities : AffinityVolume
        The whole.
    box : Box
        The part to read, in voxels.
    """
    # Channels that look forward are shifted by one voxel: the layer before the box is needed too.
    around = grown(box, 1, 0, affinities.shape)
    window = AffinityVolume(ChannelWindow(affinities.data, around), affinities.offsets, name=affinities.name)
    return window.read().data[(slice(None), *inside(box, around))]


def require_fitting_chunks(volume: Volume, window_zyx: Sequence[int], option: str) -> None:
    """Refuse a volume of which every block would unpack many times what it reads.

    Parameters
    ----------
    volume : Volume
        What is read.
    window_zyx : sequence of int
        Voxels of a block with its halo.
    option : str
        What the user gave it with.
    """
    chunks = getattr(volume.data, "chunks", None)
    if not chunks:
        return
    wanted = [min(window, size) for window, size in zip(window_zyx, volume.shape, strict=True)]
    unpacked = [
        min((-(-want // chunk) + 1) * chunk, -(-size // chunk) * chunk)
        for want, chunk, size in zip(wanted, chunks, volume.shape, strict=True)
    ]
    if prod(unpacked) > MOST_READ * prod(wanted):
        raise BlockwiseError(
            f"{option} “{volume.name}” is stored in chunks of {format_shape(chunks)} voxels, so every block "
            f"would unpack {prod(unpacked) / prod(wanted):.0f} times what it reads. Set --block nearer to "
            "the chunks, or let --rechunk copy it into smaller ones first."
        )


def rechunk_block(volume: Volume, chunks: IntTriple, shape: IntTriple) -> IntTriple:
    """Choose boxes that hold whole chunks of both sides, so that little is read twice.

    Parameters
    ----------
    volume : Volume
        What is read.
    chunks : tuple of int
        Chunks of the array that is written.
    shape : tuple of int
        Shape of the volume.
    """
    stored = getattr(volume.data, "chunks", None) or (1, 1, 1)
    z, y, x = (
        min(-(-max(own, new) // new) * new, -(-size // new) * new)
        for own, new, size in zip(stored, chunks, shape, strict=True)
    )
    return z, y, x
