"""What a stage of a block-wise run is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, BlockGrid
from napari_celis.scale.run import BlockRun

Figures = Mapping[str, Any]
"""What a block notes about its work, in plain numbers and text."""

WHOLE = "00000000"
"""Name of the one block of a stage that works on the whole."""


def _nothing(run: BlockRun) -> None:
    """Prepare or finish nothing."""


def _no_digest(run: BlockRun, block: Block) -> str:
    """Say that a block depends on the settings of its run alone."""
    return ""


@dataclass(frozen=True, eq=False)
class Stage:
    """One kind of work, done for every block of a grid."""

    name: str
    """What its files are called."""
    title: str
    """What people read."""
    weight: float
    """Its share of the time of a whole run, about; for the time that is left."""
    grid: Callable[[BlockRun], BlockGrid]
    work: Callable[[BlockRun, Block, Report], Figures]
    """Computes and writes everything of one block; doing it twice writes the same bytes."""
    prepare: Callable[[BlockRun], None] = _nothing
    """Creates arrays before the first block."""
    finish: Callable[[BlockRun], None] = _nothing
    """Adds up what all blocks noted, after the last one."""
    needs: tuple[str, ...] = ()
    """Stages whose blocks a window is read from."""
    digest: Callable[[BlockRun, Block], str] = _no_digest
    """Tells states of its input apart that can change while the settings stay; a finished block whose digest
    changed is computed again."""


def own_grid(run: BlockRun) -> BlockGrid:
    """Return the blocks of the run."""
    return run.grid


def single(run: BlockRun) -> BlockGrid:
    """Return one block that stands for the whole volume, for work that is not about voxels."""
    return BlockGrid(run.settings.shape, run.settings.shape)
