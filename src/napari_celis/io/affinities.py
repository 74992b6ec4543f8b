"""Affinities on disk: four axes (channel, z, y, x), with the neighbour that each channel is about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import zarr
from zarr.codecs import BloscCodec

from napari_celis.core.errors import AmbiguousDatasetError, MissingDatasetError, VolumeError
from napari_celis.core.watershed import AffinitiesError
from napari_celis.io.affinity_channels import OFFSETS, Affinities, AffinityVolume, require_channels
from napari_celis.io.atomic import atomic_folder
from napari_celis.io.catalog import DatasetInfo, display_name
from napari_celis.io.failures import reading
from napari_celis.io.geometry import offset_from, require_geometry, voxel_size_from
from napari_celis.io.hdf5_links import find_node
from napari_celis.io.hdf5_writing import extend_file
from napari_celis.io.ome_zarr import is_one_volume
from napari_celis.io.targets import Format, Target, detect_format, format_to_write, split_target
from napari_celis.io.volumes import list_datasets
from napari_celis.io.zarr import open_array
from napari_celis.io.zarr_nodes import read_node

__all__ = [
    "OFFSETS",
    "Affinities",
    "AffinityVolume",
    "affinities_format",
    "list_affinities",
    "open_affinities",
    "read_affinities",
    "write_affinities",
]

DEFAULT_DATASET = "volumes/affinities"
CHUNK = 64


def read_affinities(target: str | os.PathLike[str]) -> Affinities:
    """Read affinities from HDF5, Zarr or npy; see `open_affinities` and `AffinityVolume.read`."""
    return open_affinities(target).read()


def open_affinities(target: str | os.PathLike[str]) -> AffinityVolume:
    """Open affinities in HDF5, Zarr or npy; no voxel is read.

    Channels are chosen by the attribute `offsets` (or `neighborhood`, as volara calls it), one row (z, y, x)
    per channel: channel c at voxel p is the affinity of p with p + offsets[c]. Long-range channels are left
    out, and channels that look to +1 are shifted. Without the attribute the first three channels are taken to
    be ours.

    Parameters
    ----------
    target : str or path
        `path[:dataset]`. The dataset may be left out when only one array of the file has four axes.

    Returns
    -------
    affinities : AffinityVolume
        Not checked yet: `check` and `read` say what is wrong with its channels.

    Raises
    ------
    CelisError
        For anything that cannot be opened, with one sentence about it.
    """
    split = split_target(target)
    stored_as = detect_format(split)
    if stored_as not in _OPENERS:
        raise AffinitiesError(
            f"{split.path} is {stored_as.value}, but affinities come as HDF5, Zarr or npy. Convert them."
        )
    info = _choose(split.path, split.dataset)
    name = display_name(split.path, info.name or None)
    with reading(name):
        array, attributes = _OPENERS[stored_as](split.path, info.name)
    resolution = _of_space(attributes.get("resolution", attributes.get("voxel_size")))
    size = voxel_size_from(resolution, name, "resolution")
    offset = offset_from(_of_space(attributes.get("offset")), name, "offset")
    offsets = attributes.get("offsets", attributes.get("neighborhood"))
    # An npy file has no attributes; what ours carry behind the voxels is in the listing.
    return AffinityVolume(array, offsets, size or info.voxel_size_nm, offset or info.offset_nm, name)


def write_affinities(affinities: Affinities, target: str | os.PathLike[str]) -> Path:
    """Write affinities with voxel size, offset and `offsets`; nothing appears before it is complete.

    Parameters
    ----------
    affinities : Affinities
        What to write.
    target : str or path
        `.h5[:dataset]`, where other datasets of an existing file stay, or `.zarr[:dataset]`.

    Returns
    -------
    path : Path
        The file or folder, without the dataset.
    """
    require_channels(affinities.data.shape, affinities.data.dtype, affinities.name)
    require_geometry(affinities.voxel_size_nm, affinities.offset_nm, affinities.name)
    split = split_target(target)
    if affinities_format(split) is Format.HDF5:
        _write_hdf5(affinities, split.path, (split.dataset or DEFAULT_DATASET).strip("/"))
    else:
        _write_zarr(affinities, split.path, split.dataset)
    return split.path


def affinities_format(target: Target) -> Format:
    """Choose the format of new affinities by the suffix; others than HDF5 and Zarr are a `VolumeError`."""
    wanted = format_to_write(target)
    if wanted not in (Format.HDF5, Format.ZARR):
        raise VolumeError(
            f"{target.path} cannot hold affinities with their offsets. Choose a name in .h5 or .zarr."
        )
    return wanted


def list_affinities(path: str | os.PathLike[str]) -> list[str]:
    """List what may be affinities in a file, as `path[:dataset]`: all arrays with four axes."""
    split = split_target(path)
    if detect_format(split) not in _OPENERS:
        return []
    found = [info for info in list_datasets(split.path) if len(info.shape) == 4]
    return [display_name(split.path, info.name or None) for info in found]


def _choose(path: Path, dataset: str | None) -> DatasetInfo:
    """Find the array the user means; without a name, the only one with four axes."""
    found = list_datasets(path)
    if dataset is not None:
        found = [info for info in found if info.name == dataset.strip("/")]
        if not found:
            raise MissingDatasetError(f"{path} has no dataset `{dataset}`. `celis info {path}` lists them.")
        return found[0]
    four = [info for info in found if len(info.shape) == 4]
    if len(four) > 1:
        names = ", ".join(info.name for info in four)
        raise AmbiguousDatasetError(
            f"{path} holds several arrays with four axes: {names}. Name one of them, as in "
            f"{path.name}:{four[0].name}."
        )
    if not four:
        raise MissingDatasetError(
            f"{path} holds no affinities: no array in it has four axes (channel, z, y, x). Make them with "
            "`celis predict`."
        )
    return four[0]


def _of_space(values: Any) -> Any:
    """Leave out what some tools say about the axis of channels."""
    return (
        values[1:] if isinstance(values, (list, tuple, np.ndarray)) and np.shape(values) == (4,) else values
    )


def _open_hdf5(path: Path, dataset: str) -> tuple[Any, dict[str, Any]]:
    """Open a dataset; the file closes when the last reference to it goes."""
    node = find_node(h5py.File(path, "r", locking="best-effort"), dataset)
    return node, dict(node.attrs)


def _open_zarr(path: Path, dataset: str) -> tuple[Any, dict[str, Any]]:
    """Open an array, version 2 or 3."""
    node = read_node(path / dataset)
    if node is None or not node.is_array:
        raise AffinitiesError(
            f"{path / dataset} is not a Zarr array. Name the array that holds the affinities."
        )
    return open_array(node), node.attributes


def _open_npy(path: Path, dataset: str) -> tuple[Any, dict[str, Any]]:
    """Map an npy file, which has no attributes."""
    return np.load(path, mmap_mode="r", allow_pickle=False), {}


_OPENERS = {Format.HDF5: _open_hdf5, Format.ZARR: _open_zarr, Format.NPY: _open_npy}


def _attributes(affinities: Affinities) -> dict[str, Any]:
    """Collect what travels with the array."""
    return {
        "resolution": list(affinities.voxel_size_nm),
        "offset": list(affinities.offset_nm),
        "offsets": [list(offset) for offset in OFFSETS],
    }


def _chunks(data: np.ndarray) -> tuple[int, ...]:
    """Cut each channel by itself, in cubes."""
    return (1, *(min(CHUNK, size) for size in data.shape[1:]))


def _write_hdf5(affinities: Affinities, path: Path, dataset: str) -> None:
    """Write one dataset into a copy of the file, which then replaces it."""
    with extend_file(path) as (file, _):
        _require_free(file, path, dataset)
        if dataset in file:
            del file[dataset]
        created = file.create_dataset(
            dataset,
            data=affinities.data,
            chunks=_chunks(affinities.data),
            compression="gzip",
            shuffle=True,
        )
        created.attrs.update(_attributes(affinities))


def _require_free(file: h5py.File, path: Path, dataset: str) -> None:
    """Refuse to replace a group by a dataset, or to put one inside another."""
    parts = dataset.split("/")
    inside = next(
        (n for n in range(1, len(parts)) if isinstance(file.get("/".join(parts[:n])), h5py.Dataset)), 0
    )
    if inside or isinstance(file.get(dataset), h5py.Group):
        taken = "/".join(parts[:inside]) or dataset
        raise VolumeError(
            f"{path} holds something else named `{taken}`, so `{dataset}` cannot be written. Choose another "
            "dataset name."
        )


def _write_zarr(affinities: Affinities, path: Path, dataset: str | None) -> None:
    """Write one array: as the whole store, as the first of a new one, or into a group that exists."""
    inside = Path((dataset or "").strip("/"))
    if dataset is None or not path.exists():
        with atomic_folder(path, may_replace=is_one_volume, kind="a single Zarr volume") as temporary:
            _make_groups(temporary, inside)
            _create_array(affinities, temporary / inside)
    else:
        _make_groups(path, inside)
        with atomic_folder(
            path / inside, may_replace=is_one_volume, kind="a single Zarr volume"
        ) as temporary:
            _create_array(affinities, temporary)


def _make_groups(root: Path, inside: Path) -> None:
    """Make sure that every folder on the way to an array is a group."""
    for parent in reversed(inside.parents):
        node = read_node(root / parent)
        if node is None:
            zarr.create_group(str(root / parent), zarr_format=3)
        elif node.is_array:
            raise VolumeError(
                f"{root / parent} is an array, so nothing fits inside it. Choose another dataset name."
            )


def _create_array(affinities: Affinities, folder: Path) -> None:
    """Write the array with its attributes."""
    array = zarr.create_array(
        str(folder),
        shape=affinities.data.shape,
        dtype=affinities.data.dtype,
        chunks=_chunks(affinities.data),
        compressors=BloscCodec(cname="zstd", clevel=3, shuffle="shuffle"),
        fill_value=0,
        zarr_format=3,
        dimension_names=("c", "z", "y", "x"),
        attributes=_attributes(affinities),
    )
    array[...] = affinities.data
