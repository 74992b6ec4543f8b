"""Make the decisions of an earlier run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.constraints import Constraints
from napari_celis.core.journal import Entry, Step


def offer_again(agglomerator: Agglomerator, steps: Sequence[Step]) -> None:
    """Let `Agglomerator.redo` make the decisions of an earlier run, one per call.

    Parameters
    ----------
    agglomerator : Agglomerator
        What was taken back in it can no longer be done again.
    steps : sequence of Step
        Decisions about the same supervoxels, oldest first.
    """
    index_of, find = agglomerator.supervoxels.index_of, agglomerator.actions.find
    agglomerator.journal.undone = [
        Entry(replace(step, action_index=find(index_of(step.u_id), index_of(step.v_id))), None, Constraints())
        for step in reversed(steps)
    ]
