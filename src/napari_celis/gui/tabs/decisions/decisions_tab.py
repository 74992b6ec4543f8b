"""The tab "Decisions": the queue of uncertain merges, the inspected decision, segments, and the history."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from qtpy.QtCore import QItemSelectionModel, Qt, QTimer
from qtpy.QtGui import QShowEvent
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QSpinBox,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.words import counted
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.keys import REDO_TIP
from napari_celis.gui.canvas.picking import POINT
from napari_celis.gui.qt.compact_table import CompactTable
from napari_celis.gui.qt.elided_label import ElidedLabel
from napari_celis.gui.qt.narrow_combo import make_narrow
from napari_celis.gui.qt.widgets import button, name_button, row, share_width, wrapped
from napari_celis.gui.session.inspected_pair import REFRESH_MS
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.decision_inspector import DecisionInspector
from napari_celis.gui.tabs.decisions.decision_table import (
    ENERGY_CHANGE,
    NARROWEST,
    NO_RANK,
    RANK_ROOM,
    SCORE_ROOM,
    STATE_NAMES,
    DecisionArrays,
    DecisionFilter,
    DecisionTable,
)
from napari_celis.gui.tabs.decisions.errors_tab import ErrorsTab
from napari_celis.gui.tabs.decisions.history_tab import HistoryTab
from napari_celis.gui.tabs.decisions.learning_box import LearningBox
from napari_celis.gui.tabs.decisions.left_page import LeftPage
from napari_celis.gui.tabs.decisions.segments_page import SegmentsPage

QUESTIONS = "Questions"
"""The first filter: open merges and made ones, whatever their state, that are asked about."""
EMPTY = (
    "There are no merges to decide about yet. Choose an image and a model on the tab Data, then press "
    "Prepare or Run on the tab Agglomerate: every two supervoxels that touch become a row here."
)


class DecisionsTab(QWidget):
    """Merges, segments and history, with the inspector below where it has something to say.

    Parameters
    ----------
    workspace : Workspace
        Shared with all tabs.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.canvas = Canvas.of(workspace)
        self.decisions = workspace.decisions
        self.table = DecisionTable(self)
        self.view = CompactTable()
        self.history = HistoryTab(workspace)
        self.segments = SegmentsPage(workspace)
        self.errors = ErrorsTab(workspace)
        self.left = LeftPage(workspace)
        self.inspector = DecisionInspector(workspace)
        self.learning = LearningBox(workspace)
        self._parts: dict[str, np.ndarray] = {}
        self._followed = -1
        """The action whose row was scrolled to."""
        self._room = (0, False, False)
        """Columns, and whether there is too little room for those of specs, and for all others."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._make_controls()
        self._set_up_view()
        self._lay_out()
        self._connect()
        self._on_run()

    def _make_controls(self) -> None:
        decisions = self.decisions
        self.toggle = QCheckBox("Point and click")
        self.toggle.setToolTip("Clicks in the canvas select segments and single keys decide.")
        self.undo = button("Undo", decisions.undo, "")
        self.redo = button("Redo", decisions.redo, "")
        self.next = button("Next", decisions.next_uncertain, "")
        share_width(self.next, self.undo, self.redo)
        self._name_keys()
        self.state = QComboBox()
        self.state.addItem(QUESTIONS)
        for text, state in [("All", None), *((name.capitalize(), s) for s, name in STATE_NAMES.items())]:
            self.state.addItem(text, state)
        self.state.setMaximumWidth(110)
        make_narrow(self.state)
        self.state.setToolTip("Show what is asked about, all contacts, or only those in one state.")
        self.id_filter = QLineEdit()
        self.id_filter.setPlaceholderText("Supervoxel id")
        self.id_filter.setMinimumWidth(70)
        self.id_filter.setClearButtonEnabled(True)
        self.id_filter.setToolTip("Show only merges of this supervoxel.")
        self.smallest = QSpinBox()
        self.smallest.setRange(0, 2**31 - 1)
        self.smallest.setSpecialValueText("Any size")
        self.smallest.setPrefix("≥ ")
        self.smallest.setSuffix(" vox.")
        self.smallest.setMaximumWidth(112)
        self.smallest.setToolTip("Show only merges whose smaller segment has at least this many voxels.")
        self.count = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self.empty = wrapped(EMPTY)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)

    def _name_keys(self) -> None:
        """Write the keys on the buttons, as the settings have them."""
        keys = self.canvas.keys.choice.keys
        name_button(
            self.undo, "Undo", "Take the last decision back, and go back to its question.", keys["undo"]
        )
        name_button(self.redo, "Redo", REDO_TIP, keys["redo"])
        name_button(self.next, "Next", "Go to the next question that the table shows.", keys["next"])

    def _set_up_view(self) -> None:
        self.view.setModel(self.table)
        self.view.setSortingEnabled(True)
        self.view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.view.offer_columns()
        self.canvas.keys.watch(self.view, self.history.view, self.errors.view)
        self.view.resized.connect(self._fit_columns)
        self._fit_columns()

    def _lay_out(self) -> None:
        candidates = QWidget()
        inner = QVBoxLayout(candidates)
        inner.setContentsMargins(0, 4, 0, 0)
        inner.setSpacing(4)
        inner.addLayout(row(self.state, self.id_filter, self.smallest, stretch=(0, 1, 0)))
        inner.addWidget(self.empty, 1)
        inner.addWidget(self.view, 1)
        inner.addWidget(self.count)
        self.tabs = QTabWidget()
        self.tabs.addTab(candidates, "Merges")
        self.tabs.addTab(self.segments, "Segments")
        self.tabs.addTab(self.left, "Left")
        self.tabs.addTab(self.history, "History")
        self.tabs.addTab(self.errors, "Errors")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.setSpacing(6)
        layout.addLayout(row(self.next, self.undo, self.redo, stretch=(1, 1, 1)))
        layout.addWidget(self.toggle)
        layout.addWidget(self.learning)
        layout.addWidget(self.tabs, 1)
        layout.addWidget(self.inspector)

    def _connect(self) -> None:
        workspace = self.workspace
        self.toggle.toggled.connect(self.canvas.picker.switch)
        self.canvas.mouse_mode.changed.connect(self._on_mode)
        self._on_mode(self.canvas.mouse_mode.current)
        self.state.currentIndexChanged.connect(self._on_filter)
        self.id_filter.textChanged.connect(self._on_filter)
        self.smallest.valueChanged.connect(self._on_filter)
        self.view.selectionModel().currentRowChanged.connect(self._on_row)
        self.view.clicked.connect(self._on_clicked)
        self.view.horizontalHeader().sortIndicatorChanged.connect(self._on_sorted)
        self.decisions.changed.connect(self._follow)
        self.decisions.changed.connect(self._on_page)
        self.tabs.currentChanged.connect(self._on_page)
        self.decisions.order.changed.connect(self._on_ready)
        self.canvas.keys.choice.changed.connect(self._name_keys)
        workspace.run.changed.connect(self._on_run)
        workspace.run.advanced.connect(self._on_advanced)
        workspace.run.threshold_changed.connect(self._on_advanced)
        workspace.viewer.events.theme.connect(self._on_theme)
        workspace.closing.connect(lambda: workspace.viewer.events.theme.disconnect(self._on_theme))
        self._on_theme()
        self._on_filter()

    # The table.

    def refresh(self) -> None:
        """Show the candidates of the latest snapshot, keeping the order and the selected row."""
        engine, queue = self.workspace.run.engine, self.decisions.order.queue
        if engine is None or queue is None:
            self.table.show(None)
        elif self.isVisible():
            with_sum = self.workspace.run.policy == "learned"
            engine.ask(lambda a: parts_of_all(a, with_sum=with_sum), self._on_parts, key="parts of all")
            self.decisions.order.renew()
        has_rows = engine is not None
        for widget in (self.next, self.undo, self.redo, self.state, self.id_filter, self.smallest):
            widget.setEnabled(has_rows)
        for widget in (self.view, self.count):
            widget.setVisible(has_rows)
        self.empty.setVisible(not has_rows)

    def arrays(self) -> DecisionArrays | None:
        """Collect the numbers of all actions; None without an engine."""
        engine, candidates = self.workspace.run.engine, self.decisions.order.candidates()
        if engine is None or candidates is None:
            return None
        table, ids = engine.tables.actions, engine.tables.supervoxels.ids
        queue = self.decisions.order.open_actions()
        rank = np.full(len(table), NO_RANK, dtype=np.int64)
        rank[queue] = np.arange(1, len(queue) + 1)
        return DecisionArrays(
            rank=rank,
            score=engine.snapshot.scores,
            area=table.area,
            smaller=candidates.smaller,
            larger=candidates.larger,
            state=candidates.state,
            u_id=ids[table.u],
            v_id=ids[table.v],
            parts=self._parts,
        )

    def _show_arrays(self) -> None:
        n_before = self.table.columnCount()
        position = self.view.verticalScrollBar().value()
        self.table.show(self.arrays())
        if self.table.columnCount() != n_before:
            self._fit_columns()
        self.view.verticalScrollBar().setValue(position)
        self._follow()

    def _on_parts(self, parts: dict[str, np.ndarray]) -> None:
        """Keep the columns of the descriptor specs."""
        self._parts = parts

    def _on_ready(self) -> None:
        """Show what the engine's thread has described and ordered."""
        if self.workspace.run.engine is not None and self.isVisible():
            self._show_arrays()
            self._count_rows()

    def _fit_columns(self) -> None:
        """Hide the columns of descriptor specs where all would be too narrow; the menu brings them back."""
        n_columns, width = self.table.columnCount(), self.view.viewport().width()
        is_narrow = width < NARROWEST * n_columns
        is_tight = width < NARROWEST * (n_columns - len(self._parts))
        if self._room == (n_columns, is_narrow, is_tight):
            # Columns that somebody asked for stay.
            return
        self._room = n_columns, is_narrow, is_tight
        for column in range(2, 2 + len(self._parts)):
            self.view.setColumnHidden(column, is_narrow)
        # The numbers of the others would be cut off.
        self.view.setColumnHidden(2 + len(self._parts), is_tight)
        longest = max(STATE_NAMES.values(), key=len)
        self.view.fix_widths({0: RANK_ROOM, 1: SCORE_ROOM, self.table.columnCount() - 1: longest})

    def _count_rows(self) -> None:
        n_rows = self.table.rowCount()
        n_all = 0 if self.table.arrays is None else len(self.table.arrays.score)
        n_queue = len(self.decisions.order.open_actions())
        self.count.setText(f"{n_rows:,} of {counted(n_all, 'contact')} · {counted(n_queue, 'open question')}")
        self.count.setToolTip(self.count.text())

    # What the user does, and what happens elsewhere.

    def _on_filter(self) -> None:
        text = self.id_filter.text().strip()
        self.table.set_filter(
            DecisionFilter(
                state=self.state.currentData(),
                supervoxel_id=int(text) if text.isdecimal() else None,
                min_voxels=self.smallest.value(),
                only_questions=self.state.currentText() == QUESTIONS,
            )
        )
        if self.decisions.order.walk is not None:
            self.decisions.order.walk.is_wanted = self._passes
        self._follow()
        self._count_rows()

    def _passes(self, actions: np.ndarray) -> np.ndarray:
        """Tell which actions the filters let through: the next question is one of them."""
        arrays = self.table.arrays
        if arrays is None:
            return np.ones(len(actions), dtype=bool)
        # Whatever is asked is a question, also before the table knows its place in the queue.
        passes: np.ndarray = replace(self.table.filter, only_questions=False).mask(arrays)[actions]
        return passes

    def _on_row(self, index: Any, before: Any = None) -> None:
        action = self.table.action_at(index.row())
        if action >= 0 and action != self.decisions.pair.action:
            self.decisions.inspect(action)

    def _on_clicked(self, index: Any) -> None:
        """Go to the inspected contact again: its row is current already, so no other signal comes."""
        self.decisions.inspect(self.table.action_at(index.row()))

    def _follow(self) -> None:
        """Select the row of the inspected action, without moving the camera."""
        if not self.isVisible():
            return
        action = self.decisions.pair.action
        at = self.table.row_of(action) if action >= 0 else -1
        is_other = action != self._followed and at >= 0
        self._followed = action if at >= 0 else -1
        selection = self.view.selectionModel()
        if at == self.view.currentIndex().row() and selection.hasSelection() == (at >= 0):
            if is_other:
                # Another question in the same row: the user may have scrolled away from it.
                self.view.show_chosen()
            return
        was_blocked = selection.blockSignals(True)
        if at < 0:
            selection.clear()
        else:
            flags = QItemSelectionModel.SelectionFlag
            index = self.table.index(at, 0)
            selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
            self.view.scrollTo(index)
        selection.blockSignals(was_blocked)
        self.view.viewport().update()

    def _on_page(self, _: int = 0) -> None:
        """Leave the room to the list of segments, unless two of them or a cut wait for a decision.

        What is above the pages stays, so that they do not jump.
        """
        is_list = self.tabs.currentWidget() is self.segments
        is_needed = self.decisions.cut.plan is not None or len(self.workspace.selection.supervoxels) == 2
        self.inspector.setVisible(not is_list or is_needed)

    def _on_sorted(self, *_: object) -> None:
        """Show where the selected row is now."""
        self._follow()
        self.view.show_chosen()

    def _on_theme(self, event: Any = None) -> None:
        for table in (self.table, self.history.table, self.segments.model):
            table.show_theme(self.workspace.viewer.theme)

    def _on_mode(self, mode: str) -> None:
        self.toggle.setChecked(mode == POINT)

    def _on_run(self) -> None:
        self._parts = {}
        # Rows of other actions: nobody may choose or filter by them until those of now are there.
        self.table.show(None)
        if self.decisions.order.walk is not None:
            self.decisions.order.walk.is_wanted = self._passes
        self.refresh()

    def _on_advanced(self, _: Any) -> None:
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while nobody looked."""
        super().showEvent(event)
        self.refresh()


def parts_of_all(agglomerator: Agglomerator, *, with_sum: bool) -> dict[str, np.ndarray]:
    """Split the energy change of every merge by descriptor spec; with the sum where scores are another.

    Parameters
    ----------
    agglomerator : Agglomerator
        Asked in the thread that owns it.
    with_sum : bool
        Whether to add the sum over all specs.
    """
    changes = agglomerator.scoring.sums_by_spec()[:, :, 0]
    total = {ENERGY_CHANGE: changes.sum(axis=0)} if with_sum else {}
    return total | {scores.table.tiling.spec.name: changes[scores.index] for scores in agglomerator.specs}
