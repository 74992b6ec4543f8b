"""The expert: greedy on the variation of information against the truth; a model learns to imitate it."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from napari_celis.core.actions import ActionTable
from napari_celis.evaluation.overlaps import Overlaps, RunningOverlaps


@dataclass(frozen=True)
class ExpertStep:
    """One merge of the expert."""

    action_index: int
    change: float
    """Change of the variation of information in bits, below 0."""


def expert_steps(actions: ActionTable, overlaps: Overlaps) -> Iterator[ExpertStep]:
    """Take the action that lowers the variation of information most, again and again, while one does.

    Of equal actions the first is taken. Actions inside one segment change nothing and are never taken.
    """
    run = _ExpertRun(actions, overlaps)
    while (step := run.step()) is not None:
        yield step


class _ExpertRun:
    """Segments, their neighbours, and a queue of changes."""

    def __init__(self, actions: ActionTable, overlaps: Overlaps) -> None:
        self.segments = RunningOverlaps(overlaps)
        self.version = [0] * len(self.segments.rows)
        self.neighbours: list[dict[int, int]] = [{} for _ in self.segments.rows]
        self.queue: list[tuple[float, int, int, int, int, int]] = []
        for action, (u, v) in enumerate(zip(actions.u.tolist(), actions.v.tolist(), strict=True)):
            self.neighbours[u][v] = self.neighbours[v][u] = action
            self._push(u, v, action)

    def step(self) -> ExpertStep | None:
        """Take the best action that is still up to date."""
        while self.queue:
            change, action, u, v, version_u, version_v = heapq.heappop(self.queue)
            if self.version[u] == version_u and self.version[v] == version_v:
                self._join(u, v)
                return ExpertStep(action, change)
        return None

    def _push(self, u: int, v: int, action: int) -> None:
        """Queue an action if it lowers the variation of information."""
        change = self.segments.change(u, v)
        if change < 0:
            heapq.heappush(self.queue, (change, action, u, v, self.version[u], self.version[v]))

    def _join(self, u: int, v: int) -> None:
        """Let `v` become part of `u`, and look at all neighbours of `u` again."""
        self.segments.join(u, v)
        self.version[u] += 1
        self.version[v] += 1
        for other, action in self.neighbours[v].items():
            del self.neighbours[other][v]
            if other != u:
                first = min(action, self.neighbours[u].get(other, action))
                self.neighbours[u][other] = self.neighbours[other][u] = first
        self.neighbours[v] = {}
        for other, action in self.neighbours[u].items():
            self._push(u, other, action)
