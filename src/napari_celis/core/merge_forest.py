"""The merges that hold one segment together, and what is left without some of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.segments import join_all, spanning_forest


@dataclass(frozen=True, eq=False)
class Sides:
    """What a cut of one merge does."""

    removed: tuple[int, ...]
    """Actions that go: the merge itself, and others between the two sides, in the order of taking."""
    u_side: np.ndarray
    """Supervoxels on the side of the smaller end of the action, int64, ascending."""
    v_side: np.ndarray
    """Those on the other side; both are empty if nothing falls apart."""


class MergeForest:
    """The merges of one segment in the order in which they were made; the first ones that join it are a tree.

    Parameters
    ----------
    actions : ActionTable
        All actions of the volume.
    members : ndarray of int
        Supervoxels of the segment.
    order : sequence of int
        Actions that were taken inside it, in order.
    """

    def __init__(self, actions: ActionTable, members: np.ndarray, order: Sequence[int]) -> None:
        self.actions, self.order = actions, order
        self.members = np.sort(members).astype(np.int64)
        self._u, self._v = (
            np.searchsorted(self.members, ends[np.asarray(order, dtype=np.int64)])
            for ends in (actions.u, actions.v)
        )
        positions = spanning_forest(self._u, self._v, range(len(order)), len(members))
        self._tree = sorted(positions)
        self.tree = {int(order[position]) for position in positions}
        """Actions that joined two segments when they were taken."""

    def sides(self, action: int) -> Sides:
        """Find what falls apart if one merge is cut."""
        if action not in self.tree:
            nothing = np.empty(0, dtype=np.int64)
            return Sides((action,), nothing, nothing)
        part = self.parts_without([action])
        own = self.actions.u[action], self.actions.v[action]
        a, b = (int(part[np.searchsorted(self.members, end)]) for end in own)
        u, v = part[self._u], part[self._v]
        is_between = ((u == a) & (v == b)) | ((u == b) & (v == a))
        removed = tuple(int(self.order[position]) for position in np.flatnonzero(is_between).tolist())
        u_side, v_side = (self.members[part == end] for end in (a, b))
        return Sides(removed, u_side, v_side)

    def parts_without(self, gone: Iterable[int]) -> np.ndarray:
        """Number the pieces that are left without some merges of the tree, by member, int (m,)."""
        gone = set(gone)
        rest = [position for position in self._tree if int(self.order[position]) not in gone]
        return join_all(len(self.members) - 1, self._u[rest], self._v[rest])

    def path(self, a: int, b: int) -> list[int]:
        """List the merges of the tree that lead from one supervoxel to another; none if they are the same.

        Parameters
        ----------
        a, b : int
            Dense indices of two supervoxels.
        """
        neighbours: dict[int, list[tuple[int, int]]] = {}
        for action in sorted(self.tree):
            u, v = int(self.actions.u[action]), int(self.actions.v[action])
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
