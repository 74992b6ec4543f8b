"""Zarr arrays and groups as they lie on disk, versions 2 and 3, found by their metadata files alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import require_numbers
from napari_celis.io.confinement import follows_links, is_inside, require_regular
from napari_celis.io.failures import reading
from napari_celis.io.memory import format_gb

MAX_JSON_BYTES = 2**25
"""Metadata of a hundred thousand arrays in one file have about this much."""
MAX_DEPTH = 12
"""Groups nested deeper than this are not searched."""
METADATA_FILES = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
SAFE_CODECS = {
    *("blosc", "bz2", "gzip", "lz4", "lzma", "zlib", "zstd"),
    *("adler32", "crc32", "crc32c", "fletcher32", "jenkins_lookup3"),
    *("astype", "bitround", "delta", "fixedscaleoffset", "packbits", "quantize", "shuffle"),
}
"""Filters and compressors of version 2 that turn bytes into numbers, and whose size can be checked; others
can run code when they decode, or take any memory."""
SAFE_CODECS_3 = {*("bytes", "transpose", "crc32c", "sharding_indexed"), *("blosc", "gzip", "zstd")}
"""The same of version 3, where those of version 2 have a prefix."""
PREFIX = "numcodecs."
TYPE_SETTINGS = ("dtype", "astype", "encode_dtype", "decode_dtype")
"""Settings of filters that name a type; a type of text could make gigabytes of a byte."""
RAW_LZMA = 3
"""Streams that do not say how they were made."""


@dataclass(frozen=True)
class Node:
    """One array or group."""

    path: Path
    zarr_format: Literal[2, 3]
    is_array: bool
    attributes: dict[str, Any]
    shape: tuple[int, ...] = ()
    dtype: str = ""


def read_node(folder: Path) -> Node | None:
    """Read the metadata of one folder.

    Parameters
    ----------
    folder : Path
        Any folder.

    Returns
    -------
    node : Node or None
        None when it is neither an array nor a group.
    """
    with reading(str(folder)):
        if (folder / "zarr.json").is_file():
            fields = read_json(folder / "zarr.json")
            if fields["node_type"] not in ("array", "group"):
                raise ValueError(f"zarr.json says the node is of type {fields['node_type']!r}")
            if fields["node_type"] == "array":
                require_safe_codecs(fields, 3, str(folder))
            return _node(folder, 3, fields, fields["node_type"] == "array", fields.get("attributes"))
        for name in (".zarray", ".zgroup"):
            if (folder / name).is_file():
                attributes = folder / ".zattrs"
                stored = read_json(attributes) if attributes.is_file() else {}
                fields = read_json(folder / name)
                if name == ".zarray":
                    require_safe_codecs(fields, 2, str(folder))
                return _node(folder, 2, fields, name == ".zarray", stored)
    return None


def walk(root: Path) -> Iterator[Node]:
    """Find every node below `root`, itself included; chunks inside arrays are not looked at."""
    open_folders = [(root, 0)]
    seen: set[str] = set()
    while open_folders:
        folder, depth = open_folders.pop()
        node = read_node(folder)
        if node is None:
            continue
        yield node
        if not node.is_array and depth < MAX_DEPTH:
            open_folders += [(child, depth + 1) for child in reversed(subfolders(folder, root, seen))]


def subfolders(folder: Path, root: Path, seen: set[str]) -> list[Path]:
    """List the folders in a folder, in order, each once and none outside.

    Parameters
    ----------
    folder, root : Path
        What to list, and the volume that it belongs to: links out of it are passed over.
    seen : set of str
        Where the folders so far really lie; links in a circle would have no end.
    """
    with reading(str(folder)):
        # Hidden ones are what a writer has not finished.
        children = sorted(
            child
            for child in folder.iterdir()
            if child.is_dir()
            and not child.name.startswith(".")
            and (is_inside(child, root) or follows_links())
        )
    seen.add(os.path.realpath(folder))
    new = [child for child in children if os.path.realpath(child) not in seen]
    seen.update(os.path.realpath(child) for child in new)
    return new


def read_json(path: Path) -> dict[str, Any]:
    """Read a metadata file that has to hold an object, of a size that one may have."""
    require_regular(path)
    n_bytes = path.stat().st_size
    if n_bytes > MAX_JSON_BYTES:
        raise CorruptFileError(
            f"{path} has {format_gb(n_bytes)}, but metadata take less than {format_gb(MAX_JSON_BYTES)}. Copy "
            "or export it again."
        )
    fields = json.loads(path.read_bytes())
    if not isinstance(fields, dict):
        raise CorruptFileError(f"{path} does not hold a JSON object. Copy or export it again.")
    return fields


def _node(
    folder: Path, zarr_format: Literal[2, 3], fields: dict[str, Any], is_array: bool, attributes: Any
) -> Node:
    """Build a node, distrusting every field."""
    attributes = attributes if isinstance(attributes, dict) else {}
    if not is_array:
        return Node(folder, zarr_format, False, attributes)
    shape = tuple(int(size) for size in fields["shape"])
    dtype = fields["data_type" if zarr_format == 3 else "dtype"]
    return Node(folder, zarr_format, True, attributes, shape, _type_name(dtype))


def _type_name(dtype: Any) -> str:
    """Write a stored type the way NumPy does."""
    names = {"u": "uint", "i": "int", "f": "float"}
    if isinstance(dtype, str) and len(dtype) == 3 and dtype[0] in "<>|" and dtype[1] in names:
        return f"{names[dtype[1]]}{8 * int(dtype[2])}"
    return str(dtype)


def _named_codecs(codecs: Any) -> Iterator[dict[str, Any]]:
    """List the codecs of version 3, also those inside shards, in the way of version 2."""
    for codec in codecs or ():
        if isinstance(codec, str):
            yield {"id": codec}
            continue
        settings = codec.get("configuration") or {}
        yield {**settings, "id": codec["name"]}
        for inside in ("codecs", "index_codecs"):
            yield from _named_codecs(settings.get(inside))


def require_safe_codecs(fields: dict[str, Any], zarr_format: Literal[2, 3], name: str) -> None:
    """Refuse codecs that unpickle or have no bounds, before anything opens the array.

    Parameters
    ----------
    fields : dict
        Metadata of the array.
    zarr_format : {2, 3}
        Their version.
    name : str
        What messages call it.
    """
    if zarr_format == 3:
        codecs = list(_named_codecs(fields.get("codecs")))
    else:
        stored = [fields.get("compressor"), *(fields.get("filters") or ())]
        codecs = [codec for codec in stored if codec is not None]
    for codec in codecs:
        codec_name = str(codec.get("id"))
        is_known = codec_name in SAFE_CODECS_3 or codec_name.removeprefix(PREFIX) in SAFE_CODECS
        is_raw = codec.get("format") == RAW_LZMA and codec_name.removeprefix(PREFIX) == "lzma"
        if not is_known or is_raw:
            raise VolumeError(
                f"{name} is stored with the codec `{codec_name}`, which does not hold plain numbers "
                "and could run code, or take any memory. Save it again as integers or floats."
            )
        for setting in TYPE_SETTINGS:
            if codec.get(setting) is not None:
                require_numbers(np.dtype(codec[setting]), name)
