"""Which session the run belongs to, and a menu to begin, open and save one."""

from __future__ import annotations

from pathlib import Path

from qtpy.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QToolButton, QWidget

from napari_celis.gui.qt.elided_label import ElidedLabel
from napari_celis.gui.qt.progress import ProgressLine
from napari_celis.gui.session.rewind import copies_of
from napari_celis.gui.session.session_files import MissingData, SessionFiles
from napari_celis.gui.session.session_store import new_sessions_folder
from napari_celis.gui.session.workspace import Workspace
from napari_celis.io.session.file import SUFFIX

FILTER = f"Sessions (*{SUFFIX})"
NO_SESSION = "Session: none yet"


class SessionBar(QWidget):
    """One line: the name of the session, or what is being done in the background; and a menu.

    Parameters
    ----------
    workspace : Workspace
        Shared by all tabs of a viewer.
    progress : ProgressLine
        Takes the place of the name while there is something to wait for.
    """

    def __init__(self, workspace: Workspace, progress: ProgressLine, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.progress = progress
        self.files = SessionFiles(workspace)
        self.name = ElidedLabel(NO_SESSION)
        self.menu = QMenu(self)
        self.new = self.menu.addAction("New…", self._on_new)
        self.open = self.menu.addAction("Open…", self._on_open)
        self.save_as = self.menu.addAction("Save as…", self._on_save_as)
        self.recent = self.menu.addMenu("Recent")
        self.bring_back = self.menu.addMenu("Bring back")
        self.bring_back.setToolTip("Copies of this session from before decisions by hand were taken back.")
        self.button = QToolButton()
        self.button.setText("Session")
        # The arrow of the menu would lie on the text.
        self.button.setStyleSheet("QToolButton { padding-right: 10px; }")
        self.button.setToolTip(
            "Every decision is kept in a session file, from the first one on. Begin, open or save one here."
        )
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setMenu(self.menu)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.name, 1)
        layout.addWidget(progress, 1)
        layout.addWidget(self.button)
        # As high as what may come, so that the tabs below never move.
        self.setFixedHeight(progress.sizeHint().height() + 2)
        progress.shown.connect(lambda is_shown: self.name.setVisible(not is_shown))
        self.menu.aboutToShow.connect(self.refresh)
        self.files.changed.connect(self.refresh)
        self.files.missing.connect(self._on_missing)
        workspace.rewind.kept.connect(lambda path: self.refresh())
        self.refresh()

    def refresh(self) -> None:
        """Show which session it is, and which were used lately."""
        path = self.files.path
        if path is None:
            self.name.setText(NO_SESSION)
        else:
            self.name.setText(f"Session: {path.stem}" + ("" if self.files.is_kept else " (reading only)"))
        self.name.setToolTip("" if path is None else str(path))
        self.save_as.setEnabled(path is not None)
        self.recent.clear()
        for place in self.files.recent():
            action = self.recent.addAction(place.stem)
            action.setToolTip(str(place))
            action.triggered.connect(lambda checked=False, place=place: self.files.open(place))
        self.recent.setEnabled(not self.recent.isEmpty())
        self.bring_back.clear()
        for place, title in ({} if path is None else copies_of(path)).items():
            action = self.bring_back.addAction(title)
            action.setToolTip(str(place))
            action.triggered.connect(lambda checked=False, place=place: self.files.go_on_with(place))
        self.bring_back.setEnabled(not self.bring_back.isEmpty())

    def _on_new(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "New session", "", FILTER)
        if name:
            self.files.new(Path(name))

    def _on_open(self) -> None:
        start = str(new_sessions_folder()) if new_sessions_folder().is_dir() else ""
        name, _ = QFileDialog.getOpenFileName(self, "Open session", start, FILTER)
        if name:
            self.files.open(Path(name))

    def _on_save_as(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Save session as", "", FILTER)
        if name:
            self.files.save_as(Path(name))

    def _on_missing(self, missing: MissingData) -> None:
        """Ask where the first thing is that was not found; the others come after it."""
        role = missing.missing[0]
        name, _ = QFileDialog.getOpenFileName(self, f"Where is the {role} of {missing.path.stem} now?")
        if name:
            self.files.open(missing.path, {**missing.relocate, role: name})
