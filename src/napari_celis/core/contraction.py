"""Contract a segment graph across its contacts, best first, by any score that needs no energies.

The expert that knows the truth and the methods that CELIS is compared with are scorers for this.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from napari_celis.core.queue import ScoreQueue
from napari_celis.core.segment_graph import Joined, SegmentGraph


class ContactScorer(Protocol):
    """Says how bad merges are."""

    graph: SegmentGraph

    @property
    def needs_segments(self) -> bool:
        """Whether scores depend on the two segments, and not on their contact alone."""
        ...

    def scores(self, contacts: np.ndarray) -> np.ndarray:
        """Score some contacts of the current segments, lower being better, float64 (n,)."""
        ...

    def follow(self, joined: Joined) -> object:
        """Add up what became one."""
        ...


class Contraction:
    """The contacts of a graph, best first; scores are always those of the current segments."""

    def __init__(self, scorer: ContactScorer) -> None:
        self.scorer, self.graph = scorer, scorer.graph
        self._queue = ScoreQueue(len(self.graph.actions))
        self._put(self.graph.open_contacts().astype(np.int32))

    def pop(self) -> tuple[float, int] | None:
        """Take out the contact with the lowest score, of equals that with the lowest action; None at the end.

        It comes back when one of its segments changes.
        """
        score, contact = self._queue.lowest, self._queue.first
        if contact < 0:
            return None
        self._queue.drop(np.array([contact]))
        return score, contact

    def join(self, contact: int) -> Joined:
        """Merge across a contact, and score again what this changed."""
        joined = self.graph.join(contact)
        self.scorer.follow(joined)
        self._queue.drop(joined.pairs[:, 1])
        changed = joined.pairs[:, 0].copy()
        self._put(self.graph.contacts_of(joined.kept) if self.scorer.needs_segments else changed)
        return joined

    def _put(self, contacts: np.ndarray) -> None:
        """Score contacts in one call and queue them."""
        if len(contacts):
            scores = self.scorer.scores(contacts)
            self._queue.put(contacts, scores, self.graph.arrays.lowest_action[contacts])
