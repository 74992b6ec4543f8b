"""Affinities across the contacts of a segment graph and inside its segments, as these join and split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.contacts import COUNT, SUM, UNITS, ContactStatistics
from napari_celis.core.segment_graph import Joined, SegmentGraph, Split, grouped


@dataclass(frozen=True, eq=False)
class Extremes:
    """Lowest and highest affinities from before a join; sums can be subtracted, these cannot."""

    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class AffinityRows:
    """What was there before a split."""

    contact: np.ndarray
    low: np.ndarray
    high: np.ndarray
    inside: np.ndarray


class AffinitySums:
    """Sums of `ContactStatistics` over the contacts and segments of a graph; all of them exact.

    Parameters
    ----------
    graph : SegmentGraph
        A caller that changes it calls `follow` or `follow_split` with the result.
    statistics : ContactStatistics
        Of single actions and supervoxels.
    """

    def __init__(self, graph: SegmentGraph, statistics: ContactStatistics) -> None:
        self.graph, self.statistics = graph, statistics
        self.contact = statistics.contact.copy()
        """Sums over the faces of every open contact, int64 (A, C)."""
        self.low, self.high = statistics.low.copy(), statistics.high.copy()
        """Lowest and highest affinity of every open contact, float64 (A,)."""
        self.inside = statistics.inside.copy()
        """Sums over the faces inside the supervoxels of every segment, int64 (N + 1, C)."""
        self._add_up(graph.open_contacts(), np.arange(1, len(graph.segment)))

    def mean_affinity(self, contacts: np.ndarray) -> np.ndarray:
        """Mean affinity over all faces of some open contacts, float64 (n,)."""
        mean: np.ndarray = self.contact[contacts, SUM] / UNITS / self.contact[contacts, COUNT]
        return mean

    def follow(self, joined: Joined) -> Extremes:
        """Add up what became one."""
        own, moved = joined.pairs[:, 0], joined.pairs[:, 1]
        before = Extremes(self.low[own], self.high[own])
        self.contact[own] += self.contact[moved]
        self.low[own] = np.minimum(before.low, self.low[moved])
        self.high[own] = np.maximum(before.high, self.high[moved])
        self.inside[joined.kept] += self.inside[joined.absorbed]
        return before

    def take_back(self, joined: Joined, before: Extremes) -> None:
        """Undo `follow`.

        Parameters
        ----------
        joined : Joined
            What the join did.
        before : Extremes
            What the operation returned.
        """
        own, moved = joined.pairs[:, 0], joined.pairs[:, 1]
        self.contact[own] -= self.contact[moved]
        self.low[own], self.high[own] = before.low, before.high
        self.inside[joined.kept] -= self.inside[joined.absorbed]

    def follow_split(self, split: Split) -> AffinityRows:
        """Add up the parts of a segment again."""
        rows, members = split.actions, split.members
        before = AffinityRows(self.contact[rows], self.low[rows], self.high[rows], self.inside[members])
        self._add_up(split.opened, members)
        return before

    def take_back_split(self, split: Split, before: AffinityRows) -> None:
        """Undo `follow_split`.

        Parameters
        ----------
        split : Split
            What the split did.
        before : AffinityRows
            What the operation returned.
        """
        rows = split.actions
        self.contact[rows], self.low[rows], self.high[rows] = before.contact, before.low, before.high
        self.inside[split.members] = before.inside

    def _add_up(self, contacts: np.ndarray, members: np.ndarray) -> None:
        """Sum contacts over their actions, and the segments that these supervoxels make up, again."""
        statistics, arrays = self.statistics, self.graph.arrays
        if len(contacts):
            lists = [self.graph.actions_of(contact) for contact in contacts if arrays.n_actions[contact] > 1]
            single = contacts[arrays.n_actions[contacts] == 1]
            actions = np.concatenate([single, *lists]).astype(np.int64)
            lengths = np.array([1] * len(single) + [len(one) for one in lists])
            starts = np.cumsum(lengths) - lengths
            named = arrays.contact_of[actions[starts]]
            self.contact[named] = np.add.reduceat(statistics.contact[actions], starts)
            self.low[named] = np.minimum.reduceat(statistics.low[actions], starts)
            self.high[named] = np.maximum.reduceat(statistics.high[actions], starts)
        names = arrays.segment[members]
        order, starts = grouped(names)
        if len(starts):
            self.inside[names[order][starts]] = np.add.reduceat(statistics.inside[members[order]], starts)
