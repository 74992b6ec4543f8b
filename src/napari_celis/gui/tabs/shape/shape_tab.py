"""The tab "Shape": what a descriptor sees at one centre, before and after a merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from qtpy.QtCore import QTimer
from qtpy.QtGui import QHideEvent, QShowEvent
from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_celis.core.descriptors import DescriptorSpec, IntTriple
from napari_celis.core.errors import SpecError
from napari_celis.core.lattice import Lattice
from napari_celis.gui.canvas.camera import camera_of
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.shape.centre_inspector import Answer, CentreInspector, Request
from napari_celis.gui.tabs.shape.shape_cursor import ShapeCursor
from napari_celis.gui.tabs.shape.shape_form import ShapeForm
from napari_celis.gui.tabs.shape.shape_layers import ShapeLayers

MODE = "shape"
HELP = "Click: show the descriptor of the nearest centre.  Drag: move the view.  Press Pick again to end."
REDRAW_MS = 40
RUN_MS = 250
"""Least time between two looks at a centre while a run goes on."""


class ShapeTab(QWidget):
    """Shows the descriptor of one centre, in the tab and in the viewer.

    Parameters
    ----------
    workspace : Workspace
        Shared by all tabs of a viewer.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form = ShapeForm()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.form)
        self.workspace = workspace
        self.canvas = Canvas.of(workspace)
        self.lattice: Lattice | None = None
        self.centre: IntTriple | None = None
        self.answer: Answer | None = None
        self._own_pair: tuple[int, int] | None = None
        self._gone_to: tuple[int, int] | None = None
        self._hint = ""
        self._mode_before = ""
        self._source: tuple[Any, ...] = ()
        self.inspector = CentreInspector(workspace, self)
        self.layers = ShapeLayers(workspace.viewer)
        self.pointer = ShapeCursor(workspace.viewer, self._layer, self.inspector.labels, self)
        self._redraw = QTimer(self)
        self._redraw.setSingleShot(True)
        self._redraw.setInterval(REDRAW_MS)
        self._redraw.timeout.connect(self._draw_layers)
        self._look_again = QTimer(self)
        self._look_again.setSingleShot(True)
        self._look_again.setInterval(RUN_MS)
        self._look_again.timeout.connect(self.look)
        self._connect()
        self._connect_form()
        self._connect_viewer()
        self._on_data()

    # What can be asked for from outside.

    @property
    def pair(self) -> tuple[int, int] | None:
        """Ids of the two supervoxels whose merge is shown."""
        supervoxels, selected = self.workspace.run.supervoxels, self.workspace.selection.supervoxels
        if supervoxels is None:
            return self._own_pair
        if len(selected) < 2:
            return None
        u, v = (int(supervoxels.ids[supervoxel]) for supervoxel in selected)
        return u, v

    def go_to(self, position: Sequence[float] | np.ndarray, *, with_view: bool = False) -> None:
        """Show the centre nearest to a position in voxels.

        Parameters
        ----------
        position : sequence of float
            z, y, x in voxels.
        with_view : bool
            Whether the camera goes there too.
        """
        if self.lattice is None:
            return
        position = tuple(float(value) for value in position)
        if not self.lattice.contains(position):
            self.form.say("This position is outside the volume; the centre stays where it was.")
            return
        self.centre = self.lattice.snap(position)
        gap = np.abs(np.array(position) - self.centre) > np.array(self.lattice.spec.stride_zyx)
        self._hint = "Nearer to the position, the box would leave the volume." if gap.any() else ""
        self.form.show_centre(self.lattice, self.centre)
        if with_view:
            self.canvas.camera.fly_to(self.centre)
        self.look()

    def look(self) -> None:
        """Ask again what the shown centre sees."""
        if self.lattice is not None and self.centre is not None and self.isVisible():
            if self.answer is None:
                self.form.show_no_answer()
            with_zones = "zones" in self.form.settings.overlays
            self.inspector.look(Request(self.lattice, self.centre, self.pair, with_zones))

    # Wiring.

    def _connect(self) -> None:
        workspace = self.workspace
        workspace.data.changed.connect(self._on_data)
        workspace.run.changed.connect(self._on_data)
        workspace.run.advanced.connect(self._on_advanced)
        workspace.selection.changed.connect(self._on_selection)
        self.canvas.mouse_mode.changed.connect(self._on_mode)
        workspace.closing.connect(self._on_closing)
        self.inspector.specs_found.connect(self._on_specs)
        self.inspector.seen.connect(self._on_seen)
        self.inspector.found.connect(lambda centre: self.go_to(centre, with_view=True))
        self.inspector.refused.connect(self._on_refused)
        self.inspector.not_found.connect(self.form.say_of_merge)
        self.pointer.picked.connect(self._on_pointed)
        self.pointer.moved.connect(self._on_pointed)

    def _connect_form(self) -> None:
        form = self.form
        form.spec_changed.connect(self._on_spec)
        form.position_asked.connect(lambda position, with_view: self.go_to(position, with_view=with_view))
        form.picking_changed.connect(self._on_pick)
        form.following_changed.connect(self.pointer.set_following)
        form.merge_chosen.connect(self._on_merge_chosen)
        form.change_asked.connect(self._on_find_merge)
        form.drawing_changed.connect(self._on_settings)
        form.overlays_changed.connect(self._draw_layers)
        form.zones_changed.connect(self._on_zones)

    def _connect_viewer(self) -> None:
        """Watch the viewer as long as this widget lives; napari does not know when it ends."""
        viewer = self.workspace.viewer
        dims = viewer.dims.events
        watched: list[tuple[Any, Callable[[Any], None]]] = [
            (events, self._on_dims) for events in (dims.current_step, dims.ndisplay, dims.order)
        ]
        watched.append((viewer.layers.events.removed, self._on_removed))
        watched.append((camera_of(viewer).events.zoom, self._on_zoom))
        for events, callback in watched:
            events.connect(callback)

        self.destroyed.connect(lambda: [events.disconnect(callback) for events, callback in watched])

    def _layer(self) -> Any:
        """Return the layer that positions refer to."""
        if self.workspace.run.engine is None:
            return self.workspace.data.supervoxels_layer
        return self.canvas.segmentation.reference_layer()

    # Data, model and run.

    def _on_data(self) -> None:
        """Begin again if other data was chosen; adding a layer of our own changes nothing."""
        workspace = self.workspace
        layer = workspace.data.supervoxels_layer
        source = (workspace.run.engine, workspace.data.model, layer, None if layer is None else layer.data)
        if self._source and all(new is old for new, old in zip(source, self._source, strict=True)):
            return
        self._source = source
        self._own_pair = None
        self.layers.clear()
        if layer is not None and hasattr(layer, "paint"):
            layer.events.paint.connect(self._on_painted)
        self.inspector.find_specs()

    def _on_painted(self, event: Any) -> None:
        self.inspector.forget()
        self.look()

    def _on_advanced(self, snapshot: object) -> None:
        if self.isVisible() and not self._look_again.isActive():
            self._look_again.start()

    def _on_specs(self, specs: tuple[DescriptorSpec, ...]) -> None:
        self.form.show_specs(specs)
        self._on_spec()

    def _on_spec(self) -> None:
        """Lay the lattice of the chosen spec into the volume."""
        shape, spec, before = self.inspector.shape(), self.form.spec, self.centre
        self.lattice = self.centre = None
        if spec is None or shape is None:
            self._show_nothing("Choose supervoxels on the tab Data; then the descriptors can be shown.")
            return
        try:
            self.lattice = Lattice.of(shape, spec)
        except SpecError as error:
            self._show_nothing(str(error))
            return
        self.form.show_lattice(self.lattice)
        last = np.array(self.lattice.shape) - 1
        position = self._middle_of_view(last) if before is None else np.array(before)
        self.go_to(np.clip(position, 0, last))

    def _middle_of_view(self, last: np.ndarray) -> np.ndarray:
        """Return the middle of the volume, given its last voxel, at the slice that is shown, in voxels."""
        middle: np.ndarray = last / 2
        layer, dims = self._layer(), self.workspace.viewer.dims
        if layer is not None and dims.ndisplay == 2:
            axis = dims.not_displayed[-1] - (dims.ndim - 3)
            middle[axis] = layer.world_to_data(dims.point[-3:])[axis]
        return middle

    # Pointing.

    def _on_pick(self, is_on: bool) -> None:
        self.pointer.set_picking(is_on)
        if is_on:
            self._mode_before = self.canvas.mouse_mode.current
            self.canvas.mouse_mode.use(MODE)
            self.canvas.mouse_mode.set_help(HELP)
        elif self.canvas.mouse_mode.current == MODE:
            self.canvas.mouse_mode.set_help("")
            self.canvas.mouse_mode.use(self._mode_before)

    def _on_mode(self, mode: str) -> None:
        if mode != MODE:
            self.form.stop_picking()

    def _on_pointed(self, position: np.ndarray | None) -> None:
        if position is None:
            self.form.say("The cursor is outside the volume; the centre stays where it was.")
        else:
            self.go_to(position)

    # The merge.

    def _on_selection(self) -> None:
        self.look()

    def _on_merge_chosen(self, pair: tuple[int, int] | None) -> None:
        """Look at the merge of two supervoxels, given by id; None looks at none."""
        supervoxels = self.workspace.run.supervoxels
        if supervoxels is None:
            self._own_pair = pair
            self.look()
        else:
            self.workspace.selection.select(*(supervoxels.index_of(end) for end in pair or ()))

    def _on_find_merge(self) -> None:
        if self.pair is not None and self.form.spec is not None:
            self.inspector.find_change(self.form.spec, self.pair)

    # Answers.

    def _on_seen(self, answer: Answer) -> None:
        if self.lattice is not answer.request.lattice:
            return
        self.answer = answer
        self.form.show_answer(answer, self._hint, can_search=self.workspace.run.engine is not None)
        self._on_settings()

    def _on_refused(self, sentence: str) -> None:
        self.answer = None
        self.layers.hide()
        self.form.show_refusal(sentence)

    def _show_nothing(self, sentence: str) -> None:
        self.answer = None
        self.layers.hide()
        self.form.show_no_data(sentence)

    def _on_settings(self) -> None:
        layer = self._layer()
        size = (1.0, 1.0, 1.0) if layer is None else tuple(layer.scale[-3:])
        self.form.draw(size)
        self._draw_layers()

    def _on_dims(self, event: Any = None) -> None:
        if self.answer is not None and self.isVisible():
            self._redraw.start()

    def _on_zones(self, is_on: bool) -> None:
        """Cut zones, which only now are needed, or take them away."""
        (self.look if is_on else self._draw_layers)()

    def _on_removed(self, event: Any) -> None:
        """Switch an overlay off whose layer the user removed."""
        for key in self.layers.keys_of(event.value):
            self.form.switch_off(key)

    def _on_zoom(self, event: Any) -> None:
        if self._layer() is not None:
            self.layers.keep_width(self._layer())

    def _draw_layers(self) -> None:
        """Bring the layers in the viewer up to date."""
        layer, settings = self._layer(), self.form.settings
        if self.answer is None or layer is None or not self.isVisible() or not settings.overlays:
            self.layers.hide()
            return
        is_merged = self.answer.merge is not None and settings.is_after
        view, lattice = self.answer.view, self.answer.request.lattice
        self.layers.show(view, lattice, layer, settings.overlays, settings.n_pairs, is_merged=is_merged)

    # Coming and going.

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Look again: much may have happened meanwhile. Go where the merge decided on changes most."""
        super().showEvent(event)
        self.look()
        if self.workspace.run.engine is not None and self.pair not in (None, self._gone_to):
            self._gone_to = self.pair
            self._on_find_merge()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Take the layers out of sight when another tab comes to the front."""
        super().hideEvent(event)
        if not event.spontaneous():
            self.form.stop()
            self.layers.hide()

    def _on_closing(self) -> None:
        self.form.stop()
        self._redraw.stop()
        self._look_again.stop()
