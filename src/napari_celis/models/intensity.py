"""Grey values: what a network was trained on, and how to bring those of another recording to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from napari_celis.core.errors import ModelError
from napari_celis.core.volume import ArrayLike3D
from napari_celis.models.views import RescaledImage

Intensity = tuple[float, float]
"""Mean and standard deviation of an image."""

LARGEST_GAIN, LARGEST_SHIFT = 1.5, 0.5
"""Contrast and brightness (in deviations) by which parts of one recording differ, from nuclei to neuropil."""


@dataclass(frozen=True)
class IntensitySums:
    """Sums over the grey values of an image or a part of one; those of parts add up, exactly for integers."""

    count: int = 0
    total: float = 0
    squares: float = 0

    @classmethod
    def of(cls, image: np.ndarray) -> IntensitySums:
        """Add up an image; voxels of 0 are margins or lost sections."""
        seen = image[image != 0]
        if image.dtype.kind not in "ui":
            seen = seen.astype(np.float64)
            return cls(seen.size, float(seen.sum()), float(np.square(seen).sum()))
        # Sums of squares of 16 bits fit 64 for four billion voxels; wider integers are added as they are.
        wide = seen.astype(object if image.dtype.itemsize > 2 else np.int64)
        return cls(seen.size, int(wide.sum()), int((wide * wide).sum()))

    def __add__(self, other: IntensitySums) -> IntensitySums:
        return IntensitySums(self.count + other.count, self.total + other.total, self.squares + other.squares)

    def intensity(self) -> Intensity:
        """Return mean and standard deviation.

        Raises
        ------
        ModelError
            If all voxels have the same value.
        """
        spread = self.count * self.squares - self.total * self.total
        # Sums of floats may leave a crumb where all values are equal.
        if self.count == 0 or not spread > 1e-14 * self.count * self.squares or not isfinite(spread):
            raise ModelError(
                "The image has the same value everywhere, so there is nothing to see in it. "
                "Check that this is the right dataset."
            )
        return self.total / self.count, sqrt(spread / self.count**2)


def measure_intensity(image: np.ndarray) -> Intensity:
    """Return mean and standard deviation of an image; voxels of 0 are margins or lost sections.

    Raises
    ------
    ModelError
        If all other voxels have the same value.
    """
    return IntensitySums.of(image).intensity()


def is_other_recording(own: Intensity, known: Intensity) -> bool:
    """Whether grey values are further from those of training than tissue alone explains.

    Parameters
    ----------
    own : Intensity
        Grey values of the image.
    known : Intensity
        Grey values of the training data.
    """
    gain, shift = own[1] / known[1], abs(own[0] - known[0]) / known[1]
    return max(gain, 1 / gain) > LARGEST_GAIN or shift > LARGEST_SHIFT


def in_known_range(
    image: ArrayLike3D, known: Intensity, own: Intensity, say: Callable[[str], None] | None = None
) -> ArrayLike3D:
    """Bring an image of another recording to the mean and deviation that a network was trained on.

    An image whose values are like those of training stays as it is, so that a part of a volume is seen as the
    whole is.

    Parameters
    ----------
    image : array or lazy array, shape (Z, Y, X)
        Grey values as in the file.
    known : (float, float)
        Mean and deviation of the training image.
    own : (float, float)
        Mean and deviation of the whole image, from `measure_intensity`.
    say : callable, optional
        Called with a sentence if values had to be changed.

    Returns
    -------
    image : array or lazy array
        The same, or one that changes what is read.
    """
    if not is_other_recording(own, known):
        return image
    if say is not None:
        say(
            f"The image has grey values of {own[0]:.4g} ± {own[1]:.3g}, that of training had "
            f"{known[0]:.4g} ± {known[1]:.3g}: they are brought to the same scale."
        )
    gain = known[1] / own[1]
    return RescaledImage(image, gain, known[0] - gain * own[0])
