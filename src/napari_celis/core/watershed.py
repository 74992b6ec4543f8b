"""Oversegmentation: watershed on the affinity graph, then merging of small basins (Zlateski and Seung).

Written by hand: the watersheds of scipy and scikit-image flood voxels, not the edges of an affinity graph,
and have neither the thresholds of the paper nor its merging of small basins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.errors import CelisError, VolumeError
from napari_celis.core.kernels import watershed as kernels
from napari_celis.core.volume import count_voxels, format_shape, require_voxels

MAX_VOXELS = (2**32 - 1) // 3
"""Faces are numbered with 32 bits, three per voxel."""


class AffinitiesError(VolumeError):
    """An array cannot serve as affinities: other channels, another type, values that are no probabilities."""


class WatershedError(CelisError):
    """Thresholds that contradict each other, or that leave nothing."""


MOST_VOXELS = 2**60
"""More than any volume has."""


@dataclass(frozen=True)
class WatershedSettings:
    """The four thresholds; the defaults are those of the CELIS paper."""

    low: float = 0.95
    """T_l: edges with a lower affinity do not conduct. A voxel without any edge left is background."""
    high: float = 0.95
    """T_h: voxels joined by an affinity this high are never separated."""
    merge: float = 0.5
    """T_e: small segments merge across faces with an affinity of at least this."""
    size: int = 1000
    """T_s: segments with fewer voxels than this are small; 0 merges nothing."""

    def __post_init__(self) -> None:
        for name in ("low", "high", "merge"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise WatershedError(f"`{name}` must be an affinity between 0 and 1, got {value:g}.")
        if self.low > self.high:
            raise WatershedError(
                f"`low` ({self.low:g}) is above `high` ({self.high:g}), so edges would be cut and joined at "
                "once. Lower `low` or raise `high`."
            )
        if not 0 <= self.size <= MOST_VOXELS or self.size != int(self.size):
            raise WatershedError(
                f"`size` must be a whole number of voxels from 0 to {MOST_VOXELS:.0e}, got {self.size:g}."
            )


def watershed(affinities: np.ndarray, settings: WatershedSettings | None = None) -> np.ndarray:
    """Cut a volume into supervoxels.

    Every voxel ascends along its strongest edge until nothing is stronger; voxels that arrive at the same
    peak are a basin. Where several edges are equally strong, plateaus are divided among the ways that lead
    up from them, each voxel going to the nearest one. Then pairs of basins merge, highest affinity first,
    as long as one of the two is small.

    Parameters
    ----------
    affinities : ndarray of uint8 or float, shape (3, Z, Y, X)
        How surely a voxel belongs together with its neighbour at −z, −y and −x: 0 to 1, or 0 to 255 as
        uint8. The first section of each channel, which has no such neighbour, is not looked at.
    settings : WatershedSettings, optional
        Thresholds; those of the paper by default.

    Returns
    -------
    labels : ndarray of int32, shape (Z, Y, X)
        Supervoxels 1, 2, … in the order of their first voxels; 0 is background.

    Raises
    ------
    AffinitiesError
        For another shape or type, and for values that are no affinities.
    """
    settings = settings or WatershedSettings()
    levels = as_levels(affinities)
    labels = _find_basins(levels, _level(levels, settings.low), _level(levels, settings.high))
    if settings.size > 0:
        merge_small(levels, labels, _level(levels, settings.merge), settings.size)
    return labels


def as_levels(affinities: np.ndarray) -> np.ndarray:
    """Check affinities and turn them into integers that sort like them, without a copy where possible."""
    if affinities.ndim != 4 or affinities.shape[0] != 3:
        raise AffinitiesError(
            f"`affinities` has shape {format_shape(affinities.shape)}, but three channels (−z, −y, −x) of a "
            "volume were expected: 3 × Z × Y × X. Keep the channels of the nearest neighbours only."
        )
    require_voxels(affinities.shape, "`affinities`")
    if count_voxels(affinities.shape[1:]) > MAX_VOXELS:
        raise AffinitiesError(
            f"`affinities` has {format_shape(affinities.shape[1:])} voxels, but one watershed can number "
            f"{MAX_VOXELS:,} at most. Cut the volume into blocks."
        )
    if affinities.dtype == np.uint8:
        return np.ascontiguousarray(affinities)
    if affinities.dtype.kind != "f":
        raise AffinitiesError(
            f"`affinities` holds {affinities.dtype} values, but floats from 0 to 1 or uint8 from 0 to 255 "
            "were expected. Convert them."
        )
    probabilities = np.ascontiguousarray(affinities, dtype=np.float32)
    require_probabilities(probabilities, "`affinities`")
    levels = probabilities.view(np.int32)
    if levels.min() < 0:
        # The bits of positive floats sort like integers. The one negative left is −0.0.
        levels = np.abs(probabilities).view(np.int32)
    return levels


def require_probabilities(affinities: np.ndarray, name: str) -> None:
    """Refuse NaN and values outside [0, 1]; where there is no neighbour, anything goes.

    Parameters
    ----------
    affinities : ndarray
        Shape (3, Z, Y, X).
    name : str
        What messages call it.
    """
    for axis, channel in enumerate(affinities):
        used = np.moveaxis(channel, axis, 0)[1:]
        if used.size and not (used.min() >= 0 and used.max() <= 1):
            raise AffinitiesError(
                f"{name} runs from {used.min():g} to {used.max():g} in channel {axis}, but affinities "
                "lie between 0 and 1. Scale them, and replace NaN."
            )


def _level(levels: np.ndarray, affinity: float) -> int:
    """Find the lowest level whose affinity is at least `affinity`."""
    if levels.dtype == np.uint8:
        return next(level for level in range(256) if level / 255 >= affinity)
    return int(np.abs(np.float32(affinity)).view(np.int32))


def _steps(shape: Sequence[int]) -> np.ndarray:
    """Give the six neighbours as differences of voxel indices, in ascending order."""
    y, z = shape[2], shape[1] * shape[2]
    return np.array([-z, -y, -1, 1, y, z], dtype=np.int64)


def _find_basins(levels: np.ndarray, low: int, high: int) -> np.ndarray:
    """Label the basins; takes five bytes per voxel."""
    shape = levels.shape[1:]
    flags = np.empty(shape, dtype=np.uint8)
    labels = np.empty(shape, dtype=np.int32)
    flat_flags, flat_labels, steps = flags.reshape(-1), labels.reshape(-1), _steps(shape)
    kernels.mark_steepest(levels, low, high, flags)
    # Every voxel enters the queue at most once, so the labels, not needed yet, can hold it.
    kernels.divide_plateaus(flat_flags, steps, flat_labels)
    kernels.join_basins(flat_flags, steps, flat_labels)
    kernels.number_basins(flat_flags, flat_labels)
    return labels


def merge_small(levels: np.ndarray, labels: np.ndarray, lowest: int, limit: int) -> None:
    """Merge basins in place; takes eight bytes per face that may matter.

    The paper sorts pairs of basins by their strongest face. Taking all faces in that order is the same: once
    two segments meet they are either merged, or both large, which they stay.

    Parameters
    ----------
    levels : ndarray
        Affinities as integers, (3, Z, Y, X).
    labels : ndarray
        Basins; changed.
    lowest : int
        Lowest affinity to merge across.
    limit : int
        Basins of fewer voxels are small.
    """
    flat_labels = labels.reshape(-1)
    n_basins = int(flat_labels.max())
    sizes = np.zeros(n_basins + 1, dtype=np.int64)
    kernels.count_sizes(flat_labels, sizes)
    none = np.empty(0, dtype=np.uint64)
    faces = np.empty(kernels.list_faces(levels, labels, sizes, lowest, limit, none), dtype=np.uint64)
    kernels.list_faces(levels, labels, sizes, lowest, limit, faces)
    faces.sort()
    pointers = np.arange(n_basins + 1, dtype=np.int32)
    kernels.merge_small(faces, _steps(labels.shape), flat_labels, limit, pointers, sizes)
    kernels.relabel(pointers, flat_labels)
