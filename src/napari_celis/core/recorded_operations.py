"""Recorded merges and cuts: how they are undone without knowing what they changed in the sums.

A recorded merge is undone by taking its action out, as a cut does; a recorded cut by making its merges again.
Sums are whole numbers, so both lead to the same bits as undoing on the day of the decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.operations import Cut, Merge, Removed, put_back
from napari_celis.core.state import AgglomerationState


@dataclass(frozen=True, eq=False)
class RecordedMerge:
    """A merge of which only the action is known."""

    action: int
    moved: np.ndarray
    segments: np.ndarray

    def undo(self, state: AgglomerationState) -> None:
        """Take the merge out; it is the newest, so no other one goes with it."""
        state.forget_evaluated()
        Cut.do(state, self.action, int(self.segments[0]) if len(self.segments) else None)
        # Nothing that is saved from before this decision needs them.
        state.evaluated = []

    def arrays(self) -> list[np.ndarray]:
        """List the arrays that it keeps."""
        return [self.moved, self.segments]


@dataclass(frozen=True, eq=False)
class RecordedCut:
    """A cut of which only the actions that went are known."""

    segment: int
    removed: Removed
    moved: np.ndarray
    segments: np.ndarray

    def undo(self, state: AgglomerationState) -> None:
        """Merge again what was cut, under the name from before."""
        state.forget_evaluated()
        done: list[Merge] = []
        try:
            for _, action in self.removed:
                done.append(Merge.do(state, action, self.segment))
        except BaseException:
            for merge in reversed(done):
                merge.undo(state)
            raise
        del state.order[len(state.order) - len(done) :]
        put_back(state.order, self.removed)
        state.evaluated = []

    def arrays(self) -> list[np.ndarray]:
        """List the arrays that it keeps."""
        return [self.moved, self.segments]
