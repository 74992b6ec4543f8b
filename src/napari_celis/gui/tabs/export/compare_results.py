"""The table of a comparison, and its errors as curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyqtgraph as pg
from qtpy.QtCore import Qt
from qtpy.QtGui import QColor, QIcon, QPixmap
from qtpy.QtWidgets import QHeaderView, QTableWidget, QTableWidgetItem, QVBoxLayout, QWidget

from napari_celis.gui.qt.narrow_combo import NarrowCombo
from napari_celis.gui.qt.themed_plot import ThemedPlot
from napari_celis.gui.qt.widgets import wrapped
from napari_celis.gui.tabs.export.compare_data import ALL, INSIDE, figures_of

COLUMNS = {"VI": "vi", "Split": "vi_split", "Merge": "vi_merge", "Rand F1": "rand_f1"}
TIPS = {
    "VI": "Variation of information in bits: split plus merge error. Lower is better.",
    "Split": "H(segmentation | truth) in bits: what was torn apart.",
    "Merge": "H(truth | segmentation) in bits: what was wrongly joined.",
    "Rand F1": "Agreement on pairs of voxels. Higher is better.",
}
STYLES = {
    "none": ("ink", "x"),
    "mean_affinity": ("orange", "s"),
    "watershed": ("sky", "t1"),
    "forest": ("green", "d"),
    "forest_multicut": ("purple", "t"),
    "oracle": ("grey", "star"),
}
"""Colour and marker of each method that others made."""
OURS = (("vermilion", "o"), ("yellow", "p"), ("blue", "h"))
ROOM = 1.25
"""Axes reach this much further than the segmentations that were chosen."""
FAR = 2.5
"""A method with this many times the middle error is left to the table."""
NOTE = "Curves run over all thresholds; the mark is the one that the training data chose."


class CompareResults(QWidget):
    """Figures of every method, for all voxels or for those away from true boundaries."""

    def __init__(self, viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.results: dict[str, dict[str, Any]] = {}
        self.voxels = NarrowCombo(
            "Near a true boundary nobody can say which side a voxel belongs to.",
            {ALL: "All voxels", INSIDE: "Without voxels near a true boundary"},
        )
        self.table = QTableWidget(0, 1 + len(COLUMNS))
        self.plot = ThemedPlot(viewer, "split error (bits)", "merge error (bits)", (230, 230))
        self.note = wrapped(NOTE)
        self._dress_table()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for widget in (self.voxels, self.table, self.plot, self.note):
            layout.addWidget(widget)
        self.voxels.currentIndexChanged.connect(lambda: self._draw())
        viewer.events.theme.connect(self._on_theme)
        self._viewer = viewer

    def _dress_table(self) -> None:
        table = self.table
        table.setHorizontalHeaderLabels(["Method", *COLUMNS])
        for column, name in enumerate(COLUMNS, start=1):
            table.horizontalHeaderItem(column).setToolTip(TIPS[name])
        table.verticalHeader().hide()
        table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        table.setSelectionBehavior(QTableWidget.SelectionBehavior.SelectRows)
        table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        table.setShowGrid(False)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)

    def show_results(self, results: Mapping[str, dict[str, Any]]) -> None:
        """Show what `celis compare` found."""
        self.results = dict(results)
        self._draw()

    def close_plot(self) -> None:
        """Stop listening to the viewer."""
        self._viewer.events.theme.disconnect(self._on_theme)
        self.plot.close_plot()

    def _on_theme(self, event: Any = None) -> None:
        if self.results:
            self._draw()

    def _draw(self) -> None:
        voxels = self.voxels.currentData()
        chosen = {name: figures_of(result, voxels) for name, result in self.results.items()}
        self._fill(chosen)
        self.plot.forget()
        for name, result in self.results.items():
            self._draw_method(name, result, chosen[name], voxels)
        self._set_range(chosen)

    def _set_range(self, chosen: Mapping[str, Mapping[str, Any]]) -> None:
        """Show all that lies near the others; a method far off would squeeze them into a corner."""
        far_off = []
        for axis, key in (("x", "vi_split"), ("y", "vi_merge")):
            values = {name: figures[key] for name, figures in chosen.items()}
            limit = FAR * float(np.median(list(values.values()) or [0.0]))
            far_off += [name for name, value in values.items() if value > limit]
            near = [value for value in values.values() if value <= limit] or [0.0]
            self.plot.setRange(**{f"{axis}Range": (min(near) / ROOM, ROOM * max(near) or 1.0)}, padding=0)
        names = ", ".join(dict.fromkeys(_title(name) for name in far_off))
        self.note.setText(f"{NOTE} Too far off to be drawn: {names}." if names else NOTE)

    def _fill(self, chosen: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the table; the best VI and the best Rand F1 but the oracle's are bold."""
        self.table.setRowCount(len(chosen))
        real = [figures for name, figures in chosen.items() if name != "oracle"]
        best = {1: min(own["vi"] for own in real), len(COLUMNS): max(own["rand_f1"] for own in real)}
        for row, (name, figures) in enumerate(chosen.items()):
            colour = self.plot.colour(self._style(name)[0])
            first = QTableWidgetItem(_square(colour), _title(name))
            first.setToolTip(_details(self.results[name]))
            values = [None, *(figures[key] for key in COLUMNS.values())]
            cells = [first, *(QTableWidgetItem(f"{value:.3f}") for value in values[1:])]
            for column, cell in enumerate(cells):
                if column:
                    cell.setTextAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
                font = cell.font()
                font.setBold(name != "oracle" and column in best and values[column] == best[column])
                cell.setFont(font)
                self.table.setItem(row, column, cell)
        self.table.resizeRowsToContents()
        heights = sum(self.table.rowHeight(row) for row in range(len(chosen)))
        self.table.setFixedHeight(self.table.horizontalHeader().sizeHint().height() + heights + 4)

    def _draw_method(
        self, name: str, result: Mapping[str, Any], chosen: Mapping[str, Any], voxels: str
    ) -> None:
        """Draw one Pareto front, and the chosen segmentation."""
        colour, symbol = self._style(name)
        curve = result["curve"][voxels]
        front = np.array(curve["front"], dtype=int)
        line = pg.PlotDataItem(np.array(curve["split"])[front], np.array(curve["merge"])[front])
        self.plot.addItem(line)
        self.plot.keep_dressed(line, colour)
        mark = pg.PlotDataItem(
            [chosen["vi_split"]],
            [chosen["vi_merge"]],
            pen=None,
            symbol=symbol,
            symbolSize=11,
            symbolBrush=self.plot.colour(colour),
            symbolPen=pg.mkPen(self.plot.colour("ink"), width=0.5),
        )
        mark.setZValue(10)
        self.plot.addItem(mark)

    def _style(self, name: str) -> tuple[str, str]:
        """Choose colour and marker; CELIS may be there with several policies."""
        ours = [own for own in self.results if own not in STYLES]
        return STYLES[name] if name in STYLES else OURS[ours.index(name) % len(OURS)]


def _title(name: str) -> str:
    """Name a method as people do."""
    return "no merging" if name == "none" else name.replace("_", " ")


def _square(colour: QColor) -> QIcon:
    """Make a small square, so that a row finds its curve."""
    pixels = QPixmap(12, 12)
    pixels.fill(colour)
    return QIcon(pixels)


def _details(result: Mapping[str, Any]) -> str:
    """Tell what the table has no room for."""
    threshold = result["threshold"]
    stop = (
        "no threshold" if threshold is None else f"threshold {threshold:.3g}, tuned on {result['tuned_on']}"
    )
    return f"{result['segments']:,} segments, {stop}, {result['seconds']:.1f} s"
