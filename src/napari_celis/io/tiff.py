"""TIFF stacks: ImageJ, OME, BigTIFF and plain multi-page files, read page by page or mapped from disk.

tifffile decodes the pages. What decides whether a file is opened at all (`tiff_chain`, `tiff_pages`,
`ome_tiff`) is by hand: tifffile trusts the sizes, offsets and names that a damaged or hostile file states.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume, format_shape, require_three_axes
from napari_celis.io.atomic import atomic_file
from napari_celis.io.blocks import Kind, Progress, read_blocks, stored_type
from napari_celis.io.catalog import (
    DatasetInfo,
    choose_dataset,
    display_name,
    make_volume,
    require_dataset_unnamed,
    require_level,
)
from napari_celis.io.failures import reading
from napari_celis.io.lazy import Box, LazyArray
from napari_celis.io.mapped import map_voxels
from napari_celis.io.memory import require_memory
from napari_celis.io.sections import stack_reader
from napari_celis.io.tiff_chain import open_tiff
from napari_celis.io.tiff_metadata import (
    imagej_geometry,
    imagej_metadata,
    read_geometry,
    resolution,
    shaped_metadata,
)
from napari_celis.io.tiff_pages import page_type, read_page

IMAGEJ_TYPES = ("uint8", "uint16", "float32")
IMAGEJ_BYTES = 2**32 - 2**25
"""ImageJ's files address 32 bits; the rest is room for metadata."""
CHANNEL_AXES = "CS"


def open_volume(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Open a stack; the file stays open as long as the volume lives."""
    require_level(path, level, 1)
    with reading(str(path)):
        tif = open_tiff(path)
        try:
            chosen = choose_dataset(path, dataset, _catalog(tif)).name
            name = display_name(path, chosen)
            series = tif.series[int(chosen or 0)]
            shape = _volume_shape(tif, series, name)
            data = LazyArray(
                _reader(tif, series, shape, name),
                shape=shape,
                dtype=np.dtype(series.dtype),
                name=name,
                chunks=None if _is_contiguous(series) else (1, *shape[1:]),
            )
            volume = make_volume(data, read_geometry(tif, name), name)
        except BaseException:
            tif.close()
            raise
    weakref.finalize(data, tif.close)
    return volume


def list_datasets(path: Path) -> list[DatasetInfo]:
    """List the image series of a file; there is nearly always one."""
    with reading(str(path)), open_tiff(path) as tif:
        geometry = read_geometry(tif, str(path))
        return [
            DatasetInfo(info.name, info.shape, info.dtype, geometry.voxel_size_nm, geometry.offset_nm)
            for info in _catalog(tif)
        ]


def write_volume(
    volume: Volume, path: Path, dataset: str | None, kind: Kind, progress: Progress | None
) -> None:
    """Write a stack that ImageJ opens where its types allow, and a BigTIFF otherwise."""
    require_dataset_unnamed(path, dataset)
    dtype = stored_type(volume, kind)
    is_wide = volume.shape[2] > 1  # a width of one voxel would be taken for a channel
    for_imagej = dtype.name in IMAGEJ_TYPES and volume.nbytes < IMAGEJ_BYTES and is_wide
    sections = (section.view(dtype) for section in _sections(volume, kind, progress))
    with (
        atomic_file(path) as temporary,
        tifffile.TiffWriter(temporary, imagej=for_imagej, bigtiff=not for_imagej) as file,
    ):
        file.write(
            sections if is_wide else np.stack(list(sections)),
            shape=volume.shape,
            dtype=dtype,
            photometric="minisblack",
            compression="zlib" if kind == "labels" and not for_imagej else None,
            metadata=imagej_metadata(volume) if for_imagej else shaped_metadata(volume),
            resolution=resolution(volume.voxel_size_nm, per_nm=1.0 if for_imagej else 1e7),
            resolutionunit="NONE" if for_imagej else "CENTIMETER",
        )


def _sections(volume: Volume, kind: Kind, progress: Progress | None) -> Iterator[np.ndarray]:
    """Yield whole sections; blocks hold several of them, or one that is larger than a block."""
    parts: list[np.ndarray] = []
    for (_, y, _), voxels in read_blocks(volume, kind, (1, 1, volume.shape[2]), progress):
        if y == slice(0, volume.shape[1]):
            yield from voxels
            continue
        parts.append(voxels[0])
        if y.stop == volume.shape[1]:
            yield np.concatenate(parts)
            parts = []


def _catalog(tif: Any) -> list[DatasetInfo]:
    """List the series; a single one needs no name."""
    series = tif.series
    return [
        DatasetInfo("" if len(series) == 1 else str(i), tuple(one.shape), str(one.dtype))
        for i, one in enumerate(series)
    ]


def _volume_shape(tif: Any, series: Any, name: str) -> tuple[int, int, int]:
    """Find z, y and x among the axes of a series."""
    axes, shape = series.get_axes(squeeze=False), series.get_shape(squeeze=False)
    if "Y" not in axes or "X" not in axes:
        raise VolumeError(f"{name} holds no image: its axes are {axes}. Export it as a greyscale stack.")
    sizes = dict(zip(axes, (int(size) for size in shape), strict=True))
    y, x = sizes.pop("Y"), sizes.pop("X")
    long = {axis: size for axis, size in sizes.items() if size > 1}
    for axis, size in long.items():
        if axis in CHANNEL_AXES:
            raise VolumeError(
                f"{name} holds {size} channels, but a volume has one. Save the one you need as its own file."
            )
    if len(long) > 1:
        raise VolumeError(
            f"{name} has {len(long) + 2} axes ({axes}, {format_shape(shape)}), but a volume has three "
            "(z, y, x). Save the one time point you need as its own file."
        )
    is_flat = tif.is_imagej and imagej_geometry(tif, name).voxel_size_nm is None
    if not long and (is_flat or not set(sizes) - set(CHANNEL_AXES)):
        require_three_axes((y, x), name)
    return next(iter(long.values()), 1), y, x


def _is_contiguous(series: Any) -> bool:
    """Tell whether the voxels of a series lie in one uncompressed run."""
    return series.dataoffset is not None


def _reader(tif: Any, series: Any, shape: tuple[int, int, int], name: str) -> Callable[[Box], Any]:
    """Choose how to read: mapped from disk, page by page, or all at once for odd layouts."""
    if _is_contiguous(series):
        dtype = np.dtype(f"{tif.byteorder}{series.dtype.char}")
        return map_voxels(Path(tif.filehandle.path), dtype, start=series.dataoffset, shape=shape)
    if len(series) == shape[0] and page_type(series.keyframe, name)[0] == shape[1:]:
        read_box = stack_reader(lambda z: _read_page_of(series, z, name))
    else:

        def read_box(box: Box) -> Any:
            require_memory(series.nbytes, name)
            return series.asarray().reshape(shape)[box]

    return _one_at_a_time(read_box)


def _one_at_a_time(read_box: Callable[[Box], Any]) -> Callable[[Box], Any]:
    """Keep threads apart: they would move each other's position in the open file."""
    lock = threading.Lock()

    def read_locked(box: Box) -> Any:
        with lock:
            return read_box(box)

    return read_locked


def _read_page_of(series: Any, z: int, name: str) -> np.ndarray:
    """Read one page; sparse files leave pages out, which stand for zeros."""
    page = series[z]
    if page is None:
        return np.zeros(series.keyframe.shape, series.dtype)
    return read_page(page, name)
