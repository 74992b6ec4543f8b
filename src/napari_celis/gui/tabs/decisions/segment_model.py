"""A hundred thousand segments as a table: arrays, their own order, no proxy; words can be edited in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from qtpy.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal
from qtpy.QtGui import QColor

from napari_celis.core.segment_list import STATE_NAMES, SegmentState
from napari_celis.core.words import counted
from napari_celis.gui.qt.colours import readable
from napari_celis.gui.qt.compact_table import MIDDLE, RIGHT
from napari_celis.gui.qt.numbers import short_number
from napari_celis.pipeline.segment_table import NM3_PER_UM3, SegmentTable
from napari_celis.pipeline.segment_words import Words

ID, NAME, SIZE, STATE, YOURS, ALL, NOTE = range(7)
HEADERS = (
    ("Id", "The supervoxel that names it"),
    ("Name", "What you call it; double-click to write"),
    ("Size", "Voxels"),
    (
        "State",
        "– is untouched; in work: a decision by hand stands; done: nothing changes it. Double-click to set",
    ),
    ("Yours", "Decisions by hand about it that stand"),
    ("All", "All decisions about it that stand, those of greedy too"),
    ("Note", "What you say about it; double-click to write"),
)
SHOWN_STATES = {**STATE_NAMES, SegmentState.UNTOUCHED: "–"}
"""In the table, where most segments are untouched."""
STATE_COLOURS = {SegmentState.IN_WORK: "orange", SegmentState.DONE: "green"}
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
ALIGNMENT = {ID: RIGHT, NAME: LEFT, SIZE: RIGHT, STATE: MIDDLE, YOURS: RIGHT, ALL: RIGHT, NOTE: LEFT}
EDITED = (NAME, STATE, NOTE)
ANSWERED = {
    int(role)
    for role in (
        Qt.ItemDataRole.DisplayRole,
        Qt.ItemDataRole.EditRole,
        Qt.ItemDataRole.ForegroundRole,
        Qt.ItemDataRole.ToolTipRole,
    )
}
MOST_DIGITS = 20


@dataclass(frozen=True)
class SegmentFilter:
    """Which segments are shown."""

    text: str = ""
    """In the name or the note, in whatever case, or at the beginning of the id."""
    state: SegmentState | None = None
    """Only these; None shows all."""
    min_voxels: int = 0
    """Only those with at least this many voxels."""

    def mask(self, table: SegmentTable) -> np.ndarray:
        """Tell which segments pass, bool (S,)."""
        segments = table.segments
        passes: np.ndarray = segments.voxels >= self.min_voxels
        if self.state is not None:
            passes = passes & (segments.state == self.state)
        wanted = self.text.strip().casefold()
        if wanted:
            found = _begins_with(segments.id, wanted)
            rows = [row for row, words in table.words.items() if _is_in(wanted, words)]
            found[rows] = True
            passes = passes & found
        return passes


def _is_in(wanted: str, words: Words) -> bool:
    return wanted in words.name.casefold() or wanted in words.note.casefold()


def _begins_with(ids: np.ndarray, digits: str) -> np.ndarray:
    """Tell which numbers begin with some digits, bool (S,)."""
    found = np.zeros(len(ids), dtype=bool)
    if digits.isdecimal() and len(digits) <= MOST_DIGITS and 0 < int(digits) < 2**64:
        wanted = np.uint64(int(digits))
        for power in range(MOST_DIGITS):
            found |= ids // np.uint64(10**power) == wanted
    return found


class SegmentModel(QAbstractTableModel):
    """Sorts and filters rows of arrays; a refresh keeps the order that the user chose."""

    edited = Signal(int, int, object)
    """A supervoxel of the segment by dense index, the column, and the new text or state."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.table: SegmentTable | None = None
        self.filter = SegmentFilter()
        self.voxel_nm3 = 1.0
        """Volume of a voxel in cubic nanometres."""
        self._rows = np.empty(0, dtype=np.int64)
        self._sort_column, self._sort_order = SIZE, Qt.SortOrder.DescendingOrder
        self._columns: list[np.ndarray] = []
        self._brushes: dict[int, QColor] = {}

    # What the page calls.

    def show(self, table: SegmentTable | None) -> None:
        """Show other segments."""
        self.table = table
        if table is None:
            self._columns = []
        else:
            segments = table.segments
            names, notes = _ranks(table, lambda one: one.name), _ranks(table, lambda one: one.note)
            self._columns = [
                segments.id, names, segments.voxels, segments.state, segments.n_by_hand,
                segments.n_decisions, notes,
            ]  # fmt: skip
        self._arrange()

    def set_filter(self, wanted: SegmentFilter) -> None:
        """Show other rows."""
        self.filter = wanted
        self._arrange()

    def show_theme(self, theme: str) -> None:
        """Write states in colours that show up on the background of a theme."""
        self._brushes = {int(state): readable(name, theme) for state, name in STATE_COLOURS.items()}

    def supervoxel_at(self, row: int) -> int:
        """Return the supervoxel that names the segment in a row, by dense index; 0 if there is none."""
        segment = self._segment_at(row)
        return 0 if self.table is None or segment < 0 else int(self.table.segments.index[segment])

    def row_of(self, supervoxel: int) -> int:
        """Return the row of the segment of a supervoxel, -1 if it is not shown."""
        if self.table is None or supervoxel <= 0:
            return -1
        found = np.flatnonzero(self._rows == self.table.segments.row_of[supervoxel])
        return int(found[0]) if len(found) else -1

    # What Qt calls.

    def rowCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the rows that pass the filter."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the columns."""
        return 0 if parent is not None and parent.isValid() else len(HEADERS)

    def headerData(self, section: int, orientation: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802
        """Name a column."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        title, tip = HEADERS[section]
        return {Qt.ItemDataRole.DisplayRole: title, Qt.ItemDataRole.ToolTipRole: tip}.get(role)

    def flags(self, index: QModelIndex) -> Qt.ItemFlag:
        """Let names, states and notes be edited."""
        is_edited = index.isValid() and index.column() in EDITED
        return super().flags(index) | (Qt.ItemFlag.ItemIsEditable if is_edited else Qt.ItemFlag.NoItemFlags)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Describe one cell."""
        # Qt asks seven times per cell and painting: what we do not answer must cost nothing.
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGNMENT[index.column()]
        if role not in ANSWERED or self.table is None:
            return None
        row = self._segment_at(index.row())
        if row < 0:
            return None
        if role == Qt.ItemDataRole.ForegroundRole:
            is_state = index.column() == STATE
            return self._brushes.get(int(self.table.segments.state[row])) if is_state else None
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row)
        return self._text(row, index.column())

    def setData(self, index: QModelIndex, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802
        """Hand on what the user wrote; it is shown once it counts."""
        supervoxel = self.supervoxel_at(index.row())
        if role != Qt.ItemDataRole.EditRole or not supervoxel or index.column() not in EDITED:
            return False
        self.edited.emit(supervoxel, index.column(), value)
        return True

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Order the rows by a column; of equal ones the larger come first."""
        self._sort_column, self._sort_order = column, order
        self._arrange()

    # How.

    def _segment_at(self, row: int) -> int:
        """Return the row of the table of segments that is shown in a row, -1 if there is none."""
        return int(self._rows[row]) if 0 <= row < len(self._rows) else -1

    def _arrange(self) -> None:
        """Filter and sort again, and tell the view."""
        rows = np.empty(0, dtype=np.int64)
        if self.table is not None:
            rows = np.flatnonzero(self.filter.mask(self.table))
            rows = rows[np.argsort(-self.table.segments.voxels[rows], kind="stable")]
            by = self._columns[min(max(self._sort_column, 0), len(self._columns) - 1)][rows]
            # Names and notes that are missing, below 0, come last in either order.
            is_missing = by < 0
            if self._sort_order == Qt.SortOrder.DescendingOrder:
                by = np.bitwise_not(by)
            rows = rows[np.lexsort((by, is_missing))]
        if len(rows) == len(self._rows):
            self._rows = rows
            if len(rows):
                self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(HEADERS) - 1))
        else:
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()

    def _text(self, row: int, column: int) -> str:
        assert self.table is not None
        words = self.table.words.get(row, Words())
        if column == NAME:
            return words.name
        if column == NOTE:
            return words.note
        if column == STATE:
            return SHOWN_STATES[SegmentState(int(self.table.segments.state[row]))]
        value = int(self._columns[column][row])
        return str(value) if column == ID else short_number(value)

    def _tip(self, row: int) -> str:
        assert self.table is not None
        segments, words = self.table.segments, self.table.words.get(row, Words())
        volume = segments.voxels[row] * self.voxel_nm3 / NM3_PER_UM3
        lines = [
            f"Segment {segments.id[row]}: {counted(int(segments.voxels[row]), 'voxel')}, {volume:.3g} µm³"
        ]
        return "\n".join([*lines, *(text for text in (words.name, words.note) if text)])


def _ranks(table: SegmentTable, text_of: Callable[[Words], str]) -> np.ndarray:
    """Number texts in the order of the alphabet, int64 (S,); -1 where there is none.

    Parameters
    ----------
    table : SegmentTable
        Whose words they are.
    text_of : callable
        Which of the words.
    """
    texts: Mapping[int, str] = {row: text_of(words).casefold() for row, words in table.words.items()}
    ranks = np.full(len(table.segments), -1, dtype=np.int64)
    for rank, row in enumerate(sorted((row for row, text in texts.items() if text), key=lambda r: texts[r])):
        ranks[row] = rank
    return ranks
