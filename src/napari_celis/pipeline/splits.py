"""Supervoxels that became two: build an agglomerator of the parts, in a session or anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event
from napari_celis.core.kernels import changes
from napari_celis.core.recorded import RecordedHistory
from napari_celis.core.seeded_split import (
    SeededSplit,
    Seeds,
    carry_out_seeded_split,
    plan_seeded_split,
    require_same_segment,
)
from napari_celis.core.splits import DividedVolume, SupervoxelSplit, divided_history
from napari_celis.core.splitting import begin_split
from napari_celis.io.session.records import SessionSplit
from napari_celis.io.session.split_rows import require_same_supervoxel, split_to_rows, supervoxel_checksum
from napari_celis.pipeline.choice import Atoms, Choice
from napari_celis.pipeline.recipe import Prepared, overlaps_of_truth
from napari_celis.pipeline.stages import Report, silent, stage


@dataclass(frozen=True, eq=False)
class Divider:
    """Builds the agglomerator of a volume in which one more supervoxel is split."""

    choice: Choice
    prepared: Prepared
    """What was made of the choice at first."""

    @property
    def agglomerator(self) -> Agglomerator:
        """That of the beginning."""
        return self.prepared.agglomerator

    @property
    def affinities(self) -> np.ndarray:
        """What the volume is split by."""
        return self.prepared.inputs.affinities

    def divide(self, agglomerator: Agglomerator, split: SupervoxelSplit, report: Report = silent) -> Prepared:
        """Build it: all decisions at their places, the two parts still merged.

        Parameters
        ----------
        agglomerator : Agglomerator
            Before the split; stays as it is.
        split : SupervoxelSplit
            Of one of its supervoxels.
        report : callable
            Called as `report(stage, share)`; an exception it raises ends the work.

        Raises
        ------
        ActionError
            For a split that cannot be, and in a box of a block-wise result.
        """
        from napari_celis.pipeline.agglomeration import agglomerator_of

        choice, prepared = self.choice, self.prepared
        self._require_own_volume()
        report("splitting the supervoxel", 0.0)
        start = begin_split(agglomerator, split)
        scoring = stage("first scores", changes)
        report(scoring, 0.0)
        volume = start.volume
        parts = agglomerator_of(
            choice.known_model,
            volume.supervoxels,
            prepared.inputs.affinities,
            actions=volume.actions,
            policy=choice.known_policy,
            past=start.past,
            kept=start.earlier,
            is_lazy=choice.is_lazy,
            progress=lambda share: report(scoring, share),
        )
        if agglomerator.learning.is_on:
            parts.learn(prepared.learner)
        truth = choice.truth
        overlaps = None if truth is None else overlaps_of_truth(volume.supervoxels, truth)
        return replace(prepared, agglomerator=parts, overlaps=overlaps)

    def plan(self, agglomerator: Agglomerator, seeds: Seeds) -> SeededSplit:
        """Plan to part a segment between seeds, see `plan_seeded_split`.

        Parameters
        ----------
        agglomerator : Agglomerator
            The newest one.
        seeds : Seeds
            All in one segment.
        """
        plan = plan_seeded_split(agglomerator, seeds, self.affinities, self.choice.voxel_size_nm)
        if plan.splits:
            self._require_own_volume()
        return plan

    def _require_own_volume(self) -> None:
        if self.choice.decided.digest:
            raise ActionError(
                "A supervoxel of a block-wise result cannot be split, because all blocks share it. Split it "
                "in a run of its own, or cut between supervoxels."
            )

    def carry_out(self, agglomerator: Agglomerator, plan: SeededSplit, report: Report = silent) -> SplitRun:
        """Carry out a plan that splits supervoxels: on an agglomerator of the parts, never halfway.

        Parameters
        ----------
        agglomerator : Agglomerator
            The one that the plan was made for; stays as it is.
        plan : SeededSplit
            From `plan`.
        report : callable
            As for `divide`.

        Raises
        ------
        ActionError, SessionError
            For a segment that has changed since, and for a split that cannot be, or not be kept.
        """
        require_same_segment(agglomerator, plan)
        divider, records = self, []
        parts, events = agglomerator, list[Event]()
        try:
            for split in plan.splits:
                record = SessionSplit(split, supervoxel_checksum(parts.supervoxels, split.supervoxel_id))
                split_to_rows(record)
                records.append(record)
                divided = divider.divide(parts, split, report)
                if parts is not agglomerator:
                    parts.close()
                divider, parts = replace(divider, prepared=divided), divided.agglomerator
            parts.journal.listener = events.append
            carry_out_seeded_split(parts, plan, self.affinities)
            parts.journal.listener = None
        except BaseException:
            if parts is not agglomerator:
                parts.close()
            raise
        return SplitRun(divider, tuple(records), tuple(events))


@dataclass(frozen=True, eq=False)
class SplitRun:
    """A split that was carried out."""

    divider: Divider
    """For the next one; has the agglomerator of the parts."""
    records: tuple[SessionSplit, ...]
    """To be kept with the events."""
    events: tuple[Event, ...]
    """What happened to the history of that agglomerator."""


def history_of(
    atoms: Atoms,
    events: Sequence[Event],
    splits: Sequence[SessionSplit],
    units_at_start: tuple[int, ...] | None = None,
) -> tuple[DividedVolume, RecordedHistory]:
    """Follow the events of a session, among which may be splits.

    Parameters
    ----------
    atoms : Atoms
        The volume before all of them.
    events : sequence of Event
        In order.
    splits : sequence of SessionSplit
        From `Session.splits`; each is held against the supervoxel that it is about.
    units_at_start : tuple of int, optional
        Energy per spec before the first of them.
    """
    volume = DividedVolume(atoms.supervoxels, atoms.actions)
    divided = volume
    for record in splits:
        require_same_supervoxel(divided.supervoxels, record)
        divided = divided.divided(record.split)
    known = {record.split.new_id: record.split for record in splits}
    return divided_history(volume, events, known, units_at_start)
