"""A three-dimensional array that knows its voxel size, where it lies and what it is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from napari_celis.core.errors import LabelsError, ShapeMismatchError, VolumeError

Triple = tuple[float, float, float]
Box = tuple[slice, slice, slice]
"""A part of a volume: beginning and end along z, y and x."""

FEW_EQUAL, MANY_EQUAL = 0.3, 0.8
"""Shares of equal neighbours below which labels, and above which an image, are strange."""
LOOKED_AT, ENOUGH = 8, 1000
"""Sections that are looked at for it, and voxels that are enough to tell."""
CHECKED_BYTES = 32 * 2**20
"""Checks look at about this much of a volume at a time, so that their temporaries stay small."""


class ArrayLike3D(Protocol):
    """What a lazy array must offer: a shape, a dtype, and reading by slices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Size along z, y, x."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of one voxel."""

    def __getitem__(self, key: Any, /) -> Any:
        """Read a part."""


def as_triple(values: Iterable[float]) -> Triple:
    """Turn any three numbers into a tuple of floats in the order z, y, x."""
    z, y, x = (float(value) for value in values)
    return z, y, x


@dataclass(frozen=True, eq=False)
class Volume:
    """One image or label volume; the axes are always z, y, x."""

    data: ArrayLike3D
    """The voxels: a numpy array, or a lazy array that reads when it is sliced."""
    voxel_size_nm: Triple = (1.0, 1.0, 1.0)
    """Edge lengths of one voxel in nanometres."""
    offset_nm: Triple = (0.0, 0.0, 0.0)
    """Position of the first voxel in nanometres."""
    name: str = "volume"
    """Where it came from, or what the user calls it; appears in messages."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels along z, y, x."""
        require_three_axes(self.data.shape, self.name)
        z, y, x = self.data.shape
        return int(z), int(y), int(x)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of one voxel."""
        return np.dtype(self.data.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes that the whole volume takes in memory."""
        return count_voxels(self.shape) * self.dtype.itemsize

    def read(self) -> np.ndarray:
        """Read the whole volume into memory."""
        return np.asarray(self.data[:, :, :])


def count_voxels(shape: Iterable[int]) -> int:
    """Multiply out a shape without overflow, however large a damaged file says it is."""
    n_voxels = 1
    for size in shape:
        n_voxels *= int(size)
    return n_voxels


def format_shape(shape: Iterable[int]) -> str:
    """Write a shape the way messages show it, such as `125 × 250 × 250`."""
    return " × ".join(str(int(size)) for size in shape)


def require_three_axes(shape: Sequence[int], name: str) -> None:
    """Refuse anything that is not z, y, x.

    Parameters
    ----------
    shape : sequence of int
        Voxels along z, y, x.
    name : str
        What messages call it.
    """
    if len(shape) == 3:
        return
    came = f"shape {format_shape(shape)}" if len(shape) else "a single number"
    if len(shape) == 2:
        raise VolumeError(
            f"{name} is one section with {came}, but a volume has three axes (z, y, x). "
            "Open the folder that holds all sections, or stack them into one file."
        )
    raise VolumeError(
        f"{name} has {len(shape)} axes ({came}), but a volume has three (z, y, x). "
        "Save the one channel or time point you need as its own dataset."
    )


def require_voxels(shape: Sequence[int], name: str) -> None:
    """Refuse a volume with no voxel in it.

    Parameters
    ----------
    shape : sequence of int
        Voxels along z, y, x.
    name : str
        What messages call it.
    """
    if count_voxels(shape) == 0:
        raise VolumeError(
            f"{name} is empty: its shape is {format_shape(shape)}. Check how it was cropped or exported."
        )


def require_numbers(dtype: np.dtype[Any], name: str) -> None:
    """Refuse objects, text, dates, records and complex numbers.

    Parameters
    ----------
    dtype : dtype
        Type of one voxel.
    name : str
        What messages call it.
    """
    if dtype.kind not in "buif":
        raise VolumeError(
            f"{name} holds values of type {dtype}, but a volume holds plain numbers. "
            "Save it again as integers or floats; pickled objects are never loaded."
        )


def require_label_type(dtype: np.dtype[Any], name: str) -> None:
    """Refuse labels that are not whole numbers.

    Parameters
    ----------
    dtype : dtype
        Type of one voxel.
    name : str
        What messages call it.
    """
    require_numbers(dtype, name)
    if dtype.kind == "f":
        raise LabelsError(
            f"{name} holds {dtype} values, but labels must be integers. "
            "Is this the image? Otherwise save the labels as uint32 or uint64."
        )


def unsigned_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Name the unsigned type, in native byte order, that holds the non-negative values of `dtype`."""
    return np.dtype(f"u{dtype.itemsize}")


def as_labels(array: np.ndarray, name: str) -> np.ndarray:
    """Turn integers into unsigned ids of the same width, without a copy where possible.

    Parameters
    ----------
    array : ndarray of bool or integers
        A part of a label volume, or all of it.
    name : str
        What messages call it.

    Returns
    -------
    labels : ndarray of unsigned integers, same shape

    Raises
    ------
    LabelsError
        If the values are floats, or one of them is negative.
    """
    require_label_type(array.dtype, name)
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise LabelsError(
            f"{name} holds negative labels (the lowest is {array.min()}), but ids start at 0, the "
            "background. Replace the negative values, or save them as unsigned integers."
        )
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return native.view(unsigned_type(array.dtype))


def as_image(array: np.ndarray, name: str) -> np.ndarray:
    """Return `array` in native byte order, with booleans as 0 and 1.

    Parameters
    ----------
    array : ndarray
        The voxels.
    name : str
        What messages call it.
    """
    require_numbers(array.dtype, name)
    wanted = np.dtype(np.uint8) if array.dtype.kind == "b" else array.dtype.newbyteorder("=")
    return array.astype(wanted, copy=False)


def require_finite(array: np.ndarray, name: str) -> None:
    """Refuse an image with NaN or infinite values.

    Parameters
    ----------
    array : ndarray
        The voxels.
    name : str
        What messages call it.
    """
    if array.dtype.kind != "f":
        return
    for part in _slabs(array):
        finite = np.isfinite(part)
        if not finite.all():
            raise VolumeError(
                f"{name} holds {int(finite.size - finite.sum())} or more values that are NaN or infinite. "
                "Replace them, for example with numpy.nan_to_num, and save it again."
            )


def require_foreground(labels: np.ndarray, name: str) -> None:
    """Refuse labels where every voxel is background.

    Parameters
    ----------
    labels : ndarray
        Labels, (Z, Y, X).
    name : str
        What messages call it.
    """
    if not any(part.any() for part in _slabs(labels)):
        raise LabelsError(
            f"{name} holds nothing but background: every label is 0. Check that this is the right dataset."
        )


def require_same_shape(**volumes: ArrayLike3D | Volume) -> None:
    """Check that volumes that belong together have one shape.

    Parameters
    ----------
    **volumes : Volume or array
        The arguments by the name the user knows, such as `image=…, supervoxels=…`.

    Raises
    ------
    ShapeMismatchError
        Naming the first pair of arguments that differ, with both shapes.
    """
    arguments = list(volumes.items())
    for name, volume in arguments[1:]:
        first_name, first = arguments[0]
        if tuple(volume.shape) != tuple(first.shape):
            raise ShapeMismatchError(
                f"`{name}` has shape {format_shape(volume.shape)} but `{first_name}` has "
                f"{format_shape(first.shape)}. Crop one of them, or open both at the same level and offset."
            )


def role_warnings(image: np.ndarray | None = None, supervoxels: np.ndarray | None = None) -> list[str]:
    """Say what speaks against using two volumes as image and supervoxels.

    Neighbouring voxels of supervoxels nearly always have the same id, those of an image seldom the same grey
    value: 90 to 98 % and 3 to 8 % in the volumes that were looked at.

    Parameters
    ----------
    image, supervoxels : ndarray, shape (Z, Y, X), optional
        As chosen.

    Returns
    -------
    warnings : list of str
        Sentences for the user; empty when nothing is strange.
    """
    grey = None if supervoxels is None else grey_warning(supervoxels, "the supervoxels look")
    warnings = [] if grey is None else [f"{grey} Are image and supervoxels exchanged?"]
    is_whole = image is not None and image.dtype.kind in "ui"
    share = _share_of_equal_neighbours(image) if image is not None and is_whole else None
    if share is not None and share > MANY_EQUAL:
        warnings.append(
            f"the image looks like labels: {share:.0%} of neighbouring voxels have the same value, where "
            "less than 10 % are usual. Are image and supervoxels exchanged?"
        )
    return warnings


def grey_warning(labels: np.ndarray, subject: str) -> str | None:
    """Say that labels look like an image; None if they do not.

    Parameters
    ----------
    labels : ndarray, shape (Z, Y, X)
        As chosen.
    subject : str
        How the sentence begins: what looks so, with its verb.
    """
    share = _share_of_equal_neighbours(labels)
    if share is None or share >= FEW_EQUAL:
        return None
    return (
        f"{subject} like grey values: {share:.0%} of neighbouring voxels have the same id, where about 90 % "
        "are usual."
    )


def _share_of_equal_neighbours(array: np.ndarray) -> float | None:
    """Count neighbours along x with the same value, of those that are not 0, in a few sections."""
    sections = array[:: max(1, len(array) // LOOKED_AT)]
    here, before = sections[:, :, 1:], sections[:, :, :-1]
    is_inside = here != 0
    n_inside = int(is_inside.sum())
    return int(((here == before) & is_inside).sum()) / n_inside if n_inside >= ENOUGH else None


def _slabs(array: np.ndarray) -> Iterable[np.ndarray]:
    """Cut an array along its first axis into parts of bounded size."""
    depth = max(1, CHECKED_BYTES * len(array) // max(1, array.nbytes))
    return (array[start : start + depth] for start in range(0, len(array), depth))
