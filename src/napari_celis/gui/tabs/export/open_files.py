"""Files that the viewer shows: nothing is ever written over them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from napari.layers import Layer

from napari_celis.core.errors import CelisError
from napari_celis.gui.layers.volume_layers import source_of
from napari_celis.io.footprints import Part, parts_to_read


def require_not_open(layers: Iterable[Layer], target: Path) -> None:
    """Refuse to write over what a layer was opened from; voxels are read from there when they are needed.

    Parameters
    ----------
    layers : iterable of Layer
        All layers of the viewer.
    target : Path
        The file or folder to write.

    Raises
    ------
    CelisError
        Naming the layer.
    """
    written = Part(target)
    for layer in layers:
        source = source_of(layer, "")
        if source and any(written.overlaps(part) for part in parts_to_read(source)):
            raise CelisError(
                f"{target} is open as the layer {layer.name!r}, so nothing is written there. "
                "Choose another name."
            )
