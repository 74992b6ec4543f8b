"""The FlyEM layout: supervoxels in `stack`, and a table `transforms` from supervoxel to body."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from napari_celis.core.errors import CorruptFileError
from napari_celis.core.volume import as_labels, require_label_type
from napari_celis.io.hdf5_links import find_node
from napari_celis.io.lazy import Box, LazyArray
from napari_celis.io.memory import require_memory

STACK, TRANSFORMS, BODIES = "stack", "transforms", "bodies"


def bodies_beside(dataset: str) -> str | None:
    """Name the bodies that may belong to a dataset called `stack`."""
    folder, _, last = dataset.rpartition("/")
    return _join(folder, BODIES) if last == STACK else None


def stack_of(bodies: str) -> str:
    """Name the supervoxels that lie beside `bodies`."""
    return _join(bodies.rpartition("/")[0], STACK)


def transforms_of(bodies: str) -> str:
    """Name the table that lies beside `bodies`."""
    return _join(bodies.rpartition("/")[0], TRANSFORMS)


def has_bodies(file: h5py.File, dataset: str) -> bool:
    """Tell whether `dataset` means the bodies of a FlyEM file, and is not a dataset itself.

    Parameters
    ----------
    file : h5py.File
        An open HDF5 file.
    dataset : str
        What the user named.
    """
    if dataset.rpartition("/")[2] != BODIES or dataset in file:
        return False
    stack, table = find_node(file, stack_of(dataset)), find_node(file, transforms_of(dataset))
    return (
        isinstance(stack, h5py.Dataset)
        and isinstance(table, h5py.Dataset)
        and table.ndim == 2
        and table.shape[1] == 2
        and table.dtype.kind in "ui"
    )


def map_to_bodies(supervoxels: LazyArray, transforms: h5py.Dataset, name: str) -> LazyArray:
    """Look up the body of every supervoxel whenever a part is read.

    Parameters
    ----------
    supervoxels : LazyArray
        The dataset `stack`.
    transforms : h5py.Dataset
        Two columns, supervoxel and body; it is read at once.
    name : str
        What messages call the result.

    Returns
    -------
    bodies : LazyArray
        Background stays 0. A supervoxel that the table leaves out makes the read fail: keeping its own
        id could join it to an unrelated body.
    """
    require_label_type(supervoxels.dtype, name)
    chunk_rows = transforms.chunks[0] if transforms.chunks else 0
    require_memory(2 * (transforms.shape[0] + chunk_rows) * 2 * transforms.dtype.itemsize, name)
    table = np.asarray(transforms[:, :])
    if table.dtype.kind == "i" and table.size and table.min() < 0:
        raise CorruptFileError(f"{name} has negative ids in `{TRANSFORMS}`. Export the table again.")
    table = table[np.argsort(table[:, 0], kind="stable")].astype(f"u{table.dtype.itemsize}")
    ids, bodies = table[:, 0], table[:, 1]

    def read_box(box: Box) -> Any:
        return _look_up(as_labels(supervoxels[box], name), ids, bodies, name)

    return LazyArray(
        read_box, shape=supervoxels.shape, dtype=bodies.dtype, name=name, chunks=supervoxels.chunks
    )


def _look_up(supervoxels: np.ndarray, ids: np.ndarray, bodies: np.ndarray, name: str) -> np.ndarray:
    """Replace each supervoxel by its body."""
    present, where = np.unique(supervoxels, return_inverse=True)
    rows = np.searchsorted(ids, present)
    rows_inside = np.minimum(rows, max(0, len(ids) - 1))
    is_known = ids[rows_inside] == present if len(ids) else np.zeros(len(present), bool)
    missing = present[~is_known & (present != 0)]
    if missing.size:
        raise CorruptFileError(
            f"{name} lacks {missing.size} supervoxels in `{TRANSFORMS}`, the first is {missing[0]}. "
            f"Export the table again, or open `{STACK}`."
        )
    found = np.where(is_known, bodies[rows_inside], 0) if len(ids) else np.zeros(len(present), bodies.dtype)
    return found.astype(bodies.dtype)[where].reshape(supervoxels.shape)


def _join(folder: str, last: str) -> str:
    """Put a path inside the file together."""
    return f"{folder}/{last}" if folder else last
