"""The way through the queue: which question comes next, from where one looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.gui.session.engine.commands import Command
from napari_celis.gui.session.engine.snapshot import Snapshot

Reply = Literal["merge", "apart", "other"]
"""What an answer does to the two segments: they become one, are kept apart, or stay as they are."""


@dataclass(frozen=True, eq=False)
class SentAnswer:
    """An answer that the engine has got, and whose effect no snapshot shows yet."""

    command: Command
    reply: Reply
    action: int


@dataclass(frozen=True, eq=False)
class KnownOrder:
    """The queue as it was a moment ago: good enough to go on with until the newest one is known."""

    order: np.ndarray
    u: np.ndarray
    v: np.ndarray
    """Ends of the actions in it."""
    was_joined: np.ndarray
    """Whether they were one segment."""
    n_steps: int
    """Decisions that stood when it was listed, which may be before that moment while a run goes on."""

    @classmethod
    def at(cls, order: np.ndarray, actions: ActionTable, snapshot: Snapshot, n_steps: int) -> KnownOrder:
        """Remember the queue of a snapshot.

        Parameters
        ----------
        order : ndarray of int
            The queue.
        actions : ActionTable
            What it is about.
        snapshot : Snapshot
            When.
        n_steps : int
            Decisions that stood when the questions were listed.
        """
        u, v, segment_ids = actions.u[order], actions.v[order], snapshot.segment_ids
        return cls(order, u, v, segment_ids[u] == segment_ids[v], n_steps)

    def of(self, snapshot: Snapshot) -> np.ndarray:
        """Return the queue without what was merged, cut or finished since."""
        is_joined = snapshot.segment_ids[self.u] == snapshot.segment_ids[self.v]
        is_done = snapshot.is_done[self.u] | snapshot.is_done[self.v]
        order: np.ndarray = self.order[(is_joined == self.was_joined) & ~is_done]
        return order


class QuestionWalk:
    """Remembers what was passed over and what was answered, so that the next question needs no snapshot.

    Nobody waits for the engine between two answers: what an answer will do to the two segments is known
    before it has done it.

    Parameters
    ----------
    actions : ActionTable
        What can be asked about.
    """

    def __init__(self, actions: ActionTable) -> None:
        self._actions = actions
        self._is_passed = np.zeros(len(actions), dtype=bool)
        self._sent: list[SentAnswer] = []
        self.is_wanted: Callable[[np.ndarray], np.ndarray] | None = None
        """Tells of actions which ones the user wants to be asked about; None for all."""

    def start_at(self, action: int, order: np.ndarray) -> None:
        """Go on from a question that the user chose: those before it in the queue count as passed over.

        Parameters
        ----------
        action : int
            What was chosen; nothing changes if it is not in the queue.
        order : ndarray of int
            The queue.
        """
        at = np.flatnonzero(order == action)
        if len(at):
            self._is_passed[:] = False
            self._is_passed[order[: at[0]]] = True

    def pass_over(self, action: int) -> None:
        """Do not come back to a question before all others were asked."""
        if action >= 0:
            self._is_passed[action] = True

    def return_to(self, action: int) -> None:
        """Forget that a question was passed over."""
        if action >= 0:
            self._is_passed[action] = False

    def begin_again(self) -> bool:
        """Forget everything that was passed over; tell whether there was anything."""
        was_any = bool(self._is_passed.any())
        self._is_passed[:] = False
        return was_any

    def send(self, answer: SentAnswer) -> None:
        """Remember an answer until its effect is known."""
        self._sent.append(answer)
        self.pass_over(answer.action)

    def fail(self, command: Command | None) -> int:
        """Forget an answer that could not be carried out; return what it was about, or -1."""
        failed = [answer for answer in self._sent if answer.command is command]
        self._sent = [answer for answer in self._sent if answer.command is not command]
        for answer in failed:
            self.return_to(answer.action)
        return failed[0].action if failed else -1

    def settle(self, snapshot: Snapshot) -> None:
        """Forget the answers whose effect a snapshot shows."""
        self._sent = [answer for answer in self._sent if not snapshot.is_after(answer.command)]

    def upcoming(self, order: np.ndarray, snapshot: Snapshot, n: int) -> list[int]:
        """List the questions that come next.

        Parameters
        ----------
        order : ndarray of int
            The queue.
        snapshot : Snapshot
            The newest state that is known.
        n : int
            How many at most.

        Returns
        -------
        actions : list of int
            In the order in which they will be asked.
        """
        left = order[~self._is_passed[order]]
        if self.is_wanted is not None and len(left):
            left = left[self.is_wanted(left)]
        found: list[int] = []
        for action in self._still_open(left, snapshot):
            if len(found) == n:
                break
            found.append(action)
        return found

    def _still_open(self, actions: np.ndarray, snapshot: Snapshot) -> Iterator[int]:
        """Leave out what the answers under way decide too."""
        segment_ids, u, v = snapshot.segment_ids, self._actions.u, self._actions.v
        joined: dict[int, int] = {}

        def segment_of(supervoxel: int) -> int:
            segment = int(segment_ids[supervoxel])
            while segment in joined:
                segment = joined[segment]
            return segment

        apart, answered = set(), {answer.action for answer in self._sent}
        for answer in self._sent:
            first, second = segment_of(u[answer.action]), segment_of(v[answer.action])
            if answer.reply == "merge" and first != second:
                joined[first] = second
        for answer in self._sent:
            if answer.reply == "apart":
                apart.add(frozenset((segment_of(u[answer.action]), segment_of(v[answer.action]))))
        for action in actions.tolist():
            ends = frozenset((segment_of(u[action]), segment_of(v[action])))
            is_joined = len(ends) == 1 and segment_ids[u[action]] != segment_ids[v[action]]
            if action not in answered and not is_joined and ends not in apart:
                yield action
