"""Every decision that stands: by whom, with its score at the time; go back to it or cut it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qtpy.QtCore import QAbstractTableModel, QItemSelectionModel, QModelIndex, Qt, QTimer
from qtpy.QtGui import QColor, QHideEvent, QShowEvent
from qtpy.QtWidgets import QComboBox, QLabel, QVBoxLayout, QWidget

from napari_celis.core.journal import MARK_KINDS, Step
from napari_celis.core.words import DECISION_NAMES, counted
from napari_celis.gui.qt.colours import readable
from napari_celis.gui.qt.compact_table import MIDDLE, RIGHT, CompactTable
from napari_celis.gui.qt.numbers import short_number, signed
from napari_celis.gui.qt.widgets import button, row, share_width, wrapped
from napari_celis.gui.session.inspected_pair import REFRESH_MS
from napari_celis.gui.session.workspace import Workspace

HEADERS = (
    ("Step", "Place in the history"),
    ("Who", "The run by itself, or you"),
    ("What", "Kind of decision"),
    ("Score", "Score when it was decided; a cut, a split and a merge that is still right have none"),
    ("Left", "Segments left afterwards"),
)
COLOURS = {
    "manual": "sky",
    "keep-apart": "orange",
    "allow": "sky",
    "cut": "vermilion",
    "split": "vermilion",
    "confirm": "sky",
    "not-here": "orange",
    "done": "green",
    "in-work": "sky",
}
EMPTY = "No decision has been made yet."


class HistoryTable(QAbstractTableModel):
    """Decisions, the newest first."""

    def __init__(self, parent: Any = None) -> None:
        super().__init__(parent)
        self.steps: Sequence[Step] = ()
        self._colours: dict[str, QColor] = {}

    def show_theme(self, theme: str) -> None:
        """Write your own decisions in colours that show up on the background of a theme."""
        self._colours = {kind: readable(name, theme) for kind, name in COLOURS.items()}

    def show(self, steps: Sequence[Step], who: str = "") -> None:
        """Show the decisions of "greedy", of "you", or all.

        Parameters
        ----------
        steps : sequence of Step
            All decisions, oldest first.
        who : str
            "greedy", "you", or "" for all.
        """
        wanted = [step for step in steps if not who or (step.kind == "greedy") == (who == "greedy")]
        if len(wanted) == len(self.steps) and (not wanted or wanted[-1] == self.steps[-1]):
            return
        self.beginResetModel()
        self.steps = wanted
        self.endResetModel()

    def step_at(self, row_index: int) -> Step | None:
        """Return the decision in a row."""
        is_there = 0 <= row_index < len(self.steps)
        return self.steps[len(self.steps) - 1 - row_index] if is_there else None

    def rowCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the decisions."""
        return 0 if parent is not None and parent.isValid() else len(self.steps)

    def columnCount(self, parent: QModelIndex | None = None) -> int:  # noqa: N802
        """Count the columns."""
        return 0 if parent is not None and parent.isValid() else len(HEADERS)

    def headerData(self, section: int, orientation: Any, role: int = Qt.ItemDataRole.DisplayRole) -> Any:  # noqa: N802
        """Name a column."""
        if orientation != Qt.Orientation.Horizontal:
            return None
        title, tip = HEADERS[section]
        return {
            Qt.ItemDataRole.DisplayRole: title,
            Qt.ItemDataRole.ToolTipRole: tip,
        }.get(role)

    def data(self, index: QModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Describe one cell."""
        step = self.step_at(index.row())
        if step is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return _texts(step)[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return MIDDLE if index.column() in (1, 2) else RIGHT
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._colours.get(step.kind)
        if role == Qt.ItemDataRole.ToolTipRole:
            if step.kind in MARK_KINDS:
                return f"The segment of supervoxel {step.u_id}"
            return f"Supervoxels {step.u_id} and {step.v_id}; energy afterwards {step.energy:.6g}"
        return None


def _texts(step: Step) -> tuple[str, ...]:
    who = "run" if step.kind == "greedy" else "you"
    return (
        str(step.index + 1),
        who,
        DECISION_NAMES[step.kind],
        "–" if step.kind in ("cut", "split", "confirm", "allow", *MARK_KINDS) else signed(step.score),
        short_number(step.n_segments),
    )


class HistoryTab(QWidget):
    """The table of decisions with what can be done about each.

    Parameters
    ----------
    workspace : Workspace
        Shared with all tabs.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.decisions = workspace.decisions
        self.table = HistoryTable(self)
        self.view = CompactTable()
        self.view.setModel(self.table)
        self.view.fix_widths({2: max(DECISION_NAMES.values(), key=len)})
        self.who = QComboBox()
        for text, who in (("All decisions", ""), ("Only yours", "you"), ("Only the run's", "greedy")):
            self.who.addItem(text, who)
        self.who.setToolTip("Show only decisions that you made, or only those that the run made by itself.")
        self.count = QLabel()
        self.empty = wrapped(EMPTY)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.go_back = button(
            "Go back", self._on_go_back, "Take back everything after this decision; one Redo brings it again."
        )
        self.cut = button("Cut it…", self._on_cut, "Show what it would do to take this merge out.")
        self.take_out = button(
            "Take out",
            self._on_take_out,
            "Allow again what this decision keeps apart; all other decisions stay, and undo brings it back.",
        )
        self.present = button("Present", self._on_present, "Leave the preview of an earlier step.")
        share_width(self.go_back, self.cut, self.take_out, self.present)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.refresh)
        self._lay_out()
        self.who.currentIndexChanged.connect(self.refresh)
        self.view.selectionModel().selectionChanged.connect(self._on_selected)
        workspace.run.changed.connect(self.refresh)
        workspace.run.advanced.connect(self._on_advanced)
        self.refresh()

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(row(self.who, self.count, stretch=(0, 1)))
        self.count.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.empty, 1)
        layout.addWidget(self.view, 1)
        layout.addLayout(row(self.go_back, self.cut, self.take_out, self.present, stretch=(1, 1, 1, 1)))

    def selected_step(self) -> Step | None:
        """Return the decision of the selected row."""
        rows = self.view.selectionModel().selectedRows()
        return self.table.step_at(rows[0].row()) if rows else None

    def refresh(self) -> None:
        """Show the decisions of the latest snapshot; the selected one stays selected."""
        snapshot = self.workspace.run.snapshot
        if not self.isVisible() and snapshot is not None:
            return
        before, position = self.selected_step(), self.view.verticalScrollBar().value()
        steps = () if snapshot is None else snapshot.steps
        self.table.show(steps, self.who.currentData())
        n_mine = sum(step.kind != "greedy" for step in steps)
        self.count.setText(f"{counted(len(steps), 'decision')}, {n_mine:,} yours" if steps else "")
        self.empty.setVisible(not steps)
        self.view.setVisible(bool(steps))
        self._select_again(before)
        self.view.verticalScrollBar().setValue(position)
        self._enable()

    def _select_again(self, step: Step | None) -> None:
        selection = self.view.selectionModel()
        if step is None or self.selected_step() == step:
            return
        at = next((k for k, other in enumerate(self.table.steps) if other is step), None)
        if at is not None:
            index = self.table.index(len(self.table.steps) - 1 - at, 0)
            flags = QItemSelectionModel.SelectionFlag
            was_blocked = selection.blockSignals(True)
            selection.select(index, flags.ClearAndSelect | flags.Rows)
            selection.blockSignals(was_blocked)

    def _enable(self) -> None:
        step = self.selected_step()
        self.go_back.setEnabled(step is not None)
        snapshot = self.workspace.run.snapshot
        can_cut = False
        if step is not None and snapshot is not None and step.kind in ("greedy", "manual"):
            can_cut = bool(snapshot.taken[step.action_index])
        self.cut.setEnabled(can_cut)
        self.take_out.setEnabled(self._can_take_out(step))
        self.present.setEnabled(self.workspace.preview.step is not None)

    def _can_take_out(self, step: Step | None) -> bool:
        """Tell whether a decision keeps two supervoxels apart that are not allowed again already."""
        snapshot = self.workspace.run.snapshot
        if step is None or snapshot is None or step.kind != "keep-apart":
            return False
        return not {(step.u_id, step.v_id), (step.v_id, step.u_id)}.isdisjoint(snapshot.constraints)

    def _on_advanced(self, snapshot: Any) -> None:
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    def _on_selected(self) -> None:
        """Show the segmentation as it was after the decision, at its contact."""
        step = self.selected_step()
        if step is not None:
            self.workspace.preview.show(step.index + 1)
            self.decisions.inspect(step.action_index)
        self._enable()

    def _on_go_back(self) -> None:
        step = self.selected_step()
        if step is not None and self.workspace.rewind.go_back(step.index + 1, self):
            self.workspace.preview.show(None)

    def _on_cut(self) -> None:
        step = self.selected_step()
        if step is not None:
            self._on_present()
            self.decisions.cut.of_merge(step.action_index)

    def _on_take_out(self) -> None:
        step, engine = self.selected_step(), self.workspace.run.engine
        if step is not None and engine is not None:
            self._on_present()
            engine.allow(step.u_id, step.v_id)

    def _on_present(self) -> None:
        self.view.clearSelection()
        self.workspace.preview.show(None)
        self._enable()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while nobody looked."""
        super().showEvent(event)
        self.refresh()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Do not leave an old state on the screen."""
        super().hideEvent(event)
        if self.selected_step() is not None:
            self._on_present()
