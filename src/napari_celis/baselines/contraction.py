"""Segments that merge, their contacts that add up, and a queue of contacts by score."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from napari_celis.baselines.problem import Problem
from napari_celis.core.contacts import COUNT


class Merged(NamedTuple):
    """What one merge did."""

    kept: int
    """The segment that goes on."""
    absorbed: int
    """The segment that is now part of it."""
    gone: list[int]
    """Contacts that are no more."""
    summed: list[int]
    """Contacts that took in another one."""
    around: list[int]
    """All contacts of the new segment, these included."""


class Contraction:
    """The graph of segments: rows of actions stand for all faces between two segments."""

    def __init__(self, problem: Problem) -> None:
        statistics, actions = problem.contacts, problem.actions
        self.contact = statistics.contact.copy()
        self.low, self.high = statistics.low.copy(), statistics.high.copy()
        self.inside = statistics.inside.copy()
        self.size = problem.supervoxels.sizes.astype(np.float64)
        self.surface = np.bincount(
            np.concatenate([actions.u, actions.v]), np.tile(actions.area, 2), minlength=len(self.size)
        )
        self.ends = np.stack([actions.u, actions.v], axis=1)
        self.neighbours: list[dict[int, int]] = [{} for _ in self.size]
        for row, (u, v) in enumerate(self.ends.tolist()):
            self.neighbours[u][v] = self.neighbours[v][u] = row

    def join(self, row: int) -> Merged:
        """Merge the two segments of a contact."""
        u, v = self.ends[row].tolist()
        if len(self.neighbours[u]) < len(self.neighbours[v]):
            u, v = v, u
        self._add_segment(u, v, self.contact[row, COUNT])
        del self.neighbours[u][v], self.neighbours[v][u]
        gone, summed = [row], []
        for other, moved in self.neighbours[v].items():
            del self.neighbours[other][v]
            kept = self.neighbours[u].get(other)
            if kept is None:
                self.neighbours[u][other] = self.neighbours[other][u] = moved
                self.ends[moved] = u, other
            else:
                self._add_contact(kept, moved)
                summed.append(kept)
                gone.append(moved)
        self.neighbours[v] = {}
        return Merged(u, v, gone, summed, list(self.neighbours[u].values()))

    def _add_segment(self, u: int, v: int, shared_faces: float) -> None:
        """Let segment `u` take in `v`."""
        self.size[u] += self.size[v]
        self.surface[u] += self.surface[v] - 2.0 * shared_faces
        self.inside[u] += self.inside[v]

    def _add_contact(self, kept: int, gone: int) -> None:
        """Let one contact take in another."""
        self.contact[kept] += self.contact[gone]
        self.low[kept] = min(self.low[kept], self.low[gone])
        self.high[kept] = max(self.high[kept], self.high[gone])


class Scorer(Protocol):
    """Says how bad merges are."""

    @property
    def needs_segments(self) -> bool:
        """Whether scores depend on the two segments, and not on their contact alone."""

    def scores(self, state: Contraction, rows: np.ndarray) -> np.ndarray:
        """Score some contacts, lower being better, float64 (n,)."""


class MergeQueue:
    """The contacts of a contraction, best first; scores are always those of the current state."""

    def __init__(self, state: Contraction, scorer: Scorer) -> None:
        self._state, self._scorer = state, scorer
        n_rows = len(state.contact)
        self._version = [0] * n_rows
        self._heap: list[tuple[float, int, int]] = []
        self._push(range(n_rows))

    def pop(self) -> tuple[float, int] | None:
        """Take out the contact with the lowest score, the first of equals; None when there is none."""
        while self._heap:
            score, row, version = heapq.heappop(self._heap)
            if self._version[row] == version:
                return score, row
        return None

    def join(self, row: int) -> Merged:
        """Merge across a contact, and score anew what this changed."""
        merged = self._state.join(row)
        for lost in merged.gone:
            self._version[lost] = -1
        self._push(merged.around if self._scorer.needs_segments else merged.summed)
        return merged

    def _push(self, rows: Sequence[int]) -> None:
        """Score contacts in one call and queue them; older entries of theirs become void."""
        if not len(rows):
            return
        scores = self._scorer.scores(self._state, np.asarray(rows)).tolist()
        for row, score in zip(rows, scores, strict=True):
            self._version[row] += 1
            heapq.heappush(self._heap, (score, row, self._version[row]))
