"""Open, list and write volumes: `path[:dataset]` in, `Volume` out, whatever the format."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import (
    Volume,
    as_image,
    as_labels,
    require_finite,
    require_foreground,
    require_label_type,
    require_numbers,
    require_same_shape,
    require_three_axes,
    require_voxels,
)
from napari_celis.io.blocks import Kind, Progress
from napari_celis.io.catalog import DatasetInfo
from napari_celis.io.disk import require_room
from napari_celis.io.geometry import require_geometry
from napari_celis.io.ome_writing import Properties
from napari_celis.io.targets import Format, Target, detect_format, format_to_write, split_target

__all__ = [
    "DatasetInfo",
    "Properties",
    "list_datasets",
    "open_volume",
    "read_image",
    "read_labels",
    "require_same_shape",
    "volume_format",
    "write_volume",
]


class _Functions(NamedTuple):
    """Where a format lives; modules are imported when they are needed, because some take a second.

    Each has `open_volume(path, dataset, level)`, which returns a lazy Volume; `list_datasets(path)`; and, if
    it can be written, `write_volume(volume, path, dataset, kind, progress)`, some with `properties` and
    `meshes`. `dataset` is None where the user named none, `level` is None or a resolution of a pyramid,
    `progress` is told the voxels done, and in all.
    """

    module: str
    open_volume: str = "open_volume"
    list_datasets: str = "list_datasets"
    write_volume: str = "write_volume"

    def load(self, function: str) -> Any:
        """Import one of the functions."""
        return getattr(import_module(f"napari_celis.io.{self.module}"), getattr(self, function))


_FORMATS = {
    Format.HDF5: _Functions("hdf5"),
    Format.TIFF: _Functions("tiff"),
    Format.SECTIONS: _Functions("sections"),
    Format.NPY: _Functions("npy"),
    Format.NPZ: _Functions("npy", open_volume="open_npz", list_datasets="list_npz"),
    Format.ZARR: _Functions("zarr"),
    Format.N5: _Functions("n5"),
    Format.PRECOMPUTED: _Functions("precomputed"),
}


def open_volume(target: str | os.PathLike[str], *, level: int | None = None) -> Volume:
    """Open a volume, lazily where the format allows.

    Parameters
    ----------
    target : str or path
        `path[:dataset]`. The dataset may be left out when the file holds one volume only.
    level : int, optional
        Resolution of a pyramid, 0 being the finest and the default.

    Returns
    -------
    volume : Volume
        Its axes are z, y, x. Where the file does not say, voxels measure 1 nm and the offset is 0.

    Raises
    ------
    CelisError
        For anything that cannot be opened, with one sentence about it.
    """
    split = split_target(target)
    functions = _FORMATS[detect_format(split)]
    volume: Volume = functions.load("open_volume")(split.path, split.dataset, level)
    return volume


def list_datasets(path: str | os.PathLike[str]) -> list[DatasetInfo]:
    """List what a file holds, without reading voxels.

    Parameters
    ----------
    path : str or path
        A file or folder; a dataset after a colon is ignored.

    Returns
    -------
    found : list of DatasetInfo
        Everything, also arrays that are not three-dimensional.
    """
    split = split_target(path)
    found: list[DatasetInfo] = _FORMATS[detect_format(split)].load("list_datasets")(split.path)
    return found


def volume_format(target: str | os.PathLike[str]) -> str:
    """Name the format of an existing volume, such as `HDF5`."""
    return detect_format(split_target(target)).value


def write_volume(
    volume: Volume,
    target: str | os.PathLike[str],
    *,
    kind: Kind,
    progress: Progress | None = None,
    properties: Properties | None = None,
    meshes: bool = False,
) -> Path:
    """Write a volume in the format that the name asks for.

    Nothing appears under that name before it is complete, and lazy volumes pass through in blocks.

    Parameters
    ----------
    volume : Volume
        What to write.
    target : str or path
        `.zarr` writes OME-Zarr 0.5, `.zarr:labels/NAME` labels of the image that is there, `.h5[:dataset]`
        the CREMI layout, `.tif` an ImageJ or BigTIFF stack, `.npy` an array, `.precomputed` (or
        `precomputed://path`) a neuroglancer volume.
    kind : {"image", "labels"}
        Labels are stored unsigned and are never averaged.
    progress : callable, optional
        Called with the voxels done so far and in all.
    properties : mapping of int to mapping, optional
        What is known about segments: texts and numbers by id, by name of the property. In `.zarr` and
        `.precomputed`; neuroglancer shows `name`, `state` and `note` in places of their own.
    meshes : bool
        Whether labels get surfaces, so that 3-D views have something to show. In `.precomputed`.

    Returns
    -------
    path : Path
        The file or folder, without the dataset.
    """
    require_three_axes(volume.data.shape, volume.name)
    require_voxels(volume.data.shape, volume.name)
    require_geometry(volume.voxel_size_nm, volume.offset_nm, volume.name)
    split = split_target(target)
    stored_as = format_to_write(split)
    is_plain = stored_as is Format.NPY or (stored_as is Format.TIFF and kind == "image")
    require_room(split.path, volume.nbytes, volume.name, is_compressed=not is_plain)
    write = _FORMATS[stored_as].load("write_volume")
    write(volume, split.path, split.dataset, kind, progress, **_extras(split, stored_as, properties, meshes))
    return split.path


def takes_properties(target: str | os.PathLike[str]) -> bool:
    """Tell whether the format that a name asks for has a place for properties of segments."""
    return format_to_write(split_target(target)) in (Format.PRECOMPUTED, Format.ZARR)


def _extras(target: Target, stored_as: Format, properties: Properties | None, meshes: bool) -> dict[str, Any]:
    """Choose what goes with the voxels in the formats that have a place for it."""
    if stored_as is Format.PRECOMPUTED:
        return {"properties": properties, "meshes": meshes}
    if stored_as is Format.ZARR:
        return {"properties": properties}
    if properties:
        raise VolumeError(
            f"{target.path} has no place for properties of segments. Write .zarr or .precomputed instead, or "
            "leave them out."
        )
    return {}


def read_labels(volume: Volume) -> np.ndarray:
    """Check that a volume can serve as labels, and read it.

    Parameters
    ----------
    volume : Volume
        Integers, none of them negative, not all of them 0.

    Returns
    -------
    labels : ndarray of unsigned integers, shape (Z, Y, X)
        As wide as they are stored.

    Raises
    ------
    LabelsError, VolumeError, NotEnoughMemoryError
    """
    require_three_axes(volume.data.shape, volume.name)
    require_voxels(volume.data.shape, volume.name)
    require_label_type(volume.dtype, volume.name)
    labels = as_labels(volume.read(), volume.name)
    require_foreground(labels, volume.name)
    return labels


def read_image(volume: Volume) -> np.ndarray:
    """Check that a volume can serve as an image, and read it.

    Parameters
    ----------
    volume : Volume
        Numbers, none of them NaN or infinite.

    Returns
    -------
    image : ndarray, shape (Z, Y, X)
        In the stored type and native byte order.

    Raises
    ------
    VolumeError, NotEnoughMemoryError
    """
    require_three_axes(volume.data.shape, volume.name)
    require_voxels(volume.data.shape, volume.name)
    require_numbers(volume.dtype, volume.name)
    image = as_image(volume.read(), volume.name)
    require_finite(image, volume.name)
    return image
