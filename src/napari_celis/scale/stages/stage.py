"""What a stage of a block-wise run is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from napari_celis.core.volume import Box
from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, BlockGrid
from napari_celis.scale.run import BlockRun

Figures = Mapping[str, Any]
"""What a block notes about its work, in plain numbers and text."""

WHOLE = "00000000"
"""Name of the one block of a stage that works on the whole."""


def _nothing(run: BlockRun) -> None:
    """Prepare nothing, add up nothing."""


def core_of(run: BlockRun, block: Block) -> Box:
    """Read the block alone.

    Parameters
    ----------
    run, block : BlockRun, Block
        The run, and one block of its grid.
    """
    return block.core


def window_of(run: BlockRun, block: Block) -> Box:
    """Read the block and its halo.

    Parameters
    ----------
    run, block : BlockRun, Block
        As in `core_of`.
    """
    return block.window


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
    finish: Callable[[BlockRun], Any] = _nothing
    """Adds up what all blocks noted, after the last one; returns plain numbers and lists."""
    total: str = ""
    """The file that what `finish` returns goes into. Later stages depend on it."""
    needs: tuple[str, ...] = ()
    """Stages that a block reads from."""
    reads: Callable[[BlockRun, Block], Box] = window_of
    """The voxels that a block reads, in the grid of these stages."""
    fills_gaps: bool = False
    """Whether a block is done although it failed at a stage that it needs: it is written empty."""
    digest: Callable[[BlockRun, Block], str] = _no_digest
    """Tells states of its input apart that can change while the settings stay; a finished block whose digest
    changed is computed again."""


def own_grid(run: BlockRun) -> BlockGrid:
    """Return the blocks of the run."""
    return run.grid


def single(run: BlockRun) -> BlockGrid:
    """Return one block that stands for the whole volume, for work that is not about voxels."""
    return BlockGrid(run.settings.shape, run.settings.shape)
