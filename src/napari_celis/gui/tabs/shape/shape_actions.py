"""The table of the actions that are active in one region."""

from __future__ import annotations

from typing import Any

import numpy as np
from qtpy.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal
from qtpy.QtWidgets import QWidget

from napari_celis.core.inspect import ActiveActions
from napari_celis.gui.qt.compact_table import CompactTable
from napari_celis.gui.qt.numbers import signed

COLUMNS = ("Supervoxel", "Supervoxel", "Score", "Here")
TIPS = (
    "One side of the contact.",
    "The other side.",
    "Score of the merge in the whole volume; lower is better.",
    "The part of the energy change that this spec finds in this region.",
)


class ActiveModel(QAbstractTableModel):
    """Active actions as rows, in the order in which they come."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.ids = np.empty((0, 2), dtype=np.uint64)
        self._numbers = np.empty((0, 2))

    def show_actions(self, ids: np.ndarray, active: ActiveActions | None) -> None:
        """Show other actions.

        Parameters
        ----------
        ids : ndarray of uint64, shape (n, 2)
            Both ends of each action.
        active : ActiveActions, optional
            Their scores.
        """
        self.beginResetModel()
        self.ids = ids
        self._numbers = (
            np.empty((0, 2)) if active is None else np.stack([active.score, active.local_score], axis=1)
        )
        self.endResetModel()

    def rowCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: N802, B008
        """Return the number of actions."""
        return len(self.ids)

    def columnCount(self, parent: QModelIndex = QModelIndex()) -> int:  # noqa: N802, B008
        """Return the number of columns."""
        return len(COLUMNS)

    def headerData(self, section: int, orientation: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802
        """Name the columns."""
        if orientation == Qt.Orientation.Horizontal and role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
        ):
            return (COLUMNS if role == Qt.ItemDataRole.DisplayRole else TIPS)[section]
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the text of a cell."""
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if index.column() < 2:
            return str(self.ids[index.row(), index.column()])
        number = self._numbers[index.row(), index.column() - 2]
        return "–" if np.isnan(number) else signed(number)


class ActiveTable(CompactTable):
    """Shows the active actions; choosing a row chooses the merge."""

    chosen = Signal(object)
    """Ids of the two supervoxels."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.active = ActiveModel(self)
        self.setModel(self.active)
        self.setToolTip("Choose a row to see what its merge does to the descriptor.")
        self.clicked.connect(self._on_row)
        self.activated.connect(self._on_row)

    def show_actions(
        self, ids: np.ndarray, active: ActiveActions | None, merge: tuple[int, int] | None
    ) -> None:
        """Show other actions, with the row of `merge` marked.

        Parameters
        ----------
        ids : ndarray of uint64, shape (n, 2)
            Both ends of each action.
        active : ActiveActions, optional
            Their scores.
        merge : tuple of int, optional
            Ids of the action to mark.
        """
        self.active.show_actions(ids, active)
        if merge is not None:
            rows = np.flatnonzero((ids == np.array(sorted(merge), dtype=np.uint64)).all(axis=1))
            if len(rows):
                self.selectRow(int(rows[0]))

    def _on_row(self, index: QModelIndex) -> None:
        u_id, v_id = (int(end) for end in self.active.ids[index.row()])
        self.chosen.emit((u_id, v_id))
