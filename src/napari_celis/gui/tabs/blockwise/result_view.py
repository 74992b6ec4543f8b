"""The finished segmentation as a layer, and boxes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from napari.layers import Layer
from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_celis.core.volume import Volume
from napari_celis.gui.canvas.camera import middle_of_view
from napari_celis.gui.layers.volume_layers import volume_to_layer
from napari_celis.gui.qt.widgets import button
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.blockwise.box_view import BoxView
from napari_celis.pipeline.stages import Report

if TYPE_CHECKING:
    from napari_celis.scale.boxes import OpenedBox
    from napari_celis.scale.run import BlockRun

OPACITY = 0.4


class ResultView(QWidget):
    """Shows the segmentation of a run, which stays on disk, and opens boxes of it.

    Parameters
    ----------
    workspace : Workspace
        Of the viewer.
    get_run : callable
        Returns the run.
    """

    def __init__(
        self, workspace: Workspace, get_run: Callable[[], BlockRun], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._workspace, self._get_run = workspace, get_run
        self.layer: Layer | None = None
        """The layer of the segmentation that was shown last."""
        self._shown_url = ""
        self._hidden_for: OpenedBox | None = None
        self.show_layer = button(
            "Show segmentation", self._on_show, "Add the finished segmentation as a layer; it stays on disk."
        )
        self.box = BoxView(workspace.box, self._on_open)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.show_layer)
        layout.addWidget(self.box)
        workspace.box.changed.connect(self._on_box)

    def allow(self, is_finished: bool) -> None:
        """Let the user do only what is possible."""
        self.show_layer.setEnabled(is_finished)
        self.box.open.setEnabled(is_finished)

    def reread(self) -> None:
        """Draw the segmentation again: it was computed anew."""
        self.box.on_followed()
        if (layer := self._shown()) is not None:
            layer.refresh()

    def _shown(self) -> Layer | None:
        """Return the layer of the segmentation, if it is still there."""
        return self.layer if self.layer in self._workspace.viewer.layers else None

    def _on_show(self) -> None:
        """Add the segmentation, or bring it back into view."""
        run = self._get_run()
        if (layer := self._shown()) is not None and self._shown_url == run.store.url:
            layer.visible = True
            return

        def work(report: Report) -> list[Volume]:
            from napari_celis.scale.result import open_result

            report("opening the segmentation", 0.0)
            return open_result(run)

        self._shown_url = run.store.url
        jobs = self._workspace.preparation.jobs
        jobs.when_free(lambda: jobs.start(work, self._add))

    def _add(self, levels: list[Volume]) -> None:
        finest, *coarser = levels
        data, settings, kind = volume_to_layer(finest, "labels", coarser)
        self.layer = Layer.create(data, {**settings, "opacity": OPACITY}, kind)
        # What is painted on it would be lost.
        self.layer.editable = False
        self._workspace.viewer.add_layer(self.layer)
        # Two sets of colours at once cannot be told apart.
        if self._workspace.data.supervoxels_layer is not None:
            self._workspace.data.supervoxels_layer.visible = False

    def _on_open(self) -> None:
        """Open the box around the middle of the view."""
        from napari_celis.scale.boxes import box_around

        run = self._get_run()
        size, offset = np.array(run.settings.voxel_size_nm), np.array(run.settings.offset_nm)
        centre = (middle_of_view(self._workspace.viewer) - offset) / size
        edges = np.maximum(np.round(self.box.edge.value() * size.min() / size), 1).astype(int)
        self._workspace.box.open(
            run.store.url, box_around(centre.tolist(), edges.tolist(), run.settings.shape)
        )

    def _on_box(self) -> None:
        """Make room for a box."""
        box, layer = self._workspace.box, self._shown()
        if box.opened is not self._hidden_for and layer is not None:
            self._hidden_for = box.opened
            layer.visible = False
