"""See a volume at another voxel size; every part is computed when it is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Triple, Volume, as_triple
from napari_celis.io.blocks import Kind
from napari_celis.io.geometry import format_nm
from napari_celis.io.lazy import Box, LazyArray

MOST = 1000
"""New voxels are at least this part of an old one, and at most as many times as long or twice the volume."""


def resample(volume: Volume, voxel_size_nm: Triple, kind: Kind) -> Volume:
    """Give a volume another voxel size.

    Parameters
    ----------
    volume : Volume
        Whatever can be read by slices.
    voxel_size_nm : tuple of float
        Edge lengths of the new voxels.
    kind : {'image', 'labels'}
        Images are averaged over what a new voxel covers, and interpolated where it covers less than one old
        voxel. Labels take the nearest voxel, so that no id is made up.

    Returns
    -------
    volume : Volume
        Lies where the old one does, to half a new voxel.
    """
    if not all(np.isfinite(length) and length > 0 for length in voxel_size_nm):
        raise VolumeError(f"Voxels of {format_nm(voxel_size_nm)} nm cannot be. Give three lengths above 0.")
    for axis, new, old, size in zip("zyx", voxel_size_nm, volume.voxel_size_nm, volume.shape, strict=True):
        finest, coarsest = old / MOST, old * max(2 * size, MOST)
        if not finest <= new <= coarsest:
            raise VolumeError(
                f"Voxels of {new:g} nm along {axis} cannot be made of {volume.name}, which has {size} voxels "
                f"of {old:g} nm along it. Give lengths from {finest:g} to {coarsest:g} nm."
            )
    ratios = as_triple(new / old for new, old in zip(voxel_size_nm, volume.voxel_size_nm, strict=True))
    axes = [_Axis(size, ratio) for size, ratio in zip(volume.shape, ratios, strict=True)]

    def read_box(box: Box) -> np.ndarray:
        wanted = [np.arange(span.start, span.stop) for span in box]
        if kind == "labels":
            nearest = [axis.nearest(at) for axis, at in zip(axes, wanted, strict=True)]
            part, spots = _read_around(volume, nearest)
            labels: np.ndarray = part[np.ix_(*spots)]
            return labels
        taps = [axis.taps(at) for axis, at in zip(axes, wanted, strict=True)]
        image, spots = _read_around(volume, [spot for spot, _ in taps])
        result = np.empty([len(at) for at in wanted], dtype=volume.dtype)
        for section, z, weights in zip(result, spots[0], taps[0][1], strict=True):
            values = _weighted(image[z], 0, np.arange(len(z))[None], weights[None])
            for axis in (1, 2):
                values = _weighted(values, axis, spots[axis], taps[axis][1])
            section[:] = values[0] if volume.dtype.kind == "f" else np.rint(values[0])
        return result

    data = LazyArray(
        read_box, shape=tuple(axis.new_size for axis in axes), dtype=volume.dtype, name=volume.name
    )
    offset = as_triple(
        start + (new - old) / 2
        for start, new, old in zip(volume.offset_nm, voxel_size_nm, volume.voxel_size_nm, strict=True)
    )
    return Volume(data, as_triple(voxel_size_nm), offset, volume.name)


@dataclass(frozen=True)
class _Axis:
    """Old and new voxels along one axis."""

    size: int
    ratio: float
    """Length of a new voxel in old ones."""

    @property
    def new_size(self) -> int:
        """New voxels that cover the axis best, at least one."""
        return max(1, round(self.size / self.ratio))

    def centres(self, at: np.ndarray) -> np.ndarray:
        """Where new voxels lie among the old ones, float64."""
        return np.clip((at + 0.5) * self.ratio - 0.5, 0, self.size - 1)

    def nearest(self, at: np.ndarray) -> np.ndarray:
        """The old voxel next to each new one."""
        return np.floor(self.centres(at) + 0.5).astype(np.int64).clip(0, self.size - 1)

    def taps(self, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which old voxels count in each new one, and how much: a triangle as wide as the coarser of both."""
        width = max(1.0, self.ratio)
        centres = self.centres(at)[:, None]
        spots = np.floor(centres - width).astype(np.int64) + np.arange(2 * int(np.ceil(width)) + 1)
        weights = np.maximum(0.0, 1 - np.abs(spots - centres) / width)
        weights[(spots < 0) | (spots >= self.size)] = 0.0
        return spots.clip(0, self.size - 1), weights / weights.sum(axis=1, keepdims=True)


def _read_around(volume: Volume, spots: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Read the box that holds some old voxels, and say where they are in it."""
    low = [int(spot.min()) for spot in spots]
    box = tuple(slice(begin, int(spot.max()) + 1) for begin, spot in zip(low, spots, strict=True))
    return np.asarray(volume.data[box]), [spot - begin for begin, spot in zip(low, spots, strict=True)]


def _weighted(image: np.ndarray, axis: int, spots: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Add up old voxels along one axis, always in the same order: parts have the bits of the whole."""
    shape = [-1 if other == axis else 1 for other in range(3)]
    total = np.zeros(1)
    for spot, weight in zip(spots.T, weights.T, strict=True):
        total = total + image.take(spot, axis) * weight.reshape(shape)
    return total
