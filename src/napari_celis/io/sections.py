"""Stacks of two-dimensional sections: folders of TIFF or PNG files, and the pages of a TIFF file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import PngImagePlugin

from napari_celis.core.errors import MissingDatasetError, VolumeError
from napari_celis.core.volume import Volume, format_shape
from napari_celis.io.catalog import DatasetInfo, make_volume, require_dataset_unnamed, require_level
from napari_celis.io.confinement import require_inside
from napari_celis.io.failures import reading
from napari_celis.io.geometry import Geometry
from napari_celis.io.lazy import Box, LazyArray
from napari_celis.io.memory import require_memory
from napari_celis.io.tiff_chain import open_tiff
from napari_celis.io.tiff_pages import page_type, read_page

SUFFIXES = (".tif", ".tiff", ".png")
TYPE_OF_MODE = {"1": "u1", "L": "u1", "I;16": "u2", "I;16B": "u2", "I": "i4"}
"""Modes of PNG files with one channel."""


def open_volume(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Open a folder of sections, in the order a person would count them."""
    require_level(path, level, 1)
    require_dataset_unnamed(path, dataset)
    files = section_files(path)
    shape, dtype = _section_type(files[0])

    def read(z: int) -> np.ndarray:
        found_shape, found_dtype = _section_type(files[z])
        if found_shape != shape or found_dtype != dtype:
            raise VolumeError(
                f"{files[z]} is {format_shape(found_shape)} {found_dtype}, but the first section of the "
                f"folder is {format_shape(shape)} {dtype}. Make all sections alike."
            )
        return _read_section(files[z])

    name = str(path)
    data = LazyArray(
        stack_reader(read), shape=(len(files), *shape), dtype=dtype, name=name, chunks=(1, *shape)
    )
    return make_volume(data, Geometry(), name)


def list_datasets(path: Path) -> list[DatasetInfo]:
    """Describe the stack by its first section."""
    files = section_files(path)
    shape, dtype = _section_type(files[0])
    return [DatasetInfo("", (len(files), *shape), str(dtype))]


def stack_reader(read_section: Callable[[int], np.ndarray]) -> Callable[[Box], Any]:
    """Make a function that reads a box section by section."""

    def read_box(box: Box) -> Any:
        z, y, x = box
        return np.stack([read_section(index)[y, x] for index in range(z.start, z.stop)])

    return read_box


def natural_key(name: str) -> list[tuple[int, str]]:
    """Sort `s2` before `s10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name.lower())]


def section_files(folder: Path) -> list[Path]:
    """List the sections of a folder."""
    with reading(str(folder)):
        files = [
            entry
            for entry in folder.iterdir()
            if entry.suffix.lower() in SUFFIXES and not entry.name.startswith(".") and entry.is_file()
        ]
    for entry in files:
        require_inside(entry, folder)
    if not files:
        raise MissingDatasetError(
            f"{folder} is a folder without TIFF or PNG sections, and it is no Zarr, N5 or precomputed volume "
            "either. Check the path."
        )
    kinds = {"png" if entry.suffix.lower() == ".png" else "tiff" for entry in files}
    if len(kinds) > 1:
        raise VolumeError(f"{folder} mixes TIFF and PNG sections. Keep one kind of file in the folder.")
    return sorted(files, key=lambda entry: natural_key(entry.name))


def _section_type(file: Path) -> tuple[tuple[int, int], np.dtype[Any]]:
    """Read shape and type from a header."""
    with reading(str(file)):
        if file.suffix.lower() == ".png":
            with PngImagePlugin.PngImageFile(file) as image:
                if image.mode not in TYPE_OF_MODE:
                    raise VolumeError(
                        f"{file} is a PNG of mode {image.mode}, but sections have one channel. Save them as "
                        "8- or 16-bit greyscale."
                    )
                return (image.height, image.width), np.dtype(TYPE_OF_MODE[image.mode])
        with open_tiff(file) as tif:
            if len(tif.pages) != 1:
                raise VolumeError(
                    f"{file} holds {len(tif.pages)} pages, but in a folder each file is one section. Open "
                    "that file itself, or split it."
                )
            return page_type(tif.pages.first, str(file))


def _read_section(file: Path) -> np.ndarray:
    """Read one file."""
    with reading(str(file)):
        if file.suffix.lower() == ".png":
            # Opened by its class: `Image.open` refuses the large sections of electron microscopes.
            with PngImagePlugin.PngImageFile(file) as image:
                require_memory(4 * image.height * image.width, str(file))
                return np.asarray(image).astype(TYPE_OF_MODE[image.mode], copy=False)
        with open_tiff(file) as tif:
            return read_page(tif.pages.first, str(file))
