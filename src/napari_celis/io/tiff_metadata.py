"""Voxel size and offset in TIFF files: our own exact numbers, ImageJ's, or OME's."""

from __future__ import annotations

import json
import math
from typing import Any
from xml.etree import ElementTree

from napari_celis.core.volume import Triple, Volume, as_triple
from napari_celis.io.geometry import Geometry, voxel_size_from
from napari_celis.io.units import nm_per_unit

TOLERANCE = 1e-4
"""Tags hold fractions; when they differ by more than this from our exact numbers, someone changed them."""
LARGEST_RESOLUTION = 4e9
"""Tags hold fractions of 32-bit numbers."""


def read_geometry(tif: Any, name: str) -> Geometry:
    """Read voxel size and offset.

    Parameters
    ----------
    tif : tifffile.TiffFile
        The open file.
    name : str
        What messages call it.

    Returns
    -------
    geometry : Geometry
        Our own entry wins, unless ImageJ has stored another voxel size since.
    """
    if tif.is_imagej:
        exact, stated = imagej_geometry(tif, name), _imagej_voxel_size(tif, name)
        is_current = stated is None or (
            exact.voxel_size_nm is not None
            and all(
                math.isclose(a, b, rel_tol=TOLERANCE)
                for a, b in zip(exact.voxel_size_nm, stated, strict=True)
            )
        )
        return exact if is_current else Geometry(stated, exact.offset_nm)
    if tif.is_ome:
        return Geometry(_ome_voxel_size(tif, name))
    if tif.is_shaped:
        return Geometry.from_json(tif.shaped_metadata[0], name)
    return Geometry()


def imagej_geometry(tif: Any, name: str) -> Geometry:
    """Find our own line among ImageJ's notes on the image.

    Parameters
    ----------
    tif : any
        The open file.
    name : str
        What messages call it.
    """
    notes = (tif.imagej_metadata or {}).get("Info", "")
    for line in str(notes).splitlines():
        if line.startswith('{"voxel_size_nm"'):
            return Geometry.from_json(json.loads(line), name)
    return Geometry()


def imagej_metadata(volume: Volume) -> dict[str, Any]:
    """Write what ImageJ understands, and the exact numbers as a note."""
    note = json.dumps(Geometry(volume.voxel_size_nm, volume.offset_nm).as_json())
    return {"axes": "ZYX", "spacing": volume.voxel_size_nm[0], "unit": "nm", "Info": note}


def shaped_metadata(volume: Volume) -> dict[str, Any]:
    """Write the exact numbers into the description of a TIFF file that ImageJ cannot open."""
    return {"axes": "ZYX", **Geometry(volume.voxel_size_nm, volume.offset_nm).as_json()}


def resolution(voxel_size_nm: Triple, *, per_nm: float) -> tuple[float, float] | None:
    """Give voxels per unit along x and y, if a TIFF tag can hold them.

    Parameters
    ----------
    voxel_size_nm : tuple of float
        Along z, y, x.
    per_nm : float
        Nanometres in the unit of the tag.
    """
    x, y = per_nm / voxel_size_nm[2], per_nm / voxel_size_nm[1]
    is_storable = all(1 / LARGEST_RESOLUTION < value < LARGEST_RESOLUTION for value in (x, y))
    return (x, y) if is_storable else None


def _imagej_voxel_size(tif: Any, name: str) -> Triple | None:
    """Combine ImageJ's unit and spacing with the resolution tags."""
    fields = tif.imagej_metadata or {}
    nm = nm_per_unit(fields.get("unit"))
    tags = tif.pages.first.tags
    if nm is None or "XResolution" not in tags or "YResolution" not in tags:
        return None
    lengths = [float(fields.get("spacing", 1.0))]
    for tag in ("YResolution", "XResolution"):
        numerator, denominator = tags[tag].value
        lengths.append(denominator / numerator)
    return voxel_size_from(as_triple(abs(length) * nm for length in lengths), name, "spacing")


def _ome_voxel_size(tif: Any, name: str) -> Triple | None:
    """Read PhysicalSizeZ, Y and X of the first image; the unit is micrometres unless stated."""
    root = ElementTree.fromstring(tif.ome_metadata)
    pixels = next((element for element in root.iter() if element.tag.rpartition("}")[2] == "Pixels"), None)
    if pixels is None or not all(f"PhysicalSize{axis}" in pixels.attrib for axis in "ZYX"):
        return None
    lengths = []
    for axis in "ZYX":
        nm = nm_per_unit(pixels.get(f"PhysicalSize{axis}Unit", "µm"))
        if nm is None:
            return None
        lengths.append(float(pixels.attrib[f"PhysicalSize{axis}"]) * nm)
    return voxel_size_from(as_triple(lengths), name, "PhysicalSize")
