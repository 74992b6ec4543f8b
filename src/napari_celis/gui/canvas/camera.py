"""Where the camera goes when something is to be looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
from napari.layers import Layer

BLANK = 0.25
"""Share of the canvas, at most, that lies beyond an edge of the volume where the camera has flown."""


def fly(viewer: Any, layer: Layer, position: Any) -> None:
    """Bring a position into the view: into its middle, or near it where half the view would be blank.

    Parameters
    ----------
    viewer : Viewer
        Its section and camera change; its zoom does not.
    layer : Layer
        The volume with the position.
    position : sequence of float
        z, y, x in voxels of the layer.
    """
    world = np.asarray(layer.data_to_world(tuple(float(value) for value in position)))
    # The camera moved in napari 0.9.
    dims, camera = viewer.dims, getattr(viewer, "scene", viewer).camera
    n_more = dims.ndim - 3
    for axis in dims.not_displayed:
        if axis >= n_more:
            dims.set_point(axis, world[axis - n_more])
    shown = [axis - n_more for axis in dims.displayed if axis >= n_more]
    if len(shown) == 2:
        camera.center = (
            0.0,
            *_inside(world[shown], layer.extent.world[:, shown], _view_size(viewer, camera)),
        )
    else:
        camera.center = tuple(world[shown])


def _view_size(viewer: Any, camera: Any) -> np.ndarray:
    """Return height and width of what the canvas shows, in units of the world."""
    size = viewer.canvas.size if hasattr(viewer, "canvas") else viewer._canvas_size
    return np.array(size) / camera.zoom


def _inside(wanted: np.ndarray, extent: np.ndarray, view: np.ndarray) -> np.ndarray:
    """Move the middle of the view so that not too much of it is blank."""
    room = (0.5 - BLANK) * view
    low, high = extent[0] + room, extent[1] - room
    return np.where(low < high, np.clip(wanted, low, high), extent.mean(axis=0))
