"""The items that greedy may take, in the order in which it would."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from napari_celis.core.policy import ContactClassifier, ItemScorer
from napari_celis.core.protection import Forbidden
from napari_celis.core.queue import ScoreQueue


class Ranking:
    """Scores of all items, and a queue of those that may be taken; renewed where something changed.

    Parameters
    ----------
    scorer : ItemScorer
        The policy at work.
    n_items : int
        Items that there can be.
    """

    def __init__(self, scorer: ItemScorer, n_items: int) -> None:
        self.scorer, self.ranked = scorer, scorer.ranked
        self.scores = np.zeros(n_items)
        """Score of every candidate, or what it cannot be below while energies are not evaluated; else 0."""
        self.queue = ScoreQueue(n_items)
        self._forbidden = np.zeros(n_items, dtype=bool)
        self._has_forbidden = False

    def start(self, forbidden: Forbidden) -> None:
        """Look at everything."""
        self._has_forbidden = not forbidden.is_empty
        self.ranked.start()
        everything = np.arange(len(self.scores), dtype=np.int32)
        self._forbid(everything, forbidden)
        self.scorer.look(everything[self.ranked.is_candidate(everything)])
        self._rank(everything)

    def refresh(
        self, segments: Iterable[int], forbidden: Forbidden, others: np.ndarray | None = None
    ) -> None:
        """Look again at what is around some segments, and at other items that changed or ended.

        Parameters
        ----------
        segments : sequence of int
            Segments whose surroundings changed.
        forbidden : Forbidden
            Tells which actions may not be taken.
        others : ndarray, optional
            Other items to look at.
        """
        # Single actions depend on the segments around them only while something is forbidden.
        has_forbidden = not forbidden.is_empty
        needs_look = self.ranked.are_contacts or self._has_forbidden or has_forbidden
        self._has_forbidden = has_forbidden
        around = [self.ranked.around(segment) for segment in segments] if needs_look else []
        near = np.unique(np.concatenate([np.empty(0, np.int32), *around]))
        self._forbid(near, forbidden)
        self.scorer.look(near)
        self._rank(near if others is None else np.union1d(near, others).astype(np.int32))

    def renew(self, items: np.ndarray) -> None:
        """Rank items again whose energies were evaluated."""
        self._rank(np.unique(items).astype(np.int32))

    def use_classifier(self, classifier: ContactClassifier) -> None:
        """Score everything by another classifier; the same as if it had been there from the start."""
        everything = np.arange(len(self.scores), dtype=np.int32)
        items = everything[self.ranked.is_candidate(everything)]
        self.scorer.use_classifier(classifier, items)
        self._rank(items)

    def available(self) -> np.ndarray:
        """Tell which items may be taken, bool (A,)."""
        is_there: np.ndarray = self.queue.arrays.position >= 0
        return is_there

    def _forbid(self, items: np.ndarray, forbidden: Forbidden) -> None:
        """Note which items would join segments that may not be joined."""
        self._forbidden[items] = forbidden.forbid(self.ranked.ends(items))

    def _rank(self, items: np.ndarray) -> None:
        """Score items and put them into the queue, or take them out of it."""
        is_candidate = self.ranked.is_candidate(items)
        gone, items = items[~is_candidate], items[is_candidate]
        self.scores[gone] = 0.0
        scores = self.scores[items] = self.scorer.lowest_scores(items)
        is_there = self.scorer.is_scored(items) & ~self._forbidden[items]
        self.queue.drop(gone)
        self.queue.drop(items[~is_there])
        there = items[is_there]
        self.queue.put(there, scores[is_there], self.ranked.ranks(there))
