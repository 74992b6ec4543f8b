"""Keep a volume from a stranger inside its own file or folder.

A link in a volume can name any file of the user; read as voxels, it would end up in what the user exports and
shares. Links that stay inside are followed, others only where the user asks for it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from napari_celis.core.errors import VolumeError

SETTING = "CELIS_FOLLOW_LINKS"
"""Environment variable; 1 follows links to anywhere."""


def follows_links() -> bool:
    """Tell whether the user wants links followed out of a volume."""
    return os.environ.get(SETTING, "") == "1"


def refuse_link(name: str, goes_to: str) -> None:
    """Refuse what leads out of a volume, unless the user trusts it.

    Parameters
    ----------
    name : str
        The link, as messages call it.
    goes_to : str
        Where it leads.
    """
    if not follows_links():
        raise VolumeError(
            f"{name} leads out of the volume, to {goes_to}. Open that itself, or set {SETTING}=1 if you "
            "trust whom the volume is from."
        )


def require_inside(path: Path, root: Path) -> None:
    """Refuse a path that symbolic links lead out of a folder.

    Parameters
    ----------
    path : Path
        A file or folder below `root`; it need not exist.
    root : Path
        The folder of the volume; it may be a link itself.
    """
    if not is_inside(path, root):
        refuse_link(str(path), os.path.realpath(path))


def require_regular(path: Path) -> None:
    """Refuse pipes, sockets and devices, which may never end; what does not exist is not looked at."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise VolumeError(f"{path} is a pipe or a device, not a file. Save it as a file first.")


def is_inside(path: Path, root: Path) -> bool:
    """Tell whether a path stays below a folder, wherever symbolic links lead.

    Parameters
    ----------
    path : Path
        The file or folder.
    root : Path
        The folder.
    """
    goes_to, home = os.path.realpath(path), os.path.realpath(root)
    return goes_to == home or goes_to.startswith(home.rstrip(os.sep) + os.sep)
