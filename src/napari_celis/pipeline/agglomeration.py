"""The agglomerator of a volume as a model wants it: its specs, energies and policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.kept_scores import EarlierScores
from napari_celis.core.policy import EnergyPolicy, LearnedPolicy, Policy
from napari_celis.core.recorded import RecordedHistory
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.models.apply import energy_of
from napari_celis.models.model_file import CelisModel, PolicyName
from napari_celis.models.refit import start_classifier


def agglomerator_of(
    model: CelisModel,
    supervoxels: Supervoxels,
    affinities: np.ndarray,
    *,
    actions: ActionTable | None = None,
    policy: PolicyName | None = None,
    merges: Iterable[tuple[int, int]] = (),
    past: RecordedHistory | None = None,
    kept: EarlierScores | None = None,
    is_lazy: bool = False,
    device: torch.device | None = None,
    progress: Callable[[float], None] | None = None,
) -> Agglomerator:
    """Make the agglomerator of a volume.

    Parameters
    ----------
    model : CelisModel
        What to apply.
    supervoxels : Supervoxels
        The atoms.
    affinities : ndarray of float or uint8, shape (3, Z, Y, X)
        From `napari_celis.models.apply.affinities_of`, or of another network.
    actions : ActionTable, optional
        Those between the supervoxels, if they are known already.
    policy : {'energy', 'learned'}, optional
        How to order actions; the model's own policy by default.
    merges : iterable of pairs of int
        Ids of adjacent supervoxels to begin with as merged.
    past, kept : RecordedHistory, EarlierScores, optional
        Decisions to go on from, and scores of another moment; see `Agglomerator`.
    is_lazy : bool
        Evaluate energies only where a decision can depend on them.
    device : torch.device, optional
        Where to evaluate; the best one by default.
    progress : callable, optional
        Called with the finished share, 0 to 1, while the first scores are computed.
    """
    if actions is None:
        actions = ActionTable.from_supervoxels(supervoxels)
    return Agglomerator(
        supervoxels,
        model.specs,
        energy_of(model, affinities, device=device),
        actions=actions,
        policy=policy_of(model, policy or model.policy, supervoxels, actions, affinities),
        merges=merges,
        past=past,
        kept=kept,
        is_lazy=is_lazy,
        progress=progress,
    )


def policy_of(
    model: CelisModel,
    name: PolicyName,
    supervoxels: Supervoxels,
    actions: ActionTable,
    affinities: np.ndarray,
) -> Policy:
    """Make the policy of a volume.

    Parameters
    ----------
    model : CelisModel
        The model.
    name : PolicyName
        Name of the policy.
    supervoxels : Supervoxels
        The supervoxels.
    actions : ActionTable
        The table of actions.
    affinities : ndarray
        Shape (3, Z, Y, X).
    """
    if name == "energy":
        return EnergyPolicy()
    classifier = model.classifier or start_classifier(len(model.specs))
    return LearnedPolicy(classifier, measure_contacts(supervoxels, actions, affinities))
