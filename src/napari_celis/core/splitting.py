"""Carry out the split of a supervoxel: what an agglomerator of its parts begins with, and the decision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import CutPlan
from napari_celis.core.journal import Event, Step
from napari_celis.core.kept_scores import EarlierScores
from napari_celis.core.recorded import RecordedHistory, recorded_history
from napari_celis.core.split_scores import ScoresBeforeSplit
from napari_celis.core.splits import DividedVolume, SupervoxelSplit


@dataclass(frozen=True, eq=False)
class SplitStart:
    """What an agglomerator of the parts begins with."""

    volume: DividedVolume
    past: RecordedHistory
    """Every decision at its place, about the parts."""
    earlier: EarlierScores | None
    """Scores of regions that do not see the parts."""


def begin_split(agglomerator: Agglomerator, split: SupervoxelSplit) -> SplitStart:
    """Describe an agglomeration as if the supervoxel had been two that were merged from the beginning.

    Parameters
    ----------
    agglomerator : Agglomerator
        Stays as it is.
    split : SupervoxelSplit
        Of one of its supervoxels.
    """
    before = DividedVolume(agglomerator.supervoxels, agglomerator.actions, agglomerator.glued)
    volume = before.divided(split)
    events = (
        Event("decide", volume.step_after(split, entry.step), math.nan, entry.lesson)
        for entry in agglomerator.journal.done
    )
    past = recorded_history(
        volume.supervoxels, volume.actions, events, agglomerator.units_at_start(), glued=volume.glued
    )
    return SplitStart(volume, past, ScoresBeforeSplit.of(agglomerator, split.supervoxel_id))


def carry_out_split(
    agglomerator: Agglomerator, splits: Sequence[SupervoxelSplit], plan: CutPlan
) -> tuple[Step, ...]:
    """Part the parts of split supervoxels, and what hangs on them, to be taken back at once.

    Parameters
    ----------
    agglomerator : Agglomerator
        Of the parts, which are still merged.
    splits : sequence of SupervoxelSplit
        The newest ones; none for a cut between supervoxels.
    plan : CutPlan
        From `plan_seeded_cut`, with the parts on different sides.
    """
    own = [(split.supervoxel_id, split.new_id) for split in splits]
    with agglomerator.together():
        first = [agglomerator.split(*pair) for pair in own]
        cuts = [agglomerator.cut(*pair) for pair in plan.cuts if pair not in own]
        merges = [agglomerator.merge(*pair) for pair in plan.merges]
        apart = [agglomerator.keep_apart(*pair) for pair in plan.apart]
    return (*first, *cuts, *merges, *apart)
