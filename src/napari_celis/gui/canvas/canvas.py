"""Everything of ours in the canvas of one viewer."""

from __future__ import annotations

import numpy as np
from napari.layers import Layer
from qtpy.QtCore import QObject

from napari_celis.gui.canvas.camera import Camera
from napari_celis.gui.canvas.contact_tiles import Look
from napari_celis.gui.canvas.contact_view import ContactView
from napari_celis.gui.canvas.helper_layers import LayerListTidier
from napari_celis.gui.canvas.highlight import Highlight
from napari_celis.gui.canvas.key_card import KeyCard
from napari_celis.gui.canvas.keys import CARD_KEYS, CanvasKeys
from napari_celis.gui.canvas.mouse_mode import MouseMode
from napari_celis.gui.canvas.picking import CanvasPicker
from napari_celis.gui.canvas.seed_layer import SeedLayer
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
        self.seeds = SeedLayer(workspace, self.segmentation, self)
        self.picker = CanvasPicker(
            workspace, self.segmentation, self.highlight, self.seeds, self.mouse_mode, self.keys, self
        )
        # After the picker: what it shows comes before the camera, which napari may take long to follow.
        self.contact_view = ContactView(workspace, self.keys.choice, self)
        self.tidier = LayerListTidier(workspace.viewer, self._is_listed, lambda: self.picker.is_on, self)
        workspace.decisions.visited.connect(self._on_visited)
        workspace.segments.visited.connect(self.camera.fly_to)
        workspace.split_tool.changed.connect(self._on_split)
        self.mouse_mode.changed.connect(self.tidier.tidy)
        workspace.run.changed.connect(self.tidier.tidy)
        workspace.closing.connect(self._let_go)
        self.keys.watch_viewer(workspace.viewer)
        self._bind_keys()

    def _bind_keys(self) -> None:
        """Bind the keys that change what is seen."""
        bind, is_active = self.keys.bind_command, self.picker.takes_keys
        bind("blink", lambda: self.blink(is_bare=True), is_active, lambda: self.blink(is_bare=False))
        bind("look", lambda: self.set_look(self.highlight.look.following()), is_active)
        bind("done", self.workspace.segments.finish, is_active)
        bind("view", self.contact_view.toggle, is_active)
        bind("note", self.contact_view.write_note, is_active)
        for key in CARD_KEYS:
            self.keys.bind(key, self.show_keys, is_active)
        for problem in self.keys.choice.problems:
            self.workspace.messages.say(problem, "warning")

    def blink(self, *, is_bare: bool) -> None:
        """Show the image alone, or everything again."""
        if self.contact_view.is_shown:
            self.contact_view.blink(is_bare)
        else:
            self.highlight.blink(is_bare)

    def set_look(self, look: Look) -> None:
        """Draw the two segments as outlines, as fills, or not at all."""
        self.contact_view.set_look(look)
        self.highlight.set_look(look)

    def show_keys(self) -> None:
        """Show the card with all keys; the next key closes it, also where the window keeps the focus."""
        window = getattr(self.workspace.viewer, "window", None)
        card = KeyCard(self.keys.choice, None if window is None else window._qt_window)
        card.show()
        self.keys.close_at_next_key(card)

    def _on_visited(self, position: np.ndarray) -> None:
        """Bring a contact into the middle of the canvas, as close as the contact view shows it."""
        self.camera.fly_to(position, self.contact_view.half_voxels())

    def _on_split(self) -> None:
        """Seeds are set in the canvas."""
        if self.workspace.split_tool.is_on:
            self.contact_view.leave()

    def _is_listed(self, layer: Layer) -> bool:
        return layer is self.segmentation.layer

    def _let_go(self) -> None:
        self.keys.close()
        self.tidier.close()

    @classmethod
    def of(cls, workspace: Workspace) -> Canvas:
        """Return the canvas of a workspace; the first call makes it."""
        return workspace.findChild(cls) or cls(workspace)
