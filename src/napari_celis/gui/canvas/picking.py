"""Point and click: select segments in the canvas, and decide with single keys."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from qtpy.QtCore import QObject

from napari_celis.gui.canvas.highlight import Highlight
from napari_celis.gui.canvas.keys import KEYS, KeyFilter
from napari_celis.gui.session.deciding import Deciding
from napari_celis.gui.session.geometry import supervoxel_along, supervoxel_at
from napari_celis.gui.session.workspace import Workspace

MODE = "point"
"""The mode of the workspace in which clicks select segments."""
CLICK_PIXELS = 4
"""A press that moves further than this is a drag and moves the camera."""

NO_ENGINE = "After Prepare or Run on the tab Agglomerate, a click selects a segment."
OFF = "Clicks belong to napari. “Point and click” on the tab Decisions lets them select segments."
CONFIRM = "Two colours show the two sides. Enter cuts · Esc cancels"


class Pointing(QObject):
    """Turns clicks and keys in the canvas of a viewer into selections and decisions.

    Parameters
    ----------
    workspace : Workspace
        Owns this object; `Pointing.of(workspace)` finds it.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.workspace = workspace
        self.deciding = Deciding.of(workspace)
        self.highlight = Highlight.of(workspace)
        actions = {key: getattr(self.deciding, name) for key, name in KEYS.items()}
        self.keys = KeyFilter(actions, self._takes_keys, self)
        self._install()
        workspace.mode_changed.connect(self._tell)
        workspace.selection_changed.connect(self._tell)
        workspace.engine_changed.connect(self._on_engine)
        workspace.closing.connect(self._uninstall)
        self.deciding.changed.connect(self._tell)
        self._on_engine()

    @classmethod
    def of(cls, workspace: Workspace) -> Pointing:
        """Return the one of a workspace; the first call makes it."""
        return workspace.findChild(cls) or cls(workspace)

    @property
    def is_on(self) -> bool:
        """Whether clicks select segments."""
        return self.workspace.mode == MODE and self.workspace.engine is not None

    def switch(self, is_on: bool) -> None:
        """Switch pointing on, or leave clicks to napari."""
        if is_on or self.workspace.mode == MODE:
            self.workspace.set_mode(MODE if is_on else "")

    def click(self, position: Any, view_direction: Any, dims_displayed: Any) -> None:
        """Select what lies under a position in the world; a click on nothing clears the selection."""
        supervoxel, voxel = self.find(position, view_direction, dims_displayed)
        deciding, selected = self.deciding, self.workspace.selected
        if not supervoxel:
            deciding.plan = None
            deciding.clear()
        elif supervoxel in selected:
            kept = [place for place, other in enumerate(selected) if other != supervoxel]
            deciding.clicks = [deciding.clicks[k] for k in kept if k < len(deciding.clicks)]
            self.workspace.select(*(selected[k] for k in kept))
        else:
            deciding.clicks = [*deciding.clicks[: len(selected[:1])], voxel]
            self.workspace.select(*selected[:1], supervoxel)

    def find(self, position: Any, view_direction: Any, dims_displayed: Any) -> tuple[int, np.ndarray]:
        """Return the supervoxel under a position in the world, by dense index, and its voxel; 0 if none."""
        layer, supervoxels = self._layer(), self.workspace.supervoxels
        nothing = 0, np.zeros(3)
        if layer is None or supervoxels is None:
            return nothing
        n_more = len(position) - layer.ndim
        if len(dims_displayed) == 3:
            start, end = layer.get_ray_intersections(
                position, view_direction, list(dims_displayed), world=True
            )
            is_shown = None if layer.visible else self.highlight.values() > 0
            return nothing if start is None else supervoxel_along(supervoxels.dense, start, end, is_shown)
        voxel = np.asarray(layer.world_to_data(position[n_more:]))
        return supervoxel_at(supervoxels.dense, voxel), voxel

    def help_text(self) -> str:
        """Say what a click does now."""
        if self.workspace.engine is None:
            return NO_ENGINE
        if not self.is_on:
            return OFF
        tool = self._busy_tool()
        if tool:
            return f"The {tool} tool of napari is active, so clicks are its own. Choose pan/zoom to point."
        if self.deciding.plan is not None:
            return CONFIRM
        return self._selection_text()

    def _selection_text(self) -> str:
        n_selected = len(self.workspace.selected)
        if n_selected == 0:
            return "Click a segment to select it · N next doubtful merge"
        if n_selected == 1:
            return "Click a second segment to see the score of joining them · C take this one out · Esc clear"
        if self.deciding.is_one_segment:
            return "Both are in one segment: C cuts between them · click another · Esc clear"
        if self.deciding.action < 0:
            return "They do not touch: click another segment · K keep apart · Esc clear"
        return "M merge · K keep apart · A accept, R reject, S skip and go on · click another · Esc clear"

    # What is installed in the viewer.

    def _install(self) -> None:
        viewer = self.workspace.viewer
        viewer.mouse_drag_callbacks.append(self._on_mouse)
        viewer.layers.selection.events.active.connect(self._on_active)
        window = getattr(viewer, "window", None)
        if window is not None:
            self.keys.watch(window._qt_viewer.canvas.native, window._qt_viewer, window._qt_window)

    def _uninstall(self) -> None:
        viewer = self.workspace.viewer
        if self._on_mouse in viewer.mouse_drag_callbacks:
            viewer.mouse_drag_callbacks.remove(self._on_mouse)
        viewer.layers.selection.events.active.disconnect(self._on_active)

    def _on_mouse(self, viewer: Any, event: Any) -> Generator[None, None, None]:
        """Tell a click from a drag."""
        if not self.is_on or event.button != 1 or event.modifiers or self._busy_tool():
            return
        start, furthest = np.array(event.pos), 0.0
        yield
        while event.type == "mouse_move":
            furthest = max(furthest, float(np.abs(np.array(event.pos) - start).max()))
            yield
        if furthest <= CLICK_PIXELS:
            self.click(event.position, event.view_direction, event.dims_displayed)

    def _takes_keys(self) -> bool:
        return self.is_on and not self._busy_tool()

    def _busy_tool(self) -> str:
        """Name the tool of the active layer that wants clicks for itself."""
        layer = self.workspace.viewer.layers.selection.active
        mode = str(getattr(layer, "mode", "pan_zoom"))
        return "" if mode == "pan_zoom" else mode.replace("_", " ")

    def _layer(self) -> Any:
        """Return a layer that places supervoxels in the world."""
        workspace = self.workspace
        return workspace.segmentation_layer or workspace.supervoxels_layer or workspace.image_layer

    def _on_engine(self) -> None:
        if self.workspace.engine is not None and not self.workspace.mode:
            self.switch(True)
        self._tell()

    def _on_active(self, event: Any) -> None:
        """Follow the tool of the layer that became active."""
        if event.value is not None and hasattr(event.value.events, "mode"):
            event.value.events.mode.connect(self._tell)
        self._tell()

    def _tell(self, *_: Any) -> None:
        """Keep the help line right, unless another mode uses it."""
        if self.workspace.mode in ("", MODE) and self.help_text() != self.workspace.help_text:
            self.workspace.set_help(self.help_text())
