"""N5 datasets, read through tensorstore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from napari_celis.core.errors import MissingDatasetError
from napari_celis.core.volume import Volume, as_triple, require_three_axes
from napari_celis.io.catalog import DatasetInfo, choose_dataset, display_name, make_volume, require_level
from napari_celis.io.confinement import require_inside
from napari_celis.io.failures import reading
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.tensorstore import lazy_zyx, open_store
from napari_celis.io.units import nm_per_unit
from napari_celis.io.zarr_nodes import MAX_DEPTH, read_json, subfolders


def open_volume(path: Path, dataset: str | None, level: int | None) -> Volume:
    """Open one dataset; the levels of a pyramid are datasets of their own, `s0` and so on."""
    require_level(path, level, 1)
    chosen = choose_dataset(path, dataset, list_datasets(path)).name
    name = display_name(path, chosen)
    require_inside(path / chosen, path)
    with reading(name):
        fields = read_json(path / chosen / "attributes.json")
        require_three_axes(fields["dimensions"], name)
        chunks = tuple(int(size) for size in fields["blockSize"])
        store = open_store({"driver": "n5"}, path / chosen)

        def block(index: tuple[int, ...]) -> Path:
            return path.joinpath(chosen, *(str(at) for at in index))

        data = lazy_zyx(store, chunks=chunks, name=name, root=path, file_of=block)
        return make_volume(data, _geometry(fields, name), name)


def list_datasets(path: Path) -> list[DatasetInfo]:
    """List every dataset below a folder."""
    found = []
    for folder, fields in _walk(path):
        name = "" if folder == path else folder.relative_to(path).as_posix()
        with reading(display_name(path, name)):
            shape = tuple(int(size) for size in fields["dimensions"][::-1])
            geometry = _geometry(fields, display_name(path, name))
            found.append(
                DatasetInfo(name, shape, str(fields["dataType"]), geometry.voxel_size_nm, geometry.offset_nm)
            )
    if not found:
        raise MissingDatasetError(f"{path} holds no N5 dataset. Check that the export finished.")
    return found


def _walk(root: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Find datasets, which have `dimensions`; blocks inside them are not looked at."""
    open_folders = [(root, 0)]
    seen: set[str] = set()
    while open_folders:
        folder, depth = open_folders.pop()
        with reading(str(folder)):
            attributes = folder / "attributes.json"
            fields = read_json(attributes) if attributes.is_file() else {}
        if "dimensions" in fields:
            yield folder, fields
        elif depth < MAX_DEPTH:
            open_folders += [(child, depth + 1) for child in reversed(subfolders(folder, root, seen))]


def _geometry(fields: dict[str, Any], name: str) -> Geometry:
    """Read voxel size and offset under the names in common use.

    `transform` lists its axes; `pixelResolution` has a unit; `resolution` and `offset` are nanometres.
    The last two run x, y, z like everything in N5.
    """
    if len(fields["dimensions"]) != 3:
        return Geometry()
    transform = fields.get("transform")
    if isinstance(transform, dict):
        return _from_transform(transform, name)
    size, nm = fields.get("resolution"), 1.0
    stated = fields.get("pixelResolution")
    if isinstance(stated, dict):
        size, nm = stated.get("dimensions"), nm_per_unit(stated.get("unit")) or 1.0
    elif stated is not None:
        size = stated
    offset = fields.get("offset")
    return Geometry(
        voxel_size_from(_turned(size, nm), name, "resolution"),
        offset_from(_turned(offset, 1.0), name, "offset"),
    )


def _turned(values: Any, nm: float) -> Any:
    """Turn x, y, z into z, y, x."""
    return None if values is None else as_triple(float(value) * nm for value in values[::-1])


def _from_transform(transform: dict[str, Any], name: str) -> Geometry:
    """Read a transform that names its axes."""
    order = [transform["axes"].index(axis) for axis in "zyx"]
    nm = [nm_per_unit(unit) or 1.0 for unit in transform["units"]]
    return Geometry(
        voxel_size_from([transform["scale"][i] * nm[i] for i in order], name, "transform"),
        offset_from([transform["translate"][i] * nm[i] for i in order], name, "transform"),
    )
