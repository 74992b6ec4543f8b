"""Agglomeration by a random forest that learns along its own agglomerations, after GALA.

Nunez-Iglesias et al., "Machine learning of hierarchical clustering to segment 2D and 3D images", 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.baselines.judge import Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.sweep import AffinityScorer, Hierarchy, agglomerate, tune
from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contact_features import contact_features
from napari_celis.core.contraction import Contraction
from napari_celis.core.errors import TrainingError
from napari_celis.evaluation.overlaps import RunningOverlaps, overlap
from napari_celis.models.trees import FlatForest, grow_forest


@dataclass(frozen=True)
class ForestSettings:
    """How the forest learns."""

    n_trees: int = 100
    n_epochs: int = 2
    """Agglomerations to learn along, after the first forest on untouched supervoxels."""
    min_leaf: int = 3
    """Examples that a leaf must hold."""
    n_slabs: int = 3
    """Parts of the training volume; the threshold is tuned on each with a forest of the others."""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class ForestScorer:
    """Scores a contact by the probability that merging across it is wrong."""

    forest: FlatForest
    needs_segments: bool = True

    def scores(self, sums: AffinitySums, contacts: np.ndarray) -> np.ndarray:
        """Return 1 minus the forest's probability of a right merge.

        Parameters
        ----------
        sums : AffinitySums
            Affinities of contacts and segments.
        contacts : ndarray of int, shape (n,)
            Which contacts to score.
        """
        return 1.0 - self.forest.probabilities(contact_features(sums, contacts))


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Forests of parts of a volume, with the part that each has not seen, and the forest of all of it."""

    held_out: tuple[tuple[Problem, ForestScorer], ...]
    final: ForestScorer


class ForestAgglomeration:
    """Merge across the contact whose merge is most probably right."""

    tuned_on = "train"

    def __init__(self, settings: ForestSettings | None = None) -> None:
        self._settings = settings or ForestSettings()
        self._fitted: tuple[Problem, CrossFit] | None = None

    def cross_fit(self, train: Problem) -> CrossFit:
        """Learn from a volume; a second call with the same one returns the same forests."""
        if self._fitted is None or self._fitted[0] is not train:
            self._fitted = train, cross_fit(train, self._settings)
        return self._fitted[1]

    @property
    def scorer(self) -> ForestScorer:
        """The forest of the whole training volume."""
        if self._fitted is None:
            raise TrainingError("This forest has not learned anything yet. Call `fit` first.")
        return self._fitted[1].final

    def fit(self, train: Problem) -> float | None:
        """Learn, and tune the threshold on parts that were not learned from."""
        held_out = self.cross_fit(train).held_out
        return tune([(agglomerate(slab, scorer), Judge(slab.known_truth())) for slab, scorer in held_out])

    def sweep(self, problem: Problem) -> Hierarchy:
        """Agglomerate until nothing touches."""
        return agglomerate(problem, self.scorer)


def cross_fit(train: Problem, settings: ForestSettings) -> CrossFit:
    """Learn once without each slab, and once from everything.

    Parameters
    ----------
    train : Problem
        The volume to learn from.
    settings : ForestSettings
        How.
    """
    slabs = train.slabs(settings.n_slabs)
    held_out = tuple(
        (slab, learn([other for other in slabs if other is not slab], settings)) for slab in slabs
    )
    return CrossFit(held_out, learn([train], settings))


def learn(problems: Sequence[Problem], settings: ForestSettings) -> ForestScorer:
    """Learn from untouched supervoxels, then along agglomerations by the forest of the epoch before.

    Parameters
    ----------
    problems : sequence of Problem
        Volumes with a truth.
    settings : ForestSettings
        Size of the forest, epochs and seed.
    """
    examples = [flat_examples(problem) for problem in problems]
    scorer = _grow(examples, settings)
    for _ in range(settings.n_epochs):
        examples += [examples_along(problem, scorer) for problem in problems]
        scorer = _grow(examples, settings)
    return scorer


Examples = tuple[np.ndarray, np.ndarray]
"""Features, float32 (n, F), and whether the merge is right, bool (n,)."""


def flat_examples(problem: Problem) -> Examples:
    """Describe and label every action of a volume where nothing is merged yet."""
    overlaps = overlap(problem.supervoxels, problem.known_truth())
    is_known = np.diff(overlaps.row_start) > 0
    u, v = problem.actions.u, problem.actions.v
    rows = np.flatnonzero(is_known[u] & is_known[v])
    return contact_features(problem.affinity_sums(), rows), overlaps.changes(u[rows], v[rows]) < 0


def examples_along(problem: Problem, scorer: ForestScorer) -> Examples:
    """Collect the decisions that come up when a forest chooses and the truth decides.

    As in GALA: the contact with the lowest score is an example; it is merged if that is right, which means
    that it lowers the VI, and left alone otherwise until one of its segments changes.

    Parameters
    ----------
    problem : Problem
        What is agglomerated.
    scorer : ForestScorer
        Scores contacts.
    """
    along = AffinityScorer(problem, scorer)
    overlaps = RunningOverlaps(overlap(problem.supervoxels, problem.known_truth()))
    contraction = Contraction(along)
    features, is_right = [], []
    while (best := contraction.pop()) is not None:
        contact = best[1]
        u, v = along.graph.arrays.ends[contact].tolist()
        if not overlaps.size[u] or not overlaps.size[v]:
            continue
        features.append(contact_features(along.sums, np.array([contact]))[0])
        is_right.append(overlaps.change(u, v) < 0)
        if is_right[-1]:
            joined = contraction.join(contact)
            overlaps.join(joined.kept, joined.absorbed)
    return np.array(features, dtype=np.float32), np.array(is_right, dtype=bool)


def _grow(examples: Sequence[Examples], settings: ForestSettings) -> ForestScorer:
    """Fit a random forest."""
    features = np.concatenate([part[0] for part in examples])
    is_right = np.concatenate([part[1] for part in examples])
    if is_right.all() or not is_right.any():
        kind = "right" if is_right.any() else "wrong"
        raise TrainingError(
            f"All {len(is_right):,} merges in the training volume are {kind}, so a forest cannot learn to "
            "tell them apart. Check that truth and supervoxels belong together, or give a larger volume."
        )
    return ForestScorer(
        grow_forest(
            features, is_right, n_trees=settings.n_trees, min_leaf=settings.min_leaf, seed=settings.seed
        )
    )
