"""The camera: bring a position into the view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from napari.layers import Layer

BLANK = 0.25
"""Share of the canvas, at most, that lies beyond an edge of the volume where the camera has flown."""


def camera_of(viewer: Any) -> Any:
    """Return the camera of a viewer, which moved in napari 0.9."""
    return getattr(viewer, "scene", viewer).camera


def middle_of_view(viewer: Any) -> np.ndarray:
    """Return the position in the middle of what a viewer shows, z, y, x in units of the world."""
    dims, n_more = viewer.dims, viewer.dims.ndim - 3
    middle: np.ndarray = np.array(dims.point[n_more:], dtype=float)
    centre = camera_of(viewer).center[-len(dims.displayed) :]
    for axis, value in zip(dims.displayed, centre, strict=True):
        if axis >= n_more:
            middle[axis - n_more] = value
    return middle


class Camera:
    """Moves the view of one viewer.

    Parameters
    ----------
    viewer : Viewer
        Its section and camera change; its zoom where that is asked for.
    get_layer : callable
        Returns the layer whose voxels positions are in; None while there is none.
    """

    def __init__(self, viewer: Any, get_layer: Callable[[], Layer | None]) -> None:
        self._viewer, self._get_layer = viewer, get_layer

    def fly_to(self, position: Sequence[float] | np.ndarray, half: float | None = None) -> None:
        """Bring a position into the view.

        Parameters
        ----------
        position : sequence of float
            z, y, x in voxels.
        half : float, optional
            How much to show on either side of it, in voxels of the finest axis; the position comes exactly
            into the middle then. Without it the zoom stays, and the position comes near the middle where
            half the view would be blank.
        """
        layer = self._get_layer()
        if layer is None:
            return
        world = np.asarray(layer.data_to_world(tuple(float(value) for value in position)))
        dims, camera = self._viewer.dims, camera_of(self._viewer)
        n_more = dims.ndim - 3
        for axis in dims.not_displayed:
            if axis >= n_more:
                dims.set_point(axis, world[axis - n_more])
        shown = [axis - n_more for axis in dims.displayed if axis >= n_more]
        if half is not None and len(shown) >= 2:
            camera.zoom = min(self._canvas_size()) / (2 * half * float(np.min(layer.scale[-3:])))
            camera.center = (0.0, *world[shown]) if len(shown) == 2 else tuple(world[shown])
        elif len(shown) == 2:
            middle = _inside(world[shown], layer.extent.world[:, shown], self._view_size(camera))
            camera.center = (0.0, *middle)
        else:
            camera.center = tuple(world[shown])

    def _canvas_size(self) -> tuple[int, int]:
        """Return height and width of the canvas in pixels."""
        viewer = self._viewer
        height, width = viewer.canvas.size if hasattr(viewer, "canvas") else viewer._canvas_size
        return int(height), int(width)

    def _view_size(self, camera: Any) -> np.ndarray:
        """Return height and width of what the canvas shows, in units of the world."""
        view: np.ndarray = np.array(self._canvas_size()) / camera.zoom
        return view


def _inside(wanted: np.ndarray, extent: np.ndarray, view: np.ndarray) -> np.ndarray:
    """Move the middle of the view so that not too much of it is blank."""
    room = (0.5 - BLANK) * view
    low, high = extent[0] + room, extent[1] - room
    middle: np.ndarray = np.where(low < high, np.clip(wanted, low, high), extent.mean(axis=0))
    return middle
