"""File → Open Sample: the phantom that comes with the package."""

from __future__ import annotations

from napari_celis.gui.layers import KINDS, LOOKS, LayerData, volume_to_layer
from napari_celis.io.samples import sample_volumes


def neuropil_phantom() -> list[LayerData]:
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
