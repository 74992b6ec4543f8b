"""Make what was written outlast a power cut, and exchange two folders in one step where the system can."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

MANY_FILES = 100
"""From this many files on, the whole disk is asked to write what it holds: one by one would take minutes."""
AT_FDCWD = -100
EXCHANGE = 2
"""`RENAME_EXCHANGE` of Linux, and `RENAME_SWAP` of macOS."""
UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk; Windows does that by itself."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(handle)


def sync_tree(path: Path) -> None:
    """Wait until a folder and everything in it are on the disk."""
    files, folders = [], [path]
    for parent, names, found in os.walk(path):
        folders += [Path(parent, name) for name in names]
        files += [Path(parent, name) for name in found]
    if len(files) >= MANY_FILES and _sync_disk_of(path):
        return
    for file in files:
        sync_file(file)
    for folder in reversed(folders):
        sync_folder(folder)


def exchange(a: Path, b: Path) -> bool:
    """Exchange two names in one step.

    Parameters
    ----------
    a, b : Path
        Both exist, on one disk.

    Returns
    -------
    is_done : bool
        False where the system or the disk cannot do that; nothing has changed then.
    """
    rename = _rename_function()
    if rename is None:
        return False
    names = os.fsencode(a), os.fsencode(b)
    arguments = (AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE) if _is_linux() else (*names, EXCHANGE)
    if rename(*arguments) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(b))


def _is_linux() -> bool:
    return sys.platform.startswith("linux")


@cache
def _library() -> Any:
    """Load the library of the system."""
    return ctypes.CDLL(None, use_errno=True)


@cache
def _rename_function() -> Any:
    """Find the call that exchanges names."""
    if _is_linux():
        return getattr(_library(), "renameat2", None)
    return getattr(_library(), "renamex_np", None) if sys.platform == "darwin" else None


def _sync_disk_of(path: Path) -> bool:
    """Write everything that the disk of `path` has in memory; False where the system cannot."""
    function = getattr(_library(), "syncfs", None) if _is_linux() else None
    if function is None:
        return False
    handle = os.open(path, os.O_RDONLY)
    try:
        return bool(function(handle) == 0)
    finally:
        os.close(handle)
