"""Small plots in the colours of the viewer's theme that cannot be zoomed by accident."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import pyqtgraph as pg
from napari.utils.theme import get_theme
from qtpy.QtCore import QSize, Signal
from qtpy.QtGui import QColor
from qtpy.QtWidgets import QLabel, QWidget

from napari_celis.gui.qt.colours import readable

AXIS_WIDTH = 62
UNITS = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
"""From which number on which unit is written, and how much it is."""


class ShortAxis(pg.AxisItem):
    """An axis whose numbers never run into its title: 200000 is written 200k."""

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:  # noqa: N802
        """Write the numbers; all of them with the unit of the largest."""
        largest = max((abs(value) for value in values), default=0.0)
        size, unit = next(((size, unit) for least, size, unit in UNITS if largest >= least), (1.0, ""))
        texts: list[str] = super().tickStrings([value / size for value in values], scale, spacing / size)
        return ["0" if float(text) == 0 else f"{text}{unit}".replace("-", "−") for text in texts]


class ThemedPlot(pg.PlotWidget):
    """A plot of curves that changes colours with the viewer.

    Parameters
    ----------
    viewer : Viewer
        Its theme counts.
    x_title, y_title : str
        What the axes show.
    heights : tuple of int
        The least and the greatest height in pixels; the width is that of the panel.
    """

    dressed = Signal()
    """The colours are others."""

    def __init__(self, viewer: Any, x_title: str, y_title: str, heights: tuple[int, int]) -> None:
        super().__init__(background=None, axisItems={side: ShortAxis(side) for side in ("left", "bottom")})
        self._viewer = viewer
        self._dressed: list[tuple[Any, str, dict[str, Any]]] = []
        self.setMinimumSize(100, heights[0])
        self.setMaximumHeight(heights[1])
        self.setMenuEnabled(False)
        self.hideButtons()
        # Ranges are set by hand: to find them while painting costs a second painting of the whole window.
        self.disableAutoRange()
        self.setMouseEnabled(x=False, y=False)
        self.getPlotItem().setContentsMargins(0, 6, 8, 4)
        self.getAxis("left").setWidth(AXIS_WIDTH)
        for side, title in (("bottom", x_title), ("left", y_title)):
            self.setLabel(side, title)
            # Otherwise 0.8 becomes 800 with a small print on the axis.
            self.getAxis(side).enableAutoSIPrefix(False)
        viewer.events.theme.connect(self._on_theme)
        self.dress()

    def pen(self, colour: str, **options: Any) -> Any:
        """Make a pen in a colour, by its name, that shows up on the background."""
        return pg.mkPen(self.colour(colour), **{"width": 2, **options})

    def colour(self, name: str) -> QColor:
        """Find a colour by name: "ink", or one of Okabe and Ito."""
        return readable(name, self._viewer.theme)

    def keep_dressed(self, item: Any, colour: str, **options: Any) -> None:
        """Draw a curve in a colour, now and after a change of theme.

        Parameters
        ----------
        item : PlotDataItem or InfiniteLine
            What is drawn.
        colour : str
            As in `OKABE_ITO`, or "ink".
        **options : dict
            For the pen, such as `width`.
        """
        self._dressed.append((item, colour, options))
        item.setPen(self.pen(colour, **options))

    def fit(self, x: Sequence[float], y: Sequence[float]) -> None:
        """Show the range of these values; the plot does not look for it itself.

        Parameters
        ----------
        x, y : sequence of float
            Values that are not finite do not count.
        """
        for axis, values in (("xRange", x), ("yRange", y)):
            finite = [value for value in values if isfinite(value)]
            low, high = min(finite, default=0.0), max(finite, default=1.0)
            # A single value lies in the middle.
            room = 0.0 if high > low else 0.5 * abs(low) or 0.5
            self.setRange(**{axis: (low - room, high + room)}, padding=0.04)

    def forget(self) -> None:
        """Remove all curves."""
        self._dressed.clear()
        self.getPlotItem().clear()

    def dress(self) -> None:
        """Take over the colours of the theme; a background that is left to Qt keeps those of the last one."""
        theme = get_theme(self._viewer.theme)
        self.setBackground(theme.background.as_hex())
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(theme.text.as_hex())
            axis.setTextPen(theme.text.as_hex())
        for item, colour, options in self._dressed:
            item.setPen(self.pen(colour, **options))
        self.dressed.emit()

    def close_plot(self) -> None:
        """Stop listening to the viewer."""
        self._viewer.events.theme.disconnect(self._on_theme)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Ask for little and take what the window leaves: what Qt asks for makes the whole tab scroll."""
        return self.minimumSize()

    def wheelEvent(self, event: Any) -> None:  # noqa: N802
        """Leave the wheel to the tab, which scrolls."""
        event.ignore()

    def _on_theme(self, event: Any = None) -> None:
        self.dress()


class CurveLegend(QLabel):
    """Says in one line which curve has which colour.

    Parameters
    ----------
    plot : ThemedPlot
        Whose curves they are.
    colours : mapping of str to str
        Colour of every curve, by what it shows.
    """

    def __init__(self, plot: ThemedPlot, colours: Mapping[str, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._plot, self._colours = plot, dict(colours)
        plot.dressed.connect(self._write)
        self._write()

    def _write(self) -> None:
        chips = (
            f'<span style="color:{self._plot.colour(colour).name()}">■</span> {name}'
            for name, colour in self._colours.items()
        )
        self.setText("&nbsp; ".join(chips))
