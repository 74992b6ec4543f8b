"""The phantom that comes with the package, and the model for it."""

from __future__ import annotations

from pathlib import Path

from napari_celis.gui.layers.volume_layers import KINDS, LOOKS, LayerData, volume_to_layer
from napari_celis.io.samples import bundled_models, sample_volumes


def phantom_layers() -> list[LayerData]:
    """Open image, truth and supervoxels of the bundled phantom as layers.

    Returns
    -------
    layers : list of (data, settings, type)
        From the lowest to the highest; the truth starts hidden.
    """
    volumes = sample_volumes()
    layers = []
    for role, kind in KINDS.items():
        data, settings, layer_type = volume_to_layer(volumes[role], kind)
        layers.append((data, {**settings, **LOOKS[role], "name": f"phantom {role}"}, layer_type))
    return layers


def phantom_model() -> Path | None:
    """Find the bundled model for the sample, if there is one."""
    return next((path for name, path in bundled_models().items() if "phantom" in name), None)
