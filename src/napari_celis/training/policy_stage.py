"""The learned policy of a training run, and the thresholds of both policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.policy import ContactClassifier, EnergyPolicy, LearnedPolicy, Policy
from napari_celis.models.energy import EnergyNetwork
from napari_celis.models.evaluator import NetworkEnergy
from napari_celis.models.examples import PolicyRows
from napari_celis.models.features import LAYOUT_GRID
from napari_celis.models.policy import PolicyClassifier
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.folds import Slab
from napari_celis.training.policy import (
    PolicyExamples,
    TruthAlong,
    fit_classifier,
    state_examples,
    visit,
)
from napari_celis.training.records import Records, TrainRecord
from napari_celis.training.threshold import Curve, best_threshold, run_curve
from napari_celis.training.unsure import sure_merges

HIGHEST_ENERGY, HIGHEST_ODDS = 64.0, 4.0
"""Runs that look for the threshold go on up to these scores: one centre of the densest lattice; 2 % right."""
CURVE_POINTS = 200
CLASSIFIERS = ("both", "first", "second")
"""Names of the policies that are kept: of both folds, and of each."""
EXAMPLES = "examples"
"""Name of the examples that are kept with them."""


@dataclass(frozen=True, eq=False)
class FittedPolicies:
    """What `fit_policy` learned."""

    both: PolicyClassifier
    """Of both folds."""
    own: list[PolicyClassifier]
    """Of each fold alone."""
    examples: PolicyRows
    """What was learned from, in a compact form."""


class Undecided:
    """Scores everything alike, to look at the first state before anything was learned."""

    def contact_odds(self, contacts: np.ndarray) -> np.ndarray:
        """Return zeros."""
        return np.zeros(len(contacts))

    def scores(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return zeros.

        Parameters
        ----------
        features, odds : ndarray
            As in `ContactClassifier`.
        """
        return np.zeros(len(features))

    def lowest_scores(self, low: np.ndarray, high: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return zeros.

        Parameters
        ----------
        low, high, odds : ndarray
            As in `ContactClassifier`.
        """
        return np.zeros(len(low))

    def parts(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Nothing adds to a score.

        Parameters
        ----------
        features, odds : ndarray
            As in `ContactClassifier`.
        """
        return np.empty((len(features), 0))


@dataclass(frozen=True, eq=False)
class Judged:
    """A slab with energies that never saw it."""

    slab: Slab
    specs: tuple[DescriptorSpec, ...]
    networks: Sequence[EnergyNetwork]
    device: torch.device

    @cached_property
    def energy(self) -> NetworkEnergy:
        """The networks with the features of the slab; made when they are needed."""
        features = [self.slab.upright.features(spec, LAYOUT_GRID) for spec in self.specs]
        return NetworkEnergy(self.networks, features, self.device)

    def agglomerator(self, classifier: ContactClassifier | None) -> Agglomerator:
        """Start over, ordered by energy or by a classifier."""
        policy: Policy = EnergyPolicy()
        if classifier is not None:
            policy = LearnedPolicy(classifier, self.slab.contacts)
        return Agglomerator(self.slab.upright.supervoxels, self.specs, self.energy, policy=policy)

    def first_sums(self) -> tuple[np.ndarray, np.ndarray]:
        """`sums_by_spec` of all actions, and what they do to the error, before anything is merged."""
        scene = self.slab.upright
        with self.agglomerator(None) as agglomerator:
            sums = agglomerator.scoring.sums_by_spec()
        return sums, scene.overlaps.changes(scene.actions.u, scene.actions.v)

    def own_order(self) -> list[int]:
        """Follow the energy to its end and return the actions that it takes."""
        with self.agglomerator(None) as agglomerator:
            return [step.action_index for step in agglomerator.steps()]

    def first_examples(self) -> PolicyExamples:
        """Describe all actions before anything is merged."""
        with self.agglomerator(Undecided()) as agglomerator:
            return state_examples(agglomerator, self._along(agglomerator))

    def unsure_examples(self) -> PolicyExamples:
        """Describe all actions that are left after the merges that affinities are sure of."""
        with self.agglomerator(Undecided()) as agglomerator:
            along, ids = self._along(agglomerator), agglomerator.supervoxels.ids
            for action in sure_merges(self.slab):
                u, v = (ends[action] for ends in (agglomerator.actions.u, agglomerator.actions.v))
                agglomerator.merge(int(ids[u]), int(ids[v]))
                along.join(action)
            return state_examples(agglomerator, along)

    def visited(self, classifier: ContactClassifier, *, own_mistakes: bool, most: int) -> PolicyExamples:
        """Follow a policy and collect what it decides on.

        Parameters
        ----------
        classifier : ContactClassifier
            The policy to follow.
        own_mistakes : bool
            Whether wrong merges that it believes in are made too; otherwise the truth forbids them.
        most : int
            Single decisions after which the run ends.
        """
        with self.agglomerator(classifier) as agglomerator:
            return visit(agglomerator, self._along(agglomerator), own_mistakes=own_mistakes, most=most)

    def curve(self, classifier: ContactClassifier | None) -> Curve:
        """Run far beyond any sensible threshold and note the error after each step."""
        with self.agglomerator(classifier) as agglomerator:
            highest = HIGHEST_ENERGY if classifier is None else HIGHEST_ODDS
            return run_curve(agglomerator, self.slab.upright.overlaps, highest)

    def _along(self, agglomerator: Agglomerator) -> TruthAlong:
        return TruthAlong(agglomerator, self.slab.upright.overlaps)


def fit_policy(
    judged: tuple[Sequence[Judged], Sequence[Judged]],
    power: float,
    most: int,
    checkpoint: Checkpoint,
    *,
    along_runs: bool,
    unsure: bool = False,
    seed: int,
) -> Records[FittedPolicies]:
    """Learn from the first state of all slabs, and if wanted along two agglomerations of each.

    Each slab is agglomerated by the policy of the other fold, as a new volume would be: first the truth
    forbids wrong merges, then they are made. No run goes beyond `most` decisions.

    Parameters
    ----------
    judged : two sequences of Judged
        The slabs of the first fold, and of the second.
    power : float
        Examples weigh |change of error| to this power.
    most : int
        Decisions along one run.
    checkpoint : Checkpoint
        Keeps what is finished.
    along_runs : bool
        Whether to learn along runs.
    unsure : bool
        Whether to learn from the state too where affinities are unsure, with a second forest.
    seed : int
        Of the forests.

    Returns
    -------
    fitted : FittedPolicies
    """
    yield TrainRecord("policy", 0.0)
    kept = checkpoint.load("policy")
    if kept is not None:
        return _fitted_before(kept[0], judged, power, seed)
    examples = [[one.first_examples() for one in fold] for fold in judged]
    for number, fold in enumerate(judged if unsure else ()):
        examples[number] += [one.unsure_examples() for one in fold]

    def fit(parts: Sequence[PolicyExamples]) -> PolicyClassifier:
        return fit_classifier(PolicyExamples.join(parts), power, seed, second=unsure)

    for index, own_mistakes in enumerate((False, True) if along_runs else ()):
        own = [fit(parts) for parts in examples]
        for number, fold in enumerate(judged):
            yield TrainRecord("policy", 0.4 * index + 0.1 + 0.15 * number)
            for one in fold:
                examples[number].append(one.visited(own[1 - number], own_mistakes=own_mistakes, most=most))
    found = [fit(examples[0] + examples[1]), *(fit(parts) for parts in examples)]
    tensors = {
        f"{name}.{key}": tensor
        for name, classifier in zip(CLASSIFIERS, found, strict=True)
        for key, tensor in classifier.to_tensors().items()
    }
    rows = compact_examples([PolicyExamples.join(parts) for parts in examples], found[1:], power, seed)
    tensors |= {f"{EXAMPLES}.{key}": tensor for key, tensor in rows.to_tensors().items()}
    checkpoint.keep("policy", tensors, {})
    return FittedPolicies(found[0], found[1:], rows)


def _fitted_before(
    tensors: Mapping[str, torch.Tensor],
    judged: tuple[Sequence[Judged], Sequence[Judged]],
    power: float,
    seed: int,
) -> FittedPolicies:
    """Take up what an interrupted training has kept; earlier versions kept no examples."""
    both, *own = (PolicyClassifier.from_tensors(_below(f"{name}.", tensors)) for name in CLASSIFIERS)
    stored = _below(f"{EXAMPLES}.", tensors)
    if stored:
        return FittedPolicies(both, own, PolicyRows.from_tensors(stored))
    first = [PolicyExamples.join([one.first_examples() for one in fold]) for fold in judged]
    return FittedPolicies(both, own, compact_examples(first, own, power, seed))


def compact_examples(
    folds: Sequence[PolicyExamples], own: Sequence[PolicyClassifier], power: float, seed: int
) -> PolicyRows:
    """Make what a model keeps: every example with what the forest of the other fold says about it.

    The forest of both folds knows its examples by heart; by what it says about them, it would seem never to
    err.

    Parameters
    ----------
    folds : two PolicyExamples
        Of each fold.
    own : two PolicyClassifier
        Of each fold alone.
    power : float
        Examples weigh |change of error| to this power.
    seed : int
        Of the draw.
    """
    odds = [
        other.forest_odds(one.features, other.contact_odds(one.contacts))
        for one, other in zip(folds, reversed(own), strict=True)
    ]
    change = np.concatenate([one.change for one in folds])
    rows = PolicyRows.of(
        np.concatenate([one.features for one in folds]),
        np.concatenate(odds),
        change > 0,
        np.abs(change) ** power,
    )
    return rows.thinned(seed=seed)


def _below(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Take the tensors whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def run_curves(
    judged: Sequence[tuple[Judged, ContactClassifier | None]], stage: str, checkpoint: Checkpoint
) -> Records[list[Curve]]:
    """Agglomerate pieces by what never saw them.

    Parameters
    ----------
    judged : sequence of (Judged, ContactClassifier)
        Pieces of the volumes, and what to order each by; None goes by energy.
    stage : str
        What to call it.
    checkpoint : Checkpoint
        Keeps every curve.

    Returns
    -------
    curves : list of Curve
        Error over threshold of each piece.
    """
    curves = []
    for index, (one, classifier) in enumerate(judged):
        yield TrainRecord(stage, index / len(judged))
        part = f"{stage} {index + 1}"
        kept = checkpoint.load(part)
        if kept is None:
            curve = one.curve(classifier)
            tensors = {"score": torch.from_numpy(curve.score), "vi": torch.from_numpy(curve.vi)}
            checkpoint.keep(part, tensors, {})
        else:
            curve = Curve(kept[0]["score"].numpy(), kept[0]["vi"].numpy())
        curves.append(curve)
    return curves


def choose_threshold(curves: Sequence[Curve]) -> tuple[float, dict[str, Any]]:
    """Choose the best stopping point of several runs.

    Returns
    -------
    threshold : float
        Where all runs together have the lowest error.
    curve : dict
        The change of the variation of information there, and over all thresholds.
    """
    threshold, scores, vi = best_threshold(curves)
    thinned = np.unique(np.linspace(0, len(scores) - 1, CURVE_POINTS).round().astype(int))
    return threshold, {
        "vi_change": float(vi.min()),
        "threshold_curve": {"threshold": scores[thinned].tolist(), "vi_change": vi[thinned].tolist()},
    }
