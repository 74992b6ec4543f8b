"""Fit the learned policy to the states that the agglomerator visits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contact_features import DECISIVE
from napari_celis.core.decisions import actions_between
from napari_celis.core.errors import TrainingError
from napari_celis.evaluation.overlaps import Overlaps, RunningOverlaps
from napari_celis.models.logistic import fit_logistic
from napari_celis.models.policy import FOREST_ALONE, PolicyClassifier
from napari_celis.models.trees import FlatForest, grow_forest

N_TREES, MIN_LEAF = 100, 10
"""Size of the forest. Leaves of few examples learn a small volume by heart."""
PARTS = 2
"""Parts of the examples, each judged by a forest of the others before a second forest learns."""
RIDGE = 0.01
"""Penalty on squared coefficients: with a tenth of it the result hangs on single examples."""
HIGHEST_SCORE = 3.0
"""Log-odds up to which single decisions are asked for; beyond, whole states are enough."""


@dataclass(frozen=True, eq=False)
class PolicyExamples:
    """Actions in states that were visited."""

    features: np.ndarray
    """What the policy sees of each action, float32 (n, F)."""
    contacts: np.ndarray
    """What it sees of the contact of its two segments, float32 (n, C)."""
    change: np.ndarray
    """Change of the variation of information in bits, float64 (n,)."""

    def known(self) -> PolicyExamples:
        """Leave out the actions that change nothing, because the truth knows nothing there."""
        is_known = self.change != 0
        return PolicyExamples(self.features[is_known], self.contacts[is_known], self.change[is_known])

    @classmethod
    def join(cls, parts: Sequence[PolicyExamples]) -> PolicyExamples:
        """Put examples together."""
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.contacts for part in parts]),
            np.concatenate([part.change for part in parts]),
        )


class TruthAlong:
    """Segments and what they share with the truth, while merges are made.

    Parameters
    ----------
    agglomerator : Agglomerator
        Whose merges are followed.
    overlaps : Overlaps
        What its supervoxels share with the truth.
    """

    def __init__(self, agglomerator: Agglomerator, overlaps: Overlaps) -> None:
        self._actions = agglomerator.actions
        self._overlaps = RunningOverlaps(overlaps)
        self._parent = list(range(agglomerator.supervoxels.n + 1))

    def change(self, action: int) -> float:
        """Change of the variation of information that an action would bring, in bits; 0 if unknown."""
        u, v = self._ends(action)
        return self._overlaps.change(u, v) if u != v else 0.0

    def join(self, action: int) -> None:
        """Follow a merge."""
        u, v = self._ends(action)
        if u != v:
            if len(self._overlaps.rows[u]) < len(self._overlaps.rows[v]):
                u, v = v, u
            self._overlaps.join(u, v)
            self._parent[v] = u

    def _ends(self, action: int) -> tuple[int, int]:
        return self._root(int(self._actions.u[action])), self._root(int(self._actions.v[action]))

    def _root(self, i: int) -> int:
        while self._parent[i] != i:
            self._parent[i] = self._parent[self._parent[i]]
            i = self._parent[i]
        return i


def state_examples(agglomerator: Agglomerator, along: TruthAlong) -> PolicyExamples:
    """Describe every action that greedy may take now.

    Parameters
    ----------
    agglomerator : Agglomerator
        In the state to describe.
    along : TruthAlong
        The same state, compared with the truth.
    """
    return _describe(agglomerator, along, np.flatnonzero(agglomerator.available())).known()


def _describe(agglomerator: Agglomerator, along: TruthAlong, rows: np.ndarray) -> PolicyExamples:
    """Say what the policy sees of some actions, and what they would do to the error."""
    return PolicyExamples(
        agglomerator.scoring.features(rows),
        agglomerator.scoring.contact_features(rows),
        np.array([along.change(int(row)) for row in rows]),
    )


def visit(
    agglomerator: Agglomerator,
    along: TruthAlong,
    *,
    own_mistakes: bool,
    most: int = 20_000,
    snapshot_every: int = 100,
) -> PolicyExamples:
    """Agglomerate by the current policy and collect what it has to decide on its way.

    Parameters
    ----------
    agglomerator : Agglomerator
        With a policy; it is left in the state where the run ended.
    along : TruthAlong
        The truth, in the same state.
    own_mistakes : bool
        Whether wrong merges that the policy believes in (score below 0) are made too, so that it learns what
        to do after them; otherwise the truth forbids them.
    most : int
        Single decisions after which the run ends.
    snapshot_every : int
        Merges between states of which every action is an example.
    """
    ids, actions = agglomerator.supervoxels.ids, agglomerator.actions
    refused = np.full(len(actions), np.nan)
    examples = [state_examples(agglomerator, along)]
    n_merges = 0
    for _ in range(most):
        scores = agglomerator.scores()
        queue = np.where(agglomerator.available() & (scores != refused), scores, np.inf)
        action = int(queue.argmin()) if len(queue) else -1
        if action < 0 or queue[action] > HIGHEST_SCORE:
            break
        example = _describe(agglomerator, along, np.array([action]))
        examples.append(example)
        change = example.change[0]
        if change < 0 or (own_mistakes and scores[action] < 0):
            agglomerator.merge(int(ids[actions.u[action]]), int(ids[actions.v[action]]))
            along.join(action)
            n_merges += 1
            if n_merges % snapshot_every == 0:
                examples.append(state_examples(agglomerator, along))
        else:
            # All actions between two segments are one decision.
            ends = actions.u[action], actions.v[action]
            refused[actions_between(actions, agglomerator.segment_ids(), *ends)] = scores[action]
    return PolicyExamples.join(examples).known()


def fit_classifier(
    examples: PolicyExamples, power: float, seed: int, *, second: bool = False
) -> PolicyClassifier:
    """Fit log-odds of "wrong" to examples: a sum of few features, and a forest of the whole contact.

    Coefficients of the sum keep the sign that makes sense: a better contact never speaks against a merge, and
    neither does a falling energy. Together with the penalty this leaves little room to learn a small volume
    by heart.

    Parameters
    ----------
    examples : PolicyExamples
        From `state_examples` and `visit`.
    power : float
        Examples weigh |change of error| to this power.
    seed : int
        Of the forest.
    second : bool
        Whether a second forest sees what the sum sees and what the first one says, and decides alone.
    """
    is_wrong = examples.change > 0
    if is_wrong.all() or not is_wrong.any():
        raise TrainingError(
            f"All {len(is_wrong):,} merges that came up are {'wrong' if is_wrong.any() else 'right'}, so a "
            "policy cannot learn to tell them apart. Give a larger volume with more than one object."
        )
    features = examples.features.astype(np.float64)
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    n_specs = features.shape[1] - len(DECISIVE)
    signs = [*(feature.sign for feature in DECISIVE), *([1] * n_specs)]
    counted = np.abs(examples.change) ** power
    weights, constant = fit_logistic((features - mean) / scale, is_wrong, counted, signs, RIDGE)
    forest = _forest(examples.contacts, is_wrong, counted, seed)
    classifier = PolicyClassifier(mean, scale, weights, np.array([constant]), forest)
    if not second:
        return classifier
    odds = _unseen_odds(classifier, examples, counted, seed)
    over = _forest(np.column_stack([examples.features, odds]).astype(np.float32), is_wrong, counted, seed)
    return replace(classifier, second=over, shares=np.array(FOREST_ALONE))


def _forest(rows: np.ndarray, is_wrong: np.ndarray, counted: np.ndarray, seed: int) -> FlatForest:
    """Grow a forest of the size that policies have."""
    return grow_forest(rows, is_wrong, n_trees=N_TREES, min_leaf=MIN_LEAF, seed=seed, weights=counted)


def _unseen_odds(
    classifier: PolicyClassifier, examples: PolicyExamples, counted: np.ndarray, seed: int
) -> np.ndarray:
    """Ask about each part of the examples a forest of the others; a forest knows its own by heart."""
    odds, is_wrong = np.zeros(len(counted)), examples.change > 0
    # Examples of one slab follow one another, so that most parts are foreign to the others.
    for part in np.array_split(np.arange(len(odds)), PARTS):
        others = np.setdiff1d(np.arange(len(odds)), part)
        if is_wrong[others].all() or not is_wrong[others].any():
            continue
        stranger = _forest(examples.contacts[others], is_wrong[others], counted[others], seed)
        odds[part] = replace(classifier, forest=stranger).contact_odds(examples.contacts[part])
    return odds
