"""What the XML of an OME-TIFF file may ask for, looked at before tifffile does what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.volume import count_voxels

MAX_PLANES = 1_000_000
"""Most sections that an image may claim; tifffile makes a list of them."""
COUNTS = ("IFD", "NumPlanes", "PlaneCount", "FirstZ", "FirstC", "FirstT")


def require_sane_ome(tif: Any, path: Path) -> None:
    """Refuse an OME-TIFF file that claims endless sections, or sections in other files.

    Parameters
    ----------
    tif : tifffile.TiffFile
        Open; nothing but its first page has been looked at.
    path : Path
        The file.
    """
    if not tif.is_ome:
        return
    root = ElementTree.fromstring(tif.ome_metadata)
    for element in root.iter():
        kind = element.tag.rpartition("}")[2]
        if kind == "Pixels":
            claimed = count_voxels(int(element.get(f"Size{axis}", 1)) for axis in "CZT")
            _require_plausible(path, claimed)
        elif kind == "TiffData":
            _require_plausible(path, sum(abs(int(element.get(name, 0))) for name in COUNTS))
        elif kind == "UUID" and element.text != root.get("UUID"):
            _require_own(path, element.get("FileName", ""))


def _require_plausible(path: Path, n_planes: int) -> None:
    """Refuse more sections than a file can hold."""
    if n_planes > MAX_PLANES:
        raise CorruptFileError(
            f"{path} says in its OME metadata that it has {n_planes:,} sections. Export it again."
        )


def _require_own(path: Path, name: str) -> None:
    """Refuse sections in other files, which may be any of the user's."""
    if name.lower() != path.name.lower():
        raise VolumeError(
            f"{path} has sections in another file, {name!r}, but one file is opened. Export the set as one "
            "file."
        )
