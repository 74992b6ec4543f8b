"""Add datasets to HDF5 files: one writer at a time, in a copy, and in a way that survives a full disk."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import h5py

from napari_celis.core.errors import VolumeError
from napari_celis.io.atomic import atomic_file
from napari_celis.io.failures import reading, writing
from napari_celis.io.locks import locked
from napari_celis.io.memory import format_gb

MAX_KEPT_BYTES = 64 * 2**20
"""What is kept in memory of writes after a failure."""


@contextmanager
def extend_file(path: Path) -> Iterator[tuple[h5py.File, Callable[[], None]]]:
    """Open a copy of an HDF5 file for writing, or a new file; it replaces `path` at the end.

    HDF5 files do not survive a process that dies while it writes to them, so the file itself stays as it is
    until the copy is complete.

    Parameters
    ----------
    path : Path
        The file; it need not exist.

    Yields
    ------
    file, check : h5py.File, callable
        `check` raises what went wrong so far, to be called now and then: writing goes on without it.
    """
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path), atomic_file(path) as temporary:
            if path.exists():
                _copy(path, temporary)
            with open(temporary, "r+b" if temporary.exists() else "w+b", buffering=0) as raw:
                patient = PatientFile(raw)
                with reading(str(path)):
                    file = h5py.File(patient, "a")
                with file:
                    yield file, patient.check
                patient.check()


class PatientFile(io.RawIOBase):
    """A file that never fails before `check`.

    HDF5 does not survive a failed write: closing the file fails too, and what is left of it ends the process
    later. So a write that fails is remembered, it and the next ones go to memory, and the file can be closed.

    Parameters
    ----------
    raw : file
        Unbuffered, open for reading and writing.
    """

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._position = 0
        self._end = raw.seek(0, io.SEEK_END)
        self._failure: OSError | None = None
        self._kept: list[tuple[int, bytes]] = []
        self._n_kept = 0

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self._failure is not None:
            raise self._failure

    def seekable(self) -> bool:
        """Say yes."""
        return True

    def readable(self) -> bool:
        """Say yes."""
        return True

    def writable(self) -> bool:
        """Say yes."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move, without asking the disk.

        Parameters
        ----------
        offset : int
            Bytes.
        whence : int
            From where, as in `io`.
        """
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._end}[whence]
        self._position = start + offset
        return self._position

    def write(self, data: Any) -> int:
        """Write all of it, to disk or to memory."""
        content = memoryview(data).cast("B")
        begin, n_bytes = self._position, len(content)
        if self._failure is None:
            try:
                self._raw.seek(begin)
                done = 0
                while done < n_bytes:
                    done += self._raw.write(content[done:])
            except OSError as error:
                self._failure = error
        if self._failure is not None and self._n_kept < MAX_KEPT_BYTES:
            self._kept.append((begin, bytes(content)))
            self._n_kept += n_bytes
        self._position = begin + n_bytes
        self._end = max(self._end, self._position)
        return n_bytes

    def readinto(self, buffer: Any) -> int:
        """Read from disk, and over it what could not be written there."""
        content = memoryview(buffer).cast("B")
        begin = self._position
        n_bytes = max(0, min(len(content), self._end - begin))
        content[:n_bytes] = bytes(n_bytes)
        self._raw.seek(begin)
        self._raw.readinto(content[:n_bytes])  # type: ignore[attr-defined]
        for start, kept in self._kept:
            low, high = max(begin, start), min(begin + n_bytes, start + len(kept))
            if low < high:
                content[low - begin : high - begin] = kept[low - start : high - start]
        self._position = begin + n_bytes
        return n_bytes

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        self._end = self._position if size is None else size
        if self._failure is None:
            try:
                self._raw.truncate(self._end)
            except OSError as error:
                self._failure = error
        return self._end

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


def _copy(path: Path, temporary: Path) -> None:
    """Copy an existing file, if the disk can hold it twice."""
    needed, free = path.stat().st_size, shutil.disk_usage(path.parent).free
    if needed > free:
        raise VolumeError(
            f"Adding a dataset to {path} needs {format_gb(needed)} for a safe copy, but the disk has "
            f"{format_gb(free)} free. Write to a new file instead."
        )
    shutil.copyfile(path, temporary)
