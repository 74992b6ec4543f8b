"""Everything of ours in the canvas of one viewer."""

from __future__ import annotations

from qtpy.QtCore import QObject

from napari_celis.gui.canvas.camera import Camera
from napari_celis.gui.canvas.highlight import Highlight
from napari_celis.gui.canvas.keys import CanvasKeys
from napari_celis.gui.canvas.mouse_mode import MouseMode
from napari_celis.gui.canvas.picking import CanvasPicker
from napari_celis.gui.canvas.segmentation_view import SegmentationView
from napari_celis.gui.session.workspace import Workspace


class Canvas(QObject):
    """Has one object for each thing that is drawn or clicked; `Canvas.of(workspace)` finds it.

    Parameters
    ----------
    workspace : Workspace
        Owns this object.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.workspace = workspace
        self.segmentation = SegmentationView(workspace, self)
        self.camera = Camera(workspace.viewer, self.segmentation.reference_layer)
        self.mouse_mode = MouseMode(self)
        self.keys = CanvasKeys(self)
        self.highlight = Highlight(workspace, self.segmentation, self)
        self.picker = CanvasPicker(
            workspace, self.segmentation, self.highlight, self.mouse_mode, self.keys, self
        )
        workspace.decisions.visited.connect(self.camera.fly_to)
        self.keys.watch_viewer(workspace.viewer)

    @classmethod
    def of(cls, workspace: Workspace) -> Canvas:
        """Return the canvas of a workspace; the first call makes it."""
        return workspace.findChild(cls) or cls(workspace)
