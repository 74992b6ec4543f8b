"""Point and click: a click in the canvas becomes a selection."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import numpy as np
from qtpy.QtCore import QObject
from qtpy.QtWidgets import QDockWidget

from napari_celis.gui.canvas.highlight import Highlight
from napari_celis.gui.canvas.keys import CanvasKeys
from napari_celis.gui.canvas.mouse_mode import MouseMode
from napari_celis.gui.canvas.seed_layer import SeedLayer
from napari_celis.gui.canvas.segmentation_view import SegmentationView
from napari_celis.gui.session.decision_controller import DecisionController
from napari_celis.gui.session.geometry import supervoxel_along, supervoxel_at
from napari_celis.gui.session.split_tool import FIRST, SECOND, side_names
from napari_celis.gui.session.workspace import Workspace

POINT = "point"
"""The mouse mode in which clicks select segments."""
CLICK_PIXELS = 4
"""A press that moves further than this is a drag and moves the camera."""

DECISIONS: dict[str, Callable[[DecisionController], None]] = {
    "yes": DecisionController.accept,
    "no": DecisionController.reject,
    "not_here": DecisionController.not_here,
    "unsure": DecisionController.unsure,
    "next": DecisionController.next_uncertain,
    "undo": DecisionController.undo,
    "redo": DecisionController.redo,
    "merge": DecisionController.merge,
    "keep_apart": DecisionController.keep_apart,
    "cut": DecisionController.plan_cut,
}
"""What the keys of these commands do while clicks select segments."""
NO_ENGINE = "After Prepare or Run on the tab Agglomerate, a click selects a segment."
OFF = "Clicks belong to napari. “Point and click” on the tab Decisions lets them select segments."
CONFIRM = "Two colours show the two sides. Enter cuts · Esc cancels"
SPLIT_FIRST = "Segment {} is being split: Enter carries that out, Esc leaves it. Then decide about others."
SPLITTING = "The split is being carried out …"
SEEDS = (
    "Click sets {own} seeds, {key} or a right click {other} ones · a click on a seed takes it away · "
    "{end}Esc leaves"
)


class CanvasPicker(QObject):
    """Turns clicks in the canvas of a viewer into selections, and keys into decisions about them.

    Parameters
    ----------
    workspace : Workspace
        Whose selection changes.
    segmentation : SegmentationView
        Has the layer that is clicked.
    highlight : Highlight
        Lights up what is selected, also where the segmentation is hidden.
    seeds : SeedLayer
        Finds the seed under a click.
    mouse_mode : MouseMode
        Whether clicks are ours.
    keys : CanvasKeys
        Gets the keys that decide.
    """

    def __init__(
        self,
        workspace: Workspace,
        segmentation: SegmentationView,
        highlight: Highlight,
        seeds: SeedLayer,
        mouse_mode: MouseMode,
        keys: CanvasKeys,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace, self._viewer = workspace, workspace.viewer
        self._selection, self._decisions = workspace.selection, workspace.decisions
        self._segmentation, self._highlight, self._mode = segmentation, highlight, mouse_mode
        self._tool, self._seeds, self._key_choice = workspace.split_tool, seeds, keys.choice
        for name in DECISIONS:
            keys.bind_command(name, partial(self._decide, name), self.takes_keys)
        keys.bind_command("split", self._on_split_key, self.takes_keys)
        for key in ("Return", "Enter"):
            keys.bind(key, self._confirm, lambda: self.takes_keys() and self._can_confirm())
        keys.bind("Esc", self._cancel, self.takes_keys)
        keys.bind("Backspace", self._tool.remove_last, lambda: self.takes_keys() and self._tool.is_on)
        self._viewer.mouse_drag_callbacks.append(self._on_mouse)
        self._viewer.layers.selection.events.active.connect(self._on_active)
        workspace.closing.connect(self._let_go)
        workspace.run.changed.connect(self._on_run)
        for signal in (
            mouse_mode.changed,
            self._selection.changed,
            self._decisions.changed,
            self._tool.changed,
        ):
            signal.connect(self._show_help)
        self._on_run()

    @property
    def is_on(self) -> bool:
        """Whether clicks select segments."""
        has_run = self._workspace.run.engine is not None
        return self._mode.current == POINT and has_run and not self._is_panel_closed()

    def switch(self, is_on: bool) -> None:
        """Let clicks select segments, or leave them to napari."""
        if is_on or self._mode.current == POINT:
            self._mode.use(POINT if is_on else "")

    # From a click to a selection.

    def _on_mouse(self, viewer: Any, event: Any) -> Generator[None, None, None]:
        """Tell a click from a drag."""
        if not self.is_on or not self._is_ours(event) or self._busy_tool():
            return
        is_other = event.button != 1 or bool(event.modifiers)
        start, furthest = np.array(event.pos), 0.0
        yield
        while event.type == "mouse_move":
            furthest = max(furthest, float(np.abs(np.array(event.pos) - start).max()))
            yield
        if furthest > CLICK_PIXELS:
            return
        where = event.position, event.view_direction, event.dims_displayed
        if self._tool.is_on:
            self.click_seed(*where, is_other=is_other)
        elif not is_other:
            self.click(*where)

    def _is_ours(self, event: Any) -> bool:
        """Tell whether a press may become a click of ours: right clicks and Shift set seeds alone."""
        if event.button == 1 and not event.modifiers:
            return True
        is_shift = [str(getattr(one, "name", one)) for one in event.modifiers] == ["Shift"]
        return self._tool.is_on and ((event.button == 2 and not event.modifiers) or is_shift)

    def click(self, position: Any, view_direction: Any, dims_displayed: Any) -> None:
        """Select what lies under a position; a click on nothing clears the selection.

        Parameters
        ----------
        position : sequence of float
            In the world.
        view_direction : sequence of float
            In 3-D, which way the viewer looks.
        dims_displayed : sequence of int
            Two axes in a section, three in 3-D.
        """
        supervoxel, voxel = self.find(position, view_direction, dims_displayed)
        if supervoxel:
            self._selection.click(supervoxel, voxel)
        else:
            self._decisions.clear_all()

    def click_seed(self, position: Any, view_direction: Any, dims_displayed: Any, *, is_other: bool) -> None:
        """Set a seed under a position, or take the one away that is there.

        Parameters
        ----------
        position, view_direction, dims_displayed
            As for `click`.
        is_other : bool
            Whether it is of the side that is not chosen.
        """
        supervoxel, voxel = self.find(position, view_direction, dims_displayed)
        seed = self._seeds.under(position, dims_displayed, voxel)
        if seed is not None:
            self._tool.remove(seed)
            return
        z, y, x = (int(at) for at in np.rint(voxel))
        side = self._tool.side
        self._tool.add(supervoxel, (z, y, x), FIRST + SECOND - side if is_other else side)

    def find(self, position: Any, view_direction: Any, dims_displayed: Any) -> tuple[int, np.ndarray]:
        """Find the supervoxel under a position.

        Parameters
        ----------
        position : sequence of float
            In the world.
        view_direction : sequence of float
            In 3-D, which way the viewer looks.
        dims_displayed : sequence of int
            Two axes in a section, three in 3-D.

        Returns
        -------
        supervoxel : int
            Dense index, 0 if there is none.
        voxel : ndarray of float, shape (3,)
            Where.
        """
        layer, supervoxels = self._segmentation.reference_layer(), self._workspace.run.supervoxels
        nothing = 0, np.zeros(3)
        if layer is None or supervoxels is None:
            return nothing
        n_more = len(position) - layer.ndim
        if len(dims_displayed) == 3:
            start, end = layer.get_ray_intersections(
                position, view_direction, list(dims_displayed), world=True
            )
            is_shown = None if layer.visible else self._highlight.values() > 0
            if self._tool.is_on:
                is_shown = np.isin(np.arange(supervoxels.n + 1), self._tool.members())
            return nothing if start is None else supervoxel_along(supervoxels.dense, start, end, is_shown)
        voxel = np.asarray(layer.world_to_data(position[n_more:]))
        return supervoxel_at(supervoxels.dense, voxel), voxel

    # Keys.

    def _decide(self, name: str) -> None:
        """Carry out a command; while a segment is split, undo takes seeds away and nothing else decides."""
        if not self._tool.is_on:
            DECISIONS[name](self._decisions)
        elif name == "undo" and self._tool.seeds:
            self._tool.remove_last()
        else:
            self._workspace.messages.say(SPLIT_FIRST.format(self._tool.segment), "warning")

    def _on_split_key(self) -> None:
        if self._tool.is_on:
            self._tool.switch_side()
            return
        if self._decisions.cut.plan is not None:
            self._decisions.clear()
        self._tool.start()

    def _can_confirm(self) -> bool:
        return self._tool.is_on or self._decisions.cut.plan is not None

    def _confirm(self) -> None:
        if self._tool.is_on:
            self._tool.confirm()
        else:
            self._decisions.cut.confirm()

    def _cancel(self) -> None:
        if self._tool.is_on:
            self._tool.stop()
        else:
            self._decisions.clear()

    # Help.

    def help_text(self) -> str:
        """Say what a click does now."""
        if self._workspace.run.engine is None:
            return NO_ENGINE
        if not self.is_on:
            return OFF
        tool = self._busy_tool()
        if tool:
            return f"The {tool} tool of napari is active, so clicks are its own. Choose pan/zoom to point."
        if self._tool.is_on:
            return self._seeds_text()
        if self._decisions.cut.plan is not None:
            return CONFIRM
        return self._selection_text()

    def _seeds_text(self) -> str:
        if self._tool.is_busy:
            return SPLITTING
        names = side_names()
        own, other = names[self._tool.side], names[FIRST + SECOND - self._tool.side]
        end = "Enter splits · " if self._tool.is_ready else ""
        return SEEDS.format(own=own, other=other, key=self._key_choice.keys["split"], end=end)

    def _selection_text(self) -> str:
        n_selected, pair = len(self._selection.supervoxels), self._decisions.pair
        if n_selected == 0:
            text = "Click a segment to select it · {next} next question · ? all keys"
        elif n_selected == 1:
            text = (
                "Click a second segment to see their score · {split} split it · {cut} take this part out · "
                "Esc clear"
            )
        elif pair.is_merged_directly:
            text = "{yes} still right · {no} cut this merge · {unsure} unsure · Esc clear · ? all keys"
        elif pair.is_one_segment:
            text = "Both are in one segment: {cut} cuts between them · click another · Esc clear"
        elif pair.is_kept_apart:
            text = "A decision keeps them apart: {next} next question · click another · Esc clear"
        elif pair.action < 0:
            text = "They do not touch: click another segment · {keep_apart} keep apart · Esc clear"
        else:
            text = (
                "{yes} yes, {no} no, {not_here} not here, {unsure} unsure, and go on · "
                "{merge} merge, {keep_apart} keep apart, and stay · Esc clear · ? all keys"
            )
        return text.format(**self._key_choice.keys)

    def _show_help(self, *_: Any) -> None:
        """Keep the help line right, unless another mode uses it."""
        if self._mode.current in ("", POINT) and self.help_text() != self._mode.help_text:
            self._mode.set_help(self.help_text())

    # What happens elsewhere.

    def takes_keys(self) -> bool:
        """Tell whether keys decide now; where they do not, they are napari's."""
        return self.is_on and not self._busy_tool()

    def _is_panel_closed(self) -> bool:
        """Tell whether the user closed the dock of the panel: then clicks and keys are napari's again."""
        dock = getattr(self._workspace.panel, "parentWidget", lambda: None)()
        return isinstance(dock, QDockWidget) and not dock.toggleViewAction().isChecked()

    def _busy_tool(self) -> str:
        """Name the tool of the active layer that wants clicks for itself."""
        layer = self._viewer.layers.selection.active
        mode = str(getattr(layer, "mode", "pan_zoom"))
        return "" if mode == "pan_zoom" else mode.replace("_", " ")

    def _on_run(self) -> None:
        if self._workspace.run.engine is not None and not self._mode.current:
            self.switch(True)
        self._show_help()

    def _on_active(self, event: Any) -> None:
        """Follow the tool of the layer that became active."""
        if event.value is not None and hasattr(event.value.events, "mode"):
            event.value.events.mode.connect(self._show_help)
        self._show_help()

    def _let_go(self) -> None:
        if self._on_mouse in self._viewer.mouse_drag_callbacks:
            self._viewer.mouse_drag_callbacks.remove(self._on_mouse)
        self._viewer.layers.selection.events.active.disconnect(self._on_active)
