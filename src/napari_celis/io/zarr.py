"""Zarr 2 and 3, plain or OME-Zarr 0.4 and 0.5: arrays that open without reading a chunk."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from napari_celis.core.errors import CelisError, MissingDatasetError
from napari_celis.core.volume import Volume
from napari_celis.io.catalog import DatasetInfo, choose_dataset, display_name, make_volume, require_level
from napari_celis.io.checked_codecs import guarded
from napari_celis.io.confined_store import ConfinedStore
from napari_celis.io.confinement import require_inside
from napari_celis.io.failures import reading
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.lazy import Box, LazyArray, require_chunks
from napari_celis.io.ome import Multiscale, parse_multiscale, spatial_axes
from napari_celis.io.ome_zarr import write_volume
from napari_celis.io.units import nm_per_unit
from napari_celis.io.zarr_nodes import Node, read_node, walk

__all__ = ["list_datasets", "open_array", "open_volume", "write_volume"]


def open_volume(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Open an array, or one level of a pyramid."""
    folder = path if dataset is None else path / dataset.strip("/")
    require_inside(folder, path)
    node = read_node(folder) if folder.is_dir() else None
    if node is None or not (node.is_array or parse_multiscale(node.attributes, str(folder))):
        chosen = choose_dataset(path, dataset, list_datasets(path))
        folder = path / chosen.name
        node = _require_node(folder)
    name = display_name(path, folder.relative_to(path).as_posix() if folder != path else None)
    if node.is_array:
        require_level(path, level, 1)
        multiscale, geometry = _in_pyramid(node)
        return _as_volume(path, node, multiscale, geometry or _plain_geometry(node, name), name)
    multiscale = parse_multiscale(node.attributes, name)
    assert multiscale is not None
    chosen_level = multiscale.levels[require_level(path, level, len(multiscale.levels))]
    require_inside(folder / chosen_level.path, path)
    array = _require_node(folder / chosen_level.path)
    return _as_volume(path, array, multiscale, chosen_level.geometry, name)


def list_datasets(path: Path) -> list[DatasetInfo]:
    """List arrays and pyramids; the levels of a pyramid count once."""
    found: list[DatasetInfo] = []
    levels: set[Path] = set()
    for node in walk(path):
        name = "" if node.path == path else node.path.relative_to(path).as_posix()
        if node.is_array and node.path not in levels:
            geometry = _plain_geometry(node, display_name(path, name))
            found.append(
                DatasetInfo(name, node.shape, node.dtype, geometry.voxel_size_nm, geometry.offset_nm)
            )
        multiscale = None if node.is_array else parse_multiscale(node.attributes, str(node.path))
        if multiscale is not None:
            levels |= {node.path / level.path for level in multiscale.levels}
            found.append(_pyramid_info(node.path, name, multiscale))
    return found


def _pyramid_info(folder: Path, name: str, multiscale: Multiscale) -> DatasetInfo:
    """Describe a pyramid by its finest level."""
    finest = multiscale.levels[0]
    array = _require_node(folder / finest.path)
    shape = tuple(
        size
        for i, size in enumerate(array.shape)
        if size != 1 or multiscale.axes is None or multiscale.axes[i : i + 1] not in (("t",), ("c",))
    )
    size, offset = finest.geometry.voxel_size_nm, finest.geometry.offset_nm
    return DatasetInfo(name, shape, array.dtype, size, offset, len(multiscale.levels))


def _require_node(folder: Path) -> Node:
    """Read a node that the metadata promises."""
    node = read_node(folder)
    if node is None:
        raise MissingDatasetError(f"{folder} holds no Zarr array or group. Check that the export finished.")
    return node


def _in_pyramid(node: Node) -> tuple[Multiscale | None, Geometry | None]:
    """Look up an array that the user named directly in the pyramid it may be a level of."""
    try:
        parent = read_node(node.path.parent)
        multiscale = parse_multiscale(parent.attributes, str(parent.path)) if parent else None
    except CelisError:
        # Naming an array is the way around damaged metadata, so it must not depend on them.
        return None, None
    for level in multiscale.levels if multiscale else ():
        if level.path == node.path.name:
            return multiscale, level.geometry
    return None, None


def _as_volume(
    root: Path, node: Node, multiscale: Multiscale | None, geometry: Geometry, name: str
) -> Volume:
    """Wrap an array with its axes in the order z, y, x."""
    with reading(name):
        array = open_array(node, root)
        shape, chunks = tuple(array.shape), tuple(array.chunks)
        require_chunks(chunks, shape, array.dtype.itemsize, name)
        where = tuple(range(len(shape))) if multiscale is None else spatial_axes(multiscale.axes, shape, name)
        order = np.argsort(np.argsort(where))

        def read_box(box: Box) -> Any:
            key: list[Any] = [0] * len(shape)
            for position, part in zip(where, box, strict=True):
                key[position] = part
            return np.asarray(array[tuple(key)]).transpose(order)

        data = LazyArray(
            read_box,
            shape=tuple(shape[i] for i in where),
            dtype=np.dtype(array.dtype),
            chunks=tuple(chunks[i] for i in where),
            name=name,
        )
    return make_volume(data, geometry, name)


def open_array(node: Node, root: Path | None = None) -> Any:
    """Open an array for reading, with codecs that survive damage, and without remarks on its style.

    Parameters
    ----------
    node : Node
        The array.
    root : Path, optional
        The volume that it belongs to, which no link may lead out of; its own folder by default.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = ConfinedStore(node.path, root)
        return guarded(zarr.open_array(store=store, mode="r", zarr_format=node.zarr_format))


def _plain_geometry(node: Node, name: str) -> Geometry:
    """Read voxel size and offset of an array without OME metadata, under the names in common use."""
    attributes = node.attributes
    source = next((key for key in ("resolution", "voxel_size") if key in attributes), None)
    if source is None or len(node.shape) != 3:
        return Geometry()
    size = voxel_size_from(attributes[source], name, source)
    offset = offset_from(attributes.get("offset"), name, "offset")
    stored = attributes.get("units")
    if isinstance(stored, list) and len(stored) == 3:
        nm = np.array([nm_per_unit(unit) or 1.0 for unit in stored])
        size = voxel_size_from(np.multiply(size, nm) if size else None, name, source)
        offset = offset_from(np.multiply(offset, nm) if offset else None, name, "offset")
    return Geometry(size, offset)
