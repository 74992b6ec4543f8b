"""Voxels that lie in one run in a file, mapped into memory instead of read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from napari_celis.core.volume import count_voxels
from napari_celis.io.lazy import Box


def map_voxels(
    path: Path, dtype: np.dtype[Any], *, start: int, shape: tuple[int, ...], order: Literal["C", "F"] = "C"
) -> Callable[[Box], Any]:
    """Make a function that copies a box out of a file.

    Parameters
    ----------
    path : Path
        The file.
    dtype : dtype
        Of the stored voxels, with their byte order.
    start : int
        Position of the first voxel in the file.
    shape : tuple of int
        Size along z, y, x.
    order : {"C", "F"}
        Whether x or z runs fastest.

    Raises
    ------
    ValueError
        If the file is too short; NumPy's own check overflows for the shapes of damaged headers.
    """
    needed, there = start + count_voxels(shape) * dtype.itemsize, path.stat().st_size
    if needed > there:
        raise ValueError(f"it should have {needed} bytes but has {there}")
    mapped: np.ndarray = np.memmap(path, dtype, mode="r", offset=start, shape=shape, order=order)
    return lambda box: np.array(mapped[box])
