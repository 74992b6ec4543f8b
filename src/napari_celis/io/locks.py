"""One writer at a time: each copies the file first, and two copies would lose what the other adds."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from napari_celis.core.errors import VolumeError

PATIENCE_SECONDS = 3600.0
"""How long to wait for another writer: hours of work may be waiting to be written."""
POLL_SECONDS = 0.05
UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What file systems say that cannot lock; there the last writer wins, as everywhere without locks."""


@contextmanager
def locked(path: Path, *, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Wait until no other process writes to `path`, and keep others waiting meanwhile.

    Parameters
    ----------
    path : Path
        The file; a hidden file beside it carries the lock, which ends with the process that holds it.
    patience : float
        Seconds to wait.

    Raises
    ------
    VolumeError
        If the other writer takes longer.
    """
    lock = path.with_name(f".{path.name}.lock")
    handle = _acquire(lock, path, time.monotonic() + patience)
    try:
        yield
    finally:
        # Removed before it is released: a program that waits for it sees that it is gone, and starts again.
        if os.name == "posix":
            with suppress(OSError):
                lock.unlink()
        os.close(handle)
        if os.name != "posix":
            with suppress(OSError):
                lock.unlink()


def _acquire(lock: Path, path: Path, deadline: float) -> int:
    """Open and lock the file, and make sure that it is still the one that others see."""
    while True:
        handle = os.open(lock, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            while not _try(handle):
                if time.monotonic() > deadline:
                    raise VolumeError(
                        f"{path} is being written by another program. Wait until that has finished, or write "
                        "to another file."
                    )
                time.sleep(POLL_SECONDS)
            if _is_same(handle, lock):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _try(handle: int) -> bool:
    """Lock without waiting; tell whether it worked."""
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError as error:
        return error.errno in UNSUPPORTED
    return True


def _is_same(handle: int, lock: Path) -> bool:
    """Tell whether the locked file is still there under its name."""
    try:
        return os.path.samestat(os.fstat(handle), lock.stat())
    except OSError:
        return False
