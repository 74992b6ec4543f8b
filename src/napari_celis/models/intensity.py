"""Grey values: what a network was trained on, and how to bring those of another recording to it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from napari_celis.core.errors import ModelError

Intensity = tuple[float, float]
"""Mean and standard deviation of an image."""

LARGEST_GAIN, LARGEST_SHIFT = 1.5, 0.5
"""Contrast and brightness (in deviations) by which parts of one recording differ, from nuclei to neuropil."""


def measure_intensity(image: np.ndarray) -> Intensity:
    """Return mean and standard deviation of an image; voxels of 0 are margins or lost sections.

    Raises
    ------
    ModelError
        If all other voxels have the same value.
    """
    seen = image[image != 0]
    deviation = float(np.std(seen, dtype=np.float64)) if seen.size else 0.0
    if deviation == 0 or not np.isfinite(deviation):
        raise ModelError(
            "The image has the same value everywhere, so there is nothing to see in it. "
            "Check that this is the right dataset."
        )
    return float(np.mean(seen, dtype=np.float64)), deviation


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
    image: np.ndarray, known: Intensity, say: Callable[[str], None] | None = None
) -> np.ndarray:
    """Bring an image of another recording to the mean and deviation that a network was trained on.

    An image whose values are like those of training stays as it is, so that a part of a volume is seen as the
    whole is.

    Parameters
    ----------
    image : ndarray, shape (Z, Y, X)
        Grey values as in the file.
    known : (float, float)
        Mean and deviation of the training image.
    say : callable, optional
        Called with a sentence if values had to be changed.

    Returns
    -------
    image : ndarray
        The same, or float32.
    """
    own = measure_intensity(image)
    if not is_other_recording(own, known):
        return image
    if say is not None:
        say(
            f"The image has grey values of {own[0]:.4g} ± {own[1]:.3g}, that of training had "
            f"{known[0]:.4g} ± {known[1]:.3g}: they are brought to the same scale."
        )
    gain = known[1] / own[1]
    return image.astype(np.float32) * np.float32(gain) + np.float32(known[0] - gain * own[0])
