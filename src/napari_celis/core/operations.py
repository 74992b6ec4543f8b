"""Merges and cuts: how they change the state of an agglomeration, and how they are taken back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from napari_celis.core.merge_forest import Sides
from napari_celis.core.segment_graph import Joined, Split
from napari_celis.core.state import AgglomerationState, Changes

NOTHING = np.empty(0, dtype=np.int32)
Removed = tuple[tuple[int, int], ...]
"""Actions that were taken out of the order of taking, with their places in it, ascending."""


class Operation(Protocol):
    """Something that was done to a state."""

    @property
    def moved(self) -> np.ndarray:
        """Supervoxels that changed segment."""
        ...

    @property
    def segments(self) -> np.ndarray:
        """Their segments before."""
        ...

    def undo(self, state: AgglomerationState) -> None:
        """Take it back; it must be the newest one."""

    def arrays(self) -> list[np.ndarray]:
        """List the arrays that it keeps."""
        ...


@dataclass(frozen=True, eq=False)
class Merge:
    """An action that was taken."""

    action: int
    changes: Changes
    joined: Joined | None
    """The two segments that became one; None for a merge inside one segment."""
    scored: Any
    """What the policy needs to take the join back."""
    moved: np.ndarray
    segments: np.ndarray
    evaluated: list[Changes]
    """Energies that were evaluated between the decision before and this one."""

    @classmethod
    def do(cls, state: AgglomerationState, action: int, kept: int | None = None) -> Merge:
        """Merge the ends of an action, in every region and globally.

        Parameters
        ----------
        state : AgglomerationState
            Changed only when everything that it needs is evaluated.
        action : int
            Not taken yet.
        kept : int, optional
            The segment that keeps its name; by default the larger one.
        """
        state.evaluate_actions(np.array([action]))
        joins = [scores.find_join(action) for scores in state.specs]
        state.prepare(lambda scores: scores.prepare_merge(joins[scores.index]))
        changes = tuple(scores.apply_merge(join) for scores, join in zip(state.specs, joins, strict=True))
        state.count_energy(changes)
        ranking, contact = state.ranking, int(state.graph.arrays.contact_of[action])
        joined, scored, moved, segments = None, None, NOTHING, NOTHING
        if state.graph.arrays.is_open[contact]:
            joined = state.graph.join(contact, kept)
            ranking.ranked.join(joined, 1)
            scored = ranking.scorer.join(joined)
            moved = state.graph.members_of(joined.absorbed)
            segments = np.full(len(moved), joined.absorbed, dtype=np.int32)
        state.order.append(action)
        state.taken[action] = True
        done = cls(action, changes, joined, scored, moved, segments, state.evaluated)
        state.evaluated = []
        touched = state.follow(changes, 1)
        ranking.refresh([joined.kept] if joined else [], state.forbidden(), done._ended(touched))
        return done

    def undo(self, state: AgglomerationState) -> None:
        """Take the merge back."""
        state.forget_evaluated()
        ranking, joined = state.ranking, self.joined
        state.restore(self.changes)
        touched = state.follow(self.changes, -1)
        if joined is not None:
            ranking.scorer.unjoin(joined, self.scored)
            ranking.ranked.join(joined, -1)
            state.graph.unjoin(joined)
        state.taken[state.order.pop()] = False
        state.evaluated = self.evaluated
        ends = [joined.kept, joined.absorbed] if joined else []
        ranking.refresh(ends, state.forbidden(), self._ended(touched))

    def _ended(self, touched: np.ndarray) -> np.ndarray:
        """Add to the items whose energies changed those that begin or end with this merge."""
        own = [self.action] if self.joined is None else [self.action, self.joined.contact]
        gone = NOTHING if self.joined is None else self.joined.pairs[:, 1]
        return np.concatenate([touched, np.array(own), gone])

    def arrays(self) -> list[np.ndarray]:
        """List the arrays that it keeps."""
        own = [self.moved, self.segments] + ([] if self.joined is None else [self.joined.pairs])
        return own + [array for change in self.changes for array in change.arrays()]


@dataclass(frozen=True, eq=False)
class Cut:
    """A merge that was taken out."""

    changes: Changes
    removed: Removed
    """The actions that went."""
    regions: tuple[np.ndarray, ...]
    """Per spec, all regions in which something may count for other contacts now."""
    split: Split | None
    """The segment that fell apart, if one did."""
    before: tuple[Any, Any]
    """What the energies and the policy need to take the split back."""
    moved: np.ndarray
    segments: np.ndarray
    evaluated: list[Changes]

    @classmethod
    def do(cls, state: AgglomerationState, action: int, name: int | None = None) -> Cut:
        """Take an action back, with every other taken one between the two sides that it leaves.

        Parameters
        ----------
        state : AgglomerationState
            Changed only when everything that it needs is evaluated.
        action : int
            A taken one.
        name : int, optional
            The name of the part that leaves, one of its own; by default its largest supervoxel.
        """
        segment = int(state.segment[state.actions.u[action]])
        sides = state.merge_forest(segment).sides(action)
        taken = state.taken.copy()
        taken[list(sides.removed)] = False
        rebuilt = [
            np.unique(np.concatenate([scores.table.regions_of(one) for one in sides.removed]))
            for scores in state.specs
        ]
        prepared = state.prepare(lambda scores: scores.prepare_rebuild(rebuilt[scores.index], taken))
        moved = leaving(sides, segment)
        regions = tuple(rebuilt)
        if len(moved):
            incident = state.graph.incident(state.graph.members_of(segment))
            regions = tuple(
                np.union1d(own, np.unique(scores.table.slot_region[scores.table.slots_of(incident)]))
                for scores, own in zip(state.specs, rebuilt, strict=True)
            )
        ranking = state.ranking
        ranking.ranked.leave(regions)
        changes = tuple(
            scores.apply_rebuild(rebuilt[scores.index], *pair)
            for scores, pair in zip(state.specs, prepared, strict=True)
        )
        state.count_energy(changes)
        split: Split | None = None
        before: tuple[Any, Any] = (None, None)
        if len(moved):
            name = name_of(moved, state.supervoxels.sizes) if name is None else name
            split = state.graph.split(segment, moved, name)
            before = ranking.ranked.split(split), ranking.scorer.split(split)
        state.taken[:] = taken
        removed = remove(state.order, sides.removed)
        segments = np.full(len(moved), segment, dtype=np.int32)
        done = cls(changes, removed, regions, split, before, moved, segments, state.evaluated)
        state.evaluated = []
        done._refresh(state, sides.removed)
        return done

    def undo(self, state: AgglomerationState) -> None:
        """Make the merge again, as it was."""
        state.forget_evaluated()
        ranking = state.ranking
        ranking.ranked.leave(self.regions)
        state.restore(self.changes)
        if self.split is not None:
            state.graph.unsplit(self.split)
            ranking.ranked.unsplit(self.split, self.before[0])
            ranking.scorer.unsplit(self.split, self.before[1])
        put_back(state.order, self.removed)
        actions = tuple(action for _, action in self.removed)
        state.taken[list(actions)] = True
        state.evaluated = self.evaluated
        self._refresh(state, actions)

    def _refresh(self, state: AgglomerationState, removed: tuple[int, ...]) -> None:
        """Add up what the regions hold now, and rank what changed."""
        touched = state.ranking.ranked.enter(self.regions)
        segments = np.unique(state.segment[self.moved]).tolist()
        actions = NOTHING
        if self.split is not None:
            segments, actions = [*segments, self.split.segment], self.split.actions
        others = np.concatenate([touched, actions, np.array(removed, dtype=np.int64)])
        state.ranking.refresh(set(segments), state.forbidden(), others)

    def arrays(self) -> list[np.ndarray]:
        """List the arrays that it keeps."""
        own = [self.moved, self.segments, *self.regions] + ([] if self.split is None else [*self.split.saved])
        return own + [array for change in self.changes for array in change.arrays()]


def name_of(moved: np.ndarray, sizes: np.ndarray) -> int:
    """Name a part that leaves a segment after its largest supervoxel."""
    return int(moved[sizes[moved].argmax()])


def leaving(sides: Sides, segment: int) -> np.ndarray:
    """Return the side that does not hold the supervoxel after which the segment is named."""
    return sides.v_side if np.isin(segment, sides.u_side) else sides.u_side


def remove(order: list[int], actions: Iterable[int]) -> Removed:
    """Take actions out of the order of taking; returns what puts them back."""
    gone = set(actions)
    removed = tuple((place, action) for place, action in enumerate(order) if action in gone)
    for place, _ in reversed(removed):
        del order[place]
    return removed


def put_back(order: list[int], removed: Removed) -> None:
    """Put actions back into the order of taking, each at its place."""
    for place, action in removed:
        order.insert(place, action)
