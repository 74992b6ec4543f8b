"""File → Open Sample: the phantom that comes with the package."""

from __future__ import annotations

from napari_celis.gui.layers.samples import phantom_layers
from napari_celis.gui.layers.volume_layers import LayerData


def neuropil_phantom() -> list[LayerData]:
    """Open image, truth and supervoxels of the bundled phantom as layers."""
    return phantom_layers()
