"""The layer that shows the segmentation of a run as it changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from napari.layers import Labels, Layer
from qtpy.QtCore import QObject, Signal

from napari_celis.gui.layers.live_labels import LiveLabels
from napari_celis.gui.layers.volume_layers import placement_of, redraw, segmentation_layer
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace

DIM = 0.06
"""Opacity while two segments are looked at: their colours are not to be mixed with others."""
REMOVED = "The segmentation layer was removed; the run goes on. “Show segmentation” adds it again."


class SegmentationView(QObject):
    """Adds a layer for the run of a workspace, and recolours it without touching a voxel.

    Parameters
    ----------
    workspace : Workspace
        Whose run is shown.
    """

    changed = Signal()
    """The layer came or went."""

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._viewer = workspace, workspace.viewer
        self.layer: Labels | None = None
        """None while there is no run, or the user removed it."""
        self._made_for: Engine | None = None
        self._placement: dict[str, Any] = {}
        self._bright: float | None = None
        workspace.run.changed.connect(self._on_run)
        workspace.preview.recoloured.connect(self._recolour)
        self._viewer.layers.events.removed.connect(self._on_removed)
        workspace.closing.connect(self._let_go)
        self.show()

    def reference_layer(self) -> Layer | None:
        """Return a layer that has the voxels of the run: segmentation, supervoxels, or image."""
        data = self._workspace.data
        return next(
            (layer for layer in (self.layer, data.supervoxels_layer, data.image_layer) if layer is not None),
            None,
        )

    @property
    def placement(self) -> dict[str, Any]:
        """Scale, position and units of the run; remembered when the layers that show it are gone."""
        layer = self.reference_layer()
        if layer is not None:
            self._placement = placement_of(layer)
        return self._placement

    def show(self) -> None:
        """Show the live segmentation in a layer of its own."""
        engine, data, old = self._workspace.run.engine, self._workspace.data, self.layer
        if engine is None:
            return
        self.layer, self._bright, self._made_for = None, None, engine
        if data.supervoxels_layer is not None or data.image_layer is not None:
            self._placement = self.placement
        if old is not None and old in self._viewer.layers:
            self._viewer.layers.remove(old)
        live = LiveLabels(engine.tables.supervoxels.dense, engine.snapshot.segment_ids)
        self.layer = segmentation_layer(live, self._placement)
        self._viewer.add_layer(self.layer)
        if data.supervoxels_layer is not None:
            data.supervoxels_layer.visible = False
        self.changed.emit()

    def dim(self, is_dim: bool) -> None:
        """Let the two segments stand out that are looked at, or show all of them as before."""
        if self.layer is None:
            self._bright = None
        elif is_dim and self._bright is None:
            self._bright, self.layer.opacity = self.layer.opacity, DIM
        elif not is_dim and self._bright is not None:
            # Unless the user has moved the slider meanwhile.
            if self.layer.opacity == DIM:
                self.layer.opacity = self._bright
            self._bright = None

    def _on_run(self) -> None:
        """Show another run in a layer of its own; where supervoxels became two, the layer stays."""
        engine = self._workspace.run.engine
        if engine is None or engine is not self._made_for:
            self.show()
        elif self.layer is not None:
            self.layer.data.dense = engine.tables.supervoxels.dense
            self._recolour(engine.snapshot.segment_ids)

    def _recolour(self, segment_ids: np.ndarray) -> None:
        if self.layer is None:
            return
        self.layer.data.lut = segment_ids
        if self.layer.visible:
            redraw(self.layer, self._viewer.layers)

    def _on_removed(self, event: Any) -> None:
        if event.value is self.layer:
            self.layer = None
            self._workspace.messages.say(REMOVED, "warning")
            self.changed.emit()

    def _let_go(self) -> None:
        self._viewer.layers.events.removed.disconnect(self._on_removed)
