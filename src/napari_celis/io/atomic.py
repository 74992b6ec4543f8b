"""Files and folders that appear under their name only when they are complete."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from napari_celis.core.errors import VolumeError
from napari_celis.io.failures import writing


def _sibling(path: Path) -> Path:
    """Name a hidden neighbour of `path`: on the same disk, so that a rename is one step."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


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
    temporary = _sibling(path)
    try:
        with writing(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            _flush_to_disk(temporary)
            temporary.replace(path)
    finally:
        # The folder may be no folder at all; the reason is on its way to the user already.
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def atomic_folder(path: Path, *, may_replace: Callable[[Path], bool], kind: str) -> Iterator[Path]:
    """Write a folder under a temporary name, then rename it to `path`.

    An existing folder steps aside, the new one steps in, and only then is the old one deleted.

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
    _require_replaceable(path, may_replace, kind)
    temporary, old = _sibling(path), _sibling(path)
    try:
        with writing(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            if path.exists():
                path.rename(old)
            try:
                temporary.rename(path)
            except OSError:
                if old.exists():
                    old.rename(path)
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)


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


def _flush_to_disk(path: Path) -> None:
    """Make sure that the content reaches the disk before the name does."""
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
