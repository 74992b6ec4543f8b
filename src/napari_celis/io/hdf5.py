"""HDF5: the CREMI layout, the FlyEM layout, and any file with a three-dimensional dataset in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.io import flyem
from napari_celis.io.blocks import Kind, Progress, read_blocks, stored_type
from napari_celis.io.catalog import DatasetInfo, choose_dataset, display_name, make_volume, require_level
from napari_celis.io.failures import reading
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.hdf5_links import find_node
from napari_celis.io.hdf5_writing import extend_file
from napari_celis.io.lazy import LazyArray

DEFAULT_DATASET = {"image": "volumes/raw", "labels": "volumes/labels/neuron_ids"}
"""Where the CREMI layout keeps them."""
CHUNKS = (16, 64, 64)


def open_volume(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Open one dataset lazily; the file stays open as long as the volume lives."""
    require_level(path, level, 1)
    with reading(str(path)):
        file = _open_file(path)
        chosen = dataset.strip("/") if dataset is not None else None
        if chosen is None or not _holds(file, chosen):
            chosen = choose_dataset(path, dataset, _catalog(file)).name
        name = display_name(path, chosen)
        stored = find_node(file, chosen)
        if isinstance(stored, h5py.Dataset):
            return make_volume(_lazy(file, stored, name), _geometry(stored, name), name)
        stack = find_node(file, flyem.stack_of(chosen))
        table = find_node(file, flyem.transforms_of(chosen))
        assert isinstance(stack, h5py.Dataset)
        assert isinstance(table, h5py.Dataset)
        bodies = flyem.map_to_bodies(_lazy(file, stack, name), table, name)
        return make_volume(bodies, _geometry(stack, name), name)


def list_datasets(path: Path) -> list[DatasetInfo]:
    """List every dataset, and the bodies of a FlyEM file."""
    with reading(str(path)), _open_file(path) as file:
        return _catalog(file)


def write_volume(
    volume: Volume, path: Path, dataset: str | None, kind: Kind, progress: Progress | None
) -> None:
    """Write one dataset in the CREMI layout; other datasets of an existing file stay."""
    inside = (dataset or DEFAULT_DATASET[kind]).strip("/")
    dtype = stored_type(volume, kind)
    with extend_file(path) as (file, check):
        _make_room(file, path, inside)
        chunks = tuple(min(pair) for pair in zip(CHUNKS, volume.shape, strict=True))
        created = file.create_dataset(
            inside,
            volume.shape,
            dtype,
            chunks=chunks,
            compression="gzip",
            compression_opts=1,
            shuffle=True,
        )
        created.attrs["resolution"] = np.asarray(volume.voxel_size_nm, np.float64)
        created.attrs["offset"] = np.asarray(volume.offset_nm, np.float64)
        for box, voxels in read_blocks(volume, kind, chunks, progress):
            created[box] = voxels
            check()


def _open_file(path: Path) -> h5py.File:
    """Open for reading, also on file systems that cannot lock."""
    try:
        return h5py.File(path, "r", locking="best-effort")
    except BlockingIOError as error:
        raise VolumeError(
            f"{path} is being written by another program. Wait until that has finished, or close it there."
        ) from error


def _holds(file: h5py.File, dataset: str) -> bool:
    """Tell whether a dataset exists, without walking through the whole file."""
    node = find_node(file, dataset)
    if node is None:
        return flyem.has_bodies(file, dataset)
    return isinstance(node, h5py.Dataset) and node.shape is not None


def _catalog(file: h5py.File) -> list[DatasetInfo]:
    """Walk through a file."""
    found: list[DatasetInfo] = []

    def visit(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and node.shape is not None:
            found.append(_info(name, node, str(node.dtype)))
            bodies = flyem.bodies_beside(name)
            if bodies is not None and flyem.has_bodies(file, bodies):
                found.append(_info(bodies, node, str(file[flyem.transforms_of(bodies)].dtype)))

    file.visititems(visit)
    return found


def _info(name: str, node: h5py.Dataset, dtype: str) -> DatasetInfo:
    """Describe one dataset."""
    geometry = _geometry(node, f"{node.file.filename}:{name}")
    return DatasetInfo(name, tuple(node.shape), dtype, geometry.voxel_size_nm, geometry.offset_nm)


def _geometry(node: h5py.Dataset, name: str) -> Geometry:
    """Read `resolution` and `offset` (CREMI, in nm), or `element_size_um` (Fiji, ilastik)."""
    size = node.attrs.get("resolution")
    source = "resolution"
    if size is None and "element_size_um" in node.attrs:
        size, source = np.asarray(node.attrs["element_size_um"], np.float64) * 1000.0, "element_size_um"
    if node.ndim > 3 and size is not None and np.size(size) != 3:
        return Geometry()
    return Geometry(
        voxel_size_from(size, name, source), offset_from(node.attrs.get("offset"), name, "offset")
    )


def _lazy(file: h5py.File, node: h5py.Dataset, name: str) -> LazyArray:
    """Wrap a dataset; the reference to `file` keeps it open."""

    def read_box(box: Any, _file: h5py.File = file) -> Any:
        return node[box]

    return LazyArray(read_box, shape=node.shape, dtype=np.dtype(node.dtype), name=name, chunks=node.chunks)


def _make_room(file: h5py.File, path: Path, dataset: str) -> None:
    """Remove a dataset that is to be replaced; refuse to replace a group, or to nest in a dataset."""
    parts = dataset.split("/")
    for length in range(1, len(parts) + 1):
        node = find_node(file, "/".join(parts[:length]))
        is_last = length == len(parts)
        if node is not None and isinstance(node, h5py.Dataset) != is_last:
            is_what = "a group" if is_last else "a dataset"
            raise VolumeError(
                f"{path} holds {is_what} named `{'/'.join(parts[:length])}`, so `{dataset}` cannot be "
                "written. Choose another dataset name."
            )
    if dataset in file:
        del file[dataset]
