"""Decisions of an earlier time: what they lead to, without computing a score.

A session file knows what was decided, not what it changed in thousands of sums. Segments, their names and
constraints follow from the decisions alone; scores follow from the segments in one pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from napari_celis.core.action_lookup import find_action, require_kept_apart, require_merged, require_two
from napari_celis.core.actions import ActionTable
from napari_celis.core.constraints import Constraints
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import (
    ANSWER_KINDS,
    MARK_KINDS,
    Entry,
    Event,
    Step,
    newest_about,
    require_new_answer,
)
from napari_celis.core.lessons import Lesson
from napari_celis.core.merge_forest import MergeForest
from napari_celis.core.operations import NOTHING, Operation, leaving, name_of, put_back, remove
from napari_celis.core.protection import Mark, require_not_done
from napari_celis.core.recorded_operations import RecordedCut, RecordedMerge
from napari_celis.core.segment_members import SegmentMembers
from napari_celis.core.supervoxels import Supervoxels


@dataclass(frozen=True, eq=False)
class RecordedHistory:
    """What a list of events leads to."""

    done: tuple[Entry, ...]
    """Decisions that stand, oldest first."""
    undone: tuple[Entry, ...]
    """Decisions that can be done again, the next one last."""
    order: tuple[int, ...]
    """Taken actions in the order in which they were taken."""
    segment: np.ndarray
    """Segment of every supervoxel, int32 (N + 1,)."""
    constraints: Constraints
    units_at_start: tuple[int, ...] | None = None
    """Energy per spec before the first decision, from `Agglomerator.energy_units`."""
    glued: tuple[tuple[int, int], ...] = ()
    """Ids of parts of split supervoxels that began as merged."""
    done_segments: tuple[int, ...] = ()
    """Segments that are done."""


class Recorder:
    """Follows decisions by their segments alone.

    Parameters
    ----------
    supervoxels, actions : Supervoxels, ActionTable
        The volume that they are about.
    glued : iterable of pairs of int
        Ids of parts of split supervoxels, which begin as merged.
    """

    def __init__(
        self, supervoxels: Supervoxels, actions: ActionTable, glued: Iterable[tuple[int, int]] = ()
    ) -> None:
        self._supervoxels, self._actions, self._glued = supervoxels, actions, tuple(glued)
        self._segments = SegmentMembers(supervoxels.sizes)
        self.constraints = Constraints()
        self.is_done = np.zeros(supervoxels.n + 1, dtype=bool)
        self.done: list[Entry] = []
        self.undone: list[Entry] = []
        self._order: list[int] = []
        self._taken = np.zeros(len(actions), dtype=bool)
        for u_id, v_id in self._glued:
            self._take(self._find(u_id, v_id))

    def history(self, units_at_start: tuple[int, ...] | None = None) -> RecordedHistory:
        """Return where the decisions have led."""
        return RecordedHistory(
            tuple(self.done),
            tuple(self.undone),
            tuple(self._order),
            self._segments.segment_of.copy(),
            self.constraints,
            units_at_start,
            self._glued,
            tuple(np.flatnonzero(self.is_done).tolist()),
        )

    def is_taken(self, u_id: int, v_id: int) -> bool:
        """Tell whether the action between two adjacent supervoxels is taken."""
        return bool(self._taken[self._find(u_id, v_id)])

    def are_apart(self, u_id: int, v_id: int) -> bool:
        """Tell whether two supervoxels lie in different segments."""
        u, v = self._supervoxels.index_of(u_id), self._supervoxels.index_of(v_id)
        return bool(self._segments.segment_of[u] != self._segments.segment_of[v])

    def is_kept_apart(self, u_id: int, v_id: int) -> bool:
        """Tell whether these very supervoxels are kept apart."""
        return self.constraints.has(self._supervoxels.index_of(u_id), self._supervoxels.index_of(v_id))

    def forbidding_pair(self, u_id: int, v_id: int) -> tuple[int, int] | None:
        """Return the ids of the pair that keeps the segments of two supervoxels apart, or None."""
        u, v = self._supervoxels.index_of(u_id), self._supervoxels.index_of(v_id)
        pair = self.constraints.between(self._segments.segment_of, u, v)
        return None if pair is None else self._ids(*pair)

    def last_about(self, u_id: int, v_id: int) -> Step | None:
        """Return the newest decision that stands about two supervoxels; None if there is none."""
        return newest_about((entry.step for entry in reversed(self.done)), u_id, v_id)

    def merges_between(self, u_id: int, v_id: int) -> list[tuple[int, int]]:
        """List the merges, as pairs of ids, that connect two supervoxels of one segment; none in others."""
        u, v = self._supervoxels.index_of(u_id), self._supervoxels.index_of(v_id)
        if self._segments.segment_of[u] != self._segments.segment_of[v]:
            return []
        path = self._forest(int(self._segments.segment_of[u])).path(u, v)
        return [self._ids(int(self._actions.u[a]), int(self._actions.v[a])) for a in path]

    def _ids(self, u: int, v: int) -> tuple[int, int]:
        return int(self._supervoxels.ids[u]), int(self._supervoxels.ids[v])

    def follow(self, event: Event) -> None:
        """Follow one more event.

        Raises
        ------
        ActionError
            If it cannot be done: the record is of another volume, or damaged.
        """
        if event.kind == "undo":
            self.undo()
        elif event.kind == "redo":
            if not self.undone:
                raise ActionError("There is nothing to redo.")
            rest = self.undone[:-1]
            self.decide(event.step, self.undone[-1].lesson)
            self.undone = rest
        else:
            self.decide(event.step, event.lesson)

    def decide(self, step: Step, lesson: Lesson | None = None) -> None:
        """Follow a decision; its row, place and segments are found anew.

        Parameters
        ----------
        step : Step
            As it was recorded.
        lesson : Lesson, optional
            What it taught.
        """
        before, joins = self.constraints, False
        operation: Operation | None = None
        if step.kind == "keep-apart":
            action = self._keep_apart(step)
        elif step.kind == "allow":
            action = self._allow(step)
        elif step.kind in ANSWER_KINDS:
            action = self._answer(step)
        elif step.kind in MARK_KINDS:
            action, operation = -1, self._mark(step)
        else:
            action = self._find(step.u_id, step.v_id)
            is_cut = step.kind in ("cut", "split")
            operation = self._cut(action, step) if is_cut else self._merge(action, step)
            joins = not is_cut and len(operation.moved) > 0
        kept = replace(
            step,
            index=len(self.done),
            action_index=action,
            joins_segments=joins,
            n_segments=self._segments.n_segments,
        )
        self.done.append(Entry(kept, operation, before, lesson))
        self.undone.clear()

    def undo(self) -> Step:
        """Take the newest decision back."""
        if not self.done:
            raise ActionError("There is nothing to undo.")
        entry = self.done.pop()
        self.constraints, operation = entry.constraints, entry.operation
        if isinstance(operation, RecordedMerge):
            self._taken[self._order.pop()] = False
            if len(operation.moved):
                self._segments.part(operation.moved, int(operation.segments[0]))
        elif isinstance(operation, RecordedCut):
            put_back(self._order, operation.removed)
            self._taken[[action for _, action in operation.removed]] = True
            if len(operation.moved):
                self._segments.join(operation.segment, int(self._segments.segment_of[operation.moved[0]]))
        elif isinstance(operation, Mark):
            self.is_done[operation.segment] = operation.was_done
        self.undone.append(entry)
        return entry.step

    def _find(self, u_id: int, v_id: int) -> int:
        return find_action(self._supervoxels, self._actions, u_id, v_id)

    def _merge(self, action: int, step: Step) -> Operation:
        if self._taken[action]:
            raise ActionError(f"Supervoxels {step.u_id} and {step.v_id} are merged already.")
        u, v = int(self._actions.u[action]), int(self._actions.v[action])
        if self._segments.segment_of[u] != self._segments.segment_of[v]:
            require_not_done(self.is_done, self._supervoxels.ids, *self._segments.segment_of[[u, v]].tolist())
        if self.constraints.between(self._segments.segment_of, u, v) is not None:
            raise ActionError(f"Supervoxels {step.u_id} and {step.v_id} lie in segments that are kept apart.")
        return self._take(action)

    def _take(self, action: int) -> Operation:
        u, v = int(self._actions.u[action]), int(self._actions.v[action])
        a, b = int(self._segments.segment_of[u]), int(self._segments.segment_of[v])
        moved, segments = NOTHING, NOTHING
        if a != b:
            kept = self._segments.larger(a, b)
            moved = self._segments.join(kept, a + b - kept)
            segments = np.full(len(moved), a + b - kept, dtype=np.int32)
        self._order.append(action)
        self._taken[action] = True
        return RecordedMerge(action, moved, segments)

    def _cut(self, action: int, step: Step) -> Operation:
        if not self._taken[action]:
            raise ActionError(f"Supervoxels {step.u_id} and {step.v_id} were never merged directly.")
        segment = int(self._segments.segment_of[self._actions.u[action]])
        require_not_done(self.is_done, self._supervoxels.ids, segment)
        sides = self._forest(segment).sides(action)
        removed = remove(self._order, sides.removed)
        self._taken[list(sides.removed)] = False
        moved = leaving(sides, segment).astype(np.int32)
        cut = RecordedCut(segment, removed, moved, np.full(len(moved), segment, dtype=np.int32))
        if len(moved):
            self._segments.part(moved, name_of(moved, self._supervoxels.sizes))
        return cut

    def _forest(self, segment: int) -> MergeForest:
        order = np.array(self._order, dtype=np.int64)
        own = order[self._segments.segment_of[self._actions.u[order]] == segment]
        return MergeForest(self._actions, np.array(self._segments.members_of(segment)), own.tolist())

    def _keep_apart(self, step: Step) -> int:
        u, v = self._supervoxels.index_of(step.u_id), self._supervoxels.index_of(step.v_id)
        require_two(u, v, step.u_id)
        if self._segments.segment_of[u] == self._segments.segment_of[v]:
            raise ActionError(f"Supervoxels {step.u_id} and {step.v_id} are in one segment.")
        if self.constraints.has(u, v):
            raise ActionError(f"Supervoxels {step.u_id} and {step.v_id} are kept apart already.")
        self.constraints = self.constraints.with_pair(u, v)
        return self._actions.find(u, v)

    def _allow(self, step: Step) -> int:
        u, v = self._supervoxels.index_of(step.u_id), self._supervoxels.index_of(step.v_id)
        require_kept_apart(step.u_id, step.v_id, is_kept=self.constraints.has(u, v))
        self.constraints = self.constraints.without_pair(u, v)
        return self._actions.find(u, v)

    def _mark(self, step: Step) -> Mark:
        if step.u_id != step.v_id:
            raise ActionError(f"A segment is {step.kind} by one supervoxel, not {step.u_id} and {step.v_id}.")
        segment = int(self._segments.segment_of[self._supervoxels.index_of(step.u_id)])
        mark = Mark.of(self.is_done, segment, becomes_done=step.kind == "done", name=step.u_id)
        self.is_done[segment] = mark.is_done
        return mark

    def done_by(self, u_id: int, v_id: int) -> Step | None:
        """Return the mark that keeps the segments of two supervoxels from becoming one, or None.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the two supervoxels.
        """
        ends = self._segments.segment_of[[self._supervoxels.index_of(one) for one in (u_id, v_id)]].tolist()
        segment = next((one for one in ends if self.is_done[one]), None)
        for entry in reversed(self.done):
            if isinstance(entry.operation, Mark) and entry.operation.segment == segment:
                return entry.step
        return None

    def _answer(self, step: Step) -> int:
        action = self._find(step.u_id, step.v_id)
        if step.kind == "confirm":
            require_merged(step.u_id, step.v_id, is_taken=bool(self._taken[action]))
        require_new_answer(step.kind, self.last_about(step.u_id, step.v_id))
        return action


def recorded_history(
    supervoxels: Supervoxels,
    actions: ActionTable,
    events: Iterable[Event],
    units_at_start: tuple[int, ...] | None = None,
    *,
    glued: Iterable[tuple[int, int]] = (),
) -> RecordedHistory:
    """Follow events from the beginning.

    Parameters
    ----------
    supervoxels, actions : Supervoxels, ActionTable
        The volume that they are about.
    events : iterable of Event
        In order.
    units_at_start : tuple of int, optional
        Energy per spec before the first of them.
    glued : iterable of pairs of int
        As for `Recorder`.

    Raises
    ------
    ActionError
        Naming the first event that cannot be done on this volume.
    """
    recorder = Recorder(supervoxels, actions, glued)
    for number, event in enumerate(events, start=1):
        try:
            recorder.follow(event)
        except ActionError as error:
            raise ActionError(
                f"Event {number} of the record cannot be done on this volume: {error}"
            ) from error
    return recorder.history(units_at_start)
