"""What lights up in the canvas: the selected segments, the sides of a cut, and what each centre says."""

from __future__ import annotations

from typing import Any

import numpy as np
from napari.layers import Labels, Layer, Points
from napari.utils.colormaps import Colormap, CyclicLabelColormap
from napari.utils.colormaps.standardize_color import transform_color
from qtpy.QtCore import QObject

from napari_celis.core.explain import CentreChanges
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.canvas.contact_tiles import Look
from napari_celis.gui.canvas.meshes import SelectionMeshes
from napari_celis.gui.canvas.segmentation_view import SegmentationView
from napari_celis.gui.canvas.selection_colours import clicked_colour, selection_colours
from napari_celis.gui.layers.adding import add_unfocused
from napari_celis.gui.layers.live_labels import LiveLabels
from napari_celis.gui.layers.volume_layers import redraw
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.evidence.sides import sides_of
from napari_celis.gui.session.geometry import open_outline, repeat_along
from napari_celis.gui.session.workspace import Workspace

FIRST, SECOND, FIRST_CLICKED, SECOND_CLICKED, SIDE_A, SIDE_B = range(1, 7)
"""Values of the layer that lights up."""
COLOURS = {
    FIRST: OKABE_ITO["orange"],
    SECOND: OKABE_ITO["sky"],
    FIRST_CLICKED: "#FFD27A",
    SECOND_CLICKED: "#B5DEF7",
    SIDE_A: OKABE_ITO["vermilion"],
    SIDE_B: OKABE_ITO["green"],
}
LINE_OPACITY, FILL_OPACITY = 0.8, 0.4
RIM = "#505050"
"""Colour around centres."""
BARE = 3
"""Outlines come no closer than this to where the two segments touch, in voxels."""
SIDE_OF = np.array([0, 1, 2, 1, 2, 3, 4], dtype=np.uint8)
"""Which body each value belongs to."""
BRIGHT_SHARE = 0.9
"""Centres beyond this share have the brightest colour, so that one large change does not pale all others."""
CENTRE_COLOURS = (OKABE_ITO["blue"], "#F7F7F7", OKABE_ITO["vermilion"])
"""Merging lowers the energy of a centre, leaves it, raises it."""


class OutlinedLabels(LiveLabels):
    """Labels that show outlines in sections and full bodies in 3-D; outlines leave the contact free.

    The outlines that napari draws itself raise a warning at every change to the 3-D view.
    """

    is_outlined = True

    def __getitem__(self, key: Any) -> np.ndarray:
        values = super().__getitem__(key)
        if not self.is_outlined or values.ndim != 2:
            return values
        sides = SIDE_OF[values]
        return np.where(open_outline(sides, BARE) > 0, values, np.zeros((), dtype=values.dtype))


class Highlight(QObject):
    """Keeps our layers in step with what is being decided.

    Parameters
    ----------
    workspace : Workspace
        Whose selection and decisions light up.
    segmentation : SegmentationView
        Says where the layers lie.
    """

    def __init__(
        self, workspace: Workspace, segmentation: SegmentationView, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workspace, self._viewer = workspace, workspace.viewer
        self._run, self._selection = workspace.run, workspace.selection
        self._decisions, self._pair = workspace.decisions, workspace.decisions.pair
        self._tool = workspace.split_tool
        self._segmentation = segmentation
        self.segments: Labels | None = None
        self.centres: Points | None = None
        self._is_lit = False
        self.look = Look.OUTLINE
        """How the two segments are drawn."""
        self._blinked: list[Layer] = []
        self._made_for: Engine | None = None
        self._shown_centres: tuple[tuple[CentreChanges, ...], int] = ((), -1)
        self.meshes = SelectionMeshes(workspace, segmentation, self)
        self.meshes.changed.connect(self._show_one_body)
        self._decisions.changed.connect(self._show)
        self._tool.changed.connect(self._show)
        self._run.changed.connect(self._on_run)
        self._viewer.dims.events.ndisplay.connect(self._on_view)
        self._viewer.dims.events.order.connect(self._on_view)
        self._viewer.layers.events.removed.connect(self._on_removed)
        workspace.closing.connect(self._let_go)
        self._on_run()

    def values(self) -> np.ndarray:
        """Compute the value of every supervoxel in the layer that lights up, uint8 (N + 1,)."""
        supervoxels, plan, split = self._supervoxels(), self._decisions.cut.plan, self._tool.plan
        lut = np.zeros(1 if supervoxels is None else supervoxels.n + 1, dtype=np.uint8)
        if split is not None:
            lut[split.first_side], lut[split.second_side] = FIRST, SECOND
            return lut
        if plan is not None:
            lut[plan.first_side], lut[plan.second_side] = SIDE_A, SIDE_B
            return lut
        selected = self._selection.supervoxels
        if self._pair.is_merged_directly and self._run.engine is not None:
            # A merge that was made: its two sides, although they are one segment.
            tables, snapshot = self._run.engine.tables, self._run.engine.snapshot
            lut[:] = sides_of(tables.actions, snapshot.segment_ids, snapshot.taken, self._pair.action)
        else:
            for supervoxel, value in zip(selected, (FIRST, SECOND), strict=False):
                lut[self._pair.members(supervoxel)] = value
        for supervoxel, value in zip(selected, (FIRST_CLICKED, SECOND_CLICKED), strict=False):
            lut[supervoxel] = value
        return lut

    def _supervoxels(self) -> Supervoxels | None:
        """Return what lights up: the parts that a split would make, if one is shown."""
        split = self._tool.plan
        return self._run.supervoxels if split is None else split.volume.supervoxels

    @property
    def _is_planned(self) -> bool:
        """Whether the two sides of a cut or a split are shown."""
        return self._decisions.cut.plan is not None or self._tool.plan is not None

    def set_look(self, look: Look) -> None:
        """Draw the two segments as outlines, as fills, or not at all."""
        self.look = look
        self._show()

    def blink(self, is_bare: bool) -> None:
        """Show the image alone, or everything again."""
        if is_bare and not self._blinked:
            ours = (self._segmentation.layer, self.segments, self.centres)
            self._blinked = [layer for layer in ours if layer is not None and layer.visible]
            for layer in self._blinked:
                layer.visible = False
        elif not is_bare:
            hidden, self._blinked = self._blinked, []
            for layer in hidden:
                layer.visible = True

    def _show(self) -> None:
        """Bring all layers up to date."""
        if not self._is_at_work:
            return
        is_pair = len(self._selection.supervoxels) == 2
        self._segmentation.dim(is_pair or self._is_planned or self._tool.is_on)
        self._show_segments()
        self._show_centres()
        self.meshes.show()

    def _show_segments(self) -> None:
        lut, supervoxels = self.values(), self._supervoxels()
        if self.segments is None and lut.any():
            self._make_segments()
        if self.segments is None or supervoxels is None:
            return
        data, dense = self.segments.data, supervoxels.dense
        is_outlined = not self._is_planned and self.look is Look.OUTLINE
        is_same = data.is_outlined == is_outlined and data.dense is dense and np.array_equal(data.lut, lut)
        if not is_same:
            data.dense, data.lut, data.is_outlined = dense, lut, is_outlined
            # The image shows through what is filled.
            self.segments.opacity = LINE_OPACITY if is_outlined else FILL_OPACITY
            redraw(self.segments, self._viewer.layers)
        self._show_one_body()

    def _show_one_body(self) -> None:
        """Hide what is empty, and leave the 3-D view to surfaces where there are some: both would flicker."""
        if self.segments is None:
            return
        is_doubled = bool(self.meshes.layers) and self._viewer.dims.ndisplay == 3
        is_unwanted = self.look is Look.NOTHING and not self._is_planned
        is_lit = bool(self.segments.data.lut.any()) and not is_doubled and not is_unwanted
        if is_lit != self._is_lit:
            self._is_lit = self.segments.visible = is_lit

    def _new_segments(self, dense: np.ndarray, lut: np.ndarray) -> Labels:
        # A `DirectLabelColormap` would compile for seconds when it is first used.
        chosen = colours_of_values()
        colours = transform_color(["transparent", *(chosen[value] for value in sorted(chosen))])
        return Labels(
            OutlinedLabels(dense, lut),
            name="selection",
            colormap=CyclicLabelColormap(colors=colours),
            opacity=LINE_OPACITY,
            blending="translucent_no_depth",
            metadata={"celis": {"kind": "labels", "is_live": True}},
            **self._segmentation.placement,
        )

    def _show_centres(self) -> None:
        """Show the energy change at every centre as coloured points."""
        found, axis = self._pair.centres, self._hidden_axis()
        is_awaited = not found and self._pair.action >= 0 and self._pair.wants_centres
        if is_awaited or (found, axis) == self._shown_centres:
            return
        self._shown_centres = (found, axis)
        positions, changes = self._centre_points(found, axis)
        if len(positions):
            self._make_centres()
        if self.centres is not None:
            # In place: a layer that comes or goes takes napari half a second.
            self.centres.data = positions.astype(np.float32)
            self.centres.features = {"ΔE": changes}
            if len(positions):
                self.centres.face_color = _colours(changes)

    def _hidden_axis(self) -> int:
        """Return the axis across the section that is shown, -1 in 3-D."""
        dims = self._viewer.dims
        return int(dims.order[0]) - (dims.ndim - 3) if dims.ndisplay == 2 else -1

    def _centre_points(self, found: tuple[CentreChanges, ...], axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Collect positions and energy changes; a section shows all centres that stand for it."""
        positions, changes = [np.empty((0, 3))], [np.empty(0)]
        specs = () if self._run.engine is None else self._run.engine.tables.specs
        stride = {spec.name: int(spec.stride_zyx[axis]) if axis >= 0 else 1 for spec in specs}
        for part in found:
            positions.append(repeat_along(part.centres, max(axis, 0), stride[part.spec_name]))
            changes.append(np.repeat(part.changes, stride[part.spec_name]))
        return np.concatenate(positions), np.concatenate(changes)

    def _new_centres(self) -> Points:
        return Points(
            ndim=3,
            # Without a rim, centres that change little vanish on the white canvas of the light theme.
            border_width=0.12,
            border_color=RIM,
            size=1.5,
            name="ΔE at centres",
            opacity=0.9,
            metadata={"celis": {"is_live": True}},
            **self._segmentation.placement,
        )

    def _add(self, layer: Layer) -> None:
        add_unfocused(self._viewer, layer)
        layer.mouse_pan = True

    def _remove(self, layer: Layer | None) -> None:
        if layer is not None and layer in self._viewer.layers:
            self._viewer.layers.remove(layer)

    def _on_run(self) -> None:
        """Make other layers for another run; where supervoxels became two, the layers stay."""
        if self._run.engine is not None and self._run.engine is self._made_for:
            self.meshes.clear()
            self._show()
            return
        for layer in (self.segments, self.centres):
            self._remove(layer)
        self.segments, self.centres, self._shown_centres = None, None, ((), -1)
        self._made_for = self._run.engine
        self.meshes.clear()
        # Made before they are needed: it takes napari a second, for which no key and no run should wait.
        self._workspace.deferred.add(self._make_segments)

    def _make_segments(self) -> None:
        supervoxels = self._run.supervoxels
        if self.segments is None and supervoxels is not None and self._is_at_work:
            self.segments = self._new_segments(supervoxels.dense, self.values())
            self._add(self.segments)
            self._is_lit = True
            self._show_one_body()

    def _make_centres(self) -> None:
        if self.centres is None and self._is_at_work:
            self.centres = self._new_centres()
            self._add(self.centres)

    @property
    def _is_at_work(self) -> bool:
        """Whether there is a run whose segments can light up, and a layer that ours could lie over."""
        is_run = self._run.engine is not None and self._run.engine is self._made_for
        return is_run and self._segmentation.reference_layer() is not None

    def _on_view(self, event: Any) -> None:
        # Later: a layer that goes may turn the axes, and while it goes none may come.
        self._workspace.deferred.add(self._follow_view)

    def _follow_view(self) -> None:
        if self._is_at_work:
            self._show_centres()
            self.meshes.show()
            self._show_one_body()

    def _on_removed(self, event: Any) -> None:
        """Make a layer again that the user removed, when it is needed next."""
        if event.value is self.segments:
            self.segments = None
        elif event.value is self.centres:
            self.centres = None

    def _let_go(self) -> None:
        self._viewer.dims.events.ndisplay.disconnect(self._on_view)
        self._viewer.dims.events.order.disconnect(self._on_view)
        self._viewer.layers.events.removed.disconnect(self._on_removed)


def colours_of_values() -> dict[int, str]:
    """Look up the colours of the layer that lights up, those of selected segments as the user prefers."""
    first, second = selection_colours()
    chosen = {FIRST: first, SECOND: second}
    if first != COLOURS[FIRST]:
        chosen[FIRST_CLICKED] = clicked_colour(first)
    if second != COLOURS[SECOND]:
        chosen[SECOND_CLICKED] = clicked_colour(second)
    return {**COLOURS, **chosen}


def _colours(changes: np.ndarray) -> np.ndarray:
    """Colour energy changes: blue where a merge lowers the energy, red where it raises it, white for none."""
    largest = float(np.quantile(np.abs(changes), BRIGHT_SHARE)) or float(np.abs(changes).max()) or 1.0
    shares = 0.5 + 0.5 * np.clip(changes / largest, -1, 1)
    colours: np.ndarray = Colormap([*CENTRE_COLOURS], name="ΔE").map(shares)
    return colours
