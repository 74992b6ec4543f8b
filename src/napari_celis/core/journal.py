"""What was decided, and how to take it back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from napari_celis.core.constraints import Constraints
from napari_celis.core.errors import ActionError
from napari_celis.core.operations import Operation

StepKind = Literal["greedy", "manual", "keep-apart", "cut"]
EventKind = Literal["decide", "undo", "redo"]


@dataclass(frozen=True)
class Step:
    """One decision, as it is shown, logged and stored."""

    index: int
    """Decisions before this one."""
    kind: StepKind
    u_id: int
    """Ids of the two supervoxels that it is about."""
    v_id: int
    action_index: int
    """Row of the action, -1 for a keep-apart of supervoxels that do not touch."""
    score: float
    """Energy change that the action promised when it was decided; for a cut, the change it brought."""
    energy: float
    """Energy afterwards; not a number where a lazy run has not evaluated it."""
    joins_segments: bool
    """Whether two segments became one; false for a merge that only changed local connectivity."""
    n_segments: int
    """Segments left afterwards."""


@dataclass(frozen=True)
class Event:
    """Something that happened to the history, in the order in which it happened."""

    kind: EventKind
    step: Step
    """The decision that was made, taken back or made again."""
    energy: float
    """Energy after the event; not a number where a lazy run has not evaluated it."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A step with what it did."""

    step: Step
    operation: Operation | None
    """None for a keep-apart, which changes no score."""
    constraints: Constraints
    """Constraints from before."""


@dataclass
class Journal:
    """Entries done, and entries taken back that can be done again."""

    done: list[Entry] = field(default_factory=list)
    undone: list[Entry] = field(default_factory=list)
    listener: Callable[[Event], None] | None = None
    """Called with every event, in the thread that decides; it must not raise."""
    _is_again: bool = False

    def push(self, entry: Entry) -> None:
        """Add an entry; what had been taken back can no longer be done again."""
        self.done.append(entry)
        if self._is_again:
            self.undone.pop()
        else:
            self.undone.clear()
        self._tell("redo" if self._is_again else "decide", entry.step, entry.step.energy)

    def take_back(self, energy: float) -> None:
        """Move the newest entry to those that can be done again; the energy is that without it."""
        self.undone.append(self.done.pop())
        self._tell("undo", self.undone[-1].step, energy)

    @contextmanager
    def again(self) -> Iterator[Entry]:
        """Lend the entry that was taken back last; what is pushed inside takes its place."""
        self._is_again = True
        try:
            yield self.undone[-1]
        finally:
            self._is_again = False

    def _tell(self, kind: EventKind, step: Step, energy: float) -> None:
        if self.listener is not None:
            self.listener(Event(kind, step, energy))

    def segment_after(self, n_steps: int, segment: np.ndarray) -> np.ndarray:
        """Return the segment of every supervoxel after that many decisions, given what it is now.

        Parameters
        ----------
        n_steps : int
            How many decisions.
        segment : ndarray
            Segment of every supervoxel now.
        """
        if not 0 <= n_steps <= len(self.done):
            raise ActionError(f"There is no step {n_steps}; the last is {len(self.done)}.")
        segment = segment.copy()
        for entry in reversed(self.done[n_steps:]):
            if entry.operation is not None:
                segment[entry.operation.moved] = entry.operation.segments
        return segment

    def joins(self, segment: np.ndarray) -> list[tuple[int, int, float]]:
        """List the joins, oldest first: segment that vanished, segment that took it in, score."""
        segment, found = segment.copy(), []
        for entry in reversed(self.done):
            if entry.operation is None or not len(entry.operation.moved):
                continue
            joined = segment[entry.operation.moved[0]]
            segment[entry.operation.moved] = entry.operation.segments
            if entry.step.joins_segments:
                found.append((int(entry.operation.segments[0]), int(joined), entry.step.score))
        return found[::-1]
