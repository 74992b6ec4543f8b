"""What the user chose in one viewer: layers and a model, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from napari.layers import Layer
from qtpy.QtCore import QObject, Signal

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import called, labels_layer_at, labels_layer_like
from napari_celis.gui.session.chosen_layers import ChosenLayers
from napari_celis.gui.session.computed_data import ComputedData
from napari_celis.gui.session.data_origin import DataOrigin
from napari_celis.gui.session.layer_fit import misfit
from napari_celis.gui.session.layer_roles import Role, VolumeRole, may_be_volume, suggested_role, volume_of
from napari_celis.gui.session.messages import MessageLine
from napari_celis.gui.session.run_start import RunStart
from napari_celis.io.affinities import AffinityVolume
from napari_celis.pipeline.checks import IncompleteError, check
from napari_celis.pipeline.choice import Atoms, Choice, Decided
from napari_celis.pipeline.recipe import Inputs
from napari_celis.pipeline.session_data import Sources

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel, PolicyName

EDITS = ("paint", "data", "scale", "translate")
"""Events of a layer after which it is not what was read."""


class DataSelection(QObject):
    """The chosen layers and model of one viewer; follows the layers as they come and go.

    Parameters
    ----------
    viewer : Viewer
        Whose layers can be chosen.
    messages : MessageLine
        Told what is wrong with what is chosen.
    """

    changed = Signal()
    supervoxels_chosen = Signal()
    """There are supervoxels, and they or a volume that has to fit them changed."""
    edited = Signal()
    """A chosen layer was painted on, replaced or moved."""
    lost = Signal(str)
    """One sentence: a chosen layer was edited or removed."""

    def __init__(self, viewer: Any, messages: MessageLine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._viewer, self._messages = viewer, messages
        self.model: CelisModel | None = None
        self.model_path: Path | None = None
        self.loading_path: Path | None = None
        """A model that is being loaded and will be used then."""
        self.policy: PolicyName = "energy"
        """How merges are ordered; one that the model knows."""
        self.any_voxel_size = False
        self.affinities_file: AffinityVolume | None = None
        """Affinities of another network that lie in a file; instead of a layer."""
        self.n_edits = 0
        """How often a chosen layer was edited; another number means that what was read is out of date."""
        self._layers = ChosenLayers()
        self._computed = ComputedData()
        self._start = RunStart()
        viewer.layers.events.inserted.connect(self._on_inserted)
        viewer.layers.events.removed.connect(self._on_removed)

    # What is chosen.

    def layer(self, role: Role) -> Layer | None:
        """Return the layer that is chosen for a role."""
        return self._layers.get(role)

    @property
    def image_layer(self) -> Layer | None:
        """The grey values."""
        return self._layers.get("image")

    @property
    def supervoxels_layer(self) -> Layer | None:
        """The oversegmentation."""
        return self._layers.get("supervoxels")

    @property
    def truth_layer(self) -> Layer | None:
        """The true segmentation."""
        return self._layers.get("truth")

    @property
    def affinities_layer(self) -> Layer | None:
        """Affinities of another network."""
        return self._layers.get("affinities")

    @property
    def has_affinities(self) -> bool:
        """Whether affinities of another network are chosen."""
        return self.affinities_layer is not None or self.affinities_file is not None

    @property
    def has_volume(self) -> bool:
        """Whether there is anything to make a segmentation of."""
        return self.image_layer is not None or self.has_affinities

    def choose(self, role: Role, layer: Layer | None) -> None:
        """Use a layer in a role.

        Parameters
        ----------
        role : {"image", "supervoxels", "truth", "affinities"}
            What for.
        layer : Layer, optional
            None uses none.
        """
        if self._layers.get(role) is layer:
            return
        self._layers.put(role, layer)
        if role == "affinities":
            self.affinities_file = None
        self.changed.emit()
        self.check()
        if layer is not None:
            self._watch_edits(layer)
        if self.supervoxels_layer is not None:
            self.supervoxels_chosen.emit()

    def use_model(self, model: CelisModel | None, path: Path | None = None) -> None:
        """Use a model that is in memory already.

        Parameters
        ----------
        model : CelisModel, optional
            None uses none.
        path : Path, optional
            Its file.
        """
        self.model, self.model_path, self.loading_path = model, path, None
        self.policy = "energy" if model is None else model.policy
        self.changed.emit()
        self.check()

    def use_policy(self, policy: PolicyName) -> None:
        """Order merges in another way that the model knows."""
        self.policy = policy
        self.changed.emit()

    def use_affinities(self, affinities: np.ndarray) -> None:
        """Use affinities of the chosen image, float32 (3, Z, Y, X), instead of computing them."""
        self._computed.keep_affinities(self.choice(), affinities)

    def use_affinities_file(self, affinities: AffinityVolume | None) -> None:
        """Use affinities of another network from a file; None computes them from the image again."""
        self.affinities_file = affinities
        self._layers.put("affinities", None)
        self.changed.emit()
        self.check()

    def allow_any_voxel_size(self, is_allowed: bool) -> None:
        """Use the model although it was trained at another voxel size."""
        self.any_voxel_size = is_allowed
        self.changed.emit()
        self.check()

    def use_choice(
        self, choice: Choice, layers: Mapping[VolumeRole, Layer], model_path: Path | None = None
    ) -> None:
        """Show and use other volumes and another model, and begin with what is decided about them.

        Parameters
        ----------
        choice : Choice
            What to use; supervoxels and model are there.
        layers : mapping of str to Layer
            New layers that show its volumes, by role; all other roles become free.
        model_path : Path, optional
            The file of the model.
        """
        self._layers.put_only(layers)
        self.affinities_file = choice.affinities
        self.model, self.model_path, self.loading_path = choice.model, model_path, None
        self.policy, self.any_voxel_size = choice.known_policy, choice.any_voxel_size
        supervoxels = layers["supervoxels"]
        self._start.use(supervoxels, choice)
        if choice.atoms is not None:
            self._computed.keep_atoms(supervoxels.data, choice.atoms)
        # Everything is in its place when the first layer comes and others hear of it.
        for layer in layers.values():
            self._watch_edits(layer)
            self._viewer.add_layer(layer)
        self.changed.emit()
        self.check()

    @property
    def decided(self) -> Decided:
        """What a run of the chosen supervoxels begins with."""
        return self._start.decided(self.supervoxels_layer)

    # What comes of it.

    def origin(self) -> DataOrigin:
        """Describe all that a run would depend on now."""
        return DataOrigin(
            self.image_layer,
            self.supervoxels_layer,
            self.truth_layer,
            self.affinities_layer,
            self.affinities_file,
            self.model,
            self.policy,
            self.n_edits,
        )

    def choice(self) -> Choice:
        """Collect what is chosen as volumes; raises a CelisError that says what is wrong with a layer."""
        supervoxels = self._layers.volume("supervoxels")
        choice = Choice(
            image=self._layers.volume("image"),
            supervoxels=supervoxels,
            truth=self._layers.volume("truth"),
            affinities=self._affinities(),
            model=self.model,
            policy=self.policy,
            any_voxel_size=self.any_voxel_size,
            atoms=self.counted(supervoxels),
        )
        choice = self._start.apply(choice, self.supervoxels_layer)
        return replace(choice, known_affinities=self._computed.affinities_of(choice))

    def sources(self) -> Sources:
        """Tell where everything lies that is chosen; nothing for what lies in no file."""
        places = self._layers.places()
        if self.affinities_file is not None:
            places["affinities"] = self.affinities_file.name
        return Sources(places, "" if self.model_path is None else str(self.model_path))

    def counted(self, volume: Volume | None = None) -> Atoms | None:
        """Return the supervoxels of the chosen layer if they were counted already."""
        if volume is None and self.supervoxels_layer is not None:
            volume = self._layers.volume("supervoxels")
        return None if volume is None else self._computed.atoms_of(volume)

    def check(self) -> bool:
        """Say what keeps the chosen data from being used; True if nothing does."""
        try:
            check(self.choice())
        except IncompleteError as hint:
            is_loading = self.loading_path is not None and self.model is None and self.has_volume
            self._messages.say(self._loading_text() if is_loading else str(hint), "")
            return False
        except CelisError as error:
            self._messages.say(str(error))
            return False
        self._messages.clear()
        return True

    # What was computed.

    def remember_counts(self, volume: Volume, atoms: Atoms) -> None:
        """Keep the supervoxels of a volume, so that nobody counts them again.

        Parameters
        ----------
        volume : Volume
            That of the chosen layer.
        atoms : Atoms
            What was found in it.
        """
        self._computed.keep_atoms(volume.data, atoms)
        self.changed.emit()

    def forget_counts(self) -> None:
        """Count the supervoxels again when they are needed: the layer was edited."""
        self._computed.forget_atoms()

    def remember(self, choice: Choice, inputs: Inputs) -> None:
        """Keep what need not be computed again, and show supervoxels that were made.

        Parameters
        ----------
        choice : Choice
            What it was computed from.
        inputs : Inputs
            What was computed.
        """
        self._computed.keep_affinities(choice, inputs.affinities)
        if inputs.made_labels is not None:
            layer = self._made_layer(choice, inputs.made_labels)
            self._computed.keep_atoms(layer.data, inputs.atoms)
            self._layers.put("supervoxels", None)
            self._viewer.add_layer(layer)
            self.choose("supervoxels", layer)
        elif choice.supervoxels is not None:
            self._computed.keep_atoms(choice.supervoxels.data, inputs.atoms)
        self.changed.emit()

    def _loading_text(self) -> str:
        name = "" if self.loading_path is None else self.loading_path.stem
        return f"The model “{name}” is being loaded."

    def _affinities(self) -> AffinityVolume | None:
        """Describe the chosen affinities; no voxel is read."""
        return self.affinities_file if self.affinities_layer is None else self._layers.affinities()

    def _made_layer(self, choice: Choice, labels: np.ndarray) -> Layer:
        """Make a layer that lies over the image, or where the affinities say."""
        if self.image_layer is not None:
            return labels_layer_like(labels, self.image_layer, "supervoxels")
        return labels_layer_at(Volume(labels, choice.voxel_size_nm, choice.offset_nm, "supervoxels"))

    # Layers come and go.

    def adopt(self, layer: Layer) -> None:
        """Use a new layer for the role that its type and name suggest, if that is still free."""
        if not may_be_volume(layer):
            return
        layer.events.name.connect(lambda event: self.changed.emit())
        role = suggested_role(layer)
        if role == "affinities":
            if not self.has_affinities:
                self.choose(role, layer)
        elif role is not None and self.layer(role) is None and (role == "image" or self._fits(role, layer)):
            self.choose(role, layer)
        self.changed.emit()

    def _fits(self, role: VolumeRole, layer: Layer) -> bool:
        """Tell whether a new layer lies over what is chosen; say why where it does not."""
        try:
            problem = misfit(self.choice(), role, volume_of(layer, role))
        except CelisError:
            return True
        if problem:
            self._messages.say(f"“{layer.name}” was opened, but not chosen as {role}. {problem}", "warning")
        return not problem

    def close(self) -> None:
        """Stop following the layers."""
        self._viewer.layers.events.inserted.disconnect(self._on_inserted)
        self._viewer.layers.events.removed.disconnect(self._on_removed)

    def _on_inserted(self, event: Any) -> None:
        self.adopt(event.value)

    def _on_removed(self, event: Any) -> None:
        layer = event.value
        for role in self._layers.roles_of(layer):
            self._layers.put(role, None)
            self.lost.emit(f"The {called(role, layer.name)} was removed.")
        if may_be_volume(layer):
            self.changed.emit()

    def _watch_edits(self, layer: Layer) -> None:
        """Say so when a layer is painted on, replaced or moved after it was read."""
        for name in EDITS:
            if hasattr(layer.events, name):
                getattr(layer.events, name).connect(self._on_edited)

    def _on_edited(self, event: Any) -> None:
        roles = self._layers.roles_of(event.source)
        if not roles:
            return
        if "supervoxels" in roles:
            self.forget_counts()
            self._start.forget()
        self.n_edits += 1
        self.lost.emit(f"The {called(roles[0], event.source.name)} was edited.")
        self.changed.emit()
        self.edited.emit()
