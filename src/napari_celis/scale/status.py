"""How far a block-wise run is, from what lies in its output: nobody has to be running."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from napari_celis.scale.run import BlockRun
from napari_celis.scale.runner import Failure, list_failures
from napari_celis.scale.stages.listing import stages_of
from napari_celis.scale.stages.relabel import PUBLISH
from napari_celis.scale.stages.segments import JOIN
from napari_celis.scale.stages.stage import WHOLE

TOLD = ("supervoxels", "segments", "pairs", "disputed", "joined", "answers")


@dataclass(frozen=True)
class StageStatus:
    """How far one stage is."""

    name: str
    title: str
    done: int
    total: int
    failed: int


@dataclass(frozen=True)
class RunStatus:
    """How far a run is."""

    stages: tuple[StageStatus, ...]
    failures: tuple[Failure, ...]
    is_finished: bool
    """Whether the segmentation is complete under its name; failed blocks are empty in it."""
    figures: dict[str, int] = field(default_factory=dict)
    """What joining the blocks counted, once it was done."""

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers, text and lists."""
        return asdict(self)


def read_status(run: BlockRun) -> RunStatus:
    """Look at a run.

    Parameters
    ----------
    run : BlockRun
        Running or not.
    """
    stages = stages_of(run)
    found = tuple(
        StageStatus(
            stage.name,
            stage.title,
            len(run.finished(stage.name)),
            len(stage.grid(run)),
            len(run.failures(stage.name)),
        )
        for stage in stages
    )
    flag = run.flag(JOIN.name, WHOLE) or {}
    is_finished = run.flag(PUBLISH.name, WHOLE) is not None
    return RunStatus(
        found, list_failures(run, stages), is_finished, {key: flag[key] for key in TOLD if key in flag}
    )
