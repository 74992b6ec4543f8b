"""Report the stages of the work, and whether their loops have to be compiled first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

Report = Callable[[str, float], None]
"""Tells the stage and the finished share of it; may raise to cancel the work."""
Say = Callable[[str], None]
"""Tells a sentence that the user should know and that stops nothing."""

FIRST_RUN = "compiling, first run only"


def silent(stage: str, share: float) -> None:
    """Report nothing."""


def stage(name: str, kernels: ModuleType) -> str:
    """Name a stage, and say if its loops have to be compiled first."""
    return name if are_compiled(kernels) else f"{name} ({FIRST_RUN})"


def are_compiled(kernels: ModuleType) -> bool:
    """Tell whether the loops of a module lie ready on the disk; the first run on a machine compiles them."""
    name = kernels.__name__.rsplit(".", 1)[-1]
    compiled = [item for item in vars(kernels).values() if hasattr(item, "stats")]
    return any(list(Path(item.stats.cache_path).glob(f"{name}.*.nbi")) for item in compiled)
