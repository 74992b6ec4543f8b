"""Supervoxels that are few and clean: a watershed flooded from the middles of the cells.

The loops are our own (`core/kernels/seeded.py`). For 125 × 250 × 250 voxels scipy and scikit-image take 9.0 s
and 48 bytes per voxel, our loops 2.8 s and 21 bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from napari_celis.core.kernels import seeded as kernels
from napari_celis.core.volume import Triple, as_triple
from napari_celis.core.watershed import WatershedError, as_levels, merge_small

SECTION_RATIO = 3.0
"""Sections this many times as thick as their pixels are wide are cut one by one: from one to the next, cells
move too far for a distance to mean anything."""
TRUNCATE = 3.0
"""Smoothing looks this many standard deviations far."""
MEANS = 60 * 255 + 1
"""Mean affinities are counted in steps of 1 / (60 · 255): whole numbers for one to six faces."""


@dataclass(frozen=True)
class SeededSettings:
    """What decides how many supervoxels there are; lengths in nm, so that they carry over to other voxels."""

    foreground: float = 0.7
    """A voxel is inside a cell when the mean affinity of its faces is above this, or above the median of all
    voxels if that is lower: a network that was hardly trained is sure of nothing."""
    reach_nm: float = 200.0
    """Distances to the boundary above this count as this."""
    smoothing_nm: float = 10.0
    """Standard deviation of the Gaussian that smooths the distances; 0 smooths nothing."""
    separation_nm: float = 10.0
    """A seed is the highest distance up to this far along each axis, and at least among its neighbours."""
    smallest_nm: float = 50.0
    """Supervoxels smaller than a cube with this edge are absorbed, or than a square where sections are cut
    one by one."""

    def __post_init__(self) -> None:
        if not 0 <= self.foreground < 1:
            raise WatershedError(
                f"`foreground` must be an affinity of at least 0 and below 1, got {self.foreground:g}."
            )
        for name in ("reach_nm", "smoothing_nm", "separation_nm", "smallest_nm"):
            value = getattr(self, name)
            lowest = "above 0" if name == "reach_nm" else "at least 0"
            if not (isfinite(value) and value >= 0) or (name == "reach_nm" and value == 0):
                raise WatershedError(f"`{name}` must be a length in nm, {lowest}, got {value:g}.")


@dataclass(frozen=True, eq=False)
class SeededCut:
    """Supervoxels, and the seeds that they are named after."""

    labels: np.ndarray
    """Supervoxels 1, 2, … in the order of their first voxels, int32 (Z, Y, X); 0 where nothing flooded."""
    seeds: np.ndarray
    """The first voxel of each one's seed, as an index into the raveled volume, int64 (n + 1,); 0 for 0."""


def seeded_watershed(
    affinities: np.ndarray, voxel_size_nm: Sequence[float], settings: SeededSettings | None = None
) -> np.ndarray:
    """Cut a volume into supervoxels that start in the middles of cells.

    Voxels whose faces have a high mean affinity are inside. Seeds lie where their distance to the nearest
    voxel outside, smoothed, is highest. From there the volume is flooded, voxels whose lowest affinity is
    high first. What stays small is absorbed across its strongest face. Where sections are much thicker than
    pixels, all of that happens in each section alone.

    Parameters
    ----------
    affinities : ndarray of uint8 or float, shape (3, Z, Y, X)
        As for `watershed`. Floats are rounded to 256 levels.
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    settings : SeededSettings, optional
        Threshold and lengths.

    Returns
    -------
    labels : ndarray of int32, shape (Z, Y, X)
        Supervoxels 1, 2, … in the order of their first voxels; 0 only in sections that are alike all over.

    Raises
    ------
    AffinitiesError
        For another shape or type, and for values that are no affinities.
    WatershedError
        When there is no seed, or a voxel size is no length.
    """
    settings = settings or SeededSettings()
    labels = cut_from_seeds(affinities, voxel_size_nm, settings).labels
    if not labels.any():
        raise WatershedError(
            f"All affinities are alike and below `foreground` ({settings.foreground:g}), so there is nothing "
            "to start supervoxels from. Train the model longer, or give supervoxels."
        )
    return labels


def cut_from_seeds(
    affinities: np.ndarray,
    voxel_size_nm: Sequence[float],
    settings: SeededSettings,
    limits: np.ndarray | None = None,
) -> SeededCut:
    """Do the work of `seeded_watershed`, for a volume or a part of one; there may be no supervoxel.

    Parameters
    ----------
    affinities, voxel_size_nm, settings
        As for `seeded_watershed`.
    limits : ndarray of float, optional
        From `foreground_limits` of the whole volume, where this is a part: one number, or one per section
        of the part where sections are cut one by one.

    Returns
    -------
    cut : SeededCut
        Parts of one volume that see the same seed name it by the same voxel.
    """
    size_nm = _as_size(voxel_size_nm)
    levels = _as_bytes(affinities)
    if limits is None:
        limits = foreground_limits(count_means(levels, size_nm), settings)
    if not by_sections(size_nm):
        return _cut(levels, size_nm, settings, float(limits[0]))
    labels = np.empty(levels.shape[1:], dtype=np.int32)
    seeds, n = [np.zeros(1, dtype=np.int64)], 0
    for z in range(len(labels)):
        # A section alone is a volume of one section.
        section = _cut(np.ascontiguousarray(levels[:, z : z + 1]), size_nm, settings, float(limits[z]))
        labels[z : z + 1] = np.where(section.labels == 0, 0, section.labels + n)
        seeds.append(section.seeds[1:] + z * labels[0].size)
        n += len(section.seeds) - 1
    return SeededCut(labels, np.concatenate(seeds))


def count_means(
    affinities: np.ndarray,
    voxel_size_nm: Sequence[float],
    begin_zyx: Sequence[int] = (0, 0, 0),
    end_zyx: Sequence[int | None] = (None, None, None),
) -> np.ndarray:
    """Count voxels by the mean affinity of their faces; counts of parts of a volume add up.

    Parameters
    ----------
    affinities : ndarray of uint8 or float, shape (3, Z, Y, X)
        As for `seeded_watershed`.
    voxel_size_nm : sequence of float
        Decides whether sections are counted one by one.
    begin_zyx, end_zyx : sequence of int
        The voxels to count, where the array has others around them.

    Returns
    -------
    counts : ndarray of int64, shape (1, M) or (sections, M)
        Column m is for a mean of m / (60 · 255).
    """
    levels = _as_bytes(affinities)
    z, y, x = (slice(low, high) for low, high in zip(begin_zyx, end_zyx, strict=True))
    if by_sections(voxel_size_nm):
        sections = levels[:, z]
        means = np.stack([_means(sections[:, i : i + 1])[0] for i in range(sections.shape[1])])[:, y, x]
    else:
        means = _means(levels)[z, y, x][None]
    return np.stack([np.bincount(part.reshape(-1), minlength=MEANS) for part in means])


def foreground_limits(counts: np.ndarray, settings: SeededSettings) -> np.ndarray:
    """Say above which mean, in units of `count_means`, a voxel is inside, float64 (1,) or (sections,).

    Parameters
    ----------
    counts : ndarray of int, shape (n, M)
        From `count_means`.
    settings : SeededSettings
        Gives the threshold; their median counts where it is lower.
    """
    middle = (counts.sum(axis=1) + 1) // 2
    medians = (np.cumsum(counts, axis=1) < middle[:, None]).sum(axis=1)
    limits: np.ndarray = np.minimum(settings.foreground * (MEANS - 1), medians)
    return limits


def by_sections(voxel_size_nm: Sequence[float]) -> bool:
    """Tell whether sections of this voxel size are cut one by one."""
    z, y, x = voxel_size_nm
    return z >= SECTION_RATIO * max(y, x)


def halo_nm(settings: SeededSettings) -> float:
    """How far from a block's edge its seeds are those of the whole volume, voxel sizes not counted."""
    return settings.reach_nm + TRUNCATE * settings.smoothing_nm + settings.separation_nm


def _as_size(voxel_size_nm: Sequence[float]) -> Triple:
    if len(voxel_size_nm) != 3 or not all(isfinite(size) and size > 0 for size in voxel_size_nm):
        raise WatershedError(
            f"`voxel_size_nm` must be three lengths above 0 (z, y, x), got {tuple(voxel_size_nm)}. "
            "Give the size of a voxel."
        )
    return as_triple(voxel_size_nm)


def _as_bytes(affinities: np.ndarray) -> np.ndarray:
    """Check affinities and round them to 256 levels, channel by channel."""
    levels = as_levels(affinities)
    if levels.dtype == np.uint8:
        return levels
    rounded = np.zeros(levels.shape, dtype=np.uint8)
    for axis, channel in enumerate(levels.view(np.float32)):
        # The first layer has no such neighbour and may hold anything.
        used, out = np.moveaxis(channel, axis, 0)[1:], np.moveaxis(rounded[axis], axis, 0)[1:]
        out[:] = used * np.float32(255) + np.float32(0.5)
    return rounded


def _means(levels: np.ndarray) -> np.ndarray:
    """Return the mean affinity of every voxel's faces, in units of 1 / (60 · 255), uint16 (Z, Y, X)."""
    levels = np.ascontiguousarray(levels)
    lowest, means = np.empty(levels.shape[1:], np.uint8), np.empty(levels.shape[1:], np.uint16)
    kernels.survey(levels, lowest, means)
    return means


def _cut(levels: np.ndarray, size_nm: Triple, settings: SeededSettings, limit_mean: float) -> SeededCut:
    """Seed, flood, absorb; the whole array is one piece, with one section or many."""
    shape = levels.shape[1:]
    lowest, means = np.empty(shape, np.uint8), np.empty(shape, np.uint16)
    kernels.survey(levels, lowest, means)
    heights = _heights(means > limit_mean, size_nm, settings)
    del means
    highest = heights.copy()
    for axis, size in enumerate(size_nm):
        r = max(1, round(settings.separation_nm / size))
        kernels.highest_around(_along(highest, axis), r, np.empty(shape[axis], np.float32))
    labels, scratch = np.empty(shape, np.int32), np.empty(lowest.size, np.int32)
    kernels.number_seeds(heights, highest, labels, scratch)
    del heights, highest
    flat = labels.reshape(-1)
    marked = np.flatnonzero(flat)
    first_voxels = marked[np.unique(flat[marked], return_index=True)[1]]
    del marked
    kernels.flood(lowest, labels, scratch)
    del scratch
    limit = smallest_voxels(shape, size_nm, settings)
    if limit > 1 and labels.any():
        merge_small(levels, labels, 0, limit)
    kernels.renumber(flat, np.zeros(int(labels.max()) + 1, np.int32))
    # Of seeds that became one supervoxel, the first gives it its name, whatever part of a volume this is.
    named, which = np.unique(flat[first_voxels], return_index=True)
    seeds = np.zeros(len(named) + 1, dtype=np.int64)
    seeds[named] = first_voxels[which]
    return SeededCut(labels, seeds)


def _heights(inside: np.ndarray, size_nm: Triple, settings: SeededSettings) -> np.ndarray:
    """Compute smoothed distances, float32 (Z, Y, X): 0 outside, up to `reach_nm` inside."""
    squares = np.where(inside, np.inf, 0.0)
    for axis, size in enumerate(size_nm):
        n = squares.shape[axis]
        scratch = np.empty(n, np.int64), np.empty(n + 1, np.float64), np.empty(n, np.float64)
        kernels.lower_envelope(_along(squares, axis), size, *scratch)
    heights = np.empty(squares.shape, dtype=np.float32)
    np.sqrt(squares, out=heights, casting="same_kind")
    np.minimum(heights, np.float32(settings.reach_nm), out=heights)
    for axis, size in enumerate(size_nm):
        weights = gaussian(settings.smoothing_nm / size)
        if len(weights) > 1:
            kernels.smooth(_along(heights, axis), weights, np.empty(squares.shape[axis], np.float64))
    heights[~inside] = 0
    return heights


def gaussian(sigma: float) -> np.ndarray:
    """Weights of a Gaussian at whole steps, up to `TRUNCATE` standard deviations, that add up to 1."""
    r = int(TRUNCATE * sigma)
    if r == 0:
        return np.ones(1)
    weights = np.exp(-0.5 * (np.arange(-r, r + 1) / sigma) ** 2)
    normalised: np.ndarray = weights / weights.sum()
    return normalised


def smallest_voxels(shape: Sequence[int], size_nm: Triple, settings: SeededSettings) -> int:
    """How many voxels a supervoxel must have to stay; in one section, pixels.

    Parameters
    ----------
    shape : sequence of int
        Voxels along z, y, x.
    size_nm : Triple
        Voxel size along z, y, x.
    settings : SeededSettings
        How.
    """
    used = [size for n, size in zip(shape, size_nm, strict=True) if n > 1]
    return round(float(np.prod([settings.smallest_nm / size for size in used])))


def _along(array: np.ndarray, axis: int) -> np.ndarray:
    """View a volume as (before, axis, after), for kernels that run along the middle axis."""
    shape = array.shape
    before, after = int(np.prod(shape[:axis])), int(np.prod(shape[axis + 1 :]))
    return array.reshape(before, shape[axis], after)
