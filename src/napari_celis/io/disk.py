"""How much room a disk has, and one sentence when a volume cannot fit."""

from __future__ import annotations

import shutil
from pathlib import Path

from napari_celis.core.errors import VolumeError
from napari_celis.io.memory import format_gb

BEST_COMPRESSION = 100
"""Labels are packed to a hundredth at best; nothing that might fit is refused."""


def require_room(path: Path, n_bytes: int, name: str, *, is_compressed: bool) -> None:
    """Refuse a volume that cannot fit on the disk, before it fills it.

    Parameters
    ----------
    path : Path
        Where it goes; it need not exist.
    n_bytes : int
        What its voxels take.
    name : str
        What messages call it.
    is_compressed : bool
        Whether its format packs voxels.
    """
    folder = next((parent for parent in path.absolute().parents if parent.is_dir()), None)
    if folder is None:
        return
    total, _, free = shutil.disk_usage(folder)
    # Some file systems do not tell, and say that they have no bytes at all.
    if total > 0 and n_bytes > free * (BEST_COMPRESSION if is_compressed else 1):
        packed = ", more than packing can save" if is_compressed else ""
        raise VolumeError(
            f"{name} takes {format_gb(n_bytes)}{packed}, but the disk of {path} has {format_gb(free)} free. "
            "Free some space, write somewhere else, or write a coarser copy."
        )
