"""Policies: how greedy orders merges. Each is a strategy on the segment graph with the same interface.

`PaperPolicy` ranks single actions by energy change, `EnergyPolicy` whole contacts, `LearnedPolicy` lets a
classifier judge contacts by their affinities, sizes and energy changes. Everything that they see is a
function of the current segments, so scores can be taken back and computed again, to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contact_features import DECISIVE, contact_features, decisive_features
from napari_celis.core.contacts import ContactStatistics
from napari_celis.core.errors import ActionError
from napari_celis.core.ranked_items import RankedActions, RankedContacts, RankedItems
from napari_celis.core.scores import SpecScores
from napari_celis.core.seams import MergeTrees, Seams, seam_features
from napari_celis.core.segment_graph import Joined, SegmentGraph, Split

ENERGY_ALONE = (
    "This agglomeration is ordered by energy alone, so contacts have no features and nothing can be learned. "
    "Use the policy `learned`."
)


class ItemScorer(Protocol):
    """A policy at work: scores the items of one agglomeration."""

    ranked: RankedItems

    @property
    def classifier(self) -> ContactClassifier | None:
        """What judges the items; None where no classifier does."""
        ...

    def use_classifier(self, classifier: ContactClassifier, items: np.ndarray) -> None:
        """Judge by another classifier from now on.

        Parameters
        ----------
        classifier : ContactClassifier
            In place of the one before.
        items : ndarray
            All candidates.
        """

    def join(self, joined: Joined) -> Any:
        """Follow a join; returns what `unjoin` needs."""

    def unjoin(self, joined: Joined, before: Any) -> None:
        """Follow the undoing of the newest join."""

    def split(self, split: Split) -> Any:
        """Follow a split; returns what `unsplit` needs."""

    def unsplit(self, split: Split, before: Any) -> None:
        """Follow the undoing of the newest split."""

    def look(self, items: np.ndarray) -> None:
        """Look again at items whose segments changed."""

    def lowest_scores(self, items: np.ndarray) -> np.ndarray:
        """Return what no score is below, float64 (n,); the score itself where all energies are evaluated."""
        ...

    def is_scored(self, items: np.ndarray) -> np.ndarray:
        """Tell which candidates greedy may take, bool (n,)."""
        ...

    def parts(self, item: int) -> dict[str, float]:
        """Say what the score of an item consists of; the parts add up to it."""
        ...

    def features(self, items: np.ndarray) -> np.ndarray:
        """What a classifier sees of items, float32 (n, F)."""
        ...

    def contact_features(self, items: np.ndarray) -> np.ndarray:
        """What it sees of their contacts, float32 (n, C)."""
        ...


class Policy(Protocol):
    """How greedy orders merges."""

    def start(self, graph: SegmentGraph, specs: Sequence[SpecScores], taken: np.ndarray) -> ItemScorer:
        """Go to work on a graph.

        Parameters
        ----------
        graph : SegmentGraph
            The segments.
        specs : sequence of SpecScores
            Energy changes per descriptor spec.
        taken : ndarray of bool, shape (A,)
            Actions that are taken, kept up to date by the caller.
        """
        ...


class EnergyScorer:
    """Scores items by their energy change; a merge that no centre sees is not judged."""

    classifier = None

    def __init__(self, ranked: RankedItems) -> None:
        self.ranked = ranked

    def use_classifier(self, classifier: ContactClassifier, items: np.ndarray) -> None:
        """There is none to replace."""
        raise ActionError(ENERGY_ALONE)

    def join(self, joined: Joined) -> None:
        """Nothing of its own to follow."""

    def unjoin(self, joined: Joined, before: Any) -> None:
        """Nothing of its own to follow."""

    def split(self, split: Split) -> None:
        """Nothing of its own to follow."""

    def unsplit(self, split: Split, before: Any) -> None:
        """Nothing of its own to follow."""

    def look(self, items: np.ndarray) -> None:
        """Segments do not matter."""

    def lowest_scores(self, items: np.ndarray) -> np.ndarray:
        """Add up the least that the energy can change by."""
        lowest: np.ndarray = self.ranked.energies.bounds(items)[0].sum(axis=1)
        return lowest

    def is_scored(self, items: np.ndarray) -> np.ndarray:
        """Tell which items a centre sees, bool (n,)."""
        is_seen: np.ndarray = np.any(self.ranked.energies.counts(items) > 0, axis=1)
        return is_seen

    def parts(self, item: int) -> dict[str, float]:
        """Split the energy change by spec."""
        changes = self.ranked.energies.changes(np.array([item]))[0].tolist()
        return dict(zip(spec_names(self.ranked), changes, strict=True))

    def features(self, items: np.ndarray) -> np.ndarray:
        """There are none."""
        raise ActionError(ENERGY_ALONE)

    contact_features = features


@dataclass(frozen=True)
class PaperPolicy:
    """Orders single actions by their energy change, as in the paper."""

    def start(self, graph: SegmentGraph, specs: Sequence[SpecScores], taken: np.ndarray) -> ItemScorer:
        """Begin to score a graph."""
        return EnergyScorer(RankedActions(graph, specs, taken))


PAPER = PaperPolicy()


@dataclass(frozen=True)
class EnergyPolicy:
    """Orders contacts by the energy change over the whole contact of two segments."""

    def start(self, graph: SegmentGraph, specs: Sequence[SpecScores], taken: np.ndarray) -> ItemScorer:
        """Begin to score a graph."""
        return EnergyScorer(RankedContacts(graph, specs, taken))


class ContactClassifier(Protocol):
    """Turns what is seen of contacts into scores."""

    def contact_odds(self, contacts: np.ndarray) -> np.ndarray:
        """Score contacts of two segments by their `contact_features`, float32 (n, C); float64 (n,)."""
        ...

    def scores(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Score contacts by the columns of `LearnedScorer.features`, float32 (n, F), and their odds, (n,).

        Lower is better, float64 (n,).

        Parameters
        ----------
        features : ndarray
            One row per contact, float32 (n, F).
        odds : ndarray
            What `contact_odds` said, float64 (n,).
        """
        ...

    def lowest_scores(self, low: np.ndarray, high: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """Return what no score is below if features lie between two rows each, float64 (n,).

        Where the two are equal, to the bit what `scores` says; minus infinity where nothing is known.

        Parameters
        ----------
        low : ndarray
            The least that each feature can be.
        high : ndarray
            The most that each feature can be.
        odds : ndarray
            What `contact_odds` said, float64 (n,).
        """
        ...

    def parts(self, features: np.ndarray, odds: np.ndarray) -> np.ndarray:
        """What each feature adds to the score, and last the odds, float64 (n, F + 1).

        Without columns if scores are no sums.

        Parameters
        ----------
        features : ndarray
            One row per contact, float32 (n, F).
        odds : ndarray
            What `contact_odds` said, float64 (n,).
        """
        ...


@dataclass(frozen=True, eq=False)
class LearnedPolicy:
    """Orders contacts by a classifier of their affinities, sizes and energy changes."""

    classifier: ContactClassifier
    contacts: ContactStatistics

    def start(self, graph: SegmentGraph, specs: Sequence[SpecScores], taken: np.ndarray) -> ItemScorer:
        """Begin to score a graph."""
        return LearnedScorer(
            self.classifier, AffinitySums(graph, self.contacts), RankedContacts(graph, specs, taken)
        )


class LearnedScorer:
    """Scores contacts by a classifier; every contact between two segments is judged."""

    def __init__(
        self, classifier: ContactClassifier, affinities: AffinitySums, ranked: RankedContacts
    ) -> None:
        self.ranked: RankedItems = ranked
        self._classifier, self._affinities = classifier, affinities
        n_items = len(affinities.contact)
        self.are_odds = bool(getattr(classifier, "are_odds", False))
        """Whether scores are log-odds that a merge is wrong."""
        self._decisive = np.zeros((n_items, len(DECISIVE)), dtype=np.float32)
        self._odds = np.zeros(n_items)

    @property
    def classifier(self) -> ContactClassifier:
        """What judges the contacts."""
        return self._classifier

    def use_classifier(self, classifier: ContactClassifier, items: np.ndarray) -> None:
        """Judge by another classifier; energies stay as they are."""
        self._classifier = classifier
        self._odds[items] = classifier.contact_odds(self.contact_features(items))

    def join(self, joined: Joined) -> Any:
        """Add up affinities."""
        return self._affinities.follow(joined)

    def unjoin(self, joined: Joined, before: Any) -> None:
        """Take affinities apart."""
        self._affinities.take_back(joined, before)

    def split(self, split: Split) -> Any:
        """Add up affinities again."""
        return self._affinities.follow_split(split)

    def unsplit(self, split: Split, before: Any) -> None:
        """Put affinities back."""
        self._affinities.take_back_split(split, before)

    def look(self, items: np.ndarray) -> None:
        """Describe contacts, and ask once what each is like as a whole."""
        if len(items):
            self._decisive[items] = decisive_features(self._affinities, items)
            self._odds[items] = self._classifier.contact_odds(self.contact_features(items))

    def lowest_scores(self, items: np.ndarray) -> np.ndarray:
        """Ask the classifier, with the bounds of the energies."""
        low, high = (self._with_energies(items, bound) for bound in self.ranked.energies.bounds(items))
        return self._classifier.lowest_scores(low, high, self._odds[items])

    def is_scored(self, items: np.ndarray) -> np.ndarray:
        """All are, whether a centre sees them or not."""
        return np.ones(len(items), dtype=bool)

    def parts(self, item: int) -> dict[str, float]:
        """Say what the score of a contact consists of, and what holds for every merge."""
        row = np.array([item])
        features, odds = self.features(row), self._odds[row]
        score = float(self._classifier.scores(features, odds)[0])
        energies = (f"shape {name}" for name in spec_names(self.ranked))
        names = [*(feature.part for feature in DECISIVE), *energies, "whole contact"]
        found: dict[str, float] = {}
        for name, value in zip(names, self._classifier.parts(features, odds)[0].tolist(), strict=False):
            found[name] = found.get(name, 0.0) + value
        return {**found, "base rate": score - sum(found.values())}

    def features(self, items: np.ndarray) -> np.ndarray:
        """Return the columns of `DECISIVE`, then the energies, float32 (n, F)."""
        return self._with_energies(items, self.ranked.energies.changes(items))

    def contact_features(self, items: np.ndarray) -> np.ndarray:
        """Describe contacts, see `contact_features`."""
        return contact_features(self._affinities, items)

    def judge_seams(self, trees: MergeTrees, seams: Seams) -> np.ndarray:
        """Score the merge of the two sides of every seam, as if they were segments, float64 (S,).

        Sizes and affinities are exactly those that a cut would leave. What the energies would change by is
        known only after a cut, so they say nothing here: each counts as 0.

        Parameters
        ----------
        trees, seams : MergeTrees, Seams
            Of the segments as they are.
        """
        seen = seam_features(trees, seams, self._affinities.statistics)
        unknown = np.zeros((len(seams), len(self.ranked.energies.specs)), dtype=np.float32)
        features = np.concatenate([seen.decisive, unknown], axis=1)
        return self._classifier.scores(features, self._classifier.contact_odds(seen.contact))

    def _with_energies(self, items: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Put energy changes over the root of the centres beside the other features.

        The error of a sum grows with the root of its terms: the same mean says more where more centres agree.
        """
        root = np.sqrt(np.maximum(self.ranked.energies.counts(items), 1.0))
        return np.concatenate([self._decisive[items], changes / root], axis=1, dtype=np.float32)


def spec_names(ranked: RankedItems) -> list[str]:
    """List the names of the specs."""
    return [scores.table.tiling.spec.name for scores in ranked.energies.specs]
