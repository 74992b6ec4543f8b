"""Copy the image into chunks that fit the blocks."""

from __future__ import annotations

import numpy as np

from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, BlockGrid
from napari_celis.scale.inputs import rechunk_block
from napari_celis.scale.run import IMAGE, BlockRun
from napari_celis.scale.stages.stage import Figures, Stage
from napari_celis.scale.storage import write_box


def _grid(run: BlockRun) -> BlockGrid:
    return BlockGrid(run.settings.shape, rechunk_block(run.source, run.chunks, run.settings.shape))


def _prepare(run: BlockRun) -> None:
    run.store.create_array(
        IMAGE, run.settings.shape, run.chunks, run.source.dtype, {"resolution": run.settings.voxel_size_nm}
    )


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    write_box(run.store.array(IMAGE, mode="r+"), block.core, np.asarray(run.source.data[block.core]))
    return {}


RECHUNK = Stage("image", "copying the image", 0.02, _grid, _work, _prepare)
