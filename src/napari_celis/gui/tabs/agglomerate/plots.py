"""Live plots: the energy of a run, and the scores of what may be merged with the threshold to drag."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log, log1p
from typing import Any

import numpy as np
import pyqtgraph as pg
from qtpy.QtCore import Signal
from qtpy.QtGui import QFont

from napari_celis.core.journal import Step
from napari_celis.evaluation.error_curve import ErrorCurve
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.themed_plot import ThemedPlot

HEIGHTS = (80, 190)
"""Least and greatest height in pixels: plots take the room that a high window has."""
N_BINS = 60
SMALL_POINTS = 6.5
MOST_BEYOND = 0.05
"""Share of the scores that may lie beyond the ends of the histogram."""
COUNTS = {0: "0", 10: "10", 100: "100", 1_000: "1k", 10_000: "10k", 100_000: "100k", 1_000_000: "1M"}
"""What the logarithmic axis of the histogram is marked with."""


ERROR_CURVES = {"split": "sky", "merge": "orange", "both": "ink"}
"""Colours of the curves of errors, by what they show."""


class EnergyPlot(ThemedPlot):
    """Energy after every decision."""

    def __init__(self, viewer: Any) -> None:
        super().__init__(viewer, "decisions", "Δ energy", HEIGHTS)
        self.setToolTip("Change of the energy since the start, after every decision.")
        self._curve = self.plot()
        self._curve.setDownsampling(auto=True, method="subsample")
        self._marker = pg.InfiniteLine(angle=90)
        self._marker.setVisible(False)
        self.keep_dressed(self._curve, "sky")
        self.keep_dressed(self._marker, "orange", width=1)
        self.addItem(self._marker, ignoreBounds=True)
        self._steps: list[Step] = []
        self._energies: list[float] = []

    def start(self, energy: float) -> None:
        """Begin with the energy before the first decision."""
        self._steps, self._energies = [], [energy]
        self.show_steps(())

    def show_steps(self, steps: Sequence[Step]) -> None:
        """Show a history; only what differs from the last one is computed."""
        n_same = min(len(steps), len(self._steps))
        if n_same and steps[n_same - 1] is not self._steps[n_same - 1]:
            n_same = 0
        del self._steps[n_same:], self._energies[n_same + 1 :]
        self._steps += steps[n_same:]
        self._energies += [step.energy for step in steps[n_same:]]
        changes = np.array(self._energies) - self._energies[0]
        self._curve.setData(np.arange(len(changes)), changes)
        low, high = float(changes.min()), float(changes.max())
        self.setRange(xRange=(0, max(10, 1.25 ** ceil(log(len(changes), 1.25)))), padding=0)
        self.setRange(yRange=(low, high if high > low else low + 1), padding=0.08)

    def mark(self, n_steps: int | None) -> None:
        """Mark the step that is shown."""
        self._marker.setVisible(n_steps is not None)
        if n_steps is not None:
            self._marker.setPos(n_steps)

    @property
    def energies(self) -> list[float]:
        """The values of the curve, the one before the first decision included."""
        return self._energies


class ErrorPlot(ThemedPlot):
    """Split and merge error over the decisions that stand."""

    def __init__(self, viewer: Any) -> None:
        super().__init__(viewer, "decisions", "VI in bits", HEIGHTS)
        self.setToolTip("Split error and merge error after every decision, and both together.")
        self._curves = {name: self.plot() for name in ERROR_CURVES}
        self._marker = pg.InfiniteLine(angle=90)
        self._marker.setVisible(False)
        for name, colour in ERROR_CURVES.items():
            self.keep_dressed(self._curves[name], colour, width=1 if name == "both" else 2)
        self.keep_dressed(self._marker, "vermilion", width=1)
        self.addItem(self._marker, ignoreBounds=True)
        self.curve: ErrorCurve | None = None
        """What is shown."""

    def show_curve(self, curve: ErrorCurve) -> None:
        """Show other errors."""
        self.curve = curve
        both = curve.split + curve.merge
        for name, values in (("split", curve.split), ("merge", curve.merge), ("both", both)):
            self._curves[name].setData(curve.n_steps, values)
        self.setRange(xRange=(0, max(10, int(curve.n_steps[-1]))), padding=0.02)
        self.setRange(yRange=(0.0, float(both.max()) or 1.0), padding=0.06)

    def go_on(self, n_steps: int, split: float, merge: float) -> None:
        """Let what is shown go on to the errors of a later state.

        Parameters
        ----------
        n_steps : int
            Decisions that stand by then; nothing happens if the curve reaches so far.
        split, merge : float
            In bits.
        """
        if self.curve is not None and n_steps > self.curve.n_steps[-1]:
            self.show_curve(self.curve.with_point(n_steps, split, merge))

    def mark(self, n_steps: int | None) -> None:
        """Mark the step that is shown."""
        self._marker.setVisible(n_steps is not None)
        if n_steps is not None:
            self._marker.setPos(n_steps)


class ScorePlot(ThemedPlot):
    """How many actions have which score, and the threshold as a line to drag."""

    threshold_dragged = Signal(float)

    def __init__(self, viewer: Any) -> None:
        super().__init__(viewer, "score of the merges left", "merges", HEIGHTS)
        self.setToolTip("Scores of what may still be merged, counted on a logarithmic scale.")
        self.getAxis("left").setTicks([[(log1p(n), text) for n, text in COUNTS.items()], []])
        # In a low plot the counts would lie on each other.
        small = QFont()
        small.setPointSizeF(SMALL_POINTS)
        self.getAxis("left").setStyle(tickFont=small)
        self._bars = {
            name: self.plot(
                stepMode="center", fillLevel=0, pen=None, brush=pg.mkBrush(OKABE_ITO[name] + "B0")
            )
            for name in ("sky", "grey")
        }
        self.line = pg.InfiniteLine(angle=90, movable=True, hoverPen=self.pen("vermilion", width=4))
        self.line.setToolTip("Drag to change where a run stops.")
        self.keep_dressed(self.line, "vermilion")
        self.addItem(self.line, ignoreBounds=True)
        self.line.sigDragged.connect(lambda line: self.threshold_dragged.emit(float(line.value())))
        self.line.sigPositionChangeFinished.connect(lambda line: self.show_threshold(float(line.value())))
        self._edges, self._heights = np.linspace(-1, 1, N_BINS + 1), np.zeros(N_BINS)

    def start(self, scores: np.ndarray, threshold: float) -> None:
        """Choose the range by the first scores, so that it stays while scores change.

        Parameters
        ----------
        scores : ndarray of float64
            Scores of the actions that may be taken.
        threshold : float
            Where a run stops.
        """
        self._fit(scores, threshold)
        self.show_scores(scores)
        self.show_threshold(threshold)

    def _fit(self, scores: np.ndarray, threshold: float) -> None:
        ends = np.percentile(scores, (0.5, 99.5)) if len(scores) else np.array([-1.0, 1.0])
        low, high = min(ends[0], threshold), max(ends[1], threshold)
        margin = 0.05 * (high - low) or 1.0
        self._edges = np.linspace(low - margin, high + margin, N_BINS + 1)
        self.setXRange(self._edges[0], self._edges[-1], padding=0)

    def show_scores(self, scores: np.ndarray) -> None:
        """Count the scores; those beyond the ends go into the first and last bar.

        Where many would, as after a reset of a run that had gone on at its end, the range is chosen anew.
        """
        is_beyond = (scores < self._edges[0]) | (scores > self._edges[-1])
        if is_beyond.sum() > MOST_BEYOND * len(scores) and not self.line.moving:
            self._fit(scores, float(self.line.value()))
        inside = np.clip(scores, self._edges[0], self._edges[-1])
        # Logarithmic, for a few merges that matter stand beside thousands that change nothing.
        self._heights = np.log1p(np.histogram(inside, self._edges)[0])
        self.setYRange(0, max(1.0, float(self._heights.max())), padding=0.02)
        self._draw()

    def show_threshold(self, threshold: float) -> None:
        """Move the line."""
        if self.line.value() != threshold:
            self.line.setValue(threshold)
        is_outside = not self._edges[0] <= threshold <= self._edges[-1]
        # Another scale under the mouse would let the line jump.
        if is_outside and not self.line.moving:
            low, high = min(self._edges[0], threshold), max(self._edges[-1], threshold)
            self.setXRange(low, high, padding=0.03)
        self._draw()

    def _draw(self) -> None:
        """Colour the bars by the side of the line that they lie on."""
        is_below = self._edges[1:] <= self.line.value()
        self._bars["sky"].setData(self._edges, np.where(is_below, self._heights, 0.0))
        self._bars["grey"].setData(self._edges, np.where(is_below, 0.0, self._heights))

    @property
    def n_shown(self) -> int:
        """Number of actions that the bars stand for."""
        return round(float(np.expm1(self._heights).sum()))
