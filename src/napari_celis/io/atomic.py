"""Files and folders that appear under their name only when they are complete.

By hand because libraries for atomic files replace single files: a Zarr volume is a folder, a crash in the
middle of an exchange has to be repaired, and leftovers of killed programs have to be found.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from napari_celis.core.errors import VolumeError
from napari_celis.io.durable import exchange, sync_file, sync_folder, sync_tree
from napari_celis.io.failures import writing

HOST = hashlib.sha256(platform.node().encode()).hexdigest()[:6]
"""Processes are counted on each computer by itself, and folders may be shared."""
N_GONE = 8
"""A removed folder has to be gone for this many looks, a twentieth of a second apart."""
MAX_NAME = 80
"""Letters of a name that its temporary neighbours carry: names have a longest length."""


def sibling(path: Path, suffix: str = "part") -> Path:
    """Name a hidden neighbour of `path`: on the same disk, so that a rename is one step.

    It says whose it is, so that the next writer can clear up behind a process that was killed.

    Parameters
    ----------
    path : Path
        The file or folder.
    suffix : str
        Tells what it is for.
    """
    owner = f"{HOST}-{os.getpid()}-{secrets.token_hex(4)}"
    return path.with_name(f".{path.name[:MAX_NAME]}.{owner}.{suffix}")


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Write a file under a temporary name, then rename it to `path`.

    Parameters
    ----------
    path : Path
        Replaced only when the block ends without an exception.

    Yields
    ------
    temporary : Path
        The name to write to; it does not exist yet.
    """
    if path.is_dir():
        raise VolumeError(f"{path} is a folder, so no file of that name can be written. Choose another name.")
    temporary = sibling(path)
    try:
        with writing(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            clear_leftovers(path)
            yield temporary
            sync_file(temporary)
            put_in_place(temporary, path)
    finally:
        # The folder may be no folder at all; the reason is on its way to the user already.
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def atomic_folder(path: Path, *, may_replace: Callable[[Path], bool], kind: str) -> Iterator[Path]:
    """Write a folder under a temporary name, then exchange it for `path`.

    Parameters
    ----------
    path : Path
        Where the folder goes.
    may_replace : callable
        Says whether an existing folder is something we could have written.
    kind : str
        What it would have to be, for the message.

    Yields
    ------
    temporary : Path
        The name to write to; the folder does not exist yet.
    """
    recover(path)
    _require_replaceable(path, may_replace, kind)
    with scratch_name(path) as temporary:
        yield temporary
        sync_tree(temporary)
        put_in_place(temporary, path)


@contextmanager
def scratch_name(path: Path) -> Iterator[Path]:
    """Lend a name beside `path` for a folder that is removed at the end, if it is still there.

    Parameters
    ----------
    path : Path
        What is being written; messages name it.

    Yields
    ------
    temporary : Path
        Does not exist yet.
    """
    temporary = sibling(path)
    try:
        with writing(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            clear_leftovers(path)
            yield temporary
    finally:
        _remove(temporary)


def put_in_place(new: Path, path: Path) -> None:
    """Give a complete file or folder its name; a folder that has it already is deleted afterwards.

    Parameters
    ----------
    new : Path
        On the same disk, and written to it.
    path : Path
        Always names something complete; only where the system cannot exchange folders it is gone for a
        moment, and `recover` brings the old one back if the process ends there.
    """
    if not new.is_dir() or not path.exists():
        new.replace(path)
    elif exchange(new, path):
        shutil.rmtree(new, ignore_errors=True)
    else:
        old = sibling(path, "old")
        path.rename(old)
        try:
            new.rename(path)
        except OSError:
            old.rename(path)
            raise
        shutil.rmtree(old, ignore_errors=True)
    sync_folder(path.parent)


def recover(path: Path) -> None:
    """Bring back what a killed process had put aside, if nothing has its name."""
    if os.path.lexists(path):
        return
    for left in _left_behind(path, "old"):
        with suppress(OSError):
            left.rename(path)
        return


def clear_leftovers(path: Path) -> None:
    """Remove what processes that were killed have left of earlier attempts to write `path`."""
    recover(path)
    for left in [*_left_behind(path, "part"), *_left_behind(path, "old")]:
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            with suppress(OSError):
                left.unlink()


def _left_behind(path: Path, suffix: str) -> list[Path]:
    """Find temporary neighbours of `path` whose process, on this computer, has ended."""
    pattern = re.compile(
        rf"{re.escape(f'.{path.name[:MAX_NAME]}.{HOST}')}-(\d+)-[0-9a-f]{{8}}\.{re.escape(suffix)}"
    )
    try:
        matches = [(name, pattern.fullmatch(name)) for name in os.listdir(path.parent)]
    except OSError:
        return []
    return [path.with_name(name) for name, match in matches if match and not psutil.pid_exists(int(match[1]))]


def _remove(folder: Path) -> None:
    """Delete a folder, if it is there, and whatever threads of a library that failed still add to it."""
    n_gone = N_GONE if not folder.exists() else 0
    for _ in range(10 * N_GONE):
        if n_gone == N_GONE:
            return
        n_gone = 0 if folder.exists() else n_gone + 1
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)


def _require_replaceable(path: Path, may_replace: Callable[[Path], bool], kind: str) -> None:
    """Refuse to delete anything that is not a volume of the same kind."""
    if not path.exists():
        return
    if not path.is_dir():
        raise VolumeError(
            f"{path} exists and is a file, but {kind} is a folder. Choose another name or remove it first."
        )
    if any(path.iterdir()) and not may_replace(path):
        raise VolumeError(
            f"{path} exists and is not {kind}, so it will not be replaced. Choose another name, or "
            "remove it first."
        )
