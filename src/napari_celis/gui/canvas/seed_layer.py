"""The seeds of a split as points in the canvas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from napari.layers import Points
from qtpy.QtCore import QObject

from napari_celis.gui.canvas.camera import camera_of
from napari_celis.gui.canvas.segmentation_view import SegmentationView
from napari_celis.gui.canvas.selection_colours import selection_colours
from napari_celis.gui.layers.adding import add_unfocused
from napari_celis.gui.session.split_tool import Seed
from napari_celis.gui.session.workspace import Workspace

PIXELS = 14
"""Size of a seed on the screen."""
REACH = PIXELS / 2 + 1
"""A click as near as this to the middle of a seed, in pixels, is on it."""
REACH_3D = 1
"""The same in 3-D, in voxels along every axis."""
RIM = "white"


class SeedLayer(QObject):
    """Shows the seeds of the split tool, and finds the one under a click.

    Parameters
    ----------
    workspace : Workspace
        Whose split tool is shown.
    segmentation : SegmentationView
        Says where the layer lies.
    """

    def __init__(
        self, workspace: Workspace, segmentation: SegmentationView, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._viewer, self._tool, self._segmentation = workspace.viewer, workspace.split_tool, segmentation
        self.layer: Points | None = None
        self._shown: tuple[Seed, ...] = ()
        self._tool.changed.connect(self._show)
        camera_of(self._viewer).events.zoom.connect(self._fit)
        self._viewer.layers.events.removed.connect(self._on_removed)
        self._deferred = workspace.deferred
        self._viewer.layers.events.inserted.connect(self._on_inserted)
        workspace.closing.connect(self._let_go)

    def under(
        self, position: Sequence[float], dims_displayed: Sequence[int], voxel: np.ndarray
    ) -> Seed | None:
        """Find the seed under a click; the newest of several, None if there is none.

        Parameters
        ----------
        position : sequence of float
            Of the click, in the world.
        dims_displayed : sequence of int
            Two axes in a section, three in 3-D.
        voxel : ndarray of float, shape (3,)
            Under the click.
        """
        reference = self._segmentation.reference_layer()
        if reference is None or self.layer is None:
            return None
        n_more, at = len(position) - 3, np.rint(voxel)
        shown = [axis - n_more for axis in dims_displayed]
        hidden = [axis for axis in range(3) if axis not in shown]
        here = np.asarray(position[n_more:], dtype=float)[shown]
        zoom = camera_of(self._viewer).zoom
        for seed in reversed(self._tool.seeds):
            if len(shown) == 3:
                is_under = np.abs(at - seed.voxel).max() <= REACH_3D
            else:
                world = np.asarray(reference.data_to_world(seed.voxel))[shown]
                is_here = all(at[axis] == seed.voxel[axis] for axis in hidden)
                is_under = is_here and float(np.linalg.norm(world - here)) * zoom <= REACH
            if is_under:
                return seed
        return None

    def _show(self) -> None:
        """Bring the points up to date; the layer is made when it is first needed."""
        seeds = self._tool.seeds
        if seeds == self._shown and (self.layer is not None or not seeds):
            return
        self._shown = seeds
        if self.layer is None:
            self.layer = self._new_layer()
            add_unfocused(self._viewer, self.layer)
            self.layer.mouse_pan = True
        # In place: a layer that comes or goes takes napari half a second.
        self.layer.data = np.array([seed.voxel for seed in seeds], dtype=np.float32).reshape(-1, 3)
        if seeds:
            colours = selection_colours()
            self.layer.face_color = [colours[seed.side] for seed in seeds]
        self._fit()
        self.layer.visible = bool(seeds)

    def _fit(self, event: Any = None) -> None:
        """Give all seeds the same size on the screen."""
        if self.layer is not None and len(self.layer.data):
            # The limits that layers have for this make rims as thick as the points in vispy 0.17.
            self.layer.size = PIXELS / (camera_of(self._viewer).zoom * abs(float(self.layer.scale[-1])))

    def _new_layer(self) -> Points:
        return Points(
            ndim=3,
            border_width=0.15,
            border_color=RIM,
            name="seeds",
            blending="translucent_no_depth",
            metadata={"celis": {"is_live": True}},
            **self._segmentation.placement,
        )

    def _on_inserted(self, event: Any) -> None:
        # Later: while a layer comes, none may move.
        if event.value is not self.layer and self._tool.is_on:
            self._deferred.add(self._raise)

    def _raise(self) -> None:
        """Keep the seeds above surfaces that came after them."""
        layers = self._viewer.layers
        if self.layer is not None and self.layer in layers and layers[-1] is not self.layer:
            layers.move(layers.index(self.layer), -1)

    def _on_removed(self, event: Any) -> None:
        """Make the layer again that the user removed, when it is needed next."""
        if event.value is self.layer:
            self.layer = None

    def _let_go(self) -> None:
        camera_of(self._viewer).events.zoom.disconnect(self._fit)
        self._viewer.layers.events.removed.disconnect(self._on_removed)
        self._viewer.layers.events.inserted.disconnect(self._on_inserted)
