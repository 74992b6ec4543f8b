"""What neuroglancer shows of segments beside their voxels: surfaces, names, tags, notes and sizes.

Surfaces are in its single-resolution format, one file per segment and one that names it. No skeletons: the
libraries that make them from labels are under the GPL.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.io.blocks import Progress
from napari_celis.io.meshes import REDUCTION
from napari_celis.io.ome_writing import Properties, Value
from napari_celis.io.precomputed_scales import open_scale

MESH_FOLDER, PROPERTIES_FOLDER = "mesh", "properties"
MESH_VOXELS = 16_000_000
"""Surfaces are made from the finest scale that is no larger."""
LABEL, NOTE, TAGS = "name", "note", "state"
"""Properties that neuroglancer shows in places of their own."""
HAS_MESHES = os.name != "nt"
"""Windows has no files with the names that the format gives to surfaces."""
SIZES = "voxels"


def write_segments(
    folder: Path,
    info: Mapping[str, Any],
    sizes: Mapping[int, int] | None,
    properties: Properties | None,
    *,
    meshes: bool,
    progress: Progress | None,
) -> dict[str, str]:
    """Write surfaces and properties into a precomputed volume that has its voxels.

    Parameters
    ----------
    folder : Path
        The volume.
    info : mapping
        Its metadata.
    sizes : mapping of int to int, or None
        Voxels of every label; None if they are too many to list.
    properties : mapping, optional
        What is known about segments.
    meshes : bool
        Whether to make surfaces.
    progress : callable, optional
        Called between surfaces, so that a cancel takes effect.

    Returns
    -------
    entries : dict
        What `info` has to say about it.
    """
    entries = {}
    if meshes:
        _require_names_with_colons(folder)
        _write_meshes(folder / MESH_FOLDER, *_mesh_scale(folder, info["scales"]), progress)
        entries["mesh"] = MESH_FOLDER
    if sizes or properties:
        (folder / PROPERTIES_FOLDER).mkdir()
        text = json.dumps(segment_properties(sizes or {}, properties or {}))
        (folder / PROPERTIES_FOLDER / "info").write_text(text, encoding="utf-8")
        entries["segment_properties"] = PROPERTIES_FOLDER
    return entries


def segment_properties(sizes: Mapping[int, int], properties: Properties) -> dict[str, Any]:
    """Describe segments in the way that neuroglancer lists, sorts and searches them.

    Parameters
    ----------
    sizes : mapping of int to int
        Voxels by id.
    properties : mapping
        Texts and numbers by id and name: `name` becomes the label, `note` the description, `state` a tag,
        other texts and numbers columns of their own.
    """
    ids = sorted({*sizes, *properties})
    rows: list[dict[str, Value]] = [
        {**({SIZES: sizes[label]} if label in sizes else {}), **properties.get(label, {})} for label in ids
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [_column(name, [row.get(name) for row in rows]) for name in names]
    return {
        "@type": "neuroglancer_segment_properties",
        "inline": {"ids": [str(label) for label in ids], "properties": columns},
    }


def largest_segments(folder: Path, most: int) -> tuple[int, ...]:
    """Find the segments with most voxels in a volume that we wrote; none where sizes are not known.

    Parameters
    ----------
    folder : Path
        A precomputed volume.
    most : int
        How many.
    """
    try:
        inline = json.loads((folder / PROPERTIES_FOLDER / "info").read_bytes())["inline"]
        [sizes] = [column["values"] for column in inline["properties"] if column["id"] == SIZES]
        ranked = sorted(zip(sizes, map(int, inline["ids"]), strict=True), reverse=True)
    except (OSError, LookupError, TypeError, ValueError):
        return ()
    return tuple(label for _, label in ranked[:most])


def _column(name: str, values: list[Value | None]) -> dict[str, Any]:
    """Describe one property; texts are empty where nothing is known."""
    texts = ["" if value is None else str(value) for value in values]
    if name == TAGS:
        # A tag is one word there.
        words = ["-".join(text.split()) for text in texts]
        tags = sorted({word for word in words if word})
        places = [[tags.index(word)] if word else [] for word in words]
        return {"id": name, "type": "tags", "tags": tags, "values": places}
    if name in (LABEL, NOTE):
        return {"id": name, "type": "label" if name == LABEL else "description", "values": texts}
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(values) or not np.isfinite(numbers).all():
        return {"id": name, "type": "string", "values": texts}
    is_whole = all(isinstance(value, int) and 0 <= value < 2**32 for value in numbers)
    return {"id": name, "type": "number", "data_type": "uint32" if is_whole else "float32", "values": numbers}


def _mesh_scale(folder: Path, scales: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read the finest scale that is small enough, with its voxel size and its first voxel, z, y, x."""
    n_voxels = [int(np.prod(scale["size"], dtype=object)) for scale in scales]
    index = next((i for i, n in enumerate(n_voxels) if n <= MESH_VOXELS), len(scales) - 1)
    size, first = (np.array(scales[index][key][::-1], float) for key in ("resolution", "voxel_offset"))
    return np.asarray(open_scale(folder, index).read().result()), size, first


def _write_meshes(
    folder: Path, labels: np.ndarray, size: np.ndarray, first: np.ndarray, progress: Progress | None
) -> None:
    """Write the surface of every label, closed also where it leaves the volume."""
    import zmesh

    folder.mkdir()
    (folder / "info").write_text(json.dumps({"@type": "neuroglancer_legacy_mesh"}))
    mesher = zmesh.Mesher((1, 1, 1))
    mesher.mesh(np.pad(labels, 1))
    for label in _without_background(mesher.ids()):
        surface = mesher.get(label, normals=False, reduction_factor=REDUCTION, max_error=1)
        # Without the rim; positions count from the corner of a voxel there, and from its middle here.
        positions = (surface.vertices - 0.5 + first) * size
        # Swapping z and x turns every triangle inside out; the other order of corners turns it back.
        _write_fragment(folder / str(label), positions[:, ::-1], surface.faces[:, ::-1])
        (folder / f"{label}:0").write_text(json.dumps({"fragments": [str(label)]}))
        if progress is not None:
            progress(labels.size, labels.size)


def _write_fragment(path: Path, positions: np.ndarray, faces: np.ndarray) -> None:
    """Write triangles: the number of vertices, their positions x, y, z in nm, three vertices per triangle."""
    with path.open("wb") as file:
        file.write(struct.pack("<I", len(positions)))
        file.write(np.ascontiguousarray(positions, "<f4").tobytes())
        file.write(np.ascontiguousarray(faces, "<u4").tobytes())


def _without_background(labels: Iterable[int]) -> list[int]:
    return sorted(int(label) for label in labels if label)


def _require_names_with_colons(folder: Path) -> None:
    """Refuse where files cannot have the names that the format gives them."""
    if not HAS_MESHES:
        raise VolumeError(
            f"Surfaces for {folder} cannot be written on Windows, where names of files may not have a colon. "
            "Leave them out, or write them under Linux, macOS or WSL."
        )
