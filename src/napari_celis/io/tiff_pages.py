"""One page of a TIFF file, checked before it is decoded."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import count_voxels, require_numbers
from napari_celis.io.lazy import require_chunks
from napari_celis.io.memory import require_memory

# Without a handler of its own, everything that tifffile notices in a damaged file would go to stderr.
logging.getLogger("tifffile").addHandler(logging.NullHandler())


def page_type(page: Any, name: str) -> tuple[tuple[int, int], np.dtype[Any]]:
    """Read shape and type of a page with one channel.

    Parameters
    ----------
    page : tifffile.TiffPage or TiffFrame
        Any page.
    name : str
        What messages call it.

    Returns
    -------
    shape, dtype : tuple of int, dtype
    """
    if page.dtype is None:
        raise ValueError("the type of its voxels is unknown")
    if page.ndim != 2:
        raise VolumeError(
            f"{name} has sections of shape {tuple(page.shape)}, but they must have one channel and no depth. "
            "Save it as greyscale."
        )
    require_numbers(np.dtype(page.dtype), name)
    return (int(page.shape[0]), int(page.shape[1])), np.dtype(page.dtype)


def read_page(page: Any, name: str) -> np.ndarray:
    """Decode a page that page_type accepts, if it fits into memory together with its largest tile.

    Parameters
    ----------
    page : any
        The page.
    name : str
        What messages call it.
    """
    shape, dtype = page_type(page, name)
    require_chunks(page.chunks, shape, dtype.itemsize, name)
    require_memory((count_voxels(shape) + count_voxels(page.chunks)) * dtype.itemsize, name)
    return np.asarray(page.asarray(maxworkers=1)).astype(dtype, copy=False)
