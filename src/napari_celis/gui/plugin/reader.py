"""What napari calls when a file or folder is dropped on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from napari.utils.notifications import show_error

from napari_celis.core.errors import CelisError
from napari_celis.gui.layers.opening import open_layers
from napari_celis.io.targets import Format, detect_format, split_target

Reader = Callable[[str], list[Any]]

NO_LAYER = [(None,)]
"""How a reader tells napari that it has dealt with a file and there is nothing to add."""

SECTION_SUFFIXES = {".tif", ".tiff", ".png"}


def get_reader(path: str | list[str]) -> Reader | None:
    """Offer to read `path` if it is a volume; look at its name and its first bytes only.

    Parameters
    ----------
    path : str or list of str
        What was dropped. A list is a stack of separate files, which is not ours to read.
    """
    if not isinstance(path, str):
        return None
    try:
        found = detect_format(split_target(path))
    except CelisError:
        return None
    if found is Format.SECTIONS and not _holds_sections(Path(path)):
        return None
    return read_layers


def read_layers(path: str) -> list[Any]:
    """Read every volume in a file or folder as one layer each; a mistake is shown, not raised.

    napari hides what a reader raises behind a sentence of its own, so that nobody would learn what to do.
    """
    try:
        return open_layers(path)
    except CelisError as error:
        show_error(str(error))
        return NO_LAYER


def _holds_sections(folder: Path) -> bool:
    return any(entry.suffix.lower() in SECTION_SUFFIXES for entry in folder.iterdir())
