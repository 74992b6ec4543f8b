"""A narrow and quick table."""

from __future__ import annotations

from collections.abc import Mapping

from qtpy.QtCore import QPoint, QSize, Qt, Signal
from qtpy.QtGui import QResizeEvent
from qtpy.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTableView, QWidget

MIDDLE = Qt.AlignmentFlag.AlignCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
"""Numbers to the right; words in the middle, where they do not run into the number before them."""
MARGIN = 5
"""Beside a text in a column that is as wide as it."""
LOWEST = 92
"""Least height of a table in pixels: three rows."""


class CompactTable(QTableView):
    """A narrow and quick table: rows of one height, no row numbers, whole rows selected."""

    resized = Signal()
    """There is more or less room for columns."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.verticalHeader().setVisible(False)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(20)
        self.horizontalHeader().setMinimumSectionSize(28)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.horizontalHeader().setHighlightSections(False)
        # In the middle, where the arrow of the sorted column does not cover it.
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setMinimumHeight(LOWEST)

    def fix_widths(self, texts: Mapping[int, str]) -> None:
        """Let some columns be as wide as a text; all others share the rest."""
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for column, text in texts.items():
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(column, self.fontMetrics().horizontalAdvance(text) + 2 * MARGIN)

    def column_menu(self) -> QMenu:
        """Make a menu that shows and hides columns."""
        menu, across = QMenu(self), Qt.Orientation.Horizontal
        for column in range(self.model().columnCount()):
            entry = menu.addAction(str(self.model().headerData(column, across)))
            entry.setToolTip(str(self.model().headerData(column, across, Qt.ItemDataRole.ToolTipRole)))
            entry.setCheckable(True)
            entry.setChecked(not self.isColumnHidden(column))
            entry.toggled.connect(lambda is_on, c=column: self.setColumnHidden(c, not is_on))
        return menu

    def offer_columns(self) -> None:
        """Let a click with the right button on the titles open the menu of columns."""
        header = self.horizontalHeader()
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        # No lambda: one that holds the header made PyQt6 crash when the table was sorted.
        header.customContextMenuRequested.connect(self._open_column_menu)

    def _open_column_menu(self, at: QPoint) -> None:
        self.column_menu().exec(self.horizontalHeader().mapToGlobal(at))

    def show_chosen(self) -> None:
        """Scroll to the selected row, or to the top where there is none."""
        rows = self.selectionModel().selectedRows()
        if rows:
            self.scrollTo(rows[0])
        else:
            self.scrollToTop()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Keep the selected row in sight, and tell who chooses columns by the room that there is."""
        super().resizeEvent(event)
        rows = [] if self.selectionModel() is None else self.selectionModel().selectedRows()
        if rows:
            place = self.visualRect(rows[0])
            # One that the user has scrolled away from stays where it is.
            if place.top() >= 0 and place.bottom() <= event.oldSize().height():
                self.scrollTo(rows[0])
        self.resized.emit()

    def sizeHint(self) -> QSize:  # noqa: N802
        """Ask for little and take what the window leaves: what Qt asks for makes the whole tab scroll."""
        return QSize(super().sizeHint().width(), LOWEST)
