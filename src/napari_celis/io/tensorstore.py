"""The optional library behind N5 and precomputed, opened and turned to z, y, x."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from napari_celis.core.errors import MissingExtraError
from napari_celis.io.confinement import require_inside, require_regular
from napari_celis.io.lazy import Box, LazyArray


def import_tensorstore(path: Path) -> Any:
    """Import the library, or say how to get it for the sake of `path`."""
    try:
        import tensorstore
    except ImportError as error:
        raise MissingExtraError(
            f"{path} needs the optional library tensorstore. Install it with: "
            'pip install "napari-celis[formats]"'
        ) from error
    return tensorstore


def open_store(spec: dict[str, Any], path: Path, *, write: bool = False) -> Any:
    """Open a volume that exists.

    Parameters
    ----------
    spec : dict
        The driver and its settings.
    path : Path
        The folder.
    write : bool
        Whether voxels will be written.

    Returns
    -------
    store : tensorstore.TensorStore
        With the axes in the stored order.
    """
    tensorstore = import_tensorstore(path)
    kvstore = {"driver": "file", "path": f"{path.resolve().as_posix()}/"}
    return tensorstore.open({**spec, "kvstore": kvstore}, open=True, read=True, write=write).result()


def write_part(part: Any, voxels: np.ndarray) -> None:
    """Write voxels to a part of a store; what the system says comes as an `OSError`.

    Parameters
    ----------
    part : any
        Part of a store.
    voxels : ndarray
        As many as it holds.
    """
    try:
        part.write(voxels).result()
    except ValueError as error:
        code = re.search(r"os_error_code='(\d+)'", str(error))
        if code is None:
            raise
        raise OSError(int(code[1]), os.strerror(int(code[1]))) from error


def lazy_zyx(
    store: Any,
    *,
    chunks: tuple[int, ...],
    name: str,
    root: Path,
    file_of: Callable[[tuple[int, ...]], Path],
) -> LazyArray:
    """Wrap a store whose axes run x, y, z.

    Parameters
    ----------
    store : tensorstore.TensorStore
        Its origin may lie anywhere.
    chunks : tuple of int
        Of the stored blocks, in the order x, y, z.
    name : str
        What messages call it.
    root : Path
        The folder of the volume, which no link may lead out of.
    file_of : callable
        Names the file of a chunk by its index in the grid of chunks, x, y, z.
    """
    turned = store.T
    origin = turned.domain.origin

    def read_box(box: Box) -> Any:
        grid = [
            range(part.start // chunk, -(-part.stop // chunk))
            for part, chunk in zip(box[::-1], chunks, strict=True)
        ]
        for file in {file_of(index) for index in product(*grid)}:
            require_inside(file, root)
            require_regular(file)
        shifted = tuple(
            slice(start + part.start, start + part.stop) for start, part in zip(origin, box, strict=True)
        )
        return turned[shifted].read().result()

    return LazyArray(
        read_box,
        shape=tuple(turned.shape),
        dtype=np.dtype(store.dtype.numpy_dtype),
        name=name,
        chunks=chunks[::-1],
    )
