"""Arrays kept beside a session, so that opening it takes seconds: affinities, contacts, first scores.

They can always be made again, so whatever is wrong with such a file only means that it is not used. Names
carry the checksum of what the arrays were made from, files the checksum of every member.
"""

from __future__ import annotations

import logging
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import numpy as np

from napari_celis.core.errors import CelisError
from napari_celis.io.atomic import atomic_file
from napari_celis.io.disk import require_room
from napari_celis.io.memory import require_memory

logger = logging.getLogger(__name__)

FOLDER_SUFFIX = ".prepared"
HEADER_BYTES = 2**12
"""A header of an array has about a hundred."""


def folder_beside(session: Path) -> Path:
    """Name the folder that belongs to a session."""
    return session.with_name(session.name + FOLDER_SUFFIX)


class KeptArrays:
    """A folder of arrays.

    Parameters
    ----------
    folder : Path
        Made with the first array.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, kind: str, key: str) -> bool:
        """Tell whether such arrays were kept."""
        return self._path(kind, key).exists()

    def save(self, kind: str, key: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep arrays, and forget others of this kind; a full disk or a read-only folder does no harm.

        Parameters
        ----------
        kind : str
            What they are, such as `affinities`.
        key : str
            Checksum of what they were made from.
        arrays : mapping
            By name.
        """
        path = self._path(kind, key)
        try:
            # The folder that the system has for such things is not there before the first decision.
            self.folder.mkdir(parents=True, exist_ok=True)
            n_bytes = sum(array.nbytes for array in arrays.values())
            require_room(path, n_bytes, kind, is_compressed=False)
            with atomic_file(path) as temporary, temporary.open("wb") as file:
                _write(file, arrays)
            for other in self.folder.glob(f"{kind}-*.npz"):
                if other != path:
                    other.unlink()
        except (OSError, CelisError) as error:
            logger.info("%s were not kept: %s", kind, error)

    def load(
        self, kind: str, key: str, expected: Mapping[str, tuple[tuple[int | None, ...], str]]
    ) -> dict[str, np.ndarray] | None:
        """Read arrays that were kept; None if there are none, or not what they must be.

        Parameters
        ----------
        kind, key : str
            As given to `save`.
        expected : mapping
            By name, the shape, with None for any length, and the type of numpy as text.
        """
        path = self._path(kind, key)
        try:
            with zipfile.ZipFile(path) as archive:
                members = {info.filename: info for info in archive.infolist()}
                if set(members) != {f"{name}.npy" for name in expected} or len(archive.infolist()) != len(
                    members
                ):
                    raise ValueError("other members")
                if any(info.compress_type != zipfile.ZIP_STORED for info in members.values()):
                    raise ValueError("packed")
                # Stored as they are, members cannot claim more than the file has.
                require_memory(path.stat().st_size, f"{kind} kept beside the session")
                return {
                    name: _read(archive, members[f"{name}.npy"], shape, dtype)
                    for name, (shape, dtype) in expected.items()
                }
        except FileNotFoundError:
            return None
        except Exception as error:
            # Damaged archives make the library fail in ways that no list covers, and nothing here is needed.
            logger.info("%s that were kept are not used: %s", kind, error)
            return None

    def remove(self) -> None:
        """Remove the folder with everything in it that we could have written."""
        for path in self.folder.glob("*-*.npz"):
            path.unlink(missing_ok=True)
        if self.folder.is_dir() and not any(self.folder.iterdir()):
            shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, kind: str, key: str) -> Path:
        return self.folder / f"{kind}-{key}.npz"


def _write(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                whole = np.ascontiguousarray(array)
                np.lib.format.write_array(member, whole, version=(1, 0), allow_pickle=False)


def _read(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int | None, ...], dtype: str
) -> np.ndarray:
    """Read one member, after its header was held against what it must be."""
    with archive.open(info) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ValueError("another format")
        found, is_fortran, kind = np.lib.format.read_array_header_1_0(file, max_header_size=HEADER_BYTES)
        fits = len(found) == len(shape) and all(
            want is None or want == have for want, have in zip(shape, found, strict=True)
        )
        n_bytes = int(np.prod([int(size) for size in found], dtype=object)) * kind.itemsize
        if not fits or kind != np.dtype(dtype) or is_fortran or n_bytes > info.file_size:
            raise ValueError("another shape or type")
        array = np.empty(found, dtype=kind)
        view = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
        n_read = 0
        while n_read < n_bytes:
            n = file.readinto(view[n_read : n_read + 2**22])  # type: ignore[attr-defined]
            if not n:
                raise EOFError("too short")
            n_read += n
        # The checksum is compared when the end is reached.
        if file.read(1):
            raise ValueError("too long")
    return array
