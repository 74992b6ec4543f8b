"""Random symmetries and intensities that show one volume to a network in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy import ndimage

from napari_celis.core.descriptors import IntTriple

SAME_SIZE = 1.1
"""Axes whose voxel sizes differ by less than this factor may change places."""


@dataclass(frozen=True)
class Augmentation:
    """How strongly training patches are varied; intensities are in standard deviations of the image."""

    flips: bool = True
    transposes: bool = True
    """Exchange axes of the same voxel size: 48 symmetries when isotropic, 16 with coarse sections."""
    contrast: float = 0.2
    """Largest change of the gain, as a fraction."""
    brightness: float = 0.2
    """Largest shift."""
    gamma: float = 0.3
    """Largest exponent, as a natural logarithm."""
    noise: float = 0.15
    """Largest deviation of added noise."""
    missing_section: float = 0.0
    """Probability that one section of a patch is empty; for serial sections."""
    blurred_section: float = 0.0
    """Probability that one section of a patch is out of focus; for serial sections."""


@dataclass(frozen=True)
class Symmetry:
    """Exchange axes, then flip some of them."""

    flips: tuple[bool, bool, bool]
    axes: IntTriple
    """Which axis of the source becomes each axis of the result."""

    def apply(self, volume: np.ndarray) -> np.ndarray:
        """Transform the last three axes; a contiguous copy."""
        first = volume.ndim - 3
        order = (*range(first), *(first + axis for axis in self.axes))
        turned = volume.transpose(order)
        flipped = np.flip(turned, tuple(first + axis for axis, flip in enumerate(self.flips) if flip))
        return np.ascontiguousarray(flipped)

    def source(self, size: IntTriple) -> IntTriple:
        """Return the sizes along the source's axes that become `size`."""
        sizes = [0, 0, 0]
        for target, axis in enumerate(self.axes):
            sizes[axis] = size[target]
        return sizes[0], sizes[1], sizes[2]


def symmetries(augmentation: Augmentation, voxel_size_nm: Sequence[float]) -> list[Symmetry]:
    """List every symmetry that the settings and the voxel size allow."""
    orders: list[IntTriple] = [(0, 1, 2)]
    if augmentation.transposes:
        orders = [
            (order[0], order[1], order[2])
            for order in permutations((0, 1, 2))
            if all(
                max(voxel_size_nm[a], voxel_size_nm[b]) < SAME_SIZE * min(voxel_size_nm[a], voxel_size_nm[b])
                for a, b in enumerate(order)
            )
        ]
    flips = (False, True) if augmentation.flips else (False,)
    return [Symmetry((z, y, x), order) for order in orders for z in flips for y in flips for x in flips]


def draw_symmetry(
    rng: np.random.Generator, augmentation: Augmentation, voxel_size_nm: Sequence[float]
) -> Symmetry:
    """Choose one of the symmetries, all equally likely."""
    choices = symmetries(augmentation, voxel_size_nm)
    return choices[int(rng.integers(len(choices)))]


def vary_intensity(image: np.ndarray, rng: np.random.Generator, augmentation: Augmentation) -> np.ndarray:
    """Change contrast, brightness, gamma and noise of a standardised patch, and spoil sections if asked.

    Parameters
    ----------
    image : ndarray of float32, shape (Z, Y, X)
        Mean 0 and deviation 1 over the volume.
    rng : numpy.random.Generator
        Source of all draws.
    augmentation : Augmentation
        Strengths; 0 leaves a property as it is.

    Returns
    -------
    varied : ndarray of float32
        A new array.
    """
    gain = 1 + rng.uniform(-1, 1) * augmentation.contrast
    shift = rng.uniform(-1, 1) * augmentation.brightness
    exponent = float(np.exp(rng.uniform(-1, 1) * augmentation.gamma))
    varied = image.astype(np.float32)
    if augmentation.gamma:
        # Three deviations on either side hold nearly all voxels; the curve is applied between them.
        unit = np.clip((varied + 3) / 6, 0, 1)
        varied = (unit**exponent * 6 - 3).astype(np.float32)
    varied = varied * np.float32(gain) + np.float32(shift)
    if augmentation.noise:
        deviation = np.float32(rng.uniform(0, augmentation.noise))
        varied += deviation * rng.standard_normal(varied.shape, dtype=np.float32)
    return _spoil_sections(varied, rng, augmentation)


def _spoil_sections(image: np.ndarray, rng: np.random.Generator, augmentation: Augmentation) -> np.ndarray:
    """Blur or empty a section in place, as often as the settings say."""
    if rng.random() < augmentation.blurred_section:
        section = int(rng.integers(len(image)))
        image[section] = ndimage.gaussian_filter(image[section], rng.uniform(1, 3))
    if rng.random() < augmentation.missing_section:
        image[int(rng.integers(len(image)))] = 0
    return image
