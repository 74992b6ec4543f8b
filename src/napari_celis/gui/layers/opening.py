"""Files and folders as layers."""

from __future__ import annotations

from pathlib import Path

from napari_celis.gui.layers.volume_layers import LayerData, volume_to_layer
from napari_celis.io.kinds import guess_kind
from napari_celis.io.volumes import list_datasets, open_volume


def open_layers(path: str) -> list[LayerData]:
    """Read every volume in a file or folder as one layer each; a CelisError says what is wrong.

    Images come first: above labels they would hide them.
    """
    volumes = [(info.name, info.n_levels) for info in list_datasets(path) if info.is_volume]
    # Where there is none, opening the path itself says why.
    layers = [_as_layer(path, *volume) for volume in volumes or [("", 1)]]
    return sorted(layers, key=lambda layer: layer[2] != "image")


def has_volumes(path: str) -> bool:
    """Tell whether a file or folder holds anything with three axes."""
    return any(info.is_volume for info in list_datasets(path))


def _as_layer(path: str, dataset: str, n_levels: int) -> LayerData:
    """Open all levels of one volume."""
    target = f"{path}:{dataset}" if dataset else path
    finest, *coarser = (open_volume(target, level=level) for level in range(n_levels))
    data, settings, kind = volume_to_layer(finest, guess_kind(finest), coarser)
    stem = Path(path).stem
    settings["name"] = f"{stem}:{dataset}" if dataset else stem
    return data, settings, kind
