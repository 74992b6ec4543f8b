"""Zarr volumes in object stores and on web servers: any address that fsspec knows, such as s3://."""

from __future__ import annotations

import json
import warnings
from typing import Any, Literal

import numpy as np
import zarr
from zarr.storage import FsspecStore

from napari_celis.core.errors import MissingDatasetError, MissingExtraError
from napari_celis.core.volume import Volume
from napari_celis.io.catalog import make_volume
from napari_celis.io.checked_codecs import guarded
from napari_celis.io.failures import reading
from napari_celis.io.geometry import Geometry, offset_from, voxel_size_from
from napari_celis.io.lazy import Box, LazyArray, require_chunks
from napari_celis.io.ome import AXES, parse_multiscale, spatial_axes
from napari_celis.io.zarr_nodes import MAX_JSON_BYTES, require_safe_codecs


def open_remote(url: str, *, level: int = 0) -> Volume:
    """Open an array, or one level of an OME-Zarr pyramid, without reading a chunk.

    Parameters
    ----------
    url : str
        Such as `s3://bucket/volume.zarr`.
    level : int
        Resolution of a pyramid, 0 being the finest.

    Returns
    -------
    volume : Volume
        Reads when it is sliced.
    """
    url = url.rstrip("/")
    fields, zarr_format = _metadata(url)
    attributes = fields.get("attributes", {}) if zarr_format == 3 else fields.get("zattrs", {})
    multiscale = None if _is_array(fields) else parse_multiscale(attributes, url)
    geometry, axes = Geometry(), AXES if multiscale is None else multiscale.axes
    if multiscale is not None:
        chosen = multiscale.levels[min(level, len(multiscale.levels) - 1)]
        geometry, url = chosen.geometry, f"{url}/{chosen.path}"
        fields, zarr_format = _metadata(url)
    elif "resolution" in attributes:
        geometry = Geometry(
            voxel_size_from(attributes["resolution"], url, "resolution"),
            offset_from(attributes.get("offset"), url, "offset"),
        )
    if not _is_array(fields):
        raise MissingDatasetError(f"{url} is a Zarr group without a volume of its own. Name an array in it.")
    require_safe_codecs(fields, zarr_format, url)
    return make_volume(_lazy(url, zarr_format, axes), geometry, url)


def _lazy(url: str, zarr_format: Literal[2, 3], axes: tuple[str, ...] | None) -> LazyArray:
    """Open an array for reading, with its axes in the order z, y, x."""
    with reading(url), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = FsspecStore.from_url(url, read_only=True)
        array: Any = guarded(zarr.open_array(store=store, mode="r", zarr_format=zarr_format))
        shape, chunks = tuple(array.shape), tuple(array.chunks)
        require_chunks(chunks, shape, array.dtype.itemsize, url)
        where = spatial_axes(axes if axes is not None and len(axes) == len(shape) else None, shape, url)
        order = np.argsort(np.argsort(where))

    def read_box(box: Box) -> Any:
        key: list[Any] = [0] * len(shape)
        for position, part in zip(where, box, strict=True):
            key[position] = part
        return np.asarray(array[tuple(key)]).transpose(order)

    return LazyArray(
        read_box,
        shape=tuple(shape[i] for i in where),
        dtype=np.dtype(array.dtype),
        chunks=tuple(chunks[i] for i in where),
        name=url,
    )


def _is_array(fields: dict[str, Any]) -> bool:
    return fields.get("node_type") == "array" or "chunks" in fields


def _metadata(url: str) -> tuple[dict[str, Any], Literal[2, 3]]:
    """Read the metadata of a node, version 3 or 2."""
    found = _read_json(f"{url}/zarr.json")
    if found is not None:
        return found, 3
    for name in (".zarray", ".zgroup"):
        found = _read_json(f"{url}/{name}")
        if found is not None:
            return {**found, "zattrs": _read_json(f"{url}/.zattrs") or {}}, 2
    raise MissingDatasetError(f"There is no Zarr volume at {url}. Check the address and who may read it.")


def _read_json(url: str) -> dict[str, Any] | None:
    """Read a small file; None if there is none."""
    import fsspec

    with reading(url):
        try:
            system, path = fsspec.core.url_to_fs(url)
        except ImportError as error:
            scheme = url.partition("://")[0]
            raise MissingExtraError(
                f"Addresses that begin with {scheme}:// need another package ({error}). "
                'Install it, for s3:// with pip install "napari-celis[cluster]".'
            ) from error
        try:
            with system.open(path, "rb") as file:
                content = file.read(MAX_JSON_BYTES)
        except FileNotFoundError:
            return None
        fields = json.loads(content)
        return fields if isinstance(fields, dict) else None
