"""The tab Data: every button, and what it shows."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import QMimeData, QPointF, Qt, QUrl
from qtpy.QtGui import QDropEvent
from qtpy.QtWidgets import QFileDialog

from gui.conftest import SHAPE, add, small_agglomerator, small_volumes
from models.small import small_model
from napari_celis.gui.layers import samples
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.preparation import RECOUNT_MS
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.data import data_tab
from napari_celis.gui.tabs.data.data_tab import FROM_FILE, NONE, DataTab
from napari_celis.io.volumes import write_volume
from napari_celis.models.model_file import save_model


@pytest.fixture
def tab(qtbot):
    workspace = Workspace.of(ViewerModel())
    tab = DataTab(workspace)
    qtbot.addWidget(tab)
    tab.workspace = workspace
    yield tab
    workspace.dispose()


@pytest.fixture
def files(tmp_path):
    """Write the small volumes and the small model."""
    volumes = small_volumes()
    kinds = {"image": "image", "supervoxels": "labels"}
    paths = {
        role: str(write_volume(volumes[role], tmp_path / f"{role}.zarr", kind=kinds[role])) for role in kinds
    }
    return {**paths, "model": str(save_model(small_model(), tmp_path / "small.safetensors"))}


def items(combo):
    return [combo.itemText(index) for index in range(combo.count())]


def choose(combo, text):
    """Choose an entry the way a person does."""
    combo.setCurrentIndex(combo.findText(text))
    combo.activated.emit(combo.currentIndex())


def wait_until_free(qtbot, tab):
    qtbot.waitUntil(lambda: not tab.workspace.preparation.is_busy, timeout=30_000)


def test_combo_boxes_follow_the_layers(qtbot, tab):
    viewer = tab.workspace.viewer
    assert items(tab.combos["image"]) == [NONE]
    image = viewer.add_image(np.zeros(SHAPE, np.uint8), name="grey")
    viewer.add_labels(np.ones(SHAPE, np.uint8), name="cells")
    viewer.add_points(np.zeros((1, 3)))
    assert items(tab.combos["image"]) == [NONE, "grey", "cells"]
    assert items(tab.combos["truth"]) == [NONE, "cells", "grey"]
    assert tab.combos["image"].currentText() == "grey"
    image.name = "raw"
    assert tab.combos["image"].currentText() == "raw"
    choose(tab.combos["truth"], "cells")
    assert tab.workspace.data.truth_layer is viewer.layers["cells"]
    choose(tab.combos["truth"], NONE)
    assert tab.workspace.data.truth_layer is None
    viewer.layers.remove(image)
    assert tab.combos["image"].currentText() == NONE


def test_sample_fills_everything_in(qtbot, tab):
    tab.sample.click()
    assert [combo.currentText() for combo in tab.combos.values()] == [
        "phantom image",
        "phantom supervoxels",
        "phantom truth",
    ]
    assert tab.figures.value("Shape") == "96 × 160 × 160 voxels"
    assert tab.figures.value("Voxel size") == "10 × 10 × 10 nm"
    wait_until_free(qtbot, tab)
    assert tab.figures.value("Supervoxels") == "1,362"
    assert tab.figures.value("Possible merges") == "8,816"
    tab.sample.click()
    assert len(tab.workspace.viewer.layers) == 3, "what is there already is not added again"


def test_sample_replaces_data_of_ones_own_but_not_in_a_run(qtbot, tab):
    workspace = tab.workspace
    own = workspace.viewer.add_image(np.zeros(SHAPE, np.uint8), name="own", scale=(10, 10, 10))
    tab.sample.click()
    assert [combo.currentText() for combo in tab.combos.values()] == [
        "phantom image",
        "phantom supervoxels",
        "phantom truth",
    ]
    assert workspace.messages.current.severity == "", "the parts fit together"
    wait_until_free(qtbot, tab)
    assert tab.figures.value("Supervoxels") == "1,362"
    agglomerator = small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace))
    workspace.data.choose("image", own)
    tab.sample.click()
    assert workspace.data.image_layer is own


def test_folders_can_be_opened(qtbot, tab, files, tmp_path, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *args: files["image"])
    tab.open_folder.click()
    assert tab.combos["image"].currentText() == "image"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *args: "")
    tab.open_folder.click()
    assert len(tab.workspace.viewer.layers) == 1
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *args: str(tmp_path / "empty"))
    tab.open_folder.click()
    assert tab.workspace.messages.current.severity == "error"
    assert "empty" in tab.workspace.messages.current.text


def test_sample_comes_with_a_bundled_model(qtbot, tab, files, monkeypatch):
    models = {"another": data_tab.Path("another"), "phantom": data_tab.Path(files["model"])}
    for module in (data_tab, samples):
        monkeypatch.setattr(module, "bundled_models", lambda: models)
    tab.sample.click()
    wait_until_free(qtbot, tab)
    assert tab.model.currentText() == "phantom", "the one for the sample, not the first one"
    assert items(tab.model) == [NONE, "another", "phantom", FROM_FILE]
    assert tab.model_figures.value("Trained at") == "10 × 10 × 10 nm"
    assert tab.model_figures.value("Threshold") == "−0.500"


def test_figures_of_what_does_not_fit_together_are_not_shown(qtbot, tab):
    workspace = tab.workspace
    add(workspace.viewer, "image", "supervoxels")
    wait_until_free(qtbot, tab)
    right = workspace.data.image_layer
    shown = {name: tab.figures.value(name) for name in ("Shape", "Supervoxels", "Possible merges")}
    assert shown["Supervoxels"] == "48"
    assert NONE not in shown.values()
    other = workspace.viewer.add_image(np.zeros((3, 4, 5), np.uint8), name="other shape", scale=(10, 10, 10))
    labels = workspace.viewer.add_labels(np.ones(SHAPE, np.uint8), name="cells", scale=(10, 10, 10))
    for wrong in (other, labels):
        choose(tab.combos["image"], wrong.name)
        assert workspace.messages.current.severity == "error"
        assert {tab.figures.value(name) for name in shown} == {NONE}
    choose(tab.combos["image"], right.name)
    assert {name: tab.figures.value(name) for name in shown} == shown


def test_files_can_be_opened_and_dropped(qtbot, tab, files, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *args: ([files["image"]], ""))
    tab.open.click()
    assert tab.combos["image"].currentText() == "image"
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(files[name]) for name in ("supervoxels", "model")])
    button, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    tab.dropEvent(QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, mime, button, keys))
    wait_until_free(qtbot, tab)
    assert tab.combos["supervoxels"].currentText() == "supervoxels"
    assert tab.figures.value("Supervoxels") == "48"
    assert tab.model.currentText() == "small.safetensors"
    assert tab.workspace.messages.current == Message()
    for name in ("image", "supervoxels", "model"):
        assert files[name] in tab.command.text.text()


def test_file_that_cannot_be_opened_is_said_in_the_panel(tab, files, tmp_path):
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(b"no volume")
    tab.open_files([str(damaged), str(tmp_path / "absent.h5"), files["image"]])
    message = tab.workspace.messages.current
    assert message.severity in ("error", "")
    assert tab.combos["image"].currentText() == "image"
    tab.open_files([str(damaged)])
    message = tab.workspace.messages.current
    assert message.severity == "error"
    assert "damaged.h5" in message.text


def test_model_is_chosen_from_a_file_and_put_away(qtbot, tab, files, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *args: (files["model"], ""))
    choose(tab.model, FROM_FILE)
    wait_until_free(qtbot, tab)
    assert tab.model.currentText() == "small.safetensors"
    assert tab.workspace.data.model is not None
    choose(tab.model, NONE)
    assert tab.workspace.data.model is None
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *args: ("", ""))
    choose(tab.model, FROM_FILE)
    assert tab.model.currentText() == NONE


def test_box_to_use_the_model_anyway_appears_when_it_is_needed(qtbot, tab):
    tab.workspace.data.use_model(small_model())
    assert tab.model.currentText() == "in memory"
    assert tab.any_size.isHidden()
    tab.workspace.viewer.add_image(np.zeros(SHAPE, np.uint8), scale=(40, 4, 4))
    assert not tab.any_size.isHidden()
    tab.any_size.click()
    assert tab.workspace.messages.current == Message()
    assert not tab.any_size.isHidden()


def test_supervoxels_are_made_on_request(qtbot, tab):
    assert not tab.make.isEnabled()
    tab.workspace.data.use_model(small_model())
    tab.workspace.viewer.add_image(small_volumes()["image"].data, name="image", scale=(10, 10, 10))
    assert tab.figures.value("Supervoxels") == "made when needed"
    tab.make.click()
    assert not tab.make.isEnabled()
    wait_until_free(qtbot, tab)
    assert tab.make.isEnabled()
    assert tab.combos["supervoxels"].currentText() == "supervoxels"


def test_supervoxels_are_counted_again_after_an_edit(qtbot, tab, files):
    tab.workspace.data.choose("supervoxels", None)
    labels = small_volumes()["supervoxels"].data.copy()
    layer = tab.workspace.viewer.add_labels(labels, name="supervoxels", scale=(10, 10, 10))
    wait_until_free(qtbot, tab)
    assert tab.figures.value("Supervoxels") == "48"
    layer.data_setitem(np.nonzero(labels == labels.max()), labels.min())
    assert tab.figures.value("Supervoxels") == NONE
    qtbot.waitUntil(lambda: tab.figures.value("Supervoxels") == "47", timeout=30_000)
    # Layers that do not fit are not counted; as soon as they do they are.
    tab.workspace.viewer.add_image(small_volumes()["image"].data, name="image", scale=(10, 10, 10))
    layer.scale = (40, 10, 10)
    qtbot.wait(2 * RECOUNT_MS)
    assert tab.figures.value("Supervoxels") == NONE
    layer.scale = (10, 10, 10)
    qtbot.waitUntil(lambda: tab.figures.value("Supervoxels") == "47", timeout=30_000)


def test_command_is_copied(qtbot, tab, qapp):
    tab.command.copy.click()
    assert qapp.clipboard().text() == agglomerate_command(tab.workspace)
