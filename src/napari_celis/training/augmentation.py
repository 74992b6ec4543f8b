"""Random symmetries and intensities that show one volume to a network in many ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from napari_celis.core.symmetry import Symmetry, all_symmetries


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


def draw_symmetry(
    rng: np.random.Generator, augmentation: Augmentation, voxel_size_nm: Sequence[float]
) -> Symmetry:
    """Choose one of the symmetries that the settings allow, all equally likely.

    Parameters
    ----------
    rng : Generator
        Source of the draw.
    augmentation : Augmentation
        Which symmetries are allowed.
    voxel_size_nm : sequence of float
        Along z, y, x; only axes with equal voxel sizes are exchanged.
    """
    choices = all_symmetries(voxel_size_nm, exchange=augmentation.transposes, mirror=augmentation.flips)
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
