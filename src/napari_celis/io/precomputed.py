"""Neuroglancer's precomputed volumes, read and written through tensorstore."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume, as_triple
from napari_celis.io.atomic import atomic_folder
from napari_celis.io.blocks import Kind, Progress, stored_type
from napari_celis.io.catalog import DatasetInfo, make_volume, require_dataset_unnamed, require_level
from napari_celis.io.confinement import require_inside, require_regular
from napari_celis.io.failures import reading
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.ome_writing import Properties
from napari_celis.io.precomputed_scales import OWN_KEY, precomputed_info, write_scales
from napari_celis.io.precomputed_segments import write_segments
from napari_celis.io.tensorstore import import_tensorstore, lazy_zyx, open_store
from napari_celis.io.zarr_nodes import read_json

TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "float32")
NO_OFFSET = [0, 0, 0]
EXTRAS = ("mesh", "segment_properties")
"""Keys of `info` that name folders beside those of the scales."""


def open_volume(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Open one scale."""
    require_dataset_unnamed(path, dataset)
    name = str(path)
    with reading(name):
        info = read_json(path / "info")
        index = require_level(path, level, len(info["scales"]))
        if info["num_channels"] != 1:
            raise VolumeError(
                f"{name} holds {info['num_channels']} channels, but a volume has one. Save the one you need "
                "as its own volume."
            )
        scale = info["scales"][index]
        folder = path / _key(scale)
        require_inside(folder, path)
        chunks = tuple(max(int(chunk[axis]) for chunk in scale["chunk_sizes"]) for axis in range(3))
        store = open_store({"driver": "neuroglancer_precomputed", "scale_index": index}, path)
        if "sharding" in scale and folder.is_dir():
            for shard in folder.iterdir():
                require_inside(shard, path)
                require_regular(shard)
        chunk = partial(_chunk_file, folder, scale, chunks)
        data = lazy_zyx(store[..., 0], chunks=chunks, name=name, root=path, file_of=chunk)
        return make_volume(data, _geometry(info, index, name), name)


def list_datasets(path: Path) -> list[DatasetInfo]:
    """Describe the finest scale."""
    with reading(str(path)):
        info = read_json(path / "info")
        finest = info["scales"][0]
        shape = tuple(int(size) for size in finest["size"][::-1])
        geometry = _geometry(info, 0, str(path))
        return [
            DatasetInfo(
                "",
                shape if info["num_channels"] == 1 else (int(info["num_channels"]), *shape),
                str(info["data_type"]),
                geometry.voxel_size_nm,
                geometry.offset_nm,
                len(info["scales"]),
            )
        ]


def write_volume(
    volume: Volume,
    path: Path,
    dataset: str | None,
    kind: Kind,
    progress: Progress | None,
    properties: Properties | None = None,
    meshes: bool = False,
) -> None:
    """Write several scales; labels are stored as a segmentation, with what is known about them."""
    require_dataset_unnamed(path, dataset)
    import_tensorstore(path)
    dtype = stored_type(volume, kind)
    if dtype.name not in TYPES:
        raise VolumeError(
            f"{volume.name} holds {dtype} values, which precomputed volumes cannot store. "
            f"Convert it to {'uint64' if dtype.kind != 'f' else 'float32'}, or write .zarr instead."
        )
    with atomic_folder(path, may_replace=is_one_volume, kind="a precomputed volume") as temporary:
        temporary.mkdir()
        info = precomputed_info(volume, dtype.name, kind)
        (temporary / "info").write_text(json.dumps(info, indent=2))
        sizes = write_scales(volume, temporary, info, kind, progress)
        if kind == "labels":
            info |= write_segments(temporary, info, sizes, properties, meshes=meshes, progress=progress)
            (temporary / "info").write_text(json.dumps(info, indent=2))


def is_one_volume(folder: Path) -> bool:
    """Tell whether a folder is a precomputed volume, with nothing else in it that could get lost."""
    info = folder / "info"
    if not info.is_file():
        return False
    with reading(str(folder)):
        fields = read_json(info)
        keys = {PurePosixPath(_key(scale)).parts[0] for scale in fields.get("scales", ())}
        extras = {str(fields[name]) for name in EXTRAS if name in fields} if keys else set()
    return bool(keys) and {entry.name for entry in folder.iterdir()} <= {"info", *keys, *extras}


def _key(scale: dict[str, Any]) -> str:
    """Read the folder of a scale, which has to lie inside the volume's."""
    key = str(scale["key"])
    parts = PurePosixPath(key).parts
    if not parts or PurePosixPath(key).is_absolute() or ".." in parts:
        raise ValueError(f"the key {key!r} of a scale leads out of the volume")
    return key


def _chunk_file(folder: Path, scale: dict[str, Any], chunks: tuple[int, ...], index: tuple[int, ...]) -> Path:
    """Name the file of a chunk; shards hold many of them."""
    if "sharding" in scale:
        return folder
    ranges = []
    for at, chunk, size, first in zip(
        index, chunks, scale["size"], scale.get("voxel_offset", NO_OFFSET), strict=True
    ):
        ranges.append(f"{first + at * chunk}-{first + min((at + 1) * chunk, size)}")
    return folder / "_".join(ranges)


def _geometry(info: dict[str, Any], index: int, name: str) -> Geometry:
    """Read voxel size and offset of a scale; positions are those of the middle of a finest voxel."""
    finest, scale = info["scales"][0], info["scales"][index]
    geometry = _finest_geometry(info, finest, name)
    if index == 0 or geometry.offset_nm is None:
        return geometry
    offset = as_triple(
        start + (coarse_length - fine_length) / 2 + coarse_first * coarse_length - fine_first * fine_length
        for start, fine_length, coarse_length, fine_first, coarse_first in zip(
            geometry.offset_nm,
            finest["resolution"][::-1],
            scale["resolution"][::-1],
            finest.get("voxel_offset", NO_OFFSET)[::-1],
            scale.get("voxel_offset", NO_OFFSET)[::-1],
            strict=True,
        )
    )
    size = as_triple(scale["resolution"][::-1])
    return Geometry(voxel_size_from(size, name, "resolution"), offset_from(offset, name, "voxel_offset"))


def _finest_geometry(info: dict[str, Any], scale: dict[str, Any], name: str) -> Geometry:
    """Read voxel size and offset; our exact numbers hold as long as the standard ones are unchanged."""
    exact = info.get(OWN_KEY)
    size = as_triple(scale["resolution"][::-1])
    stored = scale.get("voxel_offset", NO_OFFSET)
    if (
        isinstance(exact, dict)
        and exact.get("resolution") == scale["resolution"]
        and exact.get("voxel_offset") == stored
    ):
        return Geometry.from_json(exact, name)
    offset = as_triple(start * length for start, length in zip(stored[::-1], size, strict=True))
    return Geometry(voxel_size_from(size, name, "resolution"), offset_from(offset, name, "voxel_offset"))
