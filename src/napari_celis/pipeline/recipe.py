"""The recipe: check, read, affinities, supervoxels, contacts, energies, first scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.kept_scores import KeptScores
from napari_celis.core.kernels import adjacency, changes, seeded
from napari_celis.core.recorded import RecordedHistory
from napari_celis.core.splits import DividedVolume
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Volume, role_warnings
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.overlaps import Overlaps, overlaps_of
from napari_celis.io.volumes import read_image, read_labels
from napari_celis.pipeline.checks import (
    called,
    check,
    checked_affinities,
    require_actions,
    require_room_for_scores,
)
from napari_celis.pipeline.choice import Atoms, Choice
from napari_celis.pipeline.stages import Report, Say, silent, stage

if TYPE_CHECKING:
    from napari_celis.models.model_file import PolicyName
    from napari_celis.models.refit import Refit


@dataclass(frozen=True, eq=False)
class Inputs:
    """What scores are computed from, read or made."""

    affinities: np.ndarray
    """float32 or uint8 (3, Z, Y, X)"""
    atoms: Atoms
    made_labels: np.ndarray | None
    """Supervoxels, if they had to be made: uint64 (Z, Y, X)."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything a run needs."""

    inputs: Inputs
    """As they were read or made; some supervoxels of the agglomerator may be parts of these."""
    agglomerator: Agglomerator
    """Ready to step; close it at the end."""
    overlaps: Overlaps | None
    """Voxels that supervoxels share with true objects, if there is a truth."""
    policy: PolicyName
    threshold: float
    """Where to stop."""
    learner: Refit | None
    """Learns from answers, where a classifier orders merges; nobody is taught before `Agglomerator.learn`."""


@dataclass(frozen=True, eq=False)
class Past:
    """What was decided at an earlier time."""

    volume: DividedVolume
    """The supervoxels that it is about: some of those that were read may have become two."""
    history: RecordedHistory
    kept: KeptScores | None = None
    """Scores of another moment."""


def prepare(
    choice: Choice,
    report: Report = silent,
    *,
    say: Say | None = None,
    past: Callable[[Inputs], Past | None] | None = None,
) -> Prepared:
    """Do everything from chosen volumes to a ready agglomerator.

    Parameters
    ----------
    choice : Choice
        Checked first, see `napari_celis.pipeline.checks.check`.
    report : callable
        Called as `report(stage, share)`; an exception it raises ends the work.
    say : callable, optional
        Called with a sentence if grey values had to be changed, or if volumes look exchanged.
    past : callable, optional
        Tells what was decided at an earlier time, or refuses what it was not decided about.

    Returns
    -------
    prepared : Prepared
    """
    from napari_celis.pipeline.agglomeration import agglomerator_of

    inputs = prepare_inputs(choice, report, say=say)
    atoms = inputs.atoms
    require_actions(atoms)
    require_room_for_scores(choice, atoms)
    begun = None if past is None else past(inputs)
    volume = DividedVolume(atoms.supervoxels, atoms.actions) if begun is None else begun.volume
    scoring = stage("first scores", changes)
    report(scoring, 0.0)
    overlaps = None if choice.truth is None else overlaps_of_truth(volume.supervoxels, choice.truth)
    agglomerator = agglomerator_of(
        choice.known_model,
        volume.supervoxels,
        inputs.affinities,
        actions=volume.actions,
        policy=choice.known_policy,
        merges=choice.decided.merges,
        past=None if begun is None else begun.history,
        kept=None if begun is None else begun.kept,
        is_lazy=choice.is_lazy,
        progress=lambda share: report(scoring, share),
    )
    for u_id, v_id in choice.decided.apart:
        agglomerator.keep_apart(u_id, v_id)
    learner = choice.known_model.learner() if choice.known_policy == "learned" else None
    return Prepared(inputs, agglomerator, overlaps, choice.known_policy, choice.stop_at, learner)


def prepare_inputs(choice: Choice, report: Report = silent, *, say: Say | None = None) -> Inputs:
    """Do the first part of `prepare`: affinities, and supervoxels with the contacts between them.

    Parameters
    ----------
    choice : Choice
        What was chosen.
    report : Report
        Called as `report(stage, share)`.
    say : Say, optional
        Called with a sentence that stops nothing.
    """
    check(choice)
    affinities = _affinities(choice, report, say)
    if choice.supervoxels is not None:
        atoms = choice.atoms or read_atoms(choice.supervoxels, report)
        _remark(role_warnings(supervoxels=atoms.supervoxels.dense), say)
        return Inputs(affinities, atoms, None)
    report(stage("watershed", seeded), 0.0)
    made = _make_supervoxels(choice, affinities)
    return Inputs(affinities, _index(made, report), made)


def read_atoms(supervoxels: Volume, report: Report = silent) -> Atoms:
    """Read supervoxels, index them, and find out which of them touch.

    Parameters
    ----------
    supervoxels : Volume
        Labels, not read yet.
    report : Report
        Called as `report(stage, share)`.
    """
    report("reading supervoxels", 0.0)
    return _index(read_labels(_named("supervoxels", supervoxels)), report)


def _index(labels: np.ndarray, report: Report) -> Atoms:
    report("counting supervoxels", 0.5)
    supervoxels = Supervoxels.from_labels(labels)
    report(stage("counting contacts", adjacency), 0.8)
    return Atoms(supervoxels, ActionTable.from_supervoxels(supervoxels))


def _affinities(choice: Choice, report: Report, say: Say | None) -> np.ndarray:
    """Take affinities that are known, read those of another network, or compute them with the model's."""
    if choice.known_affinities is not None:
        return choice.known_affinities
    if choice.affinities is not None:
        report("reading affinities", 0.0)
        named = replace(choice.affinities, name=called("affinities", choice.affinities.name))
        return checked_affinities(named.read().data, choice.shape, named.name)
    from napari_celis.models import apply

    assert choice.image is not None
    report("reading image", 0.0)
    image = read_image(_named("image", choice.image))
    _remark(role_warnings(image), say)
    report("affinities", 0.0)
    return apply.affinities_of(
        choice.known_model, image, progress=lambda done, total: report("affinities", done / total), say=say
    )


def _make_supervoxels(choice: Choice, affinities: np.ndarray) -> np.ndarray:
    """Cut the volume into supervoxels."""
    from napari_celis.models import apply

    return apply.supervoxels_of(choice.known_model, affinities, choice.voxel_size_nm)


def _remark(warnings: list[str], say: Say | None) -> None:
    """Say what is strange about a volume."""
    if say is not None:
        for warning in warnings:
            say(f"Remark: {warning}")


def overlaps_of_truth(supervoxels: Supervoxels, truth: Volume) -> Overlaps:
    """Count the voxels that supervoxels share with true objects.

    Parameters
    ----------
    supervoxels : Supervoxels
        Those that are agglomerated.
    truth : Volume
        True labels, not read yet.
    """
    table = contingency_table(supervoxels.dense, read_labels(_named("truth", truth)))
    return overlaps_of(table, supervoxels.n)


def _named(role: str, volume: Volume) -> Volume:
    """Let messages about a volume tell its role."""
    return replace(volume, name=called(role, volume.name))
