"""Energy changes over the whole contact of two segments, and greedy that goes by them.

An action is the faces between two supervoxels, and its energy change counts the regions where these two
meet. Segments that have grown touch in many more. Judged by one action alone, a hole in a membrane joins two
large bodies, however much membrane lies between them elsewhere. So everything that orders merges of segments
looks at the sum over all pairs of local components that the merge would join, each of them counted once.
While every segment is one supervoxel, that is the energy change of the action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.scores import N_COLUMNS, SpecScores


class ContactSums:
    """Per spec and action, the energy change over the contact of its two segments, and the centres there.

    All actions between the same two segments have the same sums, those inside one segment zeros. Sums are
    taken in the order of slots and actions: the same state gives the same bits, however it was reached.
    """

    def __init__(self, specs: Sequence[SpecScores], actions: ActionTable) -> None:
        self._specs, self._actions = specs, actions
        self._leads = [np.zeros(len(scores.sums), dtype=bool) for scores in specs]
        self._own = np.zeros((len(specs), len(actions), N_COLUMNS))
        """What each action has of the contact: the pairs of components that it leads."""
        self.values = np.zeros_like(self._own)
        """float64 (specs, A, 2)"""

    def refresh(
        self, segment: np.ndarray, changed_segments: np.ndarray, regions: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Bring up to date what depends on the given segments and, per spec, regions; returns the actions."""
        u, v = segment[self._actions.u], segment[self._actions.v]
        is_changed, is_near = np.zeros((2, len(segment)), dtype=bool)
        is_changed[changed_segments] = True
        for scores, leads, own in zip(self._specs, self._leads, regions, strict=True):
            actions = scores.mark_leaders(own, leads)
            self._own[scores.index, actions] = scores.leading_sums(actions, leads)
            is_near[u[actions]] = True
            is_near[v[actions]] = True
        rows = np.flatnonzero(is_changed[u] | is_changed[v] | (is_near[u] & is_near[v]))
        self.values[:, rows] = 0.0
        between = rows[u[rows] != v[rows]]
        if len(between):
            order, starts, lengths = same_contact(u[between], v[between])
            ordered = between[order]
            total = np.add.reduceat(self._own[:, ordered], starts, axis=1)
            self.values[:, ordered] = np.repeat(total, lengths, axis=1)
        return rows


def same_contact(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort actions by the two segments that they lie between, stably.

    Returns the order, where each group begins, and how many it has.
    """
    low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v).astype(np.int64)
    order, starts = grouped(low * (int(high.max()) + 1) + high)
    return order, starts, np.diff(np.append(starts, len(u)))


def grouped(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys stably; return the order and where each group of equal ones begins."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.ones(len(keys), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(is_first)


class Segments(NamedTuple):
    """What an order of merges may depend on."""

    segment: np.ndarray
    """Segment of every supervoxel, int32 (N + 1,)."""
    voxels: np.ndarray
    """Voxels of every segment, float64 (N + 1,)."""
    sums: np.ndarray
    """The values of `ContactSums`, float64 (specs, A, 2)."""


class MergeOrder(Protocol):
    """Scores of all actions by a policy, brought up to date after every change."""

    values: np.ndarray
    """Score of every action, float64 (A,); 0 for those inside one segment."""
    is_judged: np.ndarray
    """Actions that greedy may take, bool (A,)."""

    def refresh(self, segments: Segments, changed_segments: np.ndarray, changed_actions: np.ndarray) -> None:
        """Bring up to date what depends on the given segments and on the sums of the given actions."""

    def parts(self, segments: Segments, action: int, spec_names: Sequence[str]) -> dict[str, float]:
        """Say what the score of an action between two segments consists of."""


@dataclass(frozen=True)
class EnergyPolicy:
    """Greedy goes by the energy change over the whole contact of two segments."""


class EnergyScores:
    """Scores of `EnergyPolicy`."""

    def __init__(self, n_actions: int) -> None:
        self.values = np.zeros(n_actions)
        self.is_judged = np.zeros(n_actions, dtype=bool)

    def refresh(self, segments: Segments, changed_segments: np.ndarray, changed_actions: np.ndarray) -> None:
        """Add up the sums by spec; a merge that no centre sees is not judged."""
        sums = segments.sums[:, changed_actions]
        self.values[changed_actions] = sums[:, :, 0].sum(axis=0)
        self.is_judged[changed_actions] = (sums[:, :, 1] > 0).any(axis=0)

    def parts(self, segments: Segments, action: int, spec_names: Sequence[str]) -> dict[str, float]:
        """Split the energy change by spec."""
        return dict(zip(spec_names, segments.sums[:, action, 0].tolist(), strict=True))
