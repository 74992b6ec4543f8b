"""Volumes as layers and back, without a window."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Image, Labels, Layer

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Volume
from napari_celis.gui.layers.volume_layers import layer_to_volume, volume_to_layer
from napari_celis.io.volumes import open_volume

LABELS = Volume(
    np.arange(24, dtype=np.uint64).reshape(2, 3, 4) + 2**63, (40.0, 4.0, 4.5), (80.0, -8.0, 0.0), name="cells"
)


def back(layer: Layer) -> Volume:
    data, settings, _ = layer.as_layer_data_tuple()
    return layer_to_volume(data, settings)


def test_layer_shows_nanometres():
    layer = Layer.create(*volume_to_layer(LABELS, "labels"))
    assert isinstance(layer, Labels)
    assert layer.name == "cells"
    assert [str(unit) for unit in layer.units] == ["nanometer"] * 3
    assert layer.axis_labels == ("z", "y", "x")
    np.testing.assert_allclose(layer.data_to_world((1, 1, 2)), (120, -4, 9))
    assert layer.metadata["celis"]["kind"] == "labels"


def test_layer_and_back_changes_nothing():
    volume = back(Layer.create(*volume_to_layer(LABELS, "labels")))
    assert volume.data is LABELS.data
    assert (volume.voxel_size_nm, volume.offset_nm) == (LABELS.voxel_size_nm, LABELS.offset_nm)
    assert volume.name == "cells"


def test_pyramid_becomes_one_layer_and_its_finest_level_comes_back():
    coarse = Volume(LABELS.data[:, :2, ::2], (40.0, 8.0, 9.0), LABELS.offset_nm)
    layer = Layer.create(*volume_to_layer(LABELS, "labels", [coarse]))
    assert layer.multiscale
    assert [level.shape for level in layer.data] == [(2, 3, 4), (2, 2, 2)]
    assert back(layer).shape == (2, 3, 4)
    np.testing.assert_allclose(layer.scale, LABELS.voxel_size_nm)


def test_mask_becomes_a_labels_layer(tmp_path):
    np.save(tmp_path / "mask.npy", LABELS.data % 2 == 0)
    layer = Layer.create(*volume_to_layer(open_volume(tmp_path / "mask.npy"), "labels"))
    assert layer.data.dtype == np.uint8
    assert set(np.unique(layer.data)) == {0, 1}


@pytest.mark.parametrize(
    ("units", "expected"),
    [
        ("um", (40.0, 4.0, 4.0)),
        ("nm", (0.04, 0.004, 0.004)),
        ("pixel", (0.04, 0.004, 0.004)),
        (("um", "nm", "nm"), (40.0, 0.004, 0.004)),
    ],
)
def test_units_of_a_layer_count(units, expected):
    layer = Image(np.zeros((2, 3, 4)), scale=(0.04, 0.004, 0.004), translate=(0.1, 0, 0), units=units)
    volume = back(layer)
    assert volume.voxel_size_nm == pytest.approx(expected, rel=1e-12)
    assert volume.offset_nm[0] == pytest.approx(2.5 * expected[0], rel=1e-12)


def test_micrometres_become_whole_nanometres():
    assert back(Image(np.zeros((2, 3, 4)), scale=(0.04, 0.004, 0.004), units="um")).voxel_size_nm == (
        40,
        4,
        4,
    )


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (Image(np.zeros((3, 4)), name="flat"), "“flat” has 2 axes"),
        (Image(np.zeros((2, 3, 4, 5)), name="film"), "“film” has 4 axes"),
        (Image(np.zeros((2, 3, 4)), rotate=(0, 0, 30), name="tilted"), "“tilted” has its own rotate"),
        (Image(np.zeros((2, 3, 4)), affine=np.diag([2, 1, 1, 1]), name="odd"), "“odd” has its own affine"),
        (Image(np.zeros((2, 3, 4)), units=("s", "nm", "nm"), name="time"), "is measured in s"),
    ],
)
def test_what_no_file_can_hold_is_refused(layer, words):
    with pytest.raises(VolumeError, match=words):
        back(layer)
