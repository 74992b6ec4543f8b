"""Halves of volumes: one to tune on, the other to judge by."""

from __future__ import annotations

from dataclasses import replace

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io.parts import cropped
from napari_celis.pipeline.choice import UNKNOWN_OFFSET, UNKNOWN_SIZE

SHALLOWEST = 32
"""Sections that a volume must have to be cut into a half to tune on and a half to judge on."""


def halves(volume: Volume) -> tuple[Volume, Volume]:
    """Cut a volume in two along z; no voxel is read.

    Parameters
    ----------
    volume : Volume
        What to cut.

    Returns
    -------
    first, second : Volume
        They keep their positions in space. The middle section of an odd number goes to the second.
    """
    depth, height, width = volume.shape
    if depth < SHALLOWEST:
        raise VolumeError(
            f"The volume has {depth} sections, too few to tune on one half and judge on the other, which "
            f"takes {SHALLOWEST}. Choose other volumes to tune on."
        )
    parts = [cropped(volume, [z, (0, height), (0, width)]) for z in ((0, depth // 2), (depth // 2, depth))]
    if (tuple(volume.voxel_size_nm), tuple(volume.offset_nm)) == (UNKNOWN_SIZE, UNKNOWN_OFFSET):
        # Where nothing is known about the whole, nothing is known about a half.
        parts = [replace(part, offset_nm=volume.offset_nm) for part in parts]
    return parts[0], parts[1]
