"""Which layer is used as what."""

from __future__ import annotations

from collections.abc import Mapping

from napari.layers import Layer

from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import layer_to_affinities, source_of
from napari_celis.gui.session.layer_roles import LAYER_ROLES, Role, VolumeRole, volume_of
from napari_celis.io.affinities import AffinityVolume


class ChosenLayers:
    """Holds one layer, or none, for each role, and reads them as volumes: their descriptions, no voxels."""

    def __init__(self) -> None:
        self._layers: dict[Role, Layer | None] = dict.fromkeys(LAYER_ROLES)

    def get(self, role: Role) -> Layer | None:
        """Return the layer that is chosen for a role."""
        return self._layers[role]

    def put(self, role: Role, layer: Layer | None) -> None:
        """Use a layer in a role.

        Parameters
        ----------
        role : {"image", "supervoxels", "truth", "affinities"}
            What for.
        layer : Layer, optional
            None uses none.
        """
        self._layers[role] = layer

    def put_only(self, layers: Mapping[VolumeRole, Layer]) -> None:
        """Use other layers, by role; all other roles become free."""
        self._layers = dict.fromkeys(LAYER_ROLES)
        for role, layer in layers.items():
            self._layers[role] = layer

    def roles_of(self, layer: Layer) -> list[Role]:
        """List what a layer is used as."""
        return [role for role, chosen in self._layers.items() if chosen is layer]

    def volume(self, role: VolumeRole) -> Volume | None:
        """Read the layer of a role; raises a VolumeError if it cannot be that."""
        layer = self._layers[role]
        return None if layer is None else volume_of(layer, role)

    def affinities(self) -> AffinityVolume | None:
        """Read the layer of affinities."""
        layer = self._layers["affinities"]
        if layer is None:
            return None
        data, settings, _ = layer.as_layer_data_tuple()
        return layer_to_affinities(data, settings)

    def places(self) -> dict[Role, str]:
        """Tell where the layers lie, as `path[:dataset]`; empty for what lies in no file."""
        return {role: source_of(layer, "") for role, layer in self._layers.items() if layer is not None}
