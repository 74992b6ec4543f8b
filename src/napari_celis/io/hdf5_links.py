"""Find datasets of an HDF5 file without leaving it: external links, raw storage, virtual datasets."""

from __future__ import annotations

import posixpath
from typing import Any

import h5py

from napari_celis.core.errors import CorruptFileError
from napari_celis.io.confinement import refuse_link

MAX_LINKS = 16
"""Links that lead to links; beyond it lies a circle."""
OWN_FILE = "."
"""What a virtual dataset calls the file that it lies in."""


def find_node(file: h5py.File, name: str, n_links: int = 0) -> Any:
    """Look up a dataset or group, step by step.

    Parameters
    ----------
    file : h5py.File
        Open for reading or writing.
    name : str
        Path inside the file.
    n_links : int
        Links followed so far.

    Returns
    -------
    node : h5py.Group, h5py.Dataset or None
        None when there is nothing of that name. A dataset has its voxels in this file.

    Raises
    ------
    VolumeError
        If it lies in another file, and the user does not follow links.
    """
    node: Any = file
    parts = [part for part in name.split("/") if part not in ("", ".")]
    for i, part in enumerate(parts):
        if not isinstance(node, h5py.Group):
            return None
        link = node.get(part, getlink=True)
        if link is None:
            return None
        if isinstance(link, h5py.ExternalLink):
            refuse_link(f"{file.filename}:{name}", f"{link.filename}:{link.path}")
            return file.get(name)
        if isinstance(link, h5py.SoftLink):
            if n_links >= MAX_LINKS:
                raise CorruptFileError(f"{file.filename}:{name} is a circle of links. Export the file again.")
            target = posixpath.join(node.name, link.path, *parts[i + 1 :])
            return find_node(file, target, n_links + 1)
        node = node.get(part)
    if isinstance(node, h5py.Dataset):
        _require_own_voxels(file, node, n_links)
    return node


def _require_own_voxels(file: h5py.File, node: h5py.Dataset, n_links: int) -> None:
    """Refuse a dataset whose voxels lie elsewhere."""
    name = f"{file.filename}:{node.name}"
    for path, _, _ in node.external or ():
        refuse_link(name, str(path))
    for source in node.virtual_sources() if node.is_virtual else ():
        if source.file_name != OWN_FILE:
            refuse_link(name, f"{source.file_name}:{source.dset_name}")
        elif n_links >= MAX_LINKS:
            raise CorruptFileError(f"{name} is made of itself. Export the file again.")
        else:
            find_node(file, source.dset_name, n_links + 1)
