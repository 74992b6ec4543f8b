"""The segmentation: every voxel gets the segment of its supervoxel, then coarser levels of the pyramid."""

from __future__ import annotations

import hashlib
from functools import cache, partial

import numpy as np

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.volume import Box, Triple
from napari_celis.io.ome_writing import multiscale_attributes
from napari_celis.io.pyramid import Factors, choose_factors, coarser_geometry, coarser_shape, shrink_labels
from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, BlockGrid
from napari_celis.scale.run import BlockRun
from napari_celis.scale.settings import CHUNK
from napari_celis.scale.stages.segments import JOIN, SEGMENTS
from napari_celis.scale.stages.stage import WHOLE, Figures, Stage, core_of, own_grid, single
from napari_celis.scale.storage import write_box

EMPTY = "empty"
"""What a block writes that failed at an earlier stage."""
LEVEL_BLOCK = 4 * CHUNK
"""Voxels of a block of a coarser level."""


def levels_of(run: BlockRun) -> list[tuple[IntTriple, Triple, Triple, Factors]]:
    """List shape, voxel size, offset and factors (from the level before) of every coarser level."""
    shape, size, offset = run.settings.shape, run.settings.voxel_size_nm, run.settings.offset_nm
    found = []
    while (factors := choose_factors(shape, size)) is not None:
        shape = coarser_shape(shape, factors)
        size, offset = coarser_geometry(size, offset, factors)
        found.append((shape, size, offset, factors))
    return found


def _prepare(run: BlockRun) -> None:
    # From here on until the end nothing calls the output a finished volume.
    run.store.write_group("", {})
    run.clear_flag(PUBLISH.name, WHOLE)
    run.store.create_array("0", run.settings.shape, run.chunks, "uint64", {})


def _digest(run: BlockRun, block: Block) -> str:
    return _digests(run, str((run.flag(JOIN.name, WHOLE) or {}).get("digest"))).get(block.name, EMPTY)


@cache
def _digests(run: BlockRun, digest: str) -> dict[str, str]:
    """Read once what every block has to write."""
    flag = run.flag(JOIN.name, WHOLE) or {}
    return dict(flag.get("blocks", {}))


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    supervoxels = run.read_supervoxels(block.core)
    is_empty = _digest(run, block) == EMPTY
    table = None if is_empty else run.store.read_table(f"{SEGMENTS}/{block.name}.parquet")
    segments = np.zeros(block.shape, dtype=np.uint64)
    if table is not None and len(table["id"]):
        order = np.argsort(table["id"])
        ids, named = table["id"][order], table["segment"][order]
        at = np.minimum(np.searchsorted(ids, supervoxels), len(ids) - 1)
        segments = np.where(ids[at] == supervoxels, named[at], np.uint64(0))
    write_box(run.store.array("0", mode="r+"), block.core, segments)
    return {}


def _level_grid(level: int, run: BlockRun) -> BlockGrid:
    return BlockGrid(levels_of(run)[level - 1][0], (LEVEL_BLOCK,) * 3)


def _prepare_level(level: int, run: BlockRun) -> None:
    run.store.create_array(str(level), levels_of(run)[level - 1][0], (CHUNK,) * 3, "uint64", {})


def _finer(level: int, run: BlockRun, block: Block) -> Box:
    """Find the voxels of the level before that a block stands for."""
    shape = run.settings.shape if level == 1 else levels_of(run)[level - 2][0]
    factors = levels_of(run)[level - 1][3]
    z, y, x = (
        slice(part.start * factor, min(part.stop * factor, size))
        for part, factor, size in zip(block.core, factors, shape, strict=True)
    )
    return z, y, x


def _work_level(level: int, run: BlockRun, block: Block, report: Report) -> Figures:
    fine = np.asarray(run.store.array(str(level - 1))[_finer(level, run, block)])
    write_box(
        run.store.array(str(level), mode="r+"), block.core, shrink_labels(fine, levels_of(run)[level - 1][3])
    )
    return {}


def _level_digest(level: int, run: BlockRun, block: Block) -> str:
    """Follow the blocks of the level before."""
    before = RELABEL if level == 1 else level_stage(level - 1)
    grid = before.grid(run)
    digest = hashlib.sha256()
    for index in grid.touching(_finer(level, run, block)):
        digest.update(before.digest(run, grid.block(index)).encode())
    return digest.hexdigest()


def _publish(run: BlockRun, block: Block, report: Report) -> Figures:
    """Write the metadata that make the levels one volume."""
    settings = run.settings
    levels = [("0", settings.voxel_size_nm, settings.offset_nm)]
    levels += [(str(n), size, offset) for n, (_, size, offset, _) in enumerate(levels_of(run), start=1)]
    name = run.store.url.rsplit("/", 1)[-1]
    run.store.write_group("", multiscale_attributes(levels, name=name, is_labels=True))
    return {}


def _publish_digest(run: BlockRun, block: Block) -> str:
    return str((run.flag(JOIN.name, WHOLE) or {}).get("digest"))


RELABEL = Stage(
    "labels",
    "writing segments",
    0.03,
    own_grid,
    _work,
    _prepare,
    needs=("supervoxels",),
    reads=core_of,
    fills_gaps=True,
    digest=_digest,
)
PUBLISH = Stage("metadata", "metadata", 0.0, single, _publish, digest=_publish_digest)


def level_stage(level: int) -> Stage:
    """Return the stage of one coarser level."""
    return Stage(
        f"level-{level}",
        f"level {level} of the pyramid",
        0.01 / level,
        partial(_level_grid, level),
        partial(_work_level, level),
        partial(_prepare_level, level),
        needs=(RELABEL.name if level == 1 else f"level-{level - 1}",),
        reads=partial(_finer, level),
        digest=partial(_level_digest, level),
    )
