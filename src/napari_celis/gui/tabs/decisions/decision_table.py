"""A hundred thousand candidate actions as a table: arrays, their own order, no proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from qtpy.QtCore import QAbstractTableModel, QModelIndex, Qt
from qtpy.QtGui import QColor

from napari_celis.core.decisions import ActionState
from napari_celis.gui.qt.colours import readable
from napari_celis.gui.qt.compact_table import MIDDLE, RIGHT
from napari_celis.gui.qt.numbers import short_number, signed

STATE_NAMES = {
    ActionState.OPEN: "open",
    ActionState.MERGED: "merged",
    ActionState.KEPT_APART: "kept apart",
    ActionState.REJECTED: "rejected",
    ActionState.UNSEEN: "unseen",
    ActionState.DONE: "done",
}
STATE_COLOURS = {
    ActionState.MERGED: "green",
    ActionState.KEPT_APART: "orange",
    ActionState.REJECTED: "vermilion",
    ActionState.UNSEEN: "grey",
    ActionState.DONE: "sky",
}
STATE_TIPS = {
    ActionState.OPEN: "Not decided yet: a run or you may merge them.",
    ActionState.MERGED: "Both ends are in one segment.",
    ActionState.KEPT_APART: "Another decision forbids to join these two segments.",
    ActionState.REJECTED: "You decided that these two stay apart.",
    ActionState.UNSEEN: "No descriptor sees where they touch, so this merge has no score.",
    ActionState.DONE: "One of the two segments is done; set it to “in work” to merge it.",
}
ANSWERED = {
    int(role)
    for role in (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.ForegroundRole,
        Qt.ItemDataRole.ToolTipRole,
    )
}
NO_RANK = np.iinfo(np.int64).max
RANK_ROOM = "000000"
"""As wide as a rank in the queue, with the arrow of the sorted column beside its title."""
SCORE_ROOM = "+00.000"
NO_SCORE = "–"
ENERGY_CHANGE = "ΔE"
PART_TIP = "Energy change by descriptor spec {}"
PART_TIPS = {ENERGY_CHANGE: "Energy change of the merge, all descriptor specs together"}
NARROWEST = 54
"""Where columns would become narrower than this, those of descriptor specs wait until they are asked for."""


@dataclass(frozen=True, eq=False)
class DecisionArrays:
    """All actions at one moment, one entry each."""

    rank: np.ndarray
    """Place in the queue from 1, `NO_RANK` if not in it, int64 (A,)."""
    score: np.ndarray
    area: np.ndarray
    smaller: np.ndarray
    larger: np.ndarray
    state: np.ndarray
    u_id: np.ndarray
    v_id: np.ndarray
    parts: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Energy change by descriptor spec."""

    def columns(self) -> list[np.ndarray]:
        """List the numbers in the order of the columns of the table."""
        sizes = [self.area, self.smaller, self.larger]
        return [self.rank, self.score, *self.parts.values(), *sizes, self.state]


@dataclass(frozen=True)
class DecisionFilter:
    """Which actions are shown."""

    state: ActionState | None = None
    """Only these; None shows all."""
    supervoxel_id: int | None = None
    """Only the contacts of this supervoxel."""
    min_voxels: int = 0
    """Only where the smaller segment has at least this many voxels."""
    only_questions: bool = False
    """Only what is asked about: open merges, and made ones that may be wrong."""

    def mask(self, arrays: DecisionArrays) -> np.ndarray:
        """Tell which actions pass, bool (A,)."""
        passes = arrays.smaller >= self.min_voxels
        if self.only_questions:
            passes &= arrays.rank < NO_RANK
        if self.state is not None:
            passes &= arrays.state == self.state
        if self.supervoxel_id is not None:
            passes &= (arrays.u_id == self.supervoxel_id) | (arrays.v_id == self.supervoxel_id)
        return passes


class DecisionTable(QAbstractTableModel):
    """Sorts and filters rows of arrays; a refresh keeps the order that the user chose."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.arrays: DecisionArrays | None = None
        self.filter = DecisionFilter()
        self._rows = np.empty(0, dtype=np.int64)
        self._sort_column, self._sort_order = 0, Qt.SortOrder.AscendingOrder
        self._part_names: tuple[str, ...] = ()
        self._columns: list[np.ndarray] = []
        self._brushes: dict[int, QColor] = {}
        self.headers = self._new_headers()
        """Title and explanation of every column."""

    # What the tab calls.

    def show(self, arrays: DecisionArrays | None) -> None:
        """Show other numbers."""
        names = () if arrays is None else tuple(arrays.parts)
        if names != self._part_names:
            self.beginResetModel()
            self._part_names, self._rows = names, np.empty(0, dtype=np.int64)
            self.headers = self._new_headers()
            self.endResetModel()
        self.arrays = arrays
        self._columns = [] if arrays is None else arrays.columns()
        self._arrange()

    def set_filter(self, wanted: DecisionFilter) -> None:
        """Show other rows."""
        self.filter = wanted
        self._arrange()

    def show_theme(self, theme: str) -> None:
        """Write states in colours that show up on the background of a theme."""
        self._brushes = {int(state): readable(name, theme) for state, name in STATE_COLOURS.items()}

    def action_at(self, row: int) -> int:
        """Return the action in a row, -1 if there is none."""
        return int(self._rows[row]) if 0 <= row < len(self._rows) else -1

    def row_of(self, action: int) -> int:
        """Return the row of an action, -1 if it is filtered out."""
        found = np.flatnonzero(self._rows == action)
        return int(found[0]) if len(found) else -1

    def _new_headers(self) -> tuple[tuple[str, str], ...]:
        """Write title and explanation of every column."""
        return (
            ("№", "Place in the queue: where an answer is expected to help most comes first"),
            (
                "Score",
                "What a run goes by, lower is better: the energy change, or what a learned policy says",
            ),
            *((name, PART_TIPS.get(name, PART_TIP).format(name)) for name in self._part_names),
            ("Area", "Where the two supervoxels touch, in voxel faces"),
            ("Small", "Voxels of the smaller segment"),
            ("Large", "Voxels of the larger segment"),
            ("State", "What was decided"),
        )

    # What Qt calls.

    def rowCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the rows that pass the filter."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the columns."""
        return 0 if parent is not None and parent.isValid() else len(self.headers)

    def headerData(self, section: int, orientation: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802
        """Name a column."""
        if orientation == Qt.Orientation.Horizontal and section < len(self.headers):
            title, tip = self.headers[section]
            return {
                Qt.ItemDataRole.DisplayRole: title,
                Qt.ItemDataRole.ToolTipRole: tip,
            }.get(role)
        return None

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Describe one cell."""
        # Qt asks seven times per cell and painting: what we do not answer must cost nothing.
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if index.column() < len(self.headers) - 1 else MIDDLE
        if role not in ANSWERED or self.arrays is None:
            return None
        action = self.action_at(index.row())
        if action < 0:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(action, index.column())
        state = ActionState(int(self.arrays.state[action]))
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._brushes.get(state)
        ends = self.arrays.u_id[action], self.arrays.v_id[action]
        return f"Supervoxels {ends[0]} and {ends[1]}. {STATE_TIPS[state]}"

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Order the rows by a column; equal ones stay in the order of the queue."""
        self._sort_column, self._sort_order = column, order
        self._arrange()

    # How.

    def _arrange(self) -> None:
        """Filter and sort again, and tell the view."""
        rows = np.empty(0, dtype=np.int64)
        if self.arrays is not None:
            rows = np.flatnonzero(self.filter.mask(self.arrays))
            by = self._columns[min(max(self._sort_column, 0), len(self._columns) - 1)][rows]
            if self._sort_order == Qt.SortOrder.DescendingOrder:
                by = -by.astype(np.float64)
            rows = rows[np.argsort(by, kind="stable")]
        if len(rows) == len(self._rows):
            self._rows = rows
            if len(rows):
                last = self.index(len(rows) - 1, len(self.headers) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
        else:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def _text(self, action: int, column: int) -> str:
        assert self.arrays is not None
        value = self._columns[column][action]
        n_scores = 1 + len(self._part_names)
        if column == 0:
            return "" if value == NO_RANK else str(value)
        if column <= n_scores:
            # What is merged, or never seen, has none.
            has_score = self.arrays.state[action] not in (ActionState.MERGED, ActionState.UNSEEN)
            return signed(value) if has_score else NO_SCORE
        if column == len(self.headers) - 1:
            return STATE_NAMES[ActionState(int(value))]
        return short_number(value)
