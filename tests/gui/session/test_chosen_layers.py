"""Type and name of a layer suggest its role; a chosen layer is read as the volume of its role."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Image, Labels, Points

from napari_celis.core.errors import VolumeError
from napari_celis.gui.session.chosen_layers import ChosenLayers
from napari_celis.gui.session.layer_roles import may_be_volume, suggested_role

GREY, IDS = np.zeros((3, 4, 5), dtype=np.uint8), np.zeros((3, 4, 5), dtype=np.uint32)


@pytest.mark.parametrize(
    ("layer", "role"),
    [
        (Image(GREY, name="truth"), "image"),
        (Image(np.zeros((3, 3, 4, 5), dtype=np.float32), name="Affinities"), "affinities"),
        (Labels(IDS, name="Watershed of em"), "supervoxels"),
        (Labels(IDS, name="gt"), "truth"),
        (Labels(IDS, name="something"), None),
        (Points(np.zeros((1, 3)), name="truth"), None),
    ],
)
def test_type_and_name_suggest_a_role(layer, role):
    assert suggested_role(layer) == role
    assert may_be_volume(layer) == (not isinstance(layer, Points))


def test_a_layer_is_read_as_the_volume_of_its_role():
    layers, image, labels = ChosenLayers(), Image(GREY, scale=(40, 4, 4)), Labels(IDS)
    assert layers.volume("image") is None
    layers.put("image", image)
    layers.put("truth", labels)
    assert layers.volume("image").shape == (3, 4, 5)
    assert layers.roles_of(labels) == ["truth"]
    assert layers.places() == {"image": "", "truth": ""}
    layers.put("truth", image)
    with pytest.raises(VolumeError, match="must be of type labels"):
        layers.volume("truth")
    layers.put_only({"supervoxels": labels})
    assert layers.get("image") is None
    assert layers.roles_of(labels) == ["supervoxels"]
