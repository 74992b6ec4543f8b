"""What training told so far, and its curves, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyqtgraph as pg
from qtpy.QtWidgets import QLabel, QVBoxLayout, QWidget

from napari_celis.gui.qt.narrow_combo import NarrowCombo
from napari_celis.gui.qt.themed_plot import ThemedPlot
from napari_celis.gui.qt.widgets import row, wrapped
from napari_celis.gui.session.background.records import Record

COLOURS = ("blue", "vermilion", "green", "purple")
NEWEST = "Newest stage"
NOTHING_YET = "Loss and validation figures appear here while a training runs."
AGAIN = "again"
"""Label where a stage begins again, because it was interrupted."""


class History:
    """The figures of every stage, in the order they came."""

    def __init__(self) -> None:
        self.stages: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
        self.begins: dict[str, list[tuple[float, str]]] = {}
        """By stage: when each of its networks began to be trained, and its label."""
        self.newest = ""
        self._begin = self._now = 0.0
        self._last: Record | None = None

    def add(self, record: Record) -> None:
        """Append a record."""
        self._now = self._begin + record.seconds / 60
        curves = self.stages.setdefault(record.stage, {})
        if record.figures:
            # A stage that has only begun has nothing to show yet: the curves of the last one stay.
            self.newest = record.stage
            self._note_begin(record)
        for name, value in record.figures.items():
            minutes, values = curves.setdefault(name, ([], []))
            minutes.append(self._now)
            values.append(value)

    def _note_begin(self, record: Record) -> None:
        """Note where the curves of another network begin, which do not go on from the last one's."""
        last, self._last = self._last, record
        if last is None or (last.stage, last.network) != (record.stage, record.network):
            label = record.network
        elif record.done < last.done:
            label = f"{record.network} {AGAIN}".strip()
        else:
            return
        self.begins.setdefault(record.stage, []).append((self._now, label))

    def take_up(self) -> None:
        """Let the time go on where it was; a resumed process counts from 0 again."""
        self._begin = self._now

    def split(self, stage: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the losses of a stage, and its other figures, which have another scale."""
        curves = self.stages.get(stage, {})
        losses = {name: curve for name, curve in curves.items() if "loss" in name}
        return losses, {name: curve for name, curve in curves.items() if name not in losses}


class TrainCurves(QWidget):
    """Losses above, validation figures below; one stage at a time."""

    def __init__(self, viewer: Any, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._viewer = viewer
        self.history = History()
        self.stage = NarrowCombo("The part of the training whose curves are shown.")
        self.stage.addItem(NEWEST)
        self.stage.currentIndexChanged.connect(lambda: self.refresh())
        self.losses = ThemedPlot(viewer, "minutes", "loss", (150, 150))
        self.figures = ThemedPlot(viewer, "minutes", "validation", (120, 120))
        self.legend = wrapped()
        self.empty = wrapped(NOTHING_YET)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        self._chooser = QWidget()
        self._chooser.setLayout(row(QLabel("Curves of"), self.stage, stretch=(0, 1)))
        for widget in (self.empty, self._chooser, self.losses, self.figures, self.legend):
            layout.addWidget(widget)
        viewer.events.theme.connect(self._on_theme)
        self.refresh()

    def clear(self) -> None:
        """Forget an earlier training."""
        self.history = History()
        while self.stage.count() > 1:
            self.stage.removeItem(1)
        self.refresh()

    def add(self, record: Record) -> None:
        """Show what came."""
        if record.stage not in self.history.stages:
            self.stage.addItem(record.stage)
        self.history.add(record)
        if self.shown_stage() == record.stage:
            self.refresh()

    def shown_stage(self) -> str:
        """Name the stage whose curves are shown."""
        return self.history.newest if self.stage.currentIndex() <= 0 else self.stage.currentText()

    def refresh(self) -> None:
        """Draw the curves of the chosen stage."""
        losses, figures = self.history.split(self.shown_stage())
        has_any = bool(self.history.stages)
        self.empty.setVisible(not has_any)
        self._chooser.setVisible(has_any)
        begins = self.history.begins.get(self.shown_stage(), [])
        words = _draw(self.losses, losses, 0, begins) + _draw(self.figures, figures, len(losses), begins)
        self.losses.setVisible(bool(losses))
        self.figures.setVisible(bool(figures))
        self.legend.setText(" · ".join(words))
        self.legend.setVisible(bool(words))

    def close_plots(self) -> None:
        """Stop listening to the viewer."""
        self._viewer.events.theme.disconnect(self._on_theme)
        self.losses.close_plot()
        self.figures.close_plot()

    def _on_theme(self, event: Any = None) -> None:
        """Write the last values in the colours that the curves have now."""
        self.refresh()


def _draw(
    plot: ThemedPlot, curves: dict[str, Any], first: int, begins: Sequence[tuple[float, str]]
) -> list[str]:
    """Draw curves, one line for each network, and write each one's last value in its colour."""
    plot.forget()
    drawn = list(curves.values())
    plot.fit([at for minutes, _ in drawn for at in minutes], [value for _, ys in drawn for value in ys])
    if drawn:
        _draw_begins(plot, begins)
    words = []
    for index, (name, (minutes, values)) in enumerate(curves.items(), start=first):
        colour = COLOURS[index % len(COLOURS)]
        cuts = np.searchsorted(minutes, [at for at, _ in begins[1:]])
        for x, y in zip(np.split(minutes, cuts), np.split(values, cuts), strict=True):
            if len(x):
                _draw_line(plot, x, y, colour)
        text = f"{name} {values[-1]:.4g}".replace("_", " ").replace(" ", "&nbsp;")
        words.append(f'<span style="color:{plot.colour(colour).name()}">■</span>&nbsp;{text}')
    return words


def _draw_line(plot: ThemedPlot, minutes: np.ndarray, values: np.ndarray, colour: str) -> None:
    """Draw the curve of one network."""
    # A single value would be a line of no length.
    symbol = {"symbol": "o", "symbolSize": 5} if len(values) < 2 else {}
    item = pg.PlotDataItem(minutes, values, **symbol)
    if symbol:
        item.setSymbolBrush(plot.colour(colour))
    plot.addItem(item)
    plot.keep_dressed(item, colour)


def _draw_begins(plot: ThemedPlot, begins: Sequence[tuple[float, str]]) -> None:
    """Mark where the training of each network begins, if there are several."""
    for at, label in begins:
        if label:
            options = {"position": 0.97, "anchors": [(0, 0), (0, 0)], "color": plot.colour("ink")}
            line = pg.InfiniteLine(at, angle=90, label=label, labelOpts=options)
            plot.addItem(line)
            plot.keep_dressed(line, "grey", width=1)
