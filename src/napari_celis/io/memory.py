"""How much memory there is, and one sentence when it is not enough."""

from __future__ import annotations

from pathlib import Path

import psutil

from napari_celis.core.errors import NotEnoughMemoryError

CGROUP = Path("/sys/fs/cgroup")
"""Where Linux keeps the limits of a container or a cluster job."""

UNCHECKED_BYTES = 2**20
"""Reads below this size go ahead without asking the system, which keeps small reads quick."""


def available_bytes() -> int:
    """Count the bytes that can still be allocated, within the limit of a container if there is one."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = int((CGROUP / "memory.max").read_text())
        used = int((CGROUP / "memory.current").read_text())
        statistics = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        cached = int(statistics.get("inactive_file", 0))
    except (OSError, ValueError):
        return free
    return min(free, max(0, limit - used + cached))


def require_memory(n_bytes: int, name: str, work: str = "Reading") -> None:
    """Check that an allocation will fit.

    Parameters
    ----------
    n_bytes : int
        Bytes that are about to be allocated.
    name : str
        What they are for, as messages call it.
    work : str
        What is about to be done with it.

    Raises
    ------
    NotEnoughMemoryError
        With the GB needed and the GB free.
    """
    if n_bytes <= UNCHECKED_BYTES:
        return
    free = available_bytes()
    if n_bytes > free:
        raise NotEnoughMemoryError(
            f"{work} {name} needs {format_gb(n_bytes)} of memory, but {format_gb(free)} are free. "
            "Open a crop or a coarser level, or make larger voxels with `celis convert --resample Z Y X`."
        )


def format_gb(n_bytes: int) -> str:
    """Write a size as GB, with enough digits for small ones."""
    gb = n_bytes / 1e9
    return f"{gb:,.0f} GB" if gb >= 100 else f"{gb:.3g} GB"
