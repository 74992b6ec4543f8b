"""Images as a network wants them, read part by part: turned and mirrored, or with other grey values."""

from __future__ import annotations

from typing import Any

import numpy as np

from napari_celis.core.symmetry import Symmetry
from napari_celis.core.volume import ArrayLike3D, Box


class SymmetricImage:
    """A symmetry of an image; only what is asked for is read.

    Parameters
    ----------
    image : array or lazy array, shape (Z, Y, X)
        The image as it is.
    symmetry : Symmetry
        What is done to it.
    """

    def __init__(self, image: ArrayLike3D, symmetry: Symmetry) -> None:
        self._image, self._symmetry = image, symmetry
        self.shape = tuple(int(image.shape[axis]) for axis in symmetry.axes)
        self.dtype = np.dtype(image.dtype)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Read a box, given by three slices with a beginning and an end."""
        source = [slice(0, 0)] * 3
        for part, size, axis, is_mirrored in zip(
            key, self.shape, self._symmetry.axes, self._symmetry.mirrored, strict=True
        ):
            source[axis] = slice(size - part.stop, size - part.start) if is_mirrored else part
        return self._symmetry.apply(np.asarray(self._image[tuple(source)]))

    def box_of(self, box: Box) -> Box:
        """Say where a box of the image lies here."""
        parts = [
            slice(size - box[axis].stop, size - box[axis].start) if is_mirrored else box[axis]
            for size, axis, is_mirrored in zip(
                self.shape, self._symmetry.axes, self._symmetry.mirrored, strict=True
            )
        ]
        return parts[0], parts[1], parts[2]


class RescaledImage:
    """An image with other brightness and contrast, float32.

    Parameters
    ----------
    image : array or lazy array, shape (Z, Y, X)
        The image as it is.
    gain, shift : float
        Grey values are multiplied by `gain`, then `shift` is added.
    """

    def __init__(self, image: ArrayLike3D, gain: float, shift: float) -> None:
        self._image, self._gain, self._shift = image, np.float32(gain), np.float32(shift)
        self.shape, self.dtype = tuple(image.shape), np.dtype(np.float32)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Read a part."""
        part: np.ndarray = np.asarray(self._image[key]).astype(np.float32) * self._gain + self._shift
        return part


class FiniteImage:
    """An image whose NaN and infinite values are 0, as margins and lost sections are.

    Parameters
    ----------
    image : array or lazy array, shape (Z, Y, X)
        The image as it is.
    """

    def __init__(self, image: ArrayLike3D) -> None:
        self._image = image
        self.shape, self.dtype = tuple(image.shape), np.dtype(image.dtype)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Read a part."""
        part = np.asarray(self._image[key])
        return np.where(np.isfinite(part), part, 0) if part.dtype.kind == "f" else part
