"""A tab Export with some decisions made, and a file dialog that answers by itself."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Layer
from qtpy.QtCore import Qt
from qtpy.QtWidgets import QFileDialog, QMessageBox

from gui.conftest import small_agglomerator, small_volumes
from napari_celis.gui.layers.volume_layers import volume_to_layer
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.export.export_tab import ExportTab


class FileDialog:
    """Answers the file dialog."""

    def __init__(self, monkeypatch):
        self.name = ""
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *arguments: (str(self.name), ""))


@pytest.fixture
def dialog(monkeypatch):
    return FileDialog(monkeypatch)


@pytest.fixture
def answers(monkeypatch):
    """Answer every question with what the list ends in, and list the questions."""
    asked, given = [], [QMessageBox.StandardButton.No]

    def question(parent, title, text, *arguments):
        asked.append(text)
        return given[-1]

    monkeypatch.setattr(QMessageBox, "question", question)
    return asked, given


def fill(viewer):
    """Show the small volumes, and an engine that has made some decisions."""
    for role, volume in small_volumes().items():
        kind = "image" if role == "image" else "labels"
        data, settings, _ = volume_to_layer(volume, kind)
        viewer.add_layer(Layer.create(data, {**settings, "name": role}, kind))
    workspace = Workspace.of(viewer)
    agglomerator = small_agglomerator()
    for _ in range(3):
        agglomerator.step(np.inf)
    last = agglomerator.history[-1]
    agglomerator.cut(last.u_id, last.v_id)
    engine = Engine(agglomerator, 0.0, parent=workspace)
    workspace.use_engine(engine)
    return workspace


@pytest.fixture
def windowless(qtbot):
    """Make the tab without the cost of a window."""
    workspace = fill(ViewerModel())
    tab = ExportTab(workspace)
    qtbot.addWidget(tab)
    yield workspace, tab
    workspace.dispose()


def press(qtbot, button):
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def export(qtbot, tab, button):
    press(qtbot, button)
    qtbot.waitUntil(lambda: not tab.is_busy, timeout=20000)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())
