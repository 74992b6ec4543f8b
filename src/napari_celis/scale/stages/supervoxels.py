"""Supervoxels of a block: cut from seeds that all blocks see alike, and named after them.

The id of a supervoxel is the number of the block that holds its seed in the upper 32 bits, and the voxel of
the seed in that block in the lower ones. Two blocks that see the same seed give it the same id without asking
each other, so supervoxels go on across faces.
"""

from __future__ import annotations

import io

import numpy as np

from napari_celis.core.seeded_watershed import (
    MEANS,
    by_sections,
    count_means,
    cut_from_seeds,
    foreground_limits,
)
from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, BlockGrid, grown, inside, shape_of
from napari_celis.scale.run import HOME, SUPERVOXELS, BlockRun
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.stages.stage import Figures, Stage, own_grid
from napari_celis.scale.storage import write_box

LIMITS = f"{HOME}/foreground.json"
SEED_BITS = 32


def _count(run: BlockRun, block: Block, report: Report) -> Figures:
    """Count mean affinities of the block's own voxels."""
    around = grown(block.core, 1, 1, run.settings.shape)
    own = inside(block.core, around)
    counts = count_means(
        run.read_affinities(around),
        run.settings.voxel_size_nm,
        [part.start for part in own],
        [part.stop for part in own],
    )
    buffer = io.BytesIO()
    np.savez_compressed(buffer, counts=counts.astype(np.int64))
    run.store.write(f"{HOME}/foreground/{block.name}.npz", buffer.getvalue())
    return {}


def _add_up(run: BlockRun) -> list[float]:
    """Find the limit of the whole volume, or of each section."""
    n_rows = run.settings.shape[0] if by_sections(run.settings.voxel_size_nm) else 1
    # Sections of which nothing is known hold no seeds.
    limits = np.full(n_rows, MEANS - 1.0)
    grid, n_plane = run.grid, run.grid.counts[1] * run.grid.counts[2]
    # Blocks at the same height hold the same sections; without sections, all of them the same row.
    groups = [range(first, first + n_plane) for first in range(0, len(grid), n_plane)]
    for group in groups if n_rows > 1 else [range(len(grid))]:
        parts = [counts for counts in (_read_counts(run, index) for index in group) if counts is not None]
        if parts:
            core = grid.block(group[0]).core
            rows = slice(core[0].start, core[0].stop) if n_rows > 1 else slice(0, 1)
            limits[rows] = foreground_limits(np.sum(parts, axis=0), run.model.supervoxels)
    found: list[float] = limits.tolist()
    return found


def _read_counts(run: BlockRun, index: int) -> np.ndarray | None:
    content = run.store.read(f"{HOME}/foreground/{run.grid.block(index).name}.npz")
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        counts: np.ndarray = file["counts"]
        return counts


def _prepare(run: BlockRun) -> None:
    settings = run.settings
    attributes = {"resolution": settings.voxel_size_nm, "offset": settings.offset_nm}
    run.store.create_array(SUPERVOXELS, settings.shape, run.chunks, "uint64", attributes)


def _cut(run: BlockRun, block: Block, report: Report) -> Figures:
    """Cut the window, and keep the core."""
    limits = run.store.read_json(LIMITS)
    if limits is None:
        raise BlockwiseError(f"{run.store.url} has lost the file {LIMITS}. Begin the run again.")
    sections = by_sections(run.settings.voxel_size_nm)
    cut = cut_from_seeds(
        run.read_affinities(block.window),
        run.settings.voxel_size_nm,
        run.model.supervoxels,
        np.array(limits[block.window[0]] if sections else limits),
    )
    ids = seed_ids(cut.seeds, block, run.grid)
    labels = ids[cut.labels[inside(block.core, block.window)]]
    write_box(run.store.array(SUPERVOXELS, mode="r+"), block.core, labels)
    return {"supervoxels": len(np.unique(labels[labels > 0]))}


def seed_ids(seeds: np.ndarray, block: Block, grid: BlockGrid) -> np.ndarray:
    """Name supervoxels after their seeds, uint64 (n + 1,); 0 stays 0.

    Parameters
    ----------
    seeds : ndarray of int, shape (n + 1,)
        Voxels in the raveled window of the block, from `cut_from_seeds`.
    block : Block
        Whose window it is.
    grid : BlockGrid
        All blocks.
    """
    where = np.stack(np.unravel_index(seeds, shape_of(block.window)), axis=1)
    where += np.array([part.start for part in block.window])
    size = np.array(grid.block_zyx)
    holder = np.ravel_multi_index(tuple((where // size).T), grid.counts).astype(np.uint64)
    voxel = np.ravel_multi_index(tuple((where % size).T), grid.block_zyx).astype(np.uint64)
    # Block and voxel both count from 1: no id is 0.
    ids: np.ndarray = ((holder + np.uint64(1)) << np.uint64(SEED_BITS)) | (voxel + np.uint64(1))
    ids[0] = 0
    return ids


FOREGROUND = Stage(
    "foreground",
    "mean affinities",
    0.02,
    own_grid,
    _count,
    finish=_add_up,
    total=LIMITS,
    needs=("affinities",),
)
CUT = Stage("supervoxels", "supervoxels", 0.08, own_grid, _cut, _prepare, needs=("affinities",))
