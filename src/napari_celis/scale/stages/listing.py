"""Which stages a run has."""

from __future__ import annotations

from napari_celis.scale.run import BlockRun
from napari_celis.scale.stages.affinities import PREDICT
from napari_celis.scale.stages.contacts import MEASURE
from napari_celis.scale.stages.decisions import DECIDE
from napari_celis.scale.stages.pairs import GATHER
from napari_celis.scale.stages.rechunk import RECHUNK
from napari_celis.scale.stages.relabel import PUBLISH, RELABEL, level_stage, levels_of
from napari_celis.scale.stages.segments import JOIN
from napari_celis.scale.stages.stage import Stage
from napari_celis.scale.stages.supervoxels import CUT, FOREGROUND
from napari_celis.scale.stages.survey import SURVEY


def stages_of(run: BlockRun) -> list[Stage]:
    """List the stages of a run, in order."""
    settings = run.settings
    stages: list[Stage] = []
    if settings.affinities is None:
        stages += [RECHUNK] if settings.rechunk else []
        stages += [SURVEY, PREDICT]
    if settings.supervoxels is None:
        stages += [FOREGROUND, CUT]
    stages += [MEASURE, DECIDE, GATHER, JOIN, RELABEL]
    stages += [level_stage(level) for level in range(1, len(levels_of(run)) + 1)]
    return [*stages, PUBLISH]


def find_stage(run: BlockRun, name: str) -> Stage:
    """Find a stage by its name.

    Parameters
    ----------
    run : BlockRun
        The run.
    name : str
        Name of the stage.
    """
    return next(stage for stage in stages_of(run) if stage.name == name)
