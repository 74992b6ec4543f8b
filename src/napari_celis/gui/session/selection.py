"""What is selected: up to two supervoxels, and where they were clicked."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import QObject, Signal


class Selection(QObject):
    """The selected supervoxels of one viewer, by dense index."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.supervoxels: tuple[int, ...] = ()
        """Up to two, by dense index."""
        self.clicks: tuple[np.ndarray, ...] = ()
        """Where the selected supervoxels were clicked, in voxels; empty if they were chosen otherwise."""

    def select(self, *supervoxels: int) -> None:
        """Select up to two supervoxels, not by a click."""
        self._set(tuple(int(supervoxel) for supervoxel in supervoxels[:2]), ())

    def clear(self) -> None:
        """Select nothing."""
        self._set((), ())

    def click(self, supervoxel: int, voxel: np.ndarray) -> None:
        """Add what was clicked as the second one, or drop it if it is selected already.

        Parameters
        ----------
        supervoxel : int
            By dense index.
        voxel : ndarray of float, shape (3,)
            Where, in voxels.
        """
        if supervoxel in self.supervoxels:
            kept = [index for index, other in enumerate(self.supervoxels) if other != supervoxel]
            clicks = tuple(self.clicks[index] for index in kept if index < len(self.clicks))
            self._set(tuple(self.supervoxels[index] for index in kept), clicks)
        else:
            self._set((*self.supervoxels[:1], supervoxel), (*self.clicks[: len(self.supervoxels[:1])], voxel))

    def keep_first(self) -> None:
        """Drop the second supervoxel."""
        self._set(self.supervoxels[:1], self.clicks[:1])

    def _set(self, supervoxels: tuple[int, ...], clicks: tuple[np.ndarray, ...]) -> None:
        is_new = supervoxels != self.supervoxels
        self.supervoxels, self.clicks = supervoxels, clicks
        if is_new:
            self.changed.emit()
