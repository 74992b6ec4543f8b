"""Why actions score what they score: bounds, energy changes, and what a policy sees of them."""

from __future__ import annotations

from threading import RLock

import numpy as np

from napari_celis.core.action_lookup import require_action
from napari_celis.core.explain import CentreChanges, explain
from napari_celis.core.policy import LearnedScorer, spec_names
from napari_celis.core.state import AgglomerationState


class Scoring:
    """What the scores of an agglomeration consist of; every method may be called from any thread.

    Parameters
    ----------
    state : AgglomerationState
        As it is asked about; never changed, but for energies that nobody has evaluated before.
    lock : RLock
        Held while the state is read.
    """

    def __init__(self, state: AgglomerationState, lock: RLock) -> None:
        self._state, self._lock = state, lock

    @property
    def are_odds(self) -> bool:
        """Whether a score is the log-odds that a merge is wrong."""
        scorer = self._state.ranking.scorer
        return isinstance(scorer, LearnedScorer) and scorer.are_odds

    # Of all actions.

    def lowest_scores(self) -> np.ndarray:
        """What no score is below, float64 (A,), evaluating none; the score itself where it is known."""
        with self._lock:
            return self._state.lowest_scores()

    def energy_changes(self) -> np.ndarray:
        """Energy change of taking every action by itself, float64 (A,), whatever the policy."""
        with self._lock:
            return self._state.energy_changes(np.arange(len(self._state.actions)))

    def sums_by_spec(self) -> np.ndarray:
        """Energy change of every action by every spec, and centres that see it, float64 (specs, A, 2).

        Of policies that judge contacts, over the whole contact of its two segments.
        """
        with self._lock:
            return self._state.sums_by_spec(np.arange(len(self._state.actions)))

    # Of some actions: what a learned policy goes by.

    def features(self, actions: np.ndarray) -> np.ndarray:
        """What a learned policy sees of actions between different segments, float32 (n, F)."""
        with self._lock:
            items = self._state.ranking.ranked.items_of(actions)
            self._state.evaluate(items)
            return self._state.ranking.scorer.features(items)

    def contact_features(self, actions: np.ndarray) -> np.ndarray:
        """What it sees of the contacts of these actions' segments, float32 (n, C)."""
        with self._lock:
            scorer = self._state.ranking.scorer
            return scorer.contact_features(scorer.ranked.items_of(actions))

    # Of one action: why?

    def by_spec(self, action: int) -> dict[str, float]:
        """Split the energy change of one action, or of its contact if that is judged, by descriptor spec."""
        require_action(self._state.actions, action)
        with self._lock:
            changes = self._state.sums_by_spec(np.array([action]))[:, 0, 0].tolist()
            return dict(zip(spec_names(self._state.ranking.ranked), changes, strict=True))

    def by_centre(self, action: int) -> tuple[CentreChanges, ...]:
        """Split the energy change of one action by centre, per spec; that of its contact, if this is judged.

        A centre where the merge would join several pairs of local components is there once for each.
        """
        require_action(self._state.actions, action)
        with self._lock:
            actions = self._state.scored_with(action)
            return tuple(explain(scores, actions) for scores in self._state.specs)

    def parts(self, action: int) -> dict[str, float]:
        """Say what the score of one action consists of; the parts add up to it.

        Ordered by energy, the energy change by spec. With a classifier that is a sum, what it makes of
        contact and energies, and what holds for every merge. A contact inside one segment has no parts.
        """
        require_action(self._state.actions, action)
        with self._lock:
            return self._state.score_parts(action)
