"""The segment graph: segments, their neighbours, and the contacts between them.

A segment is named after one of its supervoxels, a contact after one of its actions. Everything is updated
around what a join, a split or their undoing changes, and nowhere else. What is added up (voxels, areas) is
whole numbers, so the same segments have the same sums to the bit, however they came about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.kernels import segment_graph as kernels
from napari_celis.core.segments import ranges


class GraphArrays(NamedTuple):
    """The graph as flat arrays; indices of supervoxels up to N, of actions below A."""

    segment: np.ndarray
    """Segment of every supervoxel, int32 (N + 1,)."""
    voxels: np.ndarray
    """Voxels of every segment, int64 (N + 1,)."""
    surface: np.ndarray
    """Faces of every segment towards others, int64 (N + 1,)."""
    head: np.ndarray
    """First half in the list of every segment, int32 (N + 1,); -1 for none."""
    first_member: np.ndarray
    """Supervoxels of every segment as a list: first, last, next after each, and how many, int32 (N + 1,)."""
    last_member: np.ndarray
    next_member: np.ndarray
    n_members: np.ndarray
    mark: np.ndarray
    """Working memory, -1 throughout, int32 (N + 1,)."""
    contact_of: np.ndarray
    """Contact of every action, int32 (A,); one inside a segment has a contact that is not open."""
    is_open: np.ndarray
    """Contacts between two segments, bool (A,)."""
    ends: np.ndarray
    """The two segments of every open contact, int32 (A, 2)."""
    area: np.ndarray
    """Faces of every open contact, int64 (A,)."""
    first_action: np.ndarray
    """Actions of every contact as a list: first, last, next after each, and how many, int32 (A,)."""
    last_action: np.ndarray
    next_action: np.ndarray
    n_actions: np.ndarray
    lowest_action: np.ndarray
    """Lowest action of every contact, which says who comes first among equals, int32 (A,)."""
    half_before: np.ndarray
    """Neighbours of every half in its list, int32 (2 A,); -1 at the ends."""
    half_after: np.ndarray


OF_ACTIONS = (
    "contact_of", "is_open", "ends", "area", "first_action", "last_action", "next_action", "n_actions",
    "lowest_action",
)  # fmt: skip
OF_HALVES = ("half_before", "half_after")
OF_SEGMENTS = (
    "segment", "voxels", "surface", "head", "first_member", "last_member", "next_member", "n_members",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Joined:
    """Two segments that became one, and how to take that back."""

    contact: int
    """The contact that is no more."""
    kept: int
    """The segment that goes on."""
    absorbed: int
    """The segment that is now part of it."""
    pairs: np.ndarray
    """Contacts that took in another one, that one, last and lowest action of the former, int32 (n, 4)."""
    head: int
    tail: int
    last_member: int


@dataclass(frozen=True, eq=False)
class Split:
    """A segment that fell apart, and how to take that back."""

    segment: int
    actions: np.ndarray
    """Actions of all its supervoxels, int64 (n,)."""
    members: np.ndarray
    """Its supervoxels, int64 (m,)."""
    hidden: np.ndarray
    """The contacts that it had."""
    opened: np.ndarray
    """The contacts of its parts."""
    saved: tuple[np.ndarray, ...]
    """What was there before, in the order of `_saved`."""


class SegmentGraph:
    """Segments that join and split.

    Parameters
    ----------
    actions : ActionTable
        Which supervoxels touch.
    sizes : ndarray of int, shape (N + 1,)
        Voxels of every supervoxel.
    segment : ndarray of int, shape (N + 1,), optional
        Segment of every supervoxel to begin with, named after one of its own; by default each is its own.
    """

    def __init__(self, actions: ActionTable, sizes: np.ndarray, segment: np.ndarray | None = None) -> None:
        self.actions, self.sizes = actions, np.asarray(sizes, dtype=np.int64)
        n_nodes, n_actions = len(sizes), len(actions)
        segment = np.arange(n_nodes) if segment is None else segment

        def nodes(fill: int, dtype: type = np.int32) -> np.ndarray:
            return np.full(n_nodes, fill, dtype=dtype)

        own = np.arange(n_actions, dtype=np.int32)
        self.arrays = GraphArrays(
            segment=segment.astype(np.int32),
            voxels=nodes(0, np.int64),
            surface=nodes(0, np.int64),
            head=nodes(-1),
            first_member=nodes(-1),
            last_member=nodes(-1),
            next_member=nodes(-1),
            n_members=nodes(0),
            mark=nodes(-1),
            contact_of=own.copy(),
            is_open=np.zeros(n_actions, dtype=bool),
            ends=np.zeros((n_actions, 2), dtype=np.int32),
            area=actions.area.astype(np.int64),
            first_action=own.copy(),
            last_action=own.copy(),
            next_action=np.full(n_actions, -1, dtype=np.int32),
            n_actions=np.ones(n_actions, dtype=np.int32),
            lowest_action=own.copy(),
            half_before=np.full(2 * n_actions, -1, dtype=np.int32),
            half_after=np.full(2 * n_actions, -1, dtype=np.int32),
        )
        self._gather(np.arange(1, n_nodes))
        self._group(np.arange(n_actions))
        # Background is nobody's segment.
        self.n_segments = int(np.count_nonzero(self.arrays.n_members))

    @property
    def segment(self) -> np.ndarray:
        """Segment of every supervoxel, int32 (N + 1,)."""
        return self.arrays.segment

    def contacts_of(self, segment: int) -> np.ndarray:
        """List the contacts of a segment, int32."""
        out = np.empty(kernels.count_contacts(self.arrays, segment), dtype=np.int32)
        kernels.list_contacts(self.arrays, segment, out)
        return out

    def actions_of(self, contact: int) -> np.ndarray:
        """List the actions of a contact, int32."""
        out = np.empty(self.arrays.n_actions[contact], dtype=np.int32)
        kernels.list_actions(self.arrays, contact, out)
        return out

    def members_of(self, segment: int) -> np.ndarray:
        """List the supervoxels of a segment, int32."""
        out = np.empty(self.arrays.n_members[segment], dtype=np.int32)
        kernels.list_members(self.arrays, segment, out)
        return out

    def open_contacts(self) -> np.ndarray:
        """List all contacts between two segments, int64, ascending."""
        return np.flatnonzero(self.arrays.is_open)

    def join(self, contact: int, kept: int | None = None) -> Joined:
        """Merge the two segments of a contact.

        Parameters
        ----------
        contact : int
            An open one.
        kept : int, optional
            The segment whose name goes on; by default the larger one, of equals the lower one.
        """
        arrays = self.arrays
        a, b = (int(end) for end in arrays.ends[contact])
        if kept is None:
            kept = larger(a, b, arrays.voxels)
        a, b = kept, a + b - kept
        pairs = np.empty((kernels.count_contacts(arrays, b), 4), dtype=np.int32)
        last_member = int(arrays.last_member[a])
        n, head, tail = kernels.join(arrays, contact, a, b, pairs)
        self.n_segments -= 1
        return Joined(int(contact), a, b, pairs[:n].copy(), int(head), int(tail), last_member)

    def unjoin(self, joined: Joined) -> None:
        """Take back the newest join."""
        kernels.unjoin(
            self.arrays, joined.contact, joined.kept, joined.absorbed, joined.pairs, joined.head, joined.tail,
            joined.last_member,
        )  # fmt: skip
        self.n_segments += 1

    def split(self, segment: int, moved: np.ndarray, name: int) -> Split:
        """Let some supervoxels of a segment become a segment of their own.

        Parameters
        ----------
        segment : int
            It keeps its name, and with it the supervoxel that it is named after.
        moved : ndarray of int
            The supervoxels that leave.
        name : int
            One of them.
        """
        arrays = self.arrays
        members = self.members_of(segment).astype(np.int64)
        actions, hidden = self.incident(members), self.contacts_of(segment)
        kernels.hide_contacts(arrays, segment, hidden)
        saved = tuple(self._saved(actions, members))
        arrays.segment[moved] = name
        arrays.head[[segment, name]] = -1
        arrays.surface[[segment, name]] = 0
        self._gather(members)
        opened = self._group(actions)
        self.n_segments += 1
        return Split(segment, actions, members, hidden, opened, saved)

    def unsplit(self, split: Split) -> None:
        """Take back the newest split."""
        kernels.close_contacts(self.arrays, split.opened)
        for view, indices, before in zip(
            *self._parts(split.actions, split.members), split.saved, strict=True
        ):
            view[indices] = before
        kernels.show_contacts(self.arrays, split.segment, split.hidden)
        self.n_segments -= 1

    def incident(self, supervoxels: np.ndarray) -> np.ndarray:
        """List the actions of some supervoxels, int64, ascending, without repeats."""
        start, order = self._by_larger_end
        rows = [ranges(self.actions.first, supervoxels), order[ranges(start, supervoxels)]]
        incident: np.ndarray = np.unique(np.concatenate(rows))
        return incident

    @cached_property
    def _by_larger_end(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the actions of each larger end begin, int64 (N + 2,), and the actions in that order."""
        order = np.argsort(self.actions.v, kind="stable")
        start = np.searchsorted(self.actions.v[order], np.arange(self.actions.n_supervoxels + 2))
        return start.astype(np.int64), order

    def _parts(self, actions: np.ndarray, members: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """List the arrays that a split may change, and where."""
        halves = np.concatenate([2 * actions, 2 * actions + 1])
        names = ((OF_ACTIONS, actions), (OF_HALVES, halves), (OF_SEGMENTS, members))
        pairs = [(getattr(self.arrays, name), where) for group, where in names for name in group]
        return [array for array, _ in pairs], [where for _, where in pairs]

    def _saved(self, actions: np.ndarray, members: np.ndarray) -> list[np.ndarray]:
        return [array[where] for array, where in zip(*self._parts(actions, members), strict=True)]

    def _gather(self, members: np.ndarray) -> None:
        """List the supervoxels of the segments that these belong to, and count their voxels."""
        arrays = self.arrays
        order = members[np.argsort(arrays.segment[members], kind="stable")]
        names = arrays.segment[order]
        is_first = np.ones(len(order), dtype=bool)
        is_first[1:] = names[1:] != names[:-1]
        is_last = np.roll(is_first, -1)
        arrays.next_member[order[:-1]] = order[1:]
        arrays.next_member[order[is_last]] = -1
        found = names[is_first]
        arrays.first_member[found], arrays.last_member[found] = order[is_first], order[is_last]
        arrays.n_members[found] = arrays.voxels[found] = 0
        np.add.at(arrays.n_members, names, 1)
        np.add.at(arrays.voxels, names, self.sizes[order])

    def _group(self, actions: np.ndarray) -> np.ndarray:
        """Put actions between the same two segments together, each contact named after its first action.

        Returns the contacts that are open now, hung into the lists of their segments.
        """
        arrays, table = self.arrays, self.actions
        for own in (arrays.contact_of, arrays.first_action, arrays.last_action, arrays.lowest_action):
            own[actions] = actions
        arrays.next_action[actions], arrays.n_actions[actions] = -1, 1
        arrays.area[actions], arrays.is_open[actions] = table.area[actions], False
        ends = np.stack([arrays.segment[table.u[actions]], arrays.segment[table.v[actions]]], axis=1)
        is_between = ends[:, 0] != ends[:, 1]
        actions, ends = actions[is_between], ends[is_between].astype(np.int64)
        order, starts = grouped(ends.min(axis=1) * len(arrays.segment) + ends.max(axis=1))
        ordered = actions[order]
        contacts: np.ndarray = ordered[starts]
        lengths = np.diff(np.append(starts, len(ordered)))
        arrays.contact_of[ordered] = np.repeat(contacts, lengths)
        arrays.next_action[ordered[:-1]] = ordered[1:]
        last = ordered[starts + lengths - 1] if len(starts) else contacts
        arrays.next_action[last] = -1
        arrays.last_action[contacts], arrays.n_actions[contacts] = last, lengths
        if len(starts):
            arrays.area[contacts] = np.add.reduceat(table.area[ordered], starts)
        arrays.ends[contacts], arrays.is_open[contacts] = ends[order][starts], True
        kernels.open_contacts(arrays, contacts)
        return contacts


def larger(a: int, b: int, voxels: np.ndarray | list[int]) -> int:
    """Return the one of two segments with more voxels; of equals the lower one."""
    return b if (voxels[a], -a) < (voxels[b], -b) else a


def grouped(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort keys stably; return the order and where each group of equal ones begins."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.ones(len(keys), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(is_first)
