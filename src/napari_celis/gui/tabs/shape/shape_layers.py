"""The descriptor, its region and the tiling as layers in the viewer; at most four, all named "celis: …"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from napari.layers import Labels, Layer, Vectors
from napari.utils.colormaps import CyclicLabelColormap
from napari.utils.colormaps.standardize_color import transform_color

from napari_celis.core.inspect import CentreView
from napari_celis.core.lattice import Lattice
from napari_celis.gui.canvas.camera import camera_of
from napari_celis.gui.layers.adding import add_unfocused
from napari_celis.gui.tabs.shape.descriptor_view import PALETTE
from napari_celis.gui.tabs.shape.shape_lines import BOX_COLOURS, Section, box_lines, pair_lines

ORDER = COMPONENTS, ZONES, BOXES, PAIRS = tuple(
    f"celis: {name}" for name in ("components", "zones", "boxes", "pairs")
)
"""The layers from the lowest to the topmost."""

OVERLAYS = {
    "pairs": ("Pairs", "The sampled pairs as lines; in a slice, all pairs of the box projected onto it."),
    "box": ("Descriptor box", "The voxels that the descriptor samples."),
    "region": ("Connectivity region", "Inside it, two voxels count as connected or not."),
    "centres": ("Centres", "The centres whose descriptors this region decides."),
    "tiling": ("Region tiling", "All regions that the slice crosses; in 3-D the neighbours."),
    "components": ("Connected parts", "What is connected inside the region, each in a colour."),
    "zones": ("Groups of centres", "Centres of the region that are evaluated together, to save work."),
}
"""What can be shown: label and explanation."""
BOX_KEYS = set(BOX_COLOURS)
LINE_PIXELS = 1.6
"""Thickness of lines on the screen."""


def placed_like(layer: Layer, offset: Iterable[float], step: Sequence[float] = (1, 1, 1)) -> dict[str, Any]:
    """Describe where data lies that begins at a voxel of `layer` and has a point every `step` voxels.

    Parameters
    ----------
    layer : Layer
        The volume.
    offset : iterable of float
        First voxel of the data.
    step : sequence of float
        Voxels from one point of the data to the next.
    """
    return {
        "scale": np.array(layer.scale) * np.array(step, dtype=float),
        "translate": layer.affine.inverse(layer.data_to_world(tuple(float(value) for value in offset))),
        "rotate": layer.rotate,
        "shear": layer.shear,
        "affine": layer.affine,
        "units": layer.units,
    }


def label_colours(*, pale: bool) -> CyclicLabelColormap:
    """Make the colours of the drawing into those of a labels layer; pale ones cannot be taken for them."""
    tones = PALETTE[1:] / 255
    tones = (1 + tones) / 2 if pale else tones
    opaque = np.ones((len(tones), 1))
    return CyclicLabelColormap(colors=np.concatenate([np.zeros((1, 4)), np.hstack([tones, opaque])]))


class ShapeLayers:
    """Makes, updates and hides the layers of the shape tab; the user's choice of layer is left alone.

    A layer that comes or goes takes napari half a second, so one that is not wanted is only hidden.
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self._layers: dict[str, Layer] = {}

    def clear(self) -> None:
        """Remove all layers."""
        layers, self._layers = self._layers.values(), {}
        for layer in layers:
            if layer in self._viewer.layers:
                self._viewer.layers.remove(layer)

    def hide(self) -> None:
        """Hide all layers."""
        for name in self._layers:
            self._hide(name)

    def show(
        self,
        view: CentreView,
        lattice: Lattice,
        like: Layer,
        shown: Iterable[str],
        n_pairs: int,
        *,
        is_merged: bool,
    ) -> None:
        """Draw what is switched on.

        Parameters
        ----------
        view : CentreView
            What to draw.
        lattice : Lattice
            Gives the tiling.
        like : Layer
            The supervoxels; everything is placed as they are.
        shown : iterable of str
            Keys of `OVERLAYS`.
        n_pairs : int
            Most pairs to draw.
        is_merged : bool
            Whether to show the state after the merge, with the changed pairs marked.
        """
        shown = set(shown)
        section = self._section(like)
        pairs = pair_lines(view, section, n_pairs, is_merged=is_merged)
        self._show_lines(PAIRS, like, pairs if "pairs" in shown else None)
        boxes = box_lines(view, lattice, section, shown)
        self._show_lines(BOXES, like, boxes if shown & BOX_KEYS else None)
        components = view.merged_components() if is_merged else view.components
        placement = placed_like(like, view.region.low)
        self._show_labels(COMPONENTS, components if "components" in shown else None, placement)
        first = [axis[0] for axis in view.region.lattice]
        placement = placed_like(like, first, view.spec.stride_zyx)
        self._show_labels(ZONES, view.zones if "zones" in shown else None, placement)

    def keep_width(self, like: Layer) -> None:
        """Keep the lines equally thick on the screen after a zoom."""
        for name in (PAIRS, BOXES):
            if self._has(name):
                self._layers[name].edge_width = self._line_width(like)

    def _line_width(self, like: Layer) -> float:
        """Thickness of lines in voxels."""
        return float(LINE_PIXELS / (camera_of(self._viewer).zoom * min(like.scale[-2:])))

    def _section(self, like: Layer) -> Section:
        """Return the axis across the slice that is shown, and where it lies in voxels; None in 3-D."""
        dims = self._viewer.dims
        if dims.ndisplay == 3:
            return None
        axis = [a - (dims.ndim - 3) for a in dims.not_displayed if a >= dims.ndim - 3][-1]
        return axis, float(np.rint(like.world_to_data(dims.point[-3:])[axis]))

    def _show_lines(self, name: str, like: Layer, drawn: tuple[np.ndarray, list[str]] | None) -> None:
        """Update a layer of lines in their colours, or hide it."""
        if drawn is None:
            self._hide(name)
            return
        lines, colours = drawn
        if not self._has(name):
            if not len(lines):
                return
            layer = Vectors(
                lines,
                edge_color=colours,
                name=name,
                vector_style="line",
                blending="translucent_no_depth",
                opacity=0.9,
                **placed_like(like, (0, 0, 0)),
            )
            self._add(layer)
        layer = self._layers[name]
        _change(layer, visible=bool(len(lines)))
        if len(lines):
            _change(layer, data=lines, edge_color=transform_color(colours), edge_width=self._line_width(like))

    def _show_labels(self, name: str, labels: np.ndarray | None, placement: dict[str, Any]) -> None:
        """Update a layer of labels, or hide it."""
        if labels is None:
            self._hide(name)
            return
        if not self._has(name):
            self._add(
                Labels(
                    labels,
                    name=name,
                    opacity=0.5,
                    colormap=label_colours(pale=name == ZONES),
                    metadata={"celis": {"is_live": True}},
                    **placement,
                )
            )
            self._layers[name].editable = False
        layer = self._layers[name]
        _change(layer, data=labels, scale=placement["scale"], translate=placement["translate"], visible=True)

    def _has(self, name: str) -> bool:
        """Tell whether a layer is there; the user may have removed it."""
        return name in self._layers and self._layers[name] in self._viewer.layers

    def _add(self, layer: Layer) -> None:
        """Add a layer without making it the active one; lines lie above areas."""
        layers = self._viewer.layers
        above = [self._layers[name] for name in ORDER[ORDER.index(layer.name) + 1 :] if self._has(name)]
        lowest = min([layers.index(other) for other in above], default=len(layers))
        add_unfocused(self._viewer, layer, lowest)
        self._layers[layer.name] = layer

    def keys_of(self, layer: Layer) -> set[str]:
        """Tell which overlays a layer shows; none if it is not one of ours."""
        name = next((name for name, own in self._layers.items() if own is layer), "")
        return BOX_KEYS if name == BOXES else {name.removeprefix("celis: ")} & OVERLAYS.keys()

    def _hide(self, name: str) -> None:
        if self._has(name):
            _change(self._layers[name], visible=False)


def _change(layer: Layer, **values: Any) -> None:
    """Set what differs: every setting draws the layer again."""
    for name, value in values.items():
        if not np.array_equal(getattr(layer, name), value):
            setattr(layer, name, value)
