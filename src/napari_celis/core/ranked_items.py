"""What a policy ranks: contacts of two segments or, as in the paper, single actions, and their energies.

An action is the faces between two supervoxels, and its energy change counts the regions where these two meet.
Segments that have grown touch in many more. Judged by one action alone, a hole in a membrane joins two large
bodies, however much membrane lies between them elsewhere. The energy change of a whole contact is the sum
over all pairs of local components that a merge would join, each of them counted once. While every segment is
one supervoxel, both are the same.

Sums are whole numbers: the same segmentation has the same ones to the bit, however it came about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from napari_celis.core.changes import N_SHIFTS, Effect
from napari_celis.core.energy import UNITS
from napari_celis.core.kernels import scores as kernels
from napari_celis.core.scores import SpecScores
from napari_celis.core.segment_graph import Joined, SegmentGraph, Split
from napari_celis.core.segments import ranges


class EnergySums:
    """Energy changes of items, per spec; where some are not evaluated yet, the bounds that they lie in."""

    def __init__(self, specs: Sequence[SpecScores], n_items: int) -> None:
        self.specs = specs
        self.units = np.zeros((n_items, len(specs), N_SHIFTS), dtype=np.int64)
        """int64 (A, specs, N_SHIFTS); the columns are those of `kernels.scores.add_pair`."""
        self._scale = np.array([scores.scale for scores in specs])

    def counts(self, items: np.ndarray) -> np.ndarray:
        """Count the centres that see each item, int64 (n, specs)."""
        counts: np.ndarray = self.units[items, :, 1]
        return counts

    def is_known(self, items: np.ndarray) -> np.ndarray:
        """Tell whether all energy changes of an item are evaluated, bool (n,)."""
        is_known: np.ndarray = (self.units[items, :, 2] == 0).all(axis=1)
        return is_known

    def changes(self, items: np.ndarray) -> np.ndarray:
        """Energy change of each item by spec, as far as it is evaluated, float64 (n, specs)."""
        changes: np.ndarray = self.units[items, :, 0] * self._scale
        return changes

    def bounds(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the most that each change can be, float64 (n, specs); equal once evaluated.

        A local energy lies between 0 and 1, so it changes by 1 at most at every centre that is not evaluated.
        """
        units = self.units[items]
        slack = units[:, :, 2] * int(UNITS)
        return (units[:, :, 0] - slack) * self._scale, (units[:, :, 0] + slack) * self._scale


class RankedItems(Protocol):
    """Items that greedy chooses from; they are named by actions, so there are at most as many."""

    energies: EnergySums
    are_contacts: bool
    """Whether they change with the segments around them."""

    def start(self) -> None:
        """Add up everything from scratch."""

    def join(self, joined: Joined, sign: int) -> None:
        """Follow a join of two segments (sign 1), or its undoing (-1).

        Parameters
        ----------
        joined : Joined
            What the join did.
        sign : int
            1 for the operation, -1 for its undoing.
        """

    def follow(self, spec: int, effect: Effect, sign: int) -> np.ndarray:
        """Follow changed sums (sign 1), or their undoing (-1); returns the items, repeats possible.

        Parameters
        ----------
        spec : int
            Number of the descriptor spec.
        effect : Effect
            What changed.
        sign : int
            1 for the operation, -1 for its undoing.
        """
        ...

    def leave(self, regions: Sequence[np.ndarray]) -> None:
        """Take out what some regions hold, per spec, before they and the segments are rebuilt."""

    def split(self, split: Split) -> np.ndarray:
        """Follow a split, between `leave` and `enter`; returns what `unsplit` needs."""
        ...

    def unsplit(self, split: Split, before: np.ndarray) -> None:
        """Follow the undoing of the newest split, between `leave` and `enter`.

        Parameters
        ----------
        split : Split
            What the split did.
        before : ndarray
            What the operation returned.
        """

    def enter(self, regions: Sequence[np.ndarray]) -> np.ndarray:
        """Add what they hold now; returns the items, repeats possible."""
        ...

    def around(self, segment: int) -> np.ndarray:
        """List the items that would join a segment with another one."""
        ...

    def is_candidate(self, items: np.ndarray) -> np.ndarray:
        """Tell which items could be taken at all, bool (n,)."""
        ...

    def ends(self, items: np.ndarray) -> np.ndarray:
        """Return the two segments of each item, int (n, 2)."""
        ...

    def ranks(self, items: np.ndarray) -> np.ndarray:
        """Say which of equal items comes first, int32 (n,)."""
        ...

    def actions_of(self, item: int) -> np.ndarray:
        """List the actions that an item consists of."""
        ...

    def items_of(self, actions: np.ndarray) -> np.ndarray:
        """Return the item that each action belongs to."""
        ...

    def items(self) -> np.ndarray:
        """Return the items of all actions, not to be changed."""
        ...


class RankedContacts:
    """The contacts of two segments."""

    are_contacts = True

    def __init__(self, graph: SegmentGraph, specs: Sequence[SpecScores], taken: np.ndarray) -> None:
        self.graph = graph
        self.energies = EnergySums(specs, len(graph.actions))

    def start(self) -> None:
        """Add up everything from scratch."""
        self.energies.units[:] = 0
        self._add([np.arange(scores.table.tiling.n_regions) for scores in self.energies.specs], 1)

    def join(self, joined: Joined, sign: int) -> None:
        """Let contacts take in others (sign 1), or give them back (-1)."""
        self.energies.units[joined.pairs[:, 0]] += sign * self.energies.units[joined.pairs[:, 1]]

    def follow(self, spec: int, effect: Effect, sign: int) -> np.ndarray:
        """Follow changed sums (sign 1), or their undoing (-1); returns the contacts, repeats possible."""
        arrays, table = self.graph.arrays, self.energies.specs[spec].table
        touched = np.empty(len(effect.leaders), dtype=np.int32)
        n = kernels.shift_contacts(
            effect.leaders, effect.shifts, sign, table.layout.slot_action, arrays.contact_of, arrays.is_open,
            spec, self.energies.units, touched,
        )  # fmt: skip
        return touched[:n]

    def leave(self, regions: Sequence[np.ndarray]) -> None:
        """Take out what some regions hold, per spec."""
        self._add(regions, -1)

    def split(self, split: Split) -> np.ndarray:
        """Add up all contacts of the segment again; returns what contacts inside it had when they ended."""
        before: np.ndarray = self.energies.units[split.actions]
        self.energies.units[split.actions] = 0
        return before

    def unsplit(self, split: Split, before: np.ndarray) -> None:
        """Put back what `split` took out."""
        self.energies.units[split.actions] = before

    def enter(self, regions: Sequence[np.ndarray]) -> np.ndarray:
        """Add what they hold now; returns the contacts, repeats possible."""
        self._add(regions, 1)
        actions = [
            scores.table.layout.slot_action[ranges(scores.table.layout.slot_start, own)]
            for scores, own in zip(self.energies.specs, regions, strict=True)
        ]
        return self.items_of(np.concatenate(actions))

    def _add(self, regions: Sequence[np.ndarray], sign: int) -> None:
        arrays = self.graph.arrays
        for scores, own in zip(self.energies.specs, regions, strict=True):
            kernels.add_regions(
                scores.table.layout, scores.components, own, sign, scores.buffers.scratch, scores.sums,
                scores.known, arrays.contact_of, arrays.is_open, scores.index, self.energies.units,
            )  # fmt: skip

    def around(self, segment: int) -> np.ndarray:
        """List the contacts of a segment."""
        return self.graph.contacts_of(segment)

    def is_candidate(self, items: np.ndarray) -> np.ndarray:
        """Tell which contacts are between two segments, bool (n,)."""
        is_open: np.ndarray = self.graph.arrays.is_open[items]
        return is_open

    def ends(self, items: np.ndarray) -> np.ndarray:
        """Return the two segments of each contact, int32 (n, 2)."""
        ends: np.ndarray = self.graph.arrays.ends[items]
        return ends

    def ranks(self, items: np.ndarray) -> np.ndarray:
        """Of equal contacts the one with the lowest action comes first, int32 (n,)."""
        ranks: np.ndarray = self.graph.arrays.lowest_action[items]
        return ranks

    def actions_of(self, item: int) -> np.ndarray:
        """List the actions of a contact."""
        return self.graph.actions_of(item)

    def items_of(self, actions: np.ndarray) -> np.ndarray:
        """Return the contact of each action, int32 (n,)."""
        contacts: np.ndarray = self.graph.arrays.contact_of[actions]
        return contacts

    def items(self) -> np.ndarray:
        """Return the contacts of all actions, int32 (A,)."""
        return self.graph.arrays.contact_of


class RankedActions:
    """Single actions; those inside one segment count too while they would join components of a region."""

    are_contacts = False

    def __init__(self, graph: SegmentGraph, specs: Sequence[SpecScores], taken: np.ndarray) -> None:
        self.graph, self._taken = graph, taken
        self.energies = EnergySums(specs, len(graph.actions))

    def start(self) -> None:
        """Add up everything from scratch."""
        for scores in self.energies.specs:
            self._add_up(scores, np.arange(len(self.graph.actions)))

    def join(self, joined: Joined, sign: int) -> None:
        """Nothing changes: an action stays itself."""

    def follow(self, spec: int, effect: Effect, sign: int) -> np.ndarray:
        """Add up the actions of changed slots again; returns them."""
        scores = self.energies.specs[spec]
        actions = np.unique(scores.table.layout.slot_action[effect.slots])
        self._add_up(scores, actions)
        return actions

    def leave(self, regions: Sequence[np.ndarray]) -> None:
        """Nothing has to go first."""

    def split(self, split: Split) -> np.ndarray:
        """Nothing changes: an action stays itself."""
        return np.empty(0, dtype=np.int64)

    def unsplit(self, split: Split, before: np.ndarray) -> None:
        """Nothing changes."""

    def enter(self, regions: Sequence[np.ndarray]) -> np.ndarray:
        """Add up the actions of some regions again; returns them, repeats possible."""
        found = []
        for scores, own in zip(self.energies.specs, regions, strict=True):
            layout = scores.table.layout
            found.append(np.unique(layout.slot_action[ranges(layout.slot_start, own)]))
            self._add_up(scores, found[-1])
        return np.concatenate(found)

    def _add_up(self, scores: SpecScores, actions: np.ndarray) -> None:
        self.energies.units[actions, scores.index] = scores.action_sums(actions)

    def around(self, segment: int) -> np.ndarray:
        """List the actions between a segment and others."""
        contacts = self.graph.contacts_of(segment).tolist()
        return np.concatenate([np.empty(0, np.int32), *(self.graph.actions_of(one) for one in contacts)])

    def is_candidate(self, items: np.ndarray) -> np.ndarray:
        """Tell which actions are not taken, bool (n,)."""
        is_left: np.ndarray = ~self._taken[items]
        return is_left

    def ends(self, items: np.ndarray) -> np.ndarray:
        """Return the two segments of each action, which may be the same, int32 (n, 2)."""
        table, segment = self.graph.actions, self.graph.segment
        return np.stack([segment[table.u[items]], segment[table.v[items]]], axis=1)

    def ranks(self, items: np.ndarray) -> np.ndarray:
        """Of equal actions the first comes first, int32 (n,)."""
        return items.astype(np.int32)

    def actions_of(self, item: int) -> np.ndarray:
        """Return the action itself."""
        return np.array([item], dtype=np.int32)

    def items_of(self, actions: np.ndarray) -> np.ndarray:
        """Return the actions themselves."""
        return actions

    def items(self) -> np.ndarray:
        """Return all actions."""
        return np.arange(len(self.graph.actions))
