"""The dock panel "CELIS": tabs over one workspace, with problems on top and help below."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QSize
from qtpy.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from napari_celis.gui.agglomerate_tab import AgglomerateTab
from napari_celis.gui.data_tab import DataTab
from napari_celis.gui.decisions_tab import DecisionsTab
from napari_celis.gui.export_tab import ExportTab
from napari_celis.gui.going_on import GoingOn
from napari_celis.gui.shape_tab import ShapeTab
from napari_celis.gui.train_tab import TrainTab
from napari_celis.gui.widgets import ProgressLine, StatusLine, scrolled, wrapped
from napari_celis.gui.workspace import Workspace

TABS = {
    "Data": DataTab,
    "Agglomerate": AgglomerateTab,
    "Decisions": DecisionsTab,
    "Shape": ShapeTab,
    "Train": TrainTab,
    "Export": ExportTab,
}
WIDTH, HEIGHT = 400, 640
"""Size that the panel asks for, in pixels."""


class CelisPanel(QWidget):
    """Everything that can be done with CELIS in one viewer.

    Parameters
    ----------
    napari_viewer : Viewer
        Filled in by napari, by this name.
    """

    def __init__(self, napari_viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = Workspace.of(napari_viewer)
        self.status = StatusLine()
        self.progress = ProgressLine()
        self.going_on = GoingOn(self.workspace)
        self.tabs = QTabWidget()
        self.help = wrapped()
        self._widgets: dict[str, QWidget] = {}
        for title, make in TABS.items():
            self._widgets[title] = make(self.workspace)
            self.tabs.addTab(scrolled(self._widgets[title]), title)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 4)
        for widget in (self.status, self.progress, self.going_on):
            layout.addWidget(widget)
        layout.addWidget(self.tabs, 1)
        layout.addWidget(self.help)
        self._connect()

    def tab(self, title: str) -> QWidget:
        """Return the widget of a tab."""
        return self._widgets[title]

    def show_tab(self, title: str) -> None:
        """Bring a tab to the front."""
        self.tabs.setCurrentIndex(list(self._widgets).index(title))

    def sizeHint(self) -> QSize:  # noqa: N802
        """Leave most of the window to the canvas."""
        return QSize(WIDTH, HEIGHT)

    def _connect(self) -> None:
        workspace = self.workspace
        workspace.problem_said.connect(self.status.show_problem)
        workspace.preparing.connect(self.progress.show_progress)
        workspace.help_changed.connect(self.help.setText)
        self.progress.cancelled.connect(workspace.cancel_prepare)
        self.status.show_problem(*workspace.problem)
        self.help.setText(workspace.help_text)
