"""Plots in the colours of the viewer's theme."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

import pyqtgraph as pg
from napari.utils.theme import get_theme
from qtpy.QtGui import QColor

from napari_celis.gui.plots import LivePlot
from napari_celis.gui.widgets import OKABE_ITO

ON_DARK = {"blue": OKABE_ITO["sky"], "ink": "#FFFFFF"}
ON_LIGHT = {"orange": "#B36B00", "sky": OKABE_ITO["blue"], "yellow": "#8F8500", "ink": "#222222"}
"""Colours of Okabe and Ito that are too faint on one of the backgrounds, and what stands in for them."""


class ThemedPlot(LivePlot):
    """A plot of curves that changes colours with the viewer.

    Parameters
    ----------
    viewer : Viewer
        Its theme counts.
    x_title, y_title : str
        What the axes show.
    height : int
        In pixels; the width is that of the panel.
    """

    def __init__(self, viewer: Any, x_title: str, y_title: str, height: int = 170) -> None:
        super().__init__(x_title, y_title)
        self._viewer = viewer
        self._dressed: list[tuple[Any, str, dict[str, Any]]] = []
        self.setFixedHeight(height)
        self.getPlotItem().setContentsMargins(0, 4, 8, 0)
        for side in ("left", "bottom"):
            # Otherwise 0.8 becomes 800 with a small print on the axis.
            self.getAxis(side).enableAutoSIPrefix(False)
        viewer.events.theme.connect(self._on_theme)
        self.dress()

    def pen(self, colour: str, **options: Any) -> Any:
        """Make a pen in a colour, by its name, that shows up on the background."""
        return pg.mkPen(self.colour(colour), **{"width": 2, **options})

    def colour(self, name: str) -> QColor:
        """Find a colour by name: "ink", or one of Okabe and Ito."""
        is_dark = get_theme(self._viewer.theme).type == "dark"
        return QColor((ON_DARK if is_dark else ON_LIGHT).get(name) or OKABE_ITO[name])

    def keep_dressed(self, item: Any, colour: str, **options: Any) -> None:
        """Draw a curve in a colour, now and after a change of theme."""
        self._dressed.append((item, colour, options))
        item.setPen(self.pen(colour, **options))

    def fit(self, x: Sequence[float], y: Sequence[float]) -> None:
        """Show the range of these values; the plot does not look for it itself."""
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
        """Take over the colours of the theme."""
        theme = get_theme(self._viewer.theme)
        self.set_colours(theme.text.as_hex(), theme.background.as_hex())
        for item, colour, options in self._dressed:
            item.setPen(self.pen(colour, **options))

    def close_plot(self) -> None:
        """Stop listening to the viewer."""
        self._viewer.events.theme.disconnect(self._on_theme)

    def _on_theme(self, event: Any = None) -> None:
        self.dress()
