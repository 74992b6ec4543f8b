"""NumPy's own files: npy mapped from disk, npz read member by member, pickles never."""

from __future__ import annotations

import json
import struct
import zipfile
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from napari_celis.core.volume import Volume, count_voxels, require_numbers, require_three_axes, require_voxels
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
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.lazy import LazyArray
from napari_celis.io.mapped import map_voxels
from napari_celis.io.memory import require_memory

TRAILER_MAGIC = b"CELISnpy"
"""Ends a file that carries voxel size and offset behind its voxels, where NumPy does not look."""
MAX_TRAILER_BYTES = 2**16
MAX_HEADER_BYTES = 2**16
"""A header says shape and type in less than a hundred."""


def open_volume(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Map an npy file into memory: opening costs nothing, reading reads."""
    require_level(path, level, 1)
    require_dataset_unnamed(path, dataset)
    name = str(path)
    with reading(name):
        with open(path, "rb") as file:
            shape, fortran_order, dtype = _read_header(file)
            start = file.tell()
            require_numbers(dtype, name)
            require_three_axes(shape, name)
            require_voxels(shape, name)
            geometry = _read_trailer(file, start + count_voxels(shape) * dtype.itemsize, name)
        read_box = map_voxels(path, dtype, start=start, shape=shape, order="F" if fortran_order else "C")
    return make_volume(LazyArray(read_box, shape=shape, dtype=dtype, name=name), geometry, name)


def list_datasets(path: Path) -> list[DatasetInfo]:
    """Describe the one array of an npy file."""
    with reading(str(path)), open(path, "rb") as file:
        shape, _, dtype = _read_header(file)
        geometry = _read_trailer(file, file.tell() + count_voxels(shape) * dtype.itemsize, str(path))
    return [DatasetInfo("", shape, str(dtype), geometry.voxel_size_nm, geometry.offset_nm)]


def write_volume(
    volume: Volume, path: Path, dataset: str | None, kind: Kind, progress: Progress | None
) -> None:
    """Write an npy file with voxel size and offset behind the voxels."""
    require_dataset_unnamed(path, dataset)
    dtype = stored_type(volume, kind)
    with atomic_file(path) as temporary, open(temporary, "wb") as file:
        header = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": volume.shape}
        npy_format.write_array_header_1_0(file, header)
        # Without a grid of chunks the boxes follow each other in memory order.
        for _, voxels in read_blocks(volume, kind, progress=progress):
            file.write(voxels.tobytes())
        text = json.dumps(Geometry(volume.voxel_size_nm, volume.offset_nm).as_json()).encode()
        file.write(text + struct.pack("<Q", len(text)) + TRAILER_MAGIC)


def open_npz(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Open one member of an npz archive; the first read reads all of it, there is no way to read a part."""
    require_level(path, level, 1)
    with reading(str(path)), zipfile.ZipFile(path) as archive:
        chosen = choose_dataset(path, dataset, _npz_catalog(archive, str(path)))
        name = display_name(path, chosen.name)
        require_three_axes(chosen.shape, name)
        require_voxels(chosen.shape, name)
        dtype = _member_header(archive, f"{chosen.name}.npy")[1]
        require_numbers(dtype, name)

    @cache
    def whole() -> np.ndarray:
        with zipfile.ZipFile(path) as archive:
            return _read_member(archive, f"{chosen.name}.npy", name)

    data = LazyArray(lambda box: whole()[box], shape=chosen.shape, dtype=dtype, name=name)
    return make_volume(data, Geometry(chosen.voxel_size_nm, chosen.offset_nm), name)


def list_npz(path: Path) -> list[DatasetInfo]:
    """List the arrays of an npz archive by their headers."""
    with reading(str(path)), zipfile.ZipFile(path) as archive:
        return _npz_catalog(archive, str(path))


def _npz_catalog(archive: zipfile.ZipFile, name: str) -> list[DatasetInfo]:
    """List the members; `voxel_size_nm` and `offset_nm` among them belong to all the others."""
    shapes: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
    for member in archive.namelist():
        if member.endswith(".npy"):
            shapes[member.removesuffix(".npy")] = _member_header(archive, member)
    fields = {
        key: _read_member(archive, f"{key}.npy", name)
        for key in ("voxel_size_nm", "offset_nm")
        if key in shapes and shapes[key][0] == (3,)
    }
    size = voxel_size_from(fields.get("voxel_size_nm"), name, "voxel_size_nm")
    offset = offset_from(fields.get("offset_nm"), name, "offset_nm")
    return [
        DatasetInfo(key, shape, str(dtype), size, offset)
        for key, (shape, dtype) in shapes.items()
        if key not in fields
    ]


def _read_member(archive: zipfile.ZipFile, member: str, name: str) -> np.ndarray:
    """Read one array, after looking at its header: a few bytes can claim any size."""
    shape, dtype = _member_header(archive, member)
    require_numbers(dtype, name)
    needed, there = count_voxels(shape) * dtype.itemsize, archive.getinfo(member).file_size
    require_memory(needed, name)
    if needed > there:
        raise ValueError(f"{member} should have {needed} bytes but has {there}")
    with archive.open(member) as file:
        return np.asarray(npy_format.read_array(file, allow_pickle=False))


def _member_header(archive: zipfile.ZipFile, member: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read shape and type of one array of an archive."""
    with archive.open(member) as file:
        shape, _, dtype = _read_header(file)
    return shape, dtype


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type; the file then stands at the first voxel."""
    version = npy_format.read_magic(file)
    readers = {
        (1, 0): ("<H", npy_format.read_array_header_1_0),
        (2, 0): ("<I", npy_format.read_array_header_2_0),
    }
    if version not in readers:
        raise ValueError(f"version {version[0]}.{version[1]} of the npy format holds records, not voxels")
    code, read = readers[version]
    stated = file.read(struct.calcsize(code))
    if len(stated) < struct.calcsize(code):
        raise ValueError("it ends within its header")
    n_bytes = struct.unpack(code, stated)[0]
    if n_bytes > MAX_HEADER_BYTES:
        raise ValueError(f"its header claims {n_bytes} bytes")
    header = stated + file.read(n_bytes)
    shape, fortran_order, dtype = read(BytesIO(header))
    if any(size < 0 for size in shape):
        raise ValueError(f"the header claims shape {shape}")
    return shape, fortran_order, dtype


def _read_trailer(file: IO[bytes], end_of_voxels: int, name: str) -> Geometry:
    """Read what our writer put behind the voxels, if this file comes from it."""
    n_fixed = 8 + len(TRAILER_MAGIC)
    end = file.seek(0, 2)
    if not n_fixed < end - end_of_voxels <= MAX_TRAILER_BYTES:
        return Geometry()
    file.seek(end_of_voxels)
    trailer = file.read()
    text, length = trailer[:-n_fixed], trailer[-n_fixed : -len(TRAILER_MAGIC)]
    if not trailer.endswith(TRAILER_MAGIC) or struct.unpack("<Q", length)[0] != len(text):
        return Geometry()
    return Geometry.from_json(json.loads(text), name)
