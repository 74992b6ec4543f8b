"""Carry out the split of a supervoxel: what an agglomerator of its parts begins with, and the decision."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import CutPlan
from napari_celis.core.journal import Event, Step
from napari_celis.core.recorded import RecordedHistory, recorded_history
from napari_celis.core.scores import EarlierScores
from napari_celis.core.seeded_cut import plan_seeded_cut
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


def plan_split(
    agglomerator: Agglomerator,
    split: SupervoxelSplit,
    strength: np.ndarray | None = None,
    *,
    is_kept_apart: bool = True,
) -> CutPlan:
    """Plan how the segment of a supervoxel falls apart between its two parts.

    Parameters
    ----------
    agglomerator : Agglomerator
        Of the parts, which are still merged.
    split : SupervoxelSplit
        The newest one.
    strength : ndarray of int64, optional
        From `contact_strength`.
    is_kept_apart : bool
        Whether the two sides are kept apart from then on.
    """
    index_of = agglomerator.supervoxels.index_of
    ends = [index_of(split.supervoxel_id)], [index_of(split.new_id)]
    return plan_seeded_cut(agglomerator, *ends, strength, is_kept_apart=is_kept_apart)


def carry_out_split(agglomerator: Agglomerator, split: SupervoxelSplit, plan: CutPlan) -> tuple[Step, ...]:
    """Part the two parts and what hangs on them, to be taken back at once.

    Parameters
    ----------
    agglomerator : Agglomerator
        Of the parts, which are still merged.
    split : SupervoxelSplit
        The newest one.
    plan : CutPlan
        From `plan_split`.
    """
    own = split.supervoxel_id, split.new_id
    with agglomerator.together():
        first = agglomerator.split(*own)
        cuts = [agglomerator.cut(*pair) for pair in plan.cuts if pair != own]
        merges = [agglomerator.merge(*pair) for pair in plan.merges]
        apart = [agglomerator.keep_apart(*pair) for pair in plan.apart]
    return (first, *cuts, *merges, *apart)
