"""What the panel adds to the recipe: the key under which decisions about a run are kept."""

from __future__ import annotations

from dataclasses import dataclass

from napari_celis.gui.session.kept_decisions import run_key
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import Prepared, prepare
from napari_celis.pipeline.stages import Report


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """Everything a run in the panel needs."""

    prepared: Prepared
    key: str
    """Under which decisions are kept."""


def prepare_run(choice: Choice, report: Report) -> PreparedRun:
    """Follow the recipe in a background thread."""
    prepared = prepare(choice, report)
    return PreparedRun(prepared, run_key(prepared.inputs.atoms.supervoxels, choice.model))
