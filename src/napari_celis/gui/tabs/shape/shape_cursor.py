"""Where the mouse points, in voxels: by click, or all the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from napari.layers import Layer
from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.gui.session.geometry import supervoxel_along

FOLLOW_MS = 60
"""Least time between two positions while the mouse moves."""
CLICK_PIXELS = 4
"""A mouse that moved further between press and release has dragged the view."""


class ShapeCursor(QObject):
    """Reports positions in voxels of a layer; in 3-D, the first voxel under the mouse that is no background.

    Parameters
    ----------
    viewer : Viewer
        Whose mouse is watched, only while something is switched on.
    get_layer, get_labels : callable
        Return the layer that positions refer to, and its voxels; None while there is none.
    """

    picked = Signal(object)
    moved = Signal(object)

    def __init__(
        self,
        viewer: Any,
        get_layer: Callable[[], Layer | None],
        get_labels: Callable[[], Any],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._viewer, self._get_layer, self._get_labels = viewer, get_layer, get_labels
        self._last: Any = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FOLLOW_MS)
        self._timer.timeout.connect(self._report_move)

    def set_picking(self, is_on: bool) -> None:
        """Report clicks, or do not."""
        _switch(self._viewer.mouse_drag_callbacks, self._on_press, is_on)

    def set_following(self, is_on: bool) -> None:
        """Report movements, or do not."""
        _switch(self._viewer.mouse_move_callbacks, self._on_move, is_on)
        if not is_on:
            self._timer.stop()

    def _on_press(self, viewer: Any, event: Any) -> Iterator[None]:
        """Wait for the release; a drag is no click."""
        if event.button != 1 or event.modifiers:
            return
        pressed_at = np.array(event.pos)
        position = self._voxel(event)
        yield
        while event.type == "mouse_move":
            yield
        if np.abs(np.array(event.pos) - pressed_at).max() <= CLICK_PIXELS:
            self.picked.emit(position)

    def _on_move(self, viewer: Any, event: Any) -> None:
        if len(event.dims_displayed) == 3 and not isinstance(self._get_labels(), np.ndarray):
            return  # Reading a whole lazy volume at every movement would hold the window up.
        self._last = self._voxel(event)
        if not self._timer.isActive():
            self._timer.start()

    def _report_move(self) -> None:
        self.moved.emit(self._last)

    def _voxel(self, event: Any) -> np.ndarray | None:
        """Return the position under the mouse in voxels; None if it points past the volume."""
        layer = self._get_layer()
        if layer is None:
            return None
        if len(event.dims_displayed) == 2:
            return np.array(layer.world_to_data(event.position[-layer.ndim :]))
        start, end = layer.get_ray_intersections(
            event.position, event.view_direction, event.dims_displayed, world=True
        )
        if start is None or end is None:
            return None
        supervoxel, voxel = supervoxel_along(np.asarray(self._get_labels()), start, end)
        return voxel if supervoxel else None


def _switch(callbacks: list[Any], callback: Any, is_on: bool) -> None:
    """Put a callback into a list once, or take it out."""
    if is_on and callback not in callbacks:
        callbacks.append(callback)
    elif not is_on and callback in callbacks:
        callbacks.remove(callback)
