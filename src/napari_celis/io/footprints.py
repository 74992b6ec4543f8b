"""Which files and datasets a volume consists of, so that nothing is written over them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from napari_celis.core.errors import CelisError
from napari_celis.io.targets import Format, detect_format, format_to_write, split_target
from napari_celis.io.volumes import list_datasets


class Part(NamedTuple):
    """A file, a folder with everything in it, or one dataset of an HDF5 file."""

    path: Path
    dataset: str | None = None
    """None is all of it."""

    def overlaps(self, other: Part) -> bool:
        """Tell whether writing one of two parts would change the other."""
        here, there = Path(os.path.realpath(self.path)), Path(os.path.realpath(other.path))
        if here == there or _is_same_file(here, there):
            if self.dataset is None or other.dataset is None:
                return True
            a, b = f"{self.dataset}/", f"{other.dataset}/"
            return a.startswith(b) or b.startswith(a)
        return here in there.parents or there in here.parents


def parts_to_read(target: str | os.PathLike[str], *, n_axes: int = 3) -> list[Part]:
    """List what an existing volume consists of.

    Parameters
    ----------
    target : str or path
        `path[:dataset]`; something that is no volume counts as one file.
    n_axes : int
        Of the array that is meant where the dataset is left out: 3, or 4 for affinities.

    Returns
    -------
    parts : list of Part
    """
    split = split_target(target)
    try:
        stored_as = detect_format(split)
        if stored_as in (Format.HDF5, Format.ZARR, Format.N5):
            names = [split.dataset.strip("/")] if split.dataset else _unnamed(split.path, n_axes)
            parts = (_hdf5_parts if stored_as is Format.HDF5 else _folder_parts)(split.path, names)
            return list(parts)
        if stored_as is Format.SECTIONS:
            from napari_celis.io.sections import section_files

            return [Part(file) for file in section_files(split.path)]
    except CelisError:
        # Whatever is wrong with it, opening it will say so.
        pass
    return [Part(split.path)]


def part_to_write(target: str | os.PathLike[str], unnamed: str) -> Part:
    """Say what writing a volume will replace.

    Parameters
    ----------
    target : str or path
        `path[:dataset]`.
    unnamed : str
        The dataset that an HDF5 file gets where none is named.
    """
    split = split_target(target)
    stored_as = format_to_write(split)
    if stored_as is Format.HDF5:
        return Part(split.path, (split.dataset or unnamed).strip("/"))
    return Part(split.path / (split.dataset or "").strip("/") if stored_as is Format.ZARR else split.path)


def _unnamed(path: Path, n_axes: int) -> list[str]:
    """List the arrays that may be meant."""
    return [info.name for info in list_datasets(path) if len(info.shape) == n_axes]


def _hdf5_parts(path: Path, names: Iterable[str]) -> Iterable[Part]:
    """Name the datasets; bodies are made of two others."""
    from napari_celis.io import flyem

    for name in names:
        yield Part(path, name)
        if name.rpartition("/")[2] == flyem.BODIES:
            yield from (Part(path, flyem.stack_of(name)), Part(path, flyem.transforms_of(name)))


def _folder_parts(path: Path, names: Iterable[str]) -> Iterable[Part]:
    """Name the folders of arrays; beside the levels of a pyramid there is room for others, such as labels."""
    from napari_celis.io.ome import parse_multiscale
    from napari_celis.io.zarr_nodes import METADATA_FILES, read_node

    for name in names:
        folder = path / name
        node = read_node(folder)
        pyramid = parse_multiscale(node.attributes, str(folder)) if node and not node.is_array else None
        if pyramid is None:
            yield Part(folder)
        else:
            yield from (Part(folder / inside) for inside in (*pyramid.level_folders, *METADATA_FILES))


def _is_same_file(a: Path, b: Path) -> bool:
    """Tell two names of one file, also on disks that do not tell capitals from small letters."""
    try:
        return a.samefile(b)
    except OSError:
        return False
