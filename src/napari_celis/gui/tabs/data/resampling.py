"""Volumes at the voxel size that the model was trained on, computed as they are read."""

from __future__ import annotations

from dataclasses import replace

from napari.layers import Layer

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Triple
from napari_celis.gui.layers.volume_layers import KINDS, LOOKS, volume_to_layer
from napari_celis.gui.session.layer_roles import ROLES
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.resampled import resample
from napari_celis.pipeline.choice import UNKNOWN_SIZE

DONE = (
    "The volumes are shown and used at the voxel size of the model now; the files stay as they are. "
    "To keep them, write them with celis convert IN OUT --resample {size}."
)


def can_resample(workspace: Workspace) -> bool:
    """Tell whether the chosen volumes say their voxel size, and can be brought to that of the model."""
    data = workspace.data
    if data.model is None or data.image_layer is None or data.has_affinities:
        return False
    try:
        image = data.choice().image
    except CelisError:
        return False
    return image is not None and image.voxel_size_nm != UNKNOWN_SIZE


def resample_to_model(workspace: Workspace) -> None:
    """Add the chosen volumes once more, at the voxel size of the model, and choose these."""
    data, viewer = workspace.data, workspace.viewer
    assert data.model is not None
    size = data.model.voxel_size_nm
    layers: dict[str, Layer] = {}
    for role, volume in data.choice().volumes.items():
        again = resample(volume, size, KINDS[role])
        named = replace(again, name=f"{volume.name} at {_nm(size)}")
        content, settings, kind = volume_to_layer(named, KINDS[role])
        layers[role] = Layer.create(content, {**settings, **LOOKS[role]}, kind)
    for role in ROLES:
        old = data.layer(role)
        if old is not None:
            old.visible = False
        # Chosen one by one, they do not lie over each other until the last.
        data.choose(role, None)
    for role in ROLES:
        if role in layers:
            data.choose(role, layers[role])
            viewer.add_layer(layers[role])
    viewer.reset_view()
    if data.check():
        workspace.messages.say(DONE.format(size=" ".join(f"{length:g}" for length in size)), "")


def _nm(size: Triple) -> str:
    return " × ".join(f"{length:g}" for length in size) + " nm"
