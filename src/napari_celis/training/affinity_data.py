"""Affinity targets from true labels, and the patches that the affinity network learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import fastremap
import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import TrainingError
from napari_celis.core.symmetry import Symmetry
from napari_celis.core.volume import format_shape
from napari_celis.training.augmentation import Augmentation, draw_symmetry, vary_intensity
from napari_celis.training.shape_targets import transform_shape

UNKNOWN = 0
OUTSIDE = -1
"""Label of voxels that belong to no object: boundaries that were widened, or a background that is known."""

Background = Literal["unknown", "outside"]
MAX_DRAWS = 50


def prepare_labels(
    truth: np.ndarray,
    *,
    dilation: int = 0,
    min_voxels: int = 0,
    background: Background = "unknown",
    voxel_size_nm: Sequence[float] = (1.0, 1.0, 1.0),
) -> np.ndarray:
    """Turn true labels into the ids that targets are made from.

    Parameters
    ----------
    truth : ndarray of integers, shape (Z, Y, X)
        True objects.
    dilation : int
        Voxels at most this many face steps from another object become `OUTSIDE`, the paper's 0 to 8; 1 takes
        those that touch it. Along an axis with voxels twice as long as the finest, or longer, boundaries
        are not widened.
    min_voxels : int
        Objects with fewer voxels become `UNKNOWN`; the paper's other choice is 10 000.
    background : {'unknown', 'outside'}
        What truth 0 means: nobody knows, or certainly no object (membrane, extracellular space).
    voxel_size_nm : sequence of float
        Edge lengths of a voxel.

    Returns
    -------
    labels : ndarray of int32
        Positive ids of objects, `UNKNOWN` or `OUTSIDE`.

    Raises
    ------
    TrainingError
        If no boundary is left to learn from.
    """
    renumbered, _ = fastremap.renumber(np.ascontiguousarray(truth), preserve_zero=True)
    labels: np.ndarray = renumbered.astype(np.int32)
    if background == "outside":
        labels[labels == 0] = OUTSIDE
    widened = _near_boundary(labels, dilation, voxel_size_nm)
    if min_voxels:
        sizes = np.bincount(np.maximum(labels, 0).ravel())
        small = sizes < min_voxels
        small[0] = False
        labels[small[np.maximum(labels, 0)]] = UNKNOWN
    # A boundary of a dropped object stays one: the object is there, only its extent is in doubt.
    labels[widened] = OUTSIDE
    _require_boundary(labels, min_voxels, dilation)
    return labels


def _near_boundary(labels: np.ndarray, dilation: int, voxel_size_nm: Sequence[float]) -> np.ndarray:
    """Mark the voxels at most `dilation` face steps from a voxel of another known label."""
    if dilation < 0:
        raise TrainingError(f"`dilation` is {dilation}, but boundaries can only be widened. Give 0 or more.")
    near = np.zeros(labels.shape, dtype=bool)
    axes = [axis for axis in range(3) if voxel_size_nm[axis] < 2 * min(voxel_size_nm)]
    for step in range(dilation):
        grown = near.copy()
        for axis in axes:
            here, there = np.moveaxis(labels, axis, 0), np.moveaxis(grown, axis, 0)
            if step == 0:
                differs = (here[1:] != here[:-1]) & (here[1:] != UNKNOWN) & (here[:-1] != UNKNOWN)
                there[1:] |= differs
                there[:-1] |= differs
            else:
                before = np.moveaxis(near, axis, 0)
                there[1:] |= before[:-1]
                there[:-1] |= before[1:]
        near = grown
    return near


def _require_boundary(labels: np.ndarray, min_voxels: int, dilation: int) -> None:
    """Refuse labels with nothing to tell apart."""
    ids = np.unique(labels)
    n_objects = int((ids > 0).sum())
    if n_objects > 1 or (n_objects == 1 and OUTSIDE in ids):
        return
    changes = [f"without objects below {min_voxels} voxels"] if min_voxels else []
    changes += [f"with a dilation of {dilation}"] if dilation else []
    subject = f"The truth, {' and '.join(changes)}," if changes else "The truth"
    raise TrainingError(
        f"{subject} has {n_objects} object{'' if n_objects == 1 else 's'}, so there is no boundary to learn. "
        "Give labels of at least two neighbouring objects, or change these settings."
    )


def affinity_targets(
    labels: np.ndarray, offsets: Sequence[IntTriple], margin_zyx: IntTriple = (0, 0, 0)
) -> tuple[np.ndarray, np.ndarray]:
    """Say which voxels belong together with their neighbours, and where that is known.

    Parameters
    ----------
    labels : ndarray of int32, shape (Z, Y, X)
        From `prepare_labels`.
    offsets : sequence of tuple
        Channel c at voxel p is about p and p + offsets[c].
    margin_zyx : tuple of int
        Voxels on each side that serve only as neighbours; without them, neighbours beyond the border are
        unknown.

    Returns
    -------
    targets, known : ndarray of bool, shape (C, Z - 2 margin, ...)
        An affinity is 1 inside one object and 0 between two. With an end `OUTSIDE` it is 0 as well. Any other
        edge with an `UNKNOWN` end is not known.
    """
    reach = [max([abs(offset[axis]) for offset in offsets] + [0]) for axis in range(3)]
    extra = [max(0, need - margin) for need, margin in zip(reach, margin_zyx, strict=True)]
    padded = np.pad(labels, [(e, e) for e in extra], constant_values=UNKNOWN)
    low = [e + m for e, m in zip(extra, margin_zyx, strict=True)]
    size = [n - 2 * m for n, m in zip(labels.shape, margin_zyx, strict=True)]
    here = padded[tuple(slice(begin, begin + n) for begin, n in zip(low, size, strict=True))]
    inside = np.pad(np.ones(labels.shape, dtype=bool), [(e, e) for e in extra])
    targets = np.empty((len(offsets), *size), dtype=bool)
    known = np.empty_like(targets)
    for channel, offset in enumerate(offsets):
        window = tuple(slice(b + o, b + o + n) for b, o, n in zip(low, offset, size, strict=True))
        there = padded[window]
        targets[channel] = (here == there) & (here > 0)
        outside = (here == OUTSIDE) | (there == OUTSIDE)
        known[channel] = (outside | ((here > 0) & (there > 0))) & inside[window]
    return targets, known


@dataclass(frozen=True, eq=False)
class Patch:
    """One training example."""

    image: np.ndarray
    """Standardised, varied in intensity, float32 (Z, Y, X)."""
    targets: np.ndarray
    """bool (C, Z, Y, X), of the outputs only."""
    known: np.ndarray
    """bool, same shape."""
    shape: np.ndarray | None = None
    """Local shape of the objects, float32 (10, cells), where it is learned too."""


@dataclass(frozen=True, eq=False)
class ShapeMap:
    """The local shape of the objects of a volume, cell by cell."""

    values: np.ndarray
    """From `local_shape`, float16 (10, cells)."""
    cell: IntTriple
    """Voxels per cell."""

    def window(self, low: Sequence[int], size: Sequence[int]) -> np.ndarray:
        """Cut out the cells of a box of voxels, wherever it begins; float32 (10, cells).

        Parameters
        ----------
        low : sequence of int
            Where it begins.
        size : sequence of int
            Voxels along each axis, a multiple of the cell.
        """
        rows = [
            np.minimum((begin + np.arange(0, n, step) + step // 2) // step, most - 1)
            for begin, n, step, most in zip(low, size, self.cell, self.values.shape[1:], strict=True)
        ]
        found: np.ndarray = self.values[np.ix_(range(len(self.values)), *rows)].astype(np.float32)
        return found


@dataclass(frozen=True, eq=False)
class PatchSampler:
    """Draws patches at random places, in random symmetries of the grid, with random intensities."""

    image: np.ndarray
    """Standardised image, float32 (Z, Y, X)."""
    labels: np.ndarray
    """From `prepare_labels`, same shape."""
    output_zyx: IntTriple
    """Voxels with targets per patch."""
    context_zyx: IntTriple
    """Voxels of image that the network needs around them on each side."""
    offsets: Sequence[IntTriple]
    voxel_size_nm: Sequence[float]
    augmentation: Augmentation
    shapes: ShapeMap | None = None
    """What patches tell about the shape of objects, if that is learned."""

    def __post_init__(self) -> None:
        needed = tuple(n + 2 * c for n, c in zip(self.output_zyx, self.context_zyx, strict=True))
        if any(size < need for size, need in zip(self.image.shape, needed, strict=True)):
            raise TrainingError(
                f"The training volume has {format_shape(self.image.shape)} voxels, but one patch of the "
                f"network needs {format_shape(needed)}. Give a larger volume or a smaller patch."
            )

    def draw(self, rng: np.random.Generator) -> Patch:
        """Draw a patch in which at least one affinity is known."""
        for _ in range(MAX_DRAWS):
            patch = self._draw_anywhere(rng)
            if patch.known.any():
                return patch
        raise TrainingError(
            f"None of {MAX_DRAWS} patches of {format_shape(self.output_zyx)} voxels had a known label. "
            "Crop the volume to its labelled part."
        )

    def _draw_anywhere(self, rng: np.random.Generator) -> Patch:
        """Draw a patch; targets are made after the symmetry, so they point to the right neighbours."""
        symmetry = draw_symmetry(rng, self.augmentation, self.voxel_size_nm)
        size, context = symmetry.source(self.output_zyx), symmetry.source(self.context_zyx)
        if any(n < s + 2 * c for n, s, c in zip(self.image.shape, size, context, strict=True)):
            symmetry = Symmetry(mirrored=symmetry.mirrored)
            size, context = self.output_zyx, self.context_zyx
        low = [self._draw_low(rng, axis, s, c) for axis, (s, c) in enumerate(zip(size, context, strict=True))]
        image = _window(self.image, low, size, context)
        reach = symmetry.source(self._reach())
        labels = symmetry.apply(_window(self.labels, low, size, reach))
        targets, known = affinity_targets(labels, self.offsets, self._reach())
        shape = None if self.shapes is None else transform_shape(symmetry, self.shapes.window(low, size))
        return Patch(vary_intensity(symmetry.apply(image), rng, self.augmentation), targets, known, shape)

    @cached_property
    def _labelled(self) -> list[tuple[int, int]]:
        """Bounds of the known labels, per axis."""
        is_known, bounds = self.labels != UNKNOWN, []
        for axis in range(3):
            found = np.flatnonzero(is_known.any(axis=tuple(other for other in range(3) if other != axis)))
            bounds.append((int(found[0]), int(found[-1]) + 1) if len(found) else (0, self.labels.shape[axis]))
        return bounds

    def _draw_low(self, rng: np.random.Generator, axis: int, size: int, context: int) -> int:
        """Draw where a patch begins: anywhere, as long as half of it or more lies where labels are."""
        begin, end = self._labelled[axis]
        lowest, highest = context, self.image.shape[axis] - size - context
        low = min(max(lowest, begin - size // 2), highest)
        high = max(min(highest, end - size // 2), low)
        return int(rng.integers(low, high + 1))

    def _reach(self) -> IntTriple:
        """Return how far neighbours lie, per axis."""
        z, y, x = (max(abs(offset[axis]) for offset in self.offsets) for axis in range(3))
        return z, y, x


@dataclass(frozen=True, eq=False)
class VolumeSampler:
    """Draws patches from several volumes, from each as often as it has known voxels."""

    samplers: Sequence[PatchSampler]

    @property
    def output_zyx(self) -> IntTriple:
        """Voxels with targets per patch."""
        return self.samplers[0].output_zyx

    @cached_property
    def _shares(self) -> np.ndarray:
        """What each volume has of all known voxels."""
        counts = np.array([np.count_nonzero(sampler.labels != UNKNOWN) for sampler in self.samplers])
        shares: np.ndarray = counts / counts.sum()
        return shares

    def draw(self, rng: np.random.Generator) -> Patch:
        """Draw a patch from one of the volumes."""
        index = int(rng.choice(len(self.samplers), p=self._shares)) if len(self.samplers) > 1 else 0
        return self.samplers[index].draw(rng)


def _window(volume: np.ndarray, low: Sequence[int], size: Sequence[int], margin: Sequence[int]) -> np.ndarray:
    """Cut out a box with a margin; beyond the volume there are zeros, which as labels mean `UNKNOWN`."""
    begin = [b - m for b, m in zip(low, margin, strict=True)]
    end = [b + n + m for b, n, m in zip(low, size, margin, strict=True)]
    inside = tuple(slice(max(0, b), e) for b, e in zip(begin, end, strict=True))
    missing = [(max(0, -b), max(0, e - n)) for b, e, n in zip(begin, end, volume.shape, strict=True)]
    return np.pad(volume[inside], missing)
