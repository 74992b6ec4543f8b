"""The worst errors against the truth; a click goes where one can be put right."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QAbstractTableModel, QModelIndex, Qt, QTimer
from qtpy.QtGui import QShowEvent
from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.evaluation.worst_errors import WorstError, worst_errors
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.qt.compact_table import MIDDLE, RIGHT, CompactTable
from napari_celis.gui.qt.numbers import short_number
from napari_celis.gui.qt.widgets import wrapped
from napari_celis.gui.session.inspected_pair import REFRESH_MS
from napari_celis.gui.session.workspace import Workspace

HEADERS = (
    ("Error", "Split: one true object in several segments. Merge: several true objects in one segment."),
    ("Bits", "What it adds to the split or merge error"),
    ("Pieces", "Segments of the object, or objects in the segment"),
    ("Voxels", "Of the object, or of the segment"),
)
UNPREPARED = "Prepare or run first. Then this page lists the errors against the truth, the worst first."
NO_TRUTH = "There is no truth to compare with. Choose one on the tab Data, then prepare."
NO_ERRORS = "No error is left: every segment is one true object."
HELP = "Worst first. Click one to go where most of it can be put right."
NO_CONTACT = "No two of the largest pieces of this error touch."
MIXED = "Supervoxel {} itself holds several objects, and no cut helps as much: split it with {}."
N_WORST = 30


class ErrorTable(QAbstractTableModel):
    """Errors, the worst first."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.errors: list[WorstError] = []

    def show(self, errors: list[WorstError]) -> None:
        """Show other errors."""
        if errors != self.errors:
            self.beginResetModel()
            self.errors = errors
            self.endResetModel()

    def rowCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the errors."""
        return 0 if parent is not None and parent.isValid() else len(self.errors)

    def columnCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the columns."""
        return 0 if parent is not None and parent.isValid() else len(HEADERS)

    def headerData(self, section: int, orientation: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802
        """Name a column."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        title, tip = HEADERS[section]
        return {Qt.ItemDataRole.DisplayRole: title, Qt.ItemDataRole.ToolTipRole: tip}.get(role)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Describe one cell."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return MIDDLE if index.column() == 0 else RIGHT
        error = self.errors[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            cells = (error.kind, f"{error.bits:.4f}", f"{error.n_pieces:,}", short_number(error.n_voxels))
            return cells[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole and error.supervoxel >= 0:
            return "A supervoxel itself holds several objects."
        if role == Qt.ItemDataRole.ToolTipRole and error.action < 0:
            return NO_CONTACT
        return None


class ErrorsTab(QWidget):
    """The table of the worst errors.

    Parameters
    ----------
    workspace : Workspace
        Shared with all tabs.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.table = ErrorTable(self)
        self.view = CompactTable()
        self.view.setModel(self.table)
        self.sentence = wrapped()
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.sentence)
        layout.addWidget(self.view, 1)
        self.view.clicked.connect(self._on_clicked)
        workspace.run.changed.connect(self.refresh)
        workspace.run.advanced.connect(self._on_advanced)
        self.refresh()

    def refresh(self) -> None:
        """Ask the engine for the errors of this moment, if anybody looks."""
        engine = self.workspace.run.engine
        overlaps = None if engine is None else engine.tables.overlaps
        if engine is None:
            self._show([], UNPREPARED)
        elif overlaps is None:
            self._show([], NO_TRUTH)
        elif self.isVisible():
            engine.ask(
                lambda a: _worst(a, overlaps), lambda found: self._show(found, NO_ERRORS), key="errors"
            )

    def _show(self, errors: list[WorstError], empty: str) -> None:
        self.table.show(errors)
        self.sentence.setText(HELP if errors else empty)
        self.view.setVisible(bool(errors))

    def _on_clicked(self, index: QModelIndex) -> None:
        """Look at the contact or the supervoxel of an error; where there is neither, say so."""
        error, supervoxels = self.table.errors[index.row()], self.workspace.run.supervoxels
        if error.action >= 0:
            self.workspace.decisions.inspect(error.action)
        elif error.supervoxel >= 0 and supervoxels is not None:
            self.workspace.segments.visit(error.supervoxel)
            key = Canvas.of(self.workspace).keys.choice.keys["split"]
            self.workspace.messages.say(MIXED.format(supervoxels.ids[error.supervoxel], key), "")
        else:
            self.workspace.messages.say(NO_CONTACT, "")

    def _on_advanced(self, snapshot: Any) -> None:
        if self.isVisible() and not snapshot.is_running and not self._timer.isActive():
            self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while nobody looked."""
        super().showEvent(event)
        self.refresh()


def _worst(agglomerator: Agglomerator, overlaps: Overlaps) -> list[WorstError]:
    """List the worst errors; in the engine's thread."""
    return worst_errors(overlaps, agglomerator.merges.trees(), N_WORST)
