"""What a cut would do, before it is done: which merges go, and which supervoxels end up on which side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.segments import join_all, spanning_forest

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class CutPlan:
    """A cut to look at before it is made."""

    cuts: tuple[Pair, ...]
    """Ids of the supervoxels whose merge is to be cut, one after the other."""
    merges: tuple[Pair, ...]
    """Ids of those to merge again afterwards: merges that had nothing to do with the supervoxel taken out."""
    first_side: np.ndarray
    """Dense indices of the supervoxels on one side."""
    second_side: np.ndarray
    """Dense indices of those on the other; both are empty if no segment would fall apart."""

    @property
    def n_steps(self) -> int:
        """Decisions that this adds to the history."""
        return len(self.cuts) + len(self.merges)


@dataclass(frozen=True, eq=False)
class _Merges:
    """The merges that stand, in the order in which they were made."""

    agglomerator: Agglomerator
    order: Sequence[int]
    score: dict[int, float]
    forest: set[int]

    @classmethod
    def of(cls, agglomerator: Agglomerator) -> _Merges:
        """Read them off the history; merges from before the history come first."""
        table, taken = agglomerator.actions, agglomerator.taken()
        last = {s.action_index: s for s in agglomerator.history if s.kind in ("greedy", "manual")}
        when = {action: step.index for action, step in last.items()}
        order = sorted((int(a) for a in np.flatnonzero(taken)), key=lambda action: when.get(action, -1))
        score = {action: step.score for action, step in last.items()}
        return cls(agglomerator, order, score, spanning_forest(table.u, table.v, order, table.n_supervoxels))

    @property
    def table(self) -> ActionTable:
        """The actions of the volume."""
        return self.agglomerator.actions

    def parts_without(self, gone: set[int]) -> np.ndarray:
        """Number the segments that are left without some merges of the forest."""
        rest = sorted(self.forest - gone)
        return join_all(self.table.n_supervoxels, self.table.u[rest], self.table.v[rest])

    def ids(self, action: int) -> Pair:
        """Return the ids of the ends of an action."""
        ids = self.agglomerator.supervoxels.ids
        return int(ids[self.table.u[action]]), int(ids[self.table.v[action]])


def plan_cut_of_merge(agglomerator: Agglomerator, action: int) -> CutPlan:
    """Plan to take out one past merge, given by its row in the table of actions."""
    merges = _Merges.of(agglomerator)
    if action not in merges.order:
        u_id, v_id = merges.ids(action)
        raise ActionError(
            f"Supervoxels {u_id} and {v_id} were never merged directly, so there is nothing to cut."
        )
    return _cut_one(merges, action)


def plan_cut_between(agglomerator: Agglomerator, a: int, b: int) -> CutPlan:
    """Plan to separate two supervoxels of one segment, given by dense index.

    Of the merges that connect the two, the one with the highest score at its time is cut: the least certain.
    """
    merges = _Merges.of(agglomerator)
    path = _path(merges, a, b)
    if not path:
        ids = agglomerator.supervoxels.ids
        raise ActionError(
            f"Supervoxels {ids[a]} and {ids[b]} are in different segments, so there is nothing to cut. "
            "Choose two in one segment, or only one to take it out."
        )
    return _cut_one(merges, max(path, key=lambda action: (merges.score.get(action, -np.inf), action)))


def plan_taking_out(agglomerator: Agglomerator, supervoxel: int) -> CutPlan:
    """Plan to take one supervoxel, given by dense index, out of its segment."""
    merges, table = _Merges.of(agglomerator), agglomerator.actions
    own = [a for a in merges.order if supervoxel in (table.u[a], table.v[a])]
    cuts = [action for action in own if action in merges.forest]
    if not cuts:
        supervoxel_id = agglomerator.supervoxels.ids[supervoxel]
        raise ActionError(
            f"Supervoxel {supervoxel_id} is a segment of its own, so there is nothing to take out. "
            "Choose one in a larger segment."
        )
    before, part = merges.parts_without(set()), merges.parts_without(set(cuts))
    # A cut takes all merges between its two sides along, also those between parts of the rest.
    again = [a for a in merges.order if a not in own and part[table.u[a]] != part[table.v[a]]]
    rest = np.flatnonzero(before == before[supervoxel])
    return CutPlan(
        tuple(merges.ids(action) for action in cuts),
        tuple(merges.ids(action) for action in again),
        np.array([supervoxel]),
        rest[rest != supervoxel],
    )


def _cut_one(merges: _Merges, action: int) -> CutPlan:
    """Plan a single cut."""
    if action not in merges.forest:
        nothing = np.empty(0, dtype=np.int64)
        return CutPlan((merges.ids(action),), (), nothing, nothing)
    part = merges.parts_without({action})
    sides = [np.flatnonzero(part == part[end[action]]) for end in (merges.table.u, merges.table.v)]
    return CutPlan((merges.ids(action),), (), *sides)


def _path(merges: _Merges, a: int, b: int) -> list[int]:
    """List the merges of the forest that lead from one supervoxel to another."""
    neighbours: dict[int, list[tuple[int, int]]] = {}
    for action in merges.forest:
        u, v = int(merges.table.u[action]), int(merges.table.v[action])
        neighbours.setdefault(u, []).append((v, action))
        neighbours.setdefault(v, []).append((u, action))
    came_by: dict[int, tuple[int, int]] = {a: (a, -1)}
    waiting = [a]
    while waiting and b not in came_by:
        here = waiting.pop()
        for there, action in neighbours.get(here, []):
            if there not in came_by:
                came_by[there] = (here, action)
                waiting.append(there)
    path: list[int] = []
    while b in came_by and b != a:
        b, action = came_by[b]
        path.append(action)
    return path
