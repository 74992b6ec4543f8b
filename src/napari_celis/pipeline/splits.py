"""Supervoxels that became two: build an agglomerator of the parts, in a session or anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event
from napari_celis.core.kernels import changes
from napari_celis.core.recorded import RecordedHistory
from napari_celis.core.splits import DividedVolume, SupervoxelSplit, divided_history
from napari_celis.core.splitting import begin_split
from napari_celis.io.session.records import SessionSplit
from napari_celis.io.session.split_rows import require_same_supervoxel
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
        if choice.decided.digest:
            raise ActionError(
                "A supervoxel of a block-wise result cannot be split, because all blocks share it. Split it "
                "in a run of its own, or cut between supervoxels."
            )
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
