"""Neuroglancer's precomputed volumes, read and written through tensorstore."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume, as_triple
from napari_celis.io.atomic import atomic_folder
from napari_celis.io.blocks import Kind, Progress, read_blocks, stored_type
from napari_celis.io.catalog import DatasetInfo, make_volume, require_dataset_unnamed, require_level
from napari_celis.io.confinement import require_inside, require_regular
from napari_celis.io.failures import reading
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.tensorstore import import_tensorstore, lazy_zyx, open_store, write_part
from napari_celis.io.zarr_nodes import read_json

CHUNK = 64
"""Edge of a chunk in voxels."""
FARTHEST_OFFSET = 2**40
"""In voxels; the format wants whole numbers, the exact offset is kept beside them."""
TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "float32")
COMPRESSIBLE_TYPES = ("uint32", "uint64")
"""Types that the compressed encoding for segmentations exists for."""
OWN_KEY = "celis"
"""Holds exact voxel size and offset, and the values of the standard that they belong to."""


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
        return make_volume(data, _geometry(info, scale, name), name)


def list_datasets(path: Path) -> list[DatasetInfo]:
    """Describe the finest scale."""
    with reading(str(path)):
        info = read_json(path / "info")
        finest = info["scales"][0]
        shape = tuple(int(size) for size in finest["size"][::-1])
        geometry = _geometry(info, finest, str(path))
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
    volume: Volume, path: Path, dataset: str | None, kind: Kind, progress: Progress | None
) -> None:
    """Write one scale; labels get the type and the encoding of a segmentation."""
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
        (temporary / "info").write_text(json.dumps(_info(volume, dtype.name, kind), indent=2))
        store = open_store({"driver": "neuroglancer_precomputed", "scale_index": 0}, temporary, write=True)
        turned = store[..., 0].T
        origin = turned.domain.origin
        for box, voxels in read_blocks(volume, kind, (CHUNK, CHUNK, CHUNK), progress):
            shifted = tuple(
                slice(start + part.start, start + part.stop) for start, part in zip(origin, box, strict=True)
            )
            write_part(turned[shifted], voxels)


def is_one_volume(folder: Path) -> bool:
    """Tell whether a folder is a precomputed volume, with nothing else in it that could get lost."""
    info = folder / "info"
    if not info.is_file():
        return False
    with reading(str(folder)):
        fields = read_json(info)
        keys = {PurePosixPath(_key(scale)).parts[0] for scale in fields.get("scales", ())}
    return bool(keys) and {entry.name for entry in folder.iterdir()} <= {"info", *keys}


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
        index, chunks, scale["size"], scale.get("voxel_offset", [0, 0, 0]), strict=True
    ):
        ranges.append(f"{first + at * chunk}-{first + min((at + 1) * chunk, size)}")
    return folder / "_".join(ranges)


def _info(volume: Volume, data_type: str, kind: Kind) -> dict[str, Any]:
    """Describe a volume with one scale; everything in the standard runs x, y, z."""
    size, offset = volume.voxel_size_nm, volume.offset_nm
    voxel_offset = [
        round(max(-FARTHEST_OFFSET, min(FARTHEST_OFFSET, start / length)))
        for start, length in zip(offset, size, strict=True)
    ]
    scale: dict[str, Any] = {
        "key": "0",
        "size": list(volume.shape[::-1]),
        "resolution": list(size[::-1]),
        "voxel_offset": voxel_offset[::-1],
        "chunk_sizes": [[CHUNK, CHUNK, CHUNK]],
        "encoding": "raw",
    }
    if kind == "labels" and data_type in COMPRESSIBLE_TYPES:
        scale |= {"encoding": "compressed_segmentation", "compressed_segmentation_block_size": [8, 8, 8]}
    exact = Geometry(size, offset).as_json()
    return {
        "@type": "neuroglancer_multiscale_volume",
        "type": "segmentation" if kind == "labels" else "image",
        "data_type": data_type,
        "num_channels": 1,
        "scales": [scale],
        OWN_KEY: {**exact, "resolution": scale["resolution"], "voxel_offset": scale["voxel_offset"]},
    }


def _geometry(info: dict[str, Any], scale: dict[str, Any], name: str) -> Geometry:
    """Read voxel size and offset; our exact numbers hold as long as the standard ones are unchanged."""
    exact = info.get(OWN_KEY)
    size = as_triple(scale["resolution"][::-1])
    stored = scale.get("voxel_offset", [0, 0, 0])
    if (
        isinstance(exact, dict)
        and exact.get("resolution") == scale["resolution"]
        and exact.get("voxel_offset") == stored
    ):
        return Geometry.from_json(exact, name)
    offset = as_triple(start * length for start, length in zip(stored[::-1], size, strict=True))
    return Geometry(voxel_size_from(size, name, "resolution"), offset_from(offset, name, "voxel_offset"))
