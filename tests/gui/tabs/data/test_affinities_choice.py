"""The box that chooses affinities on the tab Data: layers, files and folders of other tools."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from qtpy.QtWidgets import QFileDialog, QInputDialog

from gui.conftest import SHAPE, VOXEL_NM, add
from models.small import small_model
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.messages import Message
from napari_celis.gui.tabs.data.affinities_choice import BY_MODEL, FROM_FILE, FROM_FOLDER
from napari_celis.gui.tabs.data.data_tab import DataTab
from napari_celis.io.affinities import Affinities, write_affinities

AHEAD = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 6, 0]]


@pytest.fixture
def tab(qtbot, workspace):
    tab = DataTab(workspace)
    qtbot.addWidget(tab)
    tab.workspace = workspace
    return tab


@pytest.fixture
def stored():
    """Four channels that look ahead, one of them over a long range."""
    return np.random.default_rng(0).integers(0, 256, (4, *SHAPE), dtype=np.uint8)


def write(path, stored, *datasets):
    """Write affinities as another tool does."""
    with h5py.File(path, "a") as file:
        for name in datasets:
            file.create_dataset(name, data=stored).attrs.update(offsets=AHEAD, resolution=VOXEL_NM)
    return str(path)


def ours(stored):
    """What the channels say in our order."""
    result = np.zeros((3, *SHAPE), np.uint8)
    result[0, 1:], result[1, :, 1:], result[2, :, :, 1:] = (
        stored[0, :-1],
        stored[1, :, :-1],
        stored[2, :, :, :-1],
    )
    return result


def items(box):
    return [box.itemText(index) for index in range(box.count())]


def choose(box, text):
    """Choose an entry the way a person does."""
    box.setCurrentIndex(box.findText(text))
    box.activated.emit(box.currentIndex())


def prepared_affinities(qtbot, workspace):
    """Prepare, and return the affinities that scores were computed from."""
    workspace.data.use_model(small_model())
    qtbot.waitUntil(lambda: not workspace.preparation.is_busy, timeout=30_000)
    with qtbot.waitSignal(workspace.run.changed, timeout=30_000):
        workspace.preparation.prepare()
    return workspace.data.choice().known_affinities


def test_a_layer_with_four_axes_is_found_by_its_name_and_used(qtbot, tab, stored):
    workspace = tab.workspace
    assert items(tab.affinities) == [BY_MODEL, FROM_FILE, FROM_FOLDER]
    add(workspace.viewer, "image", "supervoxels")
    assert tab.figures.value("Affinities") == "computed when needed"
    layer = workspace.viewer.add_image(
        stored, name="my affs", scale=(1, *VOXEL_NM), metadata={"offsets": AHEAD}
    )
    assert tab.affinities.currentText() == "my affs"
    assert tab.figures.value("Affinities") == "4 channels, uint8"
    assert workspace.data.image_layer is workspace.viewer.layers["image"]
    assert_array_equal(prepared_affinities(qtbot, workspace), ours(stored))
    assert not workspace.is_stale
    choose(tab.affinities, BY_MODEL)
    assert workspace.data.affinities_layer is None
    assert workspace.is_stale
    assert workspace.data.choice().known_affinities is None
    choose(tab.affinities, "my affs")
    assert workspace.data.affinities_layer is layer
    workspace.viewer.layers.remove(layer)
    assert tab.affinities.currentText() == BY_MODEL


def test_affinities_beside_other_volumes_of_a_file_are_offered(qtbot, tab, stored, tmp_path):
    path = write(tmp_path / "all.h5", stored, "volumes/affinities")
    with h5py.File(path, "a") as file:
        file.create_dataset("volumes/raw", data=stored[0]).attrs["resolution"] = VOXEL_NM
    tab.open_files([path])
    assert [layer.name for layer in tab.workspace.viewer.layers] == ["all:volumes/raw"]
    assert tab.affinities.currentText() == BY_MODEL
    choose(tab.affinities, "all.h5:volumes/affinities")
    assert tab.affinities.currentText() == "all.h5:volumes/affinities"
    assert f"--affinities {path}:volumes/affinities" in agglomerate_command(tab.workspace)
    add(tab.workspace.viewer, "supervoxels")
    assert_array_equal(prepared_affinities(qtbot, tab.workspace), ours(stored))


def test_affinities_alone_are_enough(qtbot, tab, stored, tmp_path):
    workspace = tab.workspace
    tab.open_files([write(tmp_path / "alone.h5", stored, "affs")])
    assert tab.affinities.currentText() == "alone.h5:affs"
    assert tab.figures.value("Shape") == "12 × 20 × 20 voxels"
    assert tab.figures.value("Voxel size") == "10 × 10 × 10 nm"
    assert "--image" not in agglomerate_command(workspace)
    workspace.data.use_model(small_model())
    tab.make.click()
    qtbot.waitUntil(lambda: not workspace.preparation.is_busy, timeout=30_000)
    assert workspace.messages.current == Message()
    np.testing.assert_allclose(workspace.data.supervoxels_layer.scale, VOXEL_NM)
    assert workspace.data.supervoxels_layer.data.shape == SHAPE


def test_files_and_folders_are_chosen_by_dialogs(tab, stored, tmp_path, monkeypatch):
    several = write(tmp_path / "several.h5", stored, "a", "b")
    folder = write_affinities(Affinities(ours(stored), VOXEL_NM), tmp_path / "mine.zarr")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *args: (several, ""))
    monkeypatch.setattr(QInputDialog, "getItem", lambda *args: (args[3][1], True))
    choose(tab.affinities, FROM_FILE)
    assert tab.affinities.currentText() == "several.h5:b"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *args: str(folder))
    choose(tab.affinities, FROM_FOLDER)
    assert tab.affinities.currentText() == "mine.zarr"
    assert tab.workspace.data.affinities_file.offsets is not None
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *args: "")
    choose(tab.affinities, FROM_FOLDER)
    assert tab.affinities.currentText() == "mine.zarr", "a dialog that was closed changes nothing"
    monkeypatch.setattr(QInputDialog, "getItem", lambda *args: ("", False))
    choose(tab.affinities, FROM_FILE)
    assert tab.affinities.currentText() == "mine.zarr"


def test_a_file_without_affinities_is_said_in_the_panel(tab, tmp_path, monkeypatch):
    np.save(tmp_path / "flat.npy", np.zeros(SHAPE, np.uint8))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *args: (str(tmp_path / "flat.npy"), ""))
    choose(tab.affinities, FROM_FILE)
    message = tab.workspace.messages.current
    assert message.severity == "error"
    assert "no array in it has four axes" in message.text
    assert tab.affinities.currentText() == BY_MODEL
