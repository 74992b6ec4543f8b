"""The dock panel "CELIS": tabs over one workspace, with the session on top, and problems and help below."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QSize, Qt
from qtpy.QtWidgets import QDockWidget, QTabWidget, QVBoxLayout, QWidget

from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.plugin.message_place import MessagePlace
from napari_celis.gui.plugin.resume_bar import ResumeBar
from napari_celis.gui.plugin.session_bar import SessionBar
from napari_celis.gui.qt.progress import ProgressLine
from napari_celis.gui.qt.widgets import TallArea
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.preferences import apply_threads
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.agglomerate_tab import AgglomerateTab
from napari_celis.gui.tabs.blockwise.blockwise_tab import BlockwiseTab
from napari_celis.gui.tabs.data.data_tab import DataTab
from napari_celis.gui.tabs.decisions.decisions_tab import DecisionsTab
from napari_celis.gui.tabs.export.export_tab import ExportTab
from napari_celis.gui.tabs.shape.shape_tab import ShapeTab
from napari_celis.gui.tabs.train.train_tab import TrainTab

TABS = {
    "Data": DataTab,
    "Agglomerate": AgglomerateTab,
    "Decisions": DecisionsTab,
    "Shape": ShapeTab,
    "Train": TrainTab,
    "Blocks": BlockwiseTab,
    "Export": ExportTab,
}
WIDTH, HEIGHT = 370, 640
"""Size that the panel asks for, in pixels."""
NARROWEST = 370
"""Least width; tabs in larger letters may need more."""


class CelisPanel(QWidget):
    """Everything that can be done with CELIS in one viewer, which has one panel.

    Its dock can be closed; a training or an export goes on, and the next call brings the same panel back.

    Parameters
    ----------
    napari_viewer : Viewer
        Filled in by napari, by this name.
    """

    def __new__(cls, napari_viewer: Any, parent: QWidget | None = None) -> CelisPanel:
        """Find the panel of a viewer, or make it."""
        panel: CelisPanel = Workspace.of(napari_viewer).panel or super().__new__(cls)
        return panel

    def __init__(self, napari_viewer: Any, parent: QWidget | None = None) -> None:
        workspace = Workspace.of(napari_viewer)
        if workspace.panel is self:
            self._leave_dock()
            return
        super().__init__(parent)
        apply_threads()
        self.workspace = workspace
        self.canvas = Canvas.of(workspace)
        workspace.keep_panel(self)
        self.messages = MessagePlace()
        self.status, self.help = self.messages.status, self.messages.help
        self.progress = ProgressLine()
        self.resume = ResumeBar(workspace)
        self.session = SessionBar(workspace, self.progress)
        self.tabs = QTabWidget()
        # All titles fit side by side; in a narrower panel they become shorter instead of going out of sight.
        self.tabs.tabBar().setStyleSheet("QTabBar::tab { padding: 3px 1px; }")
        self.tabs.setElideMode(Qt.TextElideMode.ElideRight)
        self.tabs.setUsesScrollButtons(False)
        self._widgets: dict[str, QWidget] = {}
        for title, make in TABS.items():
            self._widgets[title] = make(self.workspace)
            self.tabs.setTabToolTip(self.tabs.addTab(TallArea(self._widgets[title]), title), title)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 4)
        for widget in (self.session, self.resume):
            layout.addWidget(widget)
        layout.addWidget(self.tabs, 1)
        layout.addWidget(self.messages)
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

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Never be so narrow that something is cut off."""
        return super().minimumSizeHint().expandedTo(QSize(NARROWEST, 0))

    def _leave_dock(self) -> None:
        """Close the dock that the panel is in, for it will get another one."""
        dock = self.parentWidget()
        if isinstance(dock, QDockWidget):
            self.workspace.viewer.window.remove_dock_widget(dock)

    def _connect(self) -> None:
        workspace, mouse_mode = self.workspace, self.canvas.mouse_mode
        workspace.messages.changed.connect(self._show_message)
        workspace.preparation.progressed.connect(self.progress.show_progress)
        mouse_mode.help_changed.connect(self.messages.show_help)
        self.progress.cancelled.connect(workspace.preparation.cancel)
        self._show_message(workspace.messages.current)
        self.messages.show_help(mouse_mode.help_text)

    def _show_message(self, message: Message) -> None:
        self.messages.show_problem(message.text, message.severity)
