"""Take `path[:dataset]` apart, also where paths hold colons, and see what format a path has."""

from __future__ import annotations

import os
import re
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from napari_celis.core.errors import MissingDatasetError, VolumeError
from napari_celis.io.atomic import recover
from napari_celis.io.confinement import require_regular


class Format(Enum):
    """How a volume is stored; the value is what people call it."""

    HDF5 = "HDF5"
    TIFF = "TIFF"
    SECTIONS = "folder of sections"
    NPY = "npy"
    NPZ = "npz"
    ZARR = "Zarr"
    N5 = "N5"
    PRECOMPUTED = "neuroglancer precomputed"


class Target(NamedTuple):
    """A path, the dataset in it, and the format if the user wrote one as in `precomputed://path`."""

    path: Path
    dataset: str | None = None
    format: Format | None = None


FORMAT_OF_SUFFIX = {
    ".h5": Format.HDF5,
    ".hdf": Format.HDF5,
    ".hdf5": Format.HDF5,
    ".he5": Format.HDF5,
    ".tif": Format.TIFF,
    ".tiff": Format.TIFF,
    ".btf": Format.TIFF,
    ".npy": Format.NPY,
    ".npz": Format.NPZ,
    ".zarr": Format.ZARR,
    ".n5": Format.N5,
    ".precomputed": Format.PRECOMPUTED,
}
FORMAT_OF_SCHEME = {
    "precomputed": Format.PRECOMPUTED,
    "n5": Format.N5,
    "zarr": Format.ZARR,
    "zarr2": Format.ZARR,
    "zarr3": Format.ZARR,
}
FORMAT_OF_FOLDER = {
    "zarr.json": Format.ZARR,
    ".zarray": Format.ZARR,
    ".zgroup": Format.ZARR,
    "attributes.json": Format.N5,
    "info": Format.PRECOMPUTED,
}
FORMAT_OF_START = {
    b"\x89HDF\r\n\x1a\n": Format.HDF5,
    b"II*\0": Format.TIFF,
    b"MM\0*": Format.TIFF,
    b"II+\0": Format.TIFF,
    b"MM\0+": Format.TIFF,
    b"\x93NUMPY": Format.NPY,
    b"PK\x03\x04": Format.NPZ,
}

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_AFTER_SUFFIX = re.compile(
    rf"(?:{'|'.join(re.escape(suffix) for suffix in FORMAT_OF_SUFFIX)})/?(:)", re.IGNORECASE
)


def split_target(target: str | os.PathLike[str]) -> Target:
    r"""Take `path[:dataset]` apart.

    Parameters
    ----------
    target : str or path
        The whole of it may be a path; otherwise the colon after a known suffix such as `.h5` divides it,
        otherwise the last colon with an existing path before it. The colon of `C:\data` never does.

    Returns
    -------
    target : Target
    """
    text, stated = _strip_scheme(os.fspath(target))
    if not text:
        raise MissingDatasetError("The path of a volume is empty. Write path[:dataset].")
    if os.path.lexists(text):
        return Target(Path(text), None, stated)
    colons = [match.start(1) for match in _AFTER_SUFFIX.finditer(text)]
    existing = [at for at in colons if os.path.lexists(text[:at])]
    if not colons:
        existing = [at for at, letter in enumerate(text) if letter == ":" and _is_container(text[:at])]
    at = existing[-1] if existing else (colons[0] if colons else len(text))
    return Target(Path(text[:at]), text[at + 1 :].strip("/") or None, stated)


def detect_format(target: Target) -> Format:
    """See what a path holds: by what the user wrote, its content where that is telling, or its suffix.

    Parameters
    ----------
    target : Target
        A path that exists.

    Returns
    -------
    format : Format

    Raises
    ------
    MissingDatasetError
        If nothing is there.
    VolumeError
        If it is nothing we can open.
    """
    path = target.path
    recover(path)
    if not path.exists():
        raise MissingDatasetError(f"{path} does not exist. Check the path; a dataset goes after a colon.")
    require_regular(path)
    if target.format is not None:
        return target.format
    by_suffix = FORMAT_OF_SUFFIX.get(path.suffix.lower())
    if path.is_dir():
        found = next((f for name, f in FORMAT_OF_FOLDER.items() if (path / name).is_file()), None)
        is_folder_format = by_suffix in (Format.ZARR, Format.N5, Format.PRECOMPUTED)
        return found or (by_suffix if by_suffix and is_folder_format else Format.SECTIONS)
    if by_suffix in (Format.HDF5, Format.TIFF, Format.NPY, Format.NPZ):
        return by_suffix
    return _format_of_file(path)


def format_to_write(target: Target) -> Format:
    """Choose the format of a new volume by its suffix."""
    if target.dataset is not None and ".." in re.split(r"[/\\]", target.dataset):
        raise VolumeError(
            f"{target.path}:{target.dataset} cannot be written: the dataset leads out of the file. Name one "
            "inside it."
        )
    wanted = target.format or FORMAT_OF_SUFFIX.get(target.path.suffix.lower())
    if wanted in (None, Format.N5, Format.NPZ):
        raise VolumeError(
            f"{target.path} cannot be written: the name has to end in .zarr, .h5, .tif, .npy or "
            ".precomputed, which chooses the format. Give it one of these."
        )
    return wanted


def _format_of_file(path: Path) -> Format:
    """Look at the first bytes of a file whose suffix says nothing."""
    try:
        with open(path, "rb") as file:
            start = file.read(8)
    except OSError as error:
        raise VolumeError(f"{path} may not be read ({error.strerror}). Change its access rights.") from error
    for magic, found in FORMAT_OF_START.items():
        if start.startswith(magic):
            return found
    if start.startswith(b"\x89PNG"):
        raise VolumeError(f"{path} is one section. Open the folder that holds all of them.")
    raise VolumeError(
        f"{path} is none of the formats that can be opened: HDF5, TIFF, npy, npz, Zarr, N5, precomputed, "
        "or a folder of TIFF or PNG sections. Convert it to one of these."
    )


def _strip_scheme(text: str) -> tuple[str, Format | None]:
    """Take `precomputed://` and the like off the front."""
    match = _SCHEME.match(text)
    if match is None:
        return text, None
    scheme, rest = match.group(1).lower(), text[match.end() :]
    if scheme == "file":
        return rest, None
    if scheme not in FORMAT_OF_SCHEME or _SCHEME.match(rest):
        raise VolumeError(
            f"{text} is not on this machine's disks, and only those can be opened. Download it, or mount it "
            "as a folder."
        )
    return rest, FORMAT_OF_SCHEME[scheme]


def _is_container(text: str) -> bool:
    r"""Tell whether the part before a colon can hold datasets; `C` in `C:\data` cannot."""
    if len(text) == 1 and text.isalpha():
        return False
    if os.path.isdir(text):
        return any(os.path.isfile(os.path.join(text, name)) for name in FORMAT_OF_FOLDER)
    return os.path.isfile(text)
