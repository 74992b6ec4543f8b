"""Mean and deviation of the grey values of the whole image: parts of it must not be judged by their own."""

from __future__ import annotations

import numpy as np

from napari_celis.core.volume import as_image, require_finite
from napari_celis.models.intensity import Intensity, IntensitySums, is_other_recording
from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block
from napari_celis.scale.run import HOME, BlockRun
from napari_celis.scale.settings import BlockwiseError
from napari_celis.scale.stages.stage import Figures, Stage, core_of, own_grid

INTENSITY = f"{HOME}/intensity.json"


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    image = as_image(np.asarray(run.image.data[block.core]), run.image.name)
    require_finite(image, run.image.name)
    sums = IntensitySums.of(image)
    return {"count": sums.count, "total": sums.total, "squares": sums.squares}


def _finish(run: BlockRun) -> dict[str, float]:
    sums = IntensitySums()
    for name in sorted(run.finished(SURVEY.name)):
        flag = run.flag(SURVEY.name, name) or {}
        if "count" in flag:
            sums += IntensitySums(flag["count"], flag["total"], flag["squares"])
    own, known = sums.intensity(), run.model.affinity.settings.intensity
    # An image like those of training is seen as it is, so that a few voxels more or less change nothing.
    mean, deviation = own if is_other_recording(own, known) else known
    return {"mean": mean, "deviation": deviation}


def read_intensity(run: BlockRun) -> Intensity:
    """Return mean and deviation of the whole image."""
    found = run.store.read_json(INTENSITY)
    if found is None:
        raise BlockwiseError(f"{run.store.url} has lost the grey values of its image. Begin the run again.")
    return float(found["mean"]), float(found["deviation"])


SURVEY = Stage(
    "survey",
    "grey values",
    0.01,
    own_grid,
    _work,
    finish=_finish,
    total=INTENSITY,
    needs=("image",),
    reads=core_of,
)
