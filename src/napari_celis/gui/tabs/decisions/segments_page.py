"""All segments with their names, sizes, states and notes: find one, go to it, say what is known about it."""

from __future__ import annotations

import math
from typing import Any

from qtpy.QtCore import QAbstractItemModel, QItemSelectionModel, QModelIndex, Qt, QTimer
from qtpy.QtGui import QResizeEvent, QShowEvent
from qtpy.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QLineEdit,
    QSpinBox,
    QStyledItemDelegate,
    QVBoxLayout,
    QWidget,
)

from napari_celis.core.segment_list import STATE_NAMES, SegmentState
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.layers.volume_layers import layer_to_volume
from napari_celis.gui.qt.compact_table import CompactTable
from napari_celis.gui.qt.elided_label import ElidedLabel
from napari_celis.gui.qt.numbers import short_number
from napari_celis.gui.qt.widgets import button, name_button, row, wrapped
from napari_celis.gui.session.inspected_pair import REFRESH_MS
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.segment_model import (
    ALL,
    ID,
    NAME,
    SHOWN_STATES,
    SIZE,
    STATE,
    YOURS,
    SegmentFilter,
    SegmentModel,
)

EMPTY = "There are no segments yet. Press Prepare or Run on the tab Agglomerate: each becomes a row here."
NARROW = 480
"""Pixels below which names need the room of a column."""
MOST_DIGITS_SHOWN = 10
"""Longer ids are cut short in the column; the explanation of the row has them whole."""


class StateDelegate(QStyledItemDelegate):
    """Lets the user choose the state of a segment from a list."""

    def createEditor(self, parent: QWidget, option: Any, index: QModelIndex) -> QWidget:  # noqa: N802
        """Make the list, open."""
        box = QComboBox(parent)
        for state in (SegmentState.IN_WORK, SegmentState.DONE):
            box.addItem(STATE_NAMES[state], state)
        box.activated.connect(lambda: (self.commitData.emit(box), self.closeEditor.emit(box)))
        opening = QTimer(box)
        opening.setSingleShot(True)
        opening.timeout.connect(box.showPopup)
        opening.start(0)
        return box

    def setEditorData(self, editor: QWidget, index: QModelIndex) -> None:  # noqa: N802
        """Show the present state; an untouched segment is offered to be done."""
        assert isinstance(editor, QComboBox)
        found = editor.findText(str(index.data(Qt.ItemDataRole.EditRole)))
        editor.setCurrentIndex(found if found >= 0 else 1)

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: QModelIndex) -> None:  # noqa: N802
        """Hand on what was chosen."""
        assert isinstance(editor, QComboBox)
        model.setData(index, editor.currentData())


class SegmentsPage(QWidget):
    """The table of segments, with filters above and what can be done below.

    Parameters
    ----------
    workspace : Workspace
        Shared with all tabs.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace, self.segments = workspace, workspace.segments
        self.canvas = Canvas.of(workspace)
        self.keys = self.canvas.keys
        self.model = SegmentModel(self)
        self._is_narrow = False
        self.view = CompactTable()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._make_controls()
        self._set_up_view()
        self._lay_out()
        self._connect()
        self.refresh()

    def _make_controls(self) -> None:
        self.text = QLineEdit()
        self.text.setPlaceholderText("Name, note or id")
        self.text.setClearButtonEnabled(True)
        self.text.setToolTip("Show only segments with this in the name or the note, or an id that begins so.")
        self.state = QComboBox()
        for text, state in [("All", None), *((name.capitalize(), s) for s, name in STATE_NAMES.items())]:
            self.state.addItem(text, state)
        self.state.setMaximumWidth(110)
        self.state.setToolTip("Show only segments in this state.")
        self.smallest = QSpinBox()
        self.smallest.setRange(0, 2**31 - 1)
        self.smallest.setPrefix("≥ ")
        self.smallest.setSuffix(" vox.")
        self.smallest.setMaximumWidth(112)
        self.smallest.setToolTip("Show only segments with at least this many voxels.")
        self.count = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self.empty = wrapped(EMPTY)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.done = button("Done, next", self.segments.finish, "")
        self.in_work = button(
            "In work",
            self._on_in_work,
            "Somebody works on it: a segment that was done may change again.",
        )
        for made in (self.done, self.in_work):
            made.setEnabled(False)
        self._name_keys()

    def _name_keys(self) -> None:
        tip = "Nothing changes the selected segment from now on; go to the largest one that is untouched."
        name_button(self.done, "Done, next", tip, self.keys.choice.keys["done"])

    def _set_up_view(self) -> None:
        view = self.view
        view.setModel(self.model)
        view.setSortingEnabled(True)
        view.sortByColumn(SIZE, Qt.SortOrder.DescendingOrder)
        view.setItemDelegateForColumn(STATE, StateDelegate(view))
        triggers = QAbstractItemView.EditTrigger
        view.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        view.offer_columns()
        self.keys.watch(view)
        self._fit_columns(MOST_DIGITS_SHOWN)

    def _fit_columns(self, n_digits: int) -> None:
        """Give numbers and states what they need; names and notes share the rest."""
        longest = max(SHOWN_STATES.values(), key=len)
        digits = "0" * min(max(n_digits, 3), MOST_DIGITS_SHOWN)
        self.view.fix_widths({ID: digits, SIZE: "00,000", STATE: longest, YOURS: "Yours", ALL: "0,000"})

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Leave the room to names where there is little; the menu of the titles brings the column back."""
        super().resizeEvent(event)
        is_narrow = event.size().width() < NARROW
        if is_narrow != self._is_narrow:
            self._is_narrow = is_narrow
            self.view.setColumnHidden(ALL, is_narrow)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(row(self.state, self.text, self.smallest, stretch=(0, 1, 0)))
        layout.addWidget(self.empty, 1)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.count)
        layout.addLayout(row(self.done, self.in_work, stretch=(1, 1)))

    def _connect(self) -> None:
        workspace = self.workspace
        self.state.currentIndexChanged.connect(self._on_filter)
        self.text.textChanged.connect(self._on_filter)
        self.smallest.valueChanged.connect(self._on_filter)
        self.view.clicked.connect(self._on_clicked)
        self.view.selectionModel().currentRowChanged.connect(self._on_row)
        self.view.horizontalHeader().sortIndicatorChanged.connect(self._on_sorted)
        self.model.edited.connect(self._on_edited)
        self.segments.changed.connect(self.refresh)
        self.keys.choice.changed.connect(self._name_keys)
        workspace.selection.changed.connect(self._follow)
        workspace.run.advanced.connect(self._on_advanced)

    # The table.

    def refresh(self) -> None:
        """Show the segments of the newest snapshot, keeping the order and the selected row."""
        table, has_run = None, self.workspace.run.engine is not None
        if self.view.state() == QAbstractItemView.State.EditingState and has_run:
            # What is being written would be lost.
            self._timer.start()
            return
        if has_run and self.isVisible():
            table = self.segments.table()
            self.model.voxel_nm3 = self._voxel_nm3()
        if table is not None or not has_run:
            position = self.view.verticalScrollBar().value()
            self.model.show(table)
            if table is not None and len(table.segments):
                self._fit_columns(len(str(table.segments.id[-1])))
            self.view.verticalScrollBar().setValue(position)
        for widget in (self.text, self.state, self.smallest):
            widget.setEnabled(has_run)
        for shown in (self.view, self.count):
            shown.setVisible(has_run)
        self.empty.setVisible(not has_run)
        self._count_rows()
        self._follow()

    def _voxel_nm3(self) -> float:
        """Return the volume of a voxel in cubic nanometres."""
        supervoxels, placement = self.workspace.run.supervoxels, self.canvas.segmentation.placement
        assert supervoxels is not None
        like = layer_to_volume(supervoxels.dense, {**placement, "name": "segments"})
        return math.prod(like.voxel_size_nm)

    def _count_rows(self) -> None:
        table = self.model.table
        if table is None:
            self.count.setText("")
            return
        n_done = int((table.segments.state == SegmentState.DONE).sum())
        n_in_work = int((table.segments.state == SegmentState.IN_WORK).sum())
        share = table.segments.voxels[table.segments.state == SegmentState.DONE].sum() / max(
            1, table.segments.voxels.sum()
        )
        self.count.setText(
            f"{self.model.rowCount():,} of {len(table.segments):,} · {short_number(n_in_work)} in work · "
            f"{short_number(n_done)} done ({share:.0%} of voxels)"
        )
        self.count.setToolTip(self.count.text())

    def _follow(self) -> None:
        """Select the row of the selected segment, without moving the camera."""
        if not self.isVisible():
            return
        chosen, table = self.segments.selected(), self.model.table
        state = None if table is None or not chosen else table.segments.state[table.segments.row_of[chosen]]
        self.done.setEnabled(state is not None)
        self.in_work.setEnabled(bool(state is not None and state != SegmentState.IN_WORK))
        at = self.model.row_of(chosen)
        selection = self.view.selectionModel()
        if at == self.view.currentIndex().row() and selection.hasSelection() == (at >= 0):
            return
        was_blocked = selection.blockSignals(True)
        if at < 0:
            selection.clear()
        else:
            flags = QItemSelectionModel.SelectionFlag
            index = self.model.index(at, max(0, self.view.currentIndex().column()))
            selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
            self.view.scrollTo(index)
        selection.blockSignals(was_blocked)
        self.view.viewport().update()

    # What the user does, and what happens elsewhere.

    def _on_filter(self) -> None:
        self.model.set_filter(
            SegmentFilter(self.text.text(), self.state.currentData(), self.smallest.value())
        )
        self._count_rows()
        self._follow()

    def _on_sorted(self, *_: object) -> None:
        """Show where the selected row is now."""
        self._follow()
        self.view.show_chosen()

    def _on_row(self, index: Any, before: Any = None) -> None:
        at = index.row()
        if at != self.model.row_of(self.segments.selected()):
            self.segments.visit(self.model.supervoxel_at(at))

    def _on_clicked(self, index: Any) -> None:
        """Go to the selected segment again: its row is current already, so no other signal comes."""
        self.segments.visit(self.model.supervoxel_at(index.row()))

    def _on_edited(self, supervoxel: int, column: int, value: Any) -> None:
        if column == STATE:
            self.segments.mark(supervoxel, is_done=value == SegmentState.DONE)
        elif column == NAME:
            self.segments.write(supervoxel, name=str(value))
        else:
            self.segments.write(supervoxel, note=str(value))

    def _on_in_work(self) -> None:
        chosen = self.segments.selected()
        if chosen:
            self.segments.mark(chosen, is_done=False)

    def _on_advanced(self, _: Any) -> None:
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while nobody looked."""
        super().showEvent(event)
        self.refresh()
