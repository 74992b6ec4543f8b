"""Walk along the pages of a TIFF file before tifffile does, which would follow a circle for ever."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import IO, NamedTuple

import tifffile

from napari_celis.io.ome_tiff import require_sane_ome


class _Layout(NamedTuple):
    """How numbers are stored: the start of a file says which of four ways."""

    first: int
    """Where the position of the first page is written."""
    position: str
    n_tags: str
    tag_bytes: int


LAYOUTS = {
    b"II*\0": _Layout(4, "<I", "<H", 12),
    b"MM\0*": _Layout(4, ">I", ">H", 12),
    b"II+\0": _Layout(8, "<Q", "<Q", 20),
    b"MM\0+": _Layout(8, ">Q", ">Q", 20),
}


def open_tiff(path: Path) -> tifffile.TiffFile:
    """Open a TIFF file whose pages have an end.

    Parameters
    ----------
    path : Path
        Any file.

    Raises
    ------
    ValueError
        If a page points back to an earlier one.
    CelisError
        If its OME metadata ask for what `require_sane_ome` refuses.
    """
    with open(path, "rb") as file:
        _require_end(file)
    tif = tifffile.TiffFile(path)
    try:
        require_sane_ome(tif, path)
    except BaseException:
        tif.close()
        raise
    return tif


def _require_end(file: IO[bytes]) -> None:
    """Follow the chain; whatever else is wrong with it, tifffile will notice."""
    layout = LAYOUTS.get(file.read(4))
    n_bytes = os.fstat(file.fileno()).st_size
    if layout is None:
        return
    seen: set[int] = set()
    position = _number(file, layout.first, layout.position)
    while position is not None and 0 < position < n_bytes:
        if position in seen:
            raise ValueError(f"page {len(seen)} points back to an earlier one")
        seen.add(position)
        n_tags = _number(file, position, layout.n_tags)
        if n_tags is None or n_tags > n_bytes:
            return
        after = position + struct.calcsize(layout.n_tags) + n_tags * layout.tag_bytes
        position = _number(file, after, layout.position)


def _number(file: IO[bytes], position: int, code: str) -> int | None:
    """Read one number, or None beyond the end."""
    file.seek(position)
    content = file.read(struct.calcsize(code))
    return struct.unpack(code, content)[0] if len(content) == struct.calcsize(code) else None
