"""What was decided, and how to take it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from napari_celis.core.constraints import Constraints
from napari_celis.core.errors import ActionError
from napari_celis.core.lessons import Lesson
from napari_celis.core.operations import Operation

StepKind = Literal[
    "greedy", "manual", "keep-apart", "allow", "cut", "split", "confirm", "not-here", "done", "in-work"
]  # fmt: skip
ANSWER_KINDS: tuple[StepKind, ...] = ("confirm", "not-here")
"""Kinds that change nothing but what is known: a merge that is still right, a membrane at a contact."""
MARK_KINDS: tuple[StepKind, ...] = ("done", "in-work")
"""Kinds that are about one segment, named by one of its supervoxels, which is both ends."""
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
    """Row of the action, -1 for a keep-apart of supervoxels that do not touch, and for a segment that is
    done or in work."""
    score: float
    """Energy change that the action promised when it was decided; for a cut, the change it brought."""
    energy: float
    """Energy afterwards; not a number where a lazy run has not evaluated it."""
    joins_segments: bool
    """Whether two segments became one; false for a merge that only changed local connectivity."""
    n_segments: int
    """Segments left afterwards."""
    follows: bool = False
    """Whether it was made together with the decision before it: both are taken back at once."""


@dataclass(frozen=True)
class Event:
    """Something that happened to the history, in the order in which it happened."""

    kind: EventKind
    step: Step
    """The decision that was made, taken back or made again."""
    energy: float
    """Energy after the event; not a number where a lazy run has not evaluated it."""
    lesson: Lesson | None = field(default=None, compare=False)
    """What the decision teaches, where a person made it and there is a classifier that could learn."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A step with what it did."""

    step: Step
    operation: Operation | None
    """None for a keep-apart, an allow, a confirm and a not-here, which change no score."""
    constraints: Constraints
    """Constraints from before."""
    lesson: Lesson | None = None
    """What it teaches."""


@dataclass
class Journal:
    """Entries done, and entries taken back that can be done again."""

    done: list[Entry] = field(default_factory=list)
    undone: list[Entry] = field(default_factory=list)
    listener: Callable[[Event], None] | None = None
    """Called with every event, in the thread that decides; it must not raise."""
    _is_again: bool = False
    _is_together: bool = False
    _follows: bool = False

    def push(self, entry: Entry) -> Step:
        """Add an entry; what had been taken back can no longer be done again. Returns its step."""
        if self.undone[-1].step.follows if self._is_again else self._follows:
            entry = replace(entry, step=replace(entry.step, follows=True))
        self._follows = self._is_together
        self.done.append(entry)
        if self._is_again:
            self.undone.pop()
        else:
            self.undone.clear()
        self._tell("redo" if self._is_again else "decide", entry, entry.step.energy)
        return entry.step

    def take_back(self, energy: float) -> None:
        """Move the newest entry to those that can be done again; the energy is that without it."""
        self.undone.append(self.done.pop())
        self._tell("undo", self.undone[-1], energy)

    @property
    def entry_again(self) -> Entry | None:
        """The entry that is being done again, if one is."""
        return self.undone[-1] if self._is_again else None

    @contextmanager
    def again(self) -> Iterator[Entry]:
        """Lend the entry that was taken back last; what is pushed inside takes its place."""
        self._is_again = True
        try:
            yield self.undone[-1]
        finally:
            self._is_again = False

    @contextmanager
    def together(self, *, follows: bool = False) -> Iterator[None]:
        """Let everything that is pushed inside be taken back at once.

        Parameters
        ----------
        follows : bool
            Whether the first of it belongs to the decision before.
        """
        self._is_together, self._follows = True, follows
        try:
            yield
        finally:
            self._is_together = self._follows = False

    def has_just_cut(self, action: int) -> bool:
        """Tell whether what is pushed next is made together with the cut of this very action."""
        if not self._follows:
            return False
        made = (entry.step for entry in self.done[-self.n_last() :])
        return any(step.kind == "cut" and step.action_index == action for step in made)

    def n_last(self) -> int:
        """Count the newest decisions that were made together; 0 if there are none."""
        steps = (entry.step for entry in reversed(self.done))
        before = (n for n, step in enumerate(steps, start=1) if not step.follows)
        return next(before, len(self.done))

    def n_next(self) -> int:
        """Count the decisions that are done again together; 0 if there are none."""
        steps = (entry.step for entry in reversed(self.undone))
        after = (n for n, step in enumerate(steps) if n and not step.follows)
        return next(after, len(self.undone))

    def _tell(self, kind: EventKind, entry: Entry, energy: float) -> None:
        if self.listener is not None:
            self.listener(Event(kind, entry.step, energy, entry.lesson))

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

    def last_about(self, u_id: int, v_id: int) -> Step | None:
        """Return the newest decision that stands about two supervoxels; None if there is none."""
        return newest_about((entry.step for entry in reversed(self.done)), u_id, v_id)

    def merge_scores(self, n_actions: int) -> np.ndarray:
        """Return the score with which each action was taken last, float64 (A,); not a number for others."""
        scores = np.full(n_actions, np.nan)
        for entry in self.done:
            if entry.step.kind in ("greedy", "manual"):
                scores[entry.step.action_index] = entry.step.score
        return scores

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


def newest_about(newest_first: Iterable[Step], u_id: int, v_id: int) -> Step | None:
    """Return the first of these decisions that is about two supervoxels; None if there is none.

    Parameters
    ----------
    newest_first : iterable of Step
        Decisions that stand.
    u_id, v_id : int
        Ids of the two supervoxels, in any order.
    """
    ends = ((u_id, v_id), (v_id, u_id))
    return next((step for step in newest_first if (step.u_id, step.v_id) in ends), None)


def require_new_answer(kind: StepKind, last: Step | None) -> None:
    """Refuse an answer that the newest decision about its pair has given already."""
    if last is not None and last.kind == kind:
        said = "confirmed" if kind == "confirm" else "marked as `not here`"
        raise ActionError(
            f"The contact of supervoxels {last.u_id} and {last.v_id} was {said} already, "
            f"in step {last.index + 1:,}. Go on with the next question."
        )
