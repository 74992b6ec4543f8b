"""Order actions by what a classifier makes of their energy changes and contacts, instead of the plain sum.

Everything that the classifier sees is a function of the current segments and of sums that stay exact from
merge to merge, so its scores can be taken back and computed anew like the energies themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.contact_features import (
    DECISIVE,
    ContactRows,
    contact_features,
    decisive_features,
    smaller_first,
)
from napari_celis.core.contact_sums import Segments, grouped, same_contact
from napari_celis.core.contacts import ContactStatistics
from napari_celis.core.supervoxels import Supervoxels


class Scorer(Protocol):
    """Turns what is seen of actions into scores: first of the contacts, which many actions share."""

    def contact_odds(self, contacts: np.ndarray) -> np.ndarray:
        """Judge contacts of two segments by their `contact_features`, float32 (m, C); float64 (m,)."""

    def scores(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Score actions by features of their own, float32 (n, F), and the odds of their contacts, (n,).

        Lower is better, float64 (n,).
        """


@runtime_checkable
class AdditiveScorer(Scorer, Protocol):
    """A scorer whose scores are a constant, what each feature adds, and what the contact as a whole adds."""

    def parts(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """What each feature adds, and last the contact as a whole, float64 (n, F + 1)."""


@dataclass(frozen=True, eq=False)
class Policy:
    """How greedy orders actions: a classifier, and the contact statistics it needs."""

    scorer: Scorer
    contacts: ContactStatistics


def energy_features(sums: np.ndarray) -> np.ndarray:
    """Return the energy change along a contact over the root of the centres there, float32 (n, specs).

    The error of a sum grows with the root of its terms: the same mean says more where more centres agree.

    Parameters
    ----------
    sums : ndarray of float64, shape (specs, n, 2)
        Per spec and action, energy change over the contact and number of centres, see `ContactSums`.
    """
    change: np.ndarray = sums[:, :, 0] / np.sqrt(np.maximum(sums[:, :, 1], 1.0))
    return change.T.astype(np.float32)


def score_parts(
    scorer: Scorer, features: np.ndarray, odds: np.ndarray, spec_names: Sequence[str]
) -> dict[str, float]:
    """Say what a score consists of: the contact, the energies, the forest, and what holds for every merge.

    Parameters
    ----------
    scorer : Scorer
        What gives the score; one that is not a sum has a single part.
    features : ndarray of float32, shape (1, F)
        Of one action.
    odds : ndarray of float64, shape (1,)
        Of its contact.
    spec_names : sequence of str
        What to call the energies.

    Returns
    -------
    parts : dict of str to float
        They add up to the score.
    """
    score = float(scorer.scores(features, odds)[0])
    if not isinstance(scorer, AdditiveScorer):
        return {"classifier": score}
    found: dict[str, float] = {}
    names = [*(feature.part for feature in DECISIVE), *(f"ΔE {name}" for name in spec_names), "forest"]
    for name, value in zip(names, scorer.parts(features, odds)[0].tolist(), strict=True):
        found[name] = found.get(name, 0.0) + value
    return {**found, "always": score - sum(found.values())}


class PolicyScores:
    """Scores of a policy for every action, brought up to date after every change.

    Contacts of two segments are summed over all actions between them, in the order of the actions, and
    segments over their supervoxels in theirs: the same state gives the same bits, however it was reached.
    """

    def __init__(self, policy: Policy, supervoxels: Supervoxels, actions: ActionTable) -> None:
        self.policy, self._supervoxels, self._actions = policy, supervoxels, actions
        self.values = np.zeros(len(actions))
        """Score of every action; 0 for those inside one segment."""
        contacts = policy.contacts
        self._contact, self._inside = np.zeros_like(contacts.contact), np.zeros_like(contacts.inside)
        self._low, self._high = np.zeros_like(contacts.low), np.zeros_like(contacts.high)
        self._surface = np.zeros(supervoxels.n + 1)
        self.is_judged = np.zeros(len(actions), dtype=bool)
        """Actions between two segments."""
        self.odds = np.zeros(len(actions))
        """What the scorer makes of the contact of every action, all faces between its two segments."""

    def refresh(self, segments: Segments, changed_segments: np.ndarray, changed_actions: np.ndarray) -> None:
        """Bring up to date what depends on the given segments and on the sums of the given actions."""
        segment = segments.segment
        is_changed = np.zeros(self._supervoxels.n + 1, dtype=bool)
        is_changed[changed_segments] = True
        is_row = is_changed[segment[self._actions.u]] | is_changed[segment[self._actions.v]]
        rows = np.flatnonzero(is_row)
        between = rows[segment[self._actions.u[rows]] != segment[self._actions.v[rows]]]
        self._sum_segments(segment, is_changed)
        self._count_surfaces(segment, is_changed, between)
        if len(between):
            self._refresh_contacts(segments, between)
        is_row[changed_actions] = True
        self._score(segments, np.flatnonzero(is_row))

    def parts(self, segments: Segments, action: int, spec_names: Sequence[str]) -> dict[str, float]:
        """Say what the score of an action between two segments consists of; see `score_parts`."""
        row = np.array([action])
        return score_parts(self.policy.scorer, self.features(segments, row), self.odds[row], spec_names)

    def features(self, segments: Segments, rows: np.ndarray) -> np.ndarray:
        """Describe actions between different segments: the columns of `DECISIVE`, then the energies."""
        smaller, _ = smaller_first(segments.voxels, self._ends(segments.segment, rows))
        decisive = decisive_features(self._contact[rows], self._surface[smaller])
        return np.concatenate([decisive, energy_features(segments.sums[:, rows])], axis=1)

    def contacts(self, segments: Segments, rows: np.ndarray) -> np.ndarray:
        """Describe the contacts of actions between different segments, see `contact_features`."""
        both = np.stack(smaller_first(segments.voxels, self._ends(segments.segment, rows)))
        return contact_features(
            ContactRows(
                self._contact[rows],
                self._low[rows],
                self._high[rows],
                segments.voxels[both],
                self._surface[both],
                self._inside[both],
            )
        )

    def _ends(self, segment: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.stack([segment[self._actions.u[rows]], segment[self._actions.v[rows]]], axis=1)

    def _score(self, segments: Segments, rows: np.ndarray) -> None:
        u, v = self._ends(segments.segment, rows).T
        self.is_judged[rows] = u != v
        self.values[rows[u == v]] = 0.0
        between = rows[u != v]
        if len(between):
            features = self.features(segments, between)
            self.values[between] = self.policy.scorer.scores(features, self.odds[between])

    def _refresh_contacts(self, segments: Segments, rows: np.ndarray) -> None:
        """Add up the contacts of actions between the same two segments, and ask once what each is like."""
        order, starts, lengths = same_contact(*self._ends(segments.segment, rows).T)
        ordered, contacts = rows[order], self.policy.contacts
        self._contact[ordered] = np.repeat(
            np.add.reduceat(contacts.contact[ordered], starts), lengths, axis=0
        )
        self._low[ordered] = np.repeat(np.minimum.reduceat(contacts.low[ordered], starts), lengths)
        self._high[ordered] = np.repeat(np.maximum.reduceat(contacts.high[ordered], starts), lengths)
        seen = self.contacts(segments, ordered[starts])
        self.odds[ordered] = np.repeat(self.policy.scorer.contact_odds(seen), lengths)

    def _sum_segments(self, segment: np.ndarray, is_changed: np.ndarray) -> None:
        """Add up what lies inside the supervoxels of the changed segments."""
        supervoxels = np.flatnonzero(is_changed[segment])
        order, starts = grouped(segment[supervoxels])
        if len(starts):
            ordered = supervoxels[order]
            inside = self.policy.contacts.inside[ordered]
            self._inside[segment[ordered[starts]]] = np.add.reduceat(inside, starts)

    def _count_surfaces(self, segment: np.ndarray, is_changed: np.ndarray, rows: np.ndarray) -> None:
        """Count the faces of the changed segments towards others."""
        ends = np.concatenate([segment[self._actions.u[rows]], segment[self._actions.v[rows]]])
        faces = np.bincount(ends, np.tile(self._actions.area[rows], 2), minlength=len(is_changed))
        self._surface[is_changed] = faces[is_changed]
