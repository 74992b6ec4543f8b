"""Affinities of a block, with the values that they have in the whole volume."""

from __future__ import annotations

from napari_celis.core.volume import Box
from napari_celis.io.affinity_channels import OFFSETS
from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, grown
from napari_celis.scale.run import AFFINITIES, BlockRun
from napari_celis.scale.stages.stage import Figures, Stage, own_grid
from napari_celis.scale.stages.survey import read_intensity
from napari_celis.scale.storage import write_box


def _prepare(run: BlockRun) -> None:
    settings = run.settings
    attributes = {
        "resolution": settings.voxel_size_nm,
        "offset": settings.offset_nm,
        "offsets": OFFSETS,
    }
    run.store.create_array(AFFINITIES, (3, *settings.shape), (3, *run.chunks), "float32", attributes)


def _context(run: BlockRun, block: Block) -> Box:
    """Find the voxels of the image that a block depends on."""
    net = run.model.affinity
    far = max(net.halo_zyx) + max(net.grid_zyx)
    return grown(block.core, far, far, run.settings.shape)


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    from napari_celis.models.apply import affinities_of
    from napari_celis.models.views import FiniteImage

    affinities = affinities_of(
        run.model,
        FiniteImage(run.image.data),
        box=block.core,
        intensity=read_intensity(run),
        progress=lambda done, total: report("affinities", done / total),
    )
    write_box(run.store.array(AFFINITIES, mode="r+"), block.core, affinities)
    return {}


PREDICT = Stage(
    "affinities", "affinities", 0.6, own_grid, _work, _prepare, needs=("image", "survey"), reads=_context
)
