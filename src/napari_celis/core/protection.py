"""Segments that are done: no merge, cut or split changes them until they are in work again.

A segment is marked at the supervoxel that names it. Nothing joins or parts a segment that is done, so that
supervoxel names it for as long as the mark is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.core.errors import ActionError

if TYPE_CHECKING:
    from napari_celis.core.constraints import SegmentPairs
    from napari_celis.core.state import AgglomerationState

NOTHING = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Forbidden:
    """What may not be joined: pairs of segments that are kept apart, and segments that are done."""

    pairs: SegmentPairs
    is_done: np.ndarray
    """By segment, bool (N + 1,)."""

    @property
    def is_empty(self) -> bool:
        """Whether everything may be joined."""
        return not len(self.pairs.pairs) and not self.is_done.any()

    def forbid(self, ends: np.ndarray) -> np.ndarray:
        """Tell which pairs of segments, (m, 2), may not become one, bool (m,)."""
        # A merge inside one segment changes no segment.
        is_different = ends[:, 0] != ends[:, 1]
        mask: np.ndarray = self.pairs.forbid(ends) | (self.is_done[ends].any(axis=1) & is_different)
        return mask


@dataclass(frozen=True, eq=False)
class Mark:
    """A segment that became done, or in work."""

    segment: int
    was_done: bool
    is_done: bool

    @property
    def moved(self) -> np.ndarray:
        """No supervoxel changes segment."""
        return NOTHING

    @property
    def segments(self) -> np.ndarray:
        """None either."""
        return NOTHING

    @classmethod
    def of(cls, is_done: np.ndarray, segment: int, *, becomes_done: bool, name: int) -> Mark:
        """Describe a mark that can be made.

        Parameters
        ----------
        is_done : ndarray of bool
            By segment.
        segment : int
            Which one.
        becomes_done : bool
            Done, or in work.
        name : int
            The id that messages say.
        """
        was_done = bool(is_done[segment])
        if was_done and becomes_done:
            raise ActionError(f"Segment {name} is done already. Go on with another one.")
        return cls(segment, was_done, becomes_done)

    def do(self, state: AgglomerationState) -> None:
        """Make it."""
        self._set(state, is_done=self.is_done)

    def undo(self, state: AgglomerationState) -> None:
        """Take it back."""
        self._set(state, is_done=self.was_done)

    def _set(self, state: AgglomerationState, *, is_done: bool) -> None:
        if state.is_done[self.segment] != is_done:
            state.is_done[self.segment] = is_done
            state.ranking.refresh([self.segment], state.forbidden())

    def arrays(self) -> list[np.ndarray]:
        """List the arrays that it keeps."""
        return []


def require_not_done(is_done: np.ndarray, ids: np.ndarray, *segments: int) -> None:
    """Refuse to change a segment that is done.

    Parameters
    ----------
    is_done : ndarray of bool
        By segment.
    ids : ndarray
        Ids of supervoxels.
    *segments : int
        Those that would change.
    """
    for segment in segments:
        if is_done[segment]:
            raise ActionError(
                f"Segment {ids[segment]} is done, so no merge, cut or split may change it. Set its state "
                "to “in work” first."
            )
