"""Layers of ours that come without taking the focus from the user's."""

from __future__ import annotations

from typing import Any

from napari.layers import Layer


def add_unfocused(viewer: Any, layer: Layer, index: int | None = None) -> None:
    """Add a layer, and leave selected what is selected.

    Parameters
    ----------
    viewer : Viewer
        Where to.
    layer : Layer
        What.
    index : int, optional
        Where in the list of layers; at its end if left out.
    """
    layers = viewer.layers
    chosen, active = set(layers.selection), layers.selection.active
    layers.insert(len(layers) if index is None else index, layer)
    layers.selection = chosen
    layers.selection.active = active
