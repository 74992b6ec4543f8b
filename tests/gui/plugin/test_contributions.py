"""The reader, the writer and the sample, the way napari calls them."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Image, Labels
from napari.utils.notifications import notification_manager

from napari_celis.core.volume import Volume
from napari_celis.gui.plugin.reader import get_reader, read_layers
from napari_celis.io.volumes import open_volume, write_volume

VOXEL_NM, OFFSET_NM = (40.0, 4.0, 4.0), (80.0, 8.0, 0.0)
GREY = Volume(np.arange(4 * 96 * 80, dtype=np.uint8).reshape(4, 96, 80), VOXEL_NM, OFFSET_NM, name="grey")
IDS = Volume(
    np.repeat(np.arange(1, 5, dtype=np.uint64), 96 * 80).reshape(4, 96, 80) << 40, VOXEL_NM, OFFSET_NM
)

pytestmark = pytest.mark.usefixtures("our_plugin")

FORMATS = ["stack.zarr", "stack.h5", "stack.tif", "stack.npy", "stack.precomputed"]


def open_with_celis(viewer, path):
    return viewer.open(str(path), plugin="napari-celis")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("volume", "kind", "layer_type"), [(GREY, "image", Image), (IDS, "labels", Labels)])
def test_every_format_opens_as_a_layer(tmp_path, name, volume, kind, layer_type):
    path = write_volume(volume, tmp_path / name, kind=kind)
    [layer] = open_with_celis(ViewerModel(), path)
    assert isinstance(layer, layer_type)
    finest = layer.data[0] if layer.multiscale else layer.data
    np.testing.assert_array_equal(np.asarray(finest), volume.data)
    np.testing.assert_allclose(layer.scale, VOXEL_NM)
    np.testing.assert_allclose(layer.translate, OFFSET_NM)
    assert [str(unit) for unit in layer.units] == ["nanometer"] * 3


def test_file_with_several_volumes_opens_them_all(tmp_path):
    path = tmp_path / "sample.h5"
    write_volume(GREY, f"{path}:volumes/raw", kind="image")
    write_volume(IDS, f"{path}:volumes/labels/neuron_ids", kind="labels")
    layers = open_with_celis(ViewerModel(), path)
    assert {layer.name: type(layer) for layer in layers} == {
        "sample:volumes/raw": Image,
        "sample:volumes/labels/neuron_ids": Labels,
    }


def test_pyramid_opens_as_one_multiscale_layer(tmp_path):
    large = Volume(np.zeros((8, 512, 512), dtype=np.uint8), VOXEL_NM, OFFSET_NM)
    [layer] = open_with_celis(ViewerModel(), write_volume(large, tmp_path / "large.zarr", kind="image"))
    assert layer.multiscale
    assert len(layer.data) > 1
    np.testing.assert_allclose(layer.scale, VOXEL_NM)


@pytest.mark.parametrize("name", ["out.zarr", "out.h5", "out.tif", "out.npy"])
def test_layers_are_saved_with_their_place_in_space(tmp_path, name):
    layer = Labels(IDS.data, scale=(0.04, 0.004, 0.004), translate=(0.08, 0.008, 0), units="um", name="mine")
    [written] = layer.save(str(tmp_path / name), plugin="napari-celis")
    volume = open_volume(written)
    np.testing.assert_array_equal(volume.read(), IDS.data)
    assert volume.dtype == np.uint64
    assert volume.voxel_size_nm == pytest.approx(VOXEL_NM)
    assert volume.offset_nm == pytest.approx(OFFSET_NM)


def test_other_things_are_left_to_other_plugins(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/readme.txt").write_text("no volume")
    assert get_reader(str(tmp_path / "notes")) is None
    assert get_reader(str(tmp_path / "notes/readme.txt")) is None
    assert get_reader(str(tmp_path / "missing.xyz")) is None
    assert get_reader([str(tmp_path / "a.tif"), str(tmp_path / "b.tif")]) is None


@pytest.fixture
def notices():
    """Collect what napari tells the user."""
    seen: list[str] = []

    def keep(notice) -> None:
        seen.append(notice.message)

    notification_manager.notification_ready.connect(keep)
    yield seen
    notification_manager.notification_ready.disconnect(keep)


def test_damaged_file_ends_in_a_sentence_that_the_user_sees(tmp_path, notices):
    path = tmp_path / "broken.h5"
    path.write_bytes(b"no HDF5 at all")
    assert open_with_celis(ViewerModel(), path) == []
    [sentence] = notices
    assert "broken.h5" in sentence


def test_flat_array_is_explained(tmp_path, notices):
    np.save(tmp_path / "flat.npy", np.zeros((3, 4)))
    assert read_layers(str(tmp_path / "flat.npy")) == [(None,)]
    [sentence] = notices
    assert "flat.npy" in sentence
