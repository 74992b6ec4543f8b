"""What a layer can be used as, and what its type and name suggest."""

from __future__ import annotations

from typing import Literal

from napari.layers import Image, Labels, Layer

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import called, is_live, layer_to_volume

VolumeRole = Literal["image", "supervoxels", "truth"]
Role = Literal["image", "supervoxels", "truth", "affinities"]
ROLES: tuple[VolumeRole, ...] = ("image", "supervoxels", "truth")
"""What is chosen among layers with three axes."""
LAYER_ROLES: tuple[Role, ...] = (*ROLES, "affinities")
"""The same, and what has four."""
HINTS: dict[VolumeRole, tuple[str, ...]] = {
    "supervoxels": ("supervoxel", "fragment", "watershed"),
    "truth": ("truth", "neuron", "gt"),
}
"""Words in the name of a labels layer that tell its role."""
AFFINITIES_HINT = "aff"
"""The same for an image layer with four axes."""


def may_be_volume(layer: Layer) -> bool:
    """Tell whether a layer can be chosen: those that show a run cannot."""
    return isinstance(layer, Image | Labels) and not is_live(layer)


def may_be_affinities(layer: Layer) -> bool:
    """Tell whether a layer has channels and three more axes."""
    return isinstance(layer, Image) and layer.ndim == 4 and not layer.rgb


def suggested_role(layer: Layer) -> Role | None:
    """Return the role that the type and the name of a layer suggest; None if they suggest none."""
    name = layer.name.lower()
    if may_be_affinities(layer) and AFFINITIES_HINT in name:
        return "affinities"
    if isinstance(layer, Image):
        return "image"
    if isinstance(layer, Labels):
        return next((role for role, words in HINTS.items() if any(word in name for word in words)), None)
    return None


def volume_of(layer: Layer, role: VolumeRole) -> Volume:
    """Read a layer as the volume of a role; only its description, no voxels.

    Parameters
    ----------
    layer : Layer
        Image or labels.
    role : {"image", "supervoxels", "truth"}
        What it is used as.

    Raises
    ------
    VolumeError
        If it cannot be that.
    """
    data, settings, kind = layer.as_layer_data_tuple()
    volume = layer_to_volume(data, settings, role)
    wanted = "image" if role == "image" else "labels"
    if kind != wanted and volume.dtype.kind != "f":
        raise VolumeError(
            f"The {called(role, layer.name)} is of type {kind}, but must be of type {wanted}. "
            "Choose another layer, or convert this one with a right click on its name."
        )
    return volume
