"""What napari calls to save one layer."""

from __future__ import annotations

from typing import Any

from napari_celis.gui.layers.volume_layers import layer_to_volume
from napari_celis.io.blocks import Kind
from napari_celis.io.volumes import write_volume


def write_layer(path: str, data: Any, settings: dict[str, Any], kind: Kind) -> list[str]:
    """Save a layer; the suffix of `path` chooses the format.

    Parameters
    ----------
    path : str
        The file to write.
    data : array-like
        The voxels.
    settings : dict
        As in a layer-data tuple.
    kind : "image" or "labels"
        What the voxels are.
    """
    return [str(write_volume(layer_to_volume(data, settings), path, kind=kind))]


def write_image(path: str, data: Any, settings: dict[str, Any]) -> list[str]:
    """Save an image layer; parameters as in `write_layer`."""
    return write_layer(path, data, settings, "image")


def write_labels(path: str, data: Any, settings: dict[str, Any]) -> list[str]:
    """Save a labels layer with its ids as they are; parameters as in `write_layer`."""
    return write_layer(path, data, settings, "labels")
