"""Surfaces of the selected segments in the 3-D view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from napari.layers import Layer, Surface
from qtpy.QtCore import QObject, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.gui.canvas.segmentation_view import SegmentationView
from napari_celis.gui.canvas.selection_colours import selection_colours
from napari_celis.gui.layers.adding import add_unfocused
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.meshes import Mesh
from napari_celis.io.surfaces import smooth_surface

CUT_COLOURS = (OKABE_ITO["vermilion"], OKABE_ITO["green"])
IMAGE_BLENDING = ("translucent", "translucent_no_depth")
"""How an image hides what lies behind it in 3-D, and how it does not."""
NAMES = ("first segment", "second segment")


class SelectionMeshes(QObject):
    """Shows the selected segments, or the sides of a planned cut, as surfaces.

    Surfaces are made only in the 3-D view or when the user wants them always, from the bounding box of the
    segment and at a coarser level if there would be too much to draw.

    Parameters
    ----------
    workspace : Workspace
        Whose selection is shown.
    segmentation : SegmentationView
        Says where the surfaces lie.
    """

    changed = Signal()
    """Surfaces came or went."""

    def __init__(
        self, workspace: Workspace, segmentation: SegmentationView, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._viewer, self._data, self._run = workspace.viewer, workspace.data, workspace.run
        self._selection, self._decisions = workspace.selection, workspace.decisions
        self._segmentation, self._tool = segmentation, workspace.split_tool
        self.is_always_on = False
        self._layers: dict[int, Surface] = {}
        self._wanted: tuple[Any, ...] = ()
        self._changed_image: Layer | None = None
        self._covering: list[Layer] = []
        """Layers that were hidden because they would cover the surfaces."""

    @property
    def layers(self) -> list[Surface]:
        """The surfaces that are shown."""
        return [layer for layer in self._layers.values() if layer.visible]

    def always_show(self, is_wanted: bool) -> None:
        """Make surfaces in the 2-D view as well, or only in 3-D."""
        self.is_always_on = is_wanted
        self.show()

    def show(self) -> None:
        """Make the surfaces of what is selected now, in the background."""
        bodies = self._bodies()
        split = self._tool.plan
        wanted = tuple(body.tobytes() for body in bodies), self._decisions.cut.plan is not None, split
        if wanted == self._wanted:
            return
        self._wanted = wanted
        engine, geometry = self._run.engine, self._decisions.pair.geometry
        if not bodies or engine is None or geometry is None:
            self._hide()
            return
        dense = (engine.tables if split is None else split.volume).supervoxels.dense
        # The parts of a supervoxel lie in the box of their segment.
        boxes = [geometry.box_of(body if split is None else split.members) for body in bodies]

        def make(_: Agglomerator) -> list[Mesh]:
            return [smooth_surface(dense, body, box) for body, box in zip(bodies, boxes, strict=True)]

        engine.ask(make, lambda meshes: self._add(wanted, meshes), key="meshes")

    def clear(self) -> None:
        """Take all surfaces away."""
        self._wanted = ()
        for layer in self._layers.values():
            if layer in self._viewer.layers:
                self._viewer.layers.remove(layer)
        self._layers = {}
        self._let_through()
        self._uncover()
        self.changed.emit()

    def _bodies(self) -> list[np.ndarray]:
        """List the supervoxels of each surface that should be there."""
        is_shown = self.is_always_on or self._viewer.dims.ndisplay == 3
        pair, plan = self._decisions.pair, self._decisions.cut.plan
        if not is_shown or self._run.engine is None or pair.geometry is None:
            return []
        if self._tool.plan is not None:
            return [self._tool.plan.first_side, self._tool.plan.second_side]
        if plan is not None:
            return [side for side in (plan.first_side, plan.second_side) if len(side)]
        bodies = [pair.members(supervoxel) for supervoxel in self._selection.supervoxels]
        return bodies[:1] if pair.is_one_segment else bodies

    def _add(self, wanted: tuple[Any, ...], meshes: list[Mesh]) -> None:
        """Show surfaces that were made, unless others are wanted by now."""
        if wanted != self._wanted:
            return
        colours = CUT_COLOURS if self._decisions.cut.plan is not None else selection_colours()
        for index, (mesh, colour) in enumerate(zip(meshes, colours, strict=False)):
            layer = self._layer(index)
            # In place: a layer that comes or goes takes napari half a second.
            layer.data = (mesh.vertices, mesh.faces, np.ones(len(mesh.vertices), dtype=np.float32))
            layer.colormap = [colour, colour]
            layer.visible = True
        self._hide(len(meshes))

    def _layer(self, index: int) -> Surface:
        """Return the layer of the first or second surface; make it if it is not there."""
        if index not in self._layers or self._layers[index] not in self._viewer.layers:
            self._layers[index] = _new_layer(NAMES[index], self._segmentation.placement)
            add_unfocused(self._viewer, self._layers[index])
        return self._layers[index]

    def _let_through(self) -> None:
        """Keep the image from covering parts of the surfaces; its own look is the same either way."""
        image, (covering, letting) = self._data.image_layer, IMAGE_BLENDING
        if image is None:
            return
        is_changed = self._changed_image is image
        if self.layers and image.blending == covering:
            image.blending = letting
            self._changed_image = image
        elif not self.layers and is_changed and image.blending == letting:
            image.blending = covering
            self._changed_image = None

    def _uncover(self) -> None:
        """Hide what would cover two surfaces in 3-D, once; show it again when they are gone.

        With one segment selected everything stays: the second is chosen from what is there.
        """
        is_covered = len(self.layers) > 1 and self._viewer.dims.ndisplay == 3
        if is_covered and not self._covering:
            roles = (self._data.image_layer, self._segmentation.layer, self._data.supervoxels_layer)
            self._covering = [layer for layer in roles if layer is not None and layer.visible]
            for layer in self._covering:
                layer.visible = False
        elif not is_covered:
            hidden, self._covering = self._covering, []
            for layer in hidden:
                layer.visible = True

    def _hide(self, first: int = 0) -> None:
        """Hide all surfaces from the given one on."""
        for index, layer in self._layers.items():
            if index >= first:
                layer.visible = False
        self._let_through()
        self._uncover()
        self.changed.emit()


def _new_layer(name: str, placement: Mapping[str, Any]) -> Surface:
    """Make an empty surface in voxels of the run."""
    point = np.zeros((3, 3), dtype=np.float32)
    return Surface(
        (point, np.array([[0, 1, 2]]), np.ones(3, dtype=np.float32)),
        contrast_limits=(0, 1),
        shading="smooth",
        blending="opaque",
        name=name,
        metadata={"celis": {"kind": "mesh", "is_live": True}},
        **placement,
    )
