"""Colours and axes of the plots."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtGui import QColor

from napari_celis.gui.qt.colours import OKABE_ITO, readable
from napari_celis.gui.qt.themed_plot import CurveLegend, ShortAxis, ThemedPlot
from napari_celis.gui.tabs.agglomerate.plots import ERROR_CURVES, ErrorPlot, ScorePlot

BACKGROUNDS = {"dark": "#262930", "light": "#EFEBE9"}


def luminance(colour):
    parts = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.getRgbF()[:3]
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize("theme", BACKGROUNDS)
@pytest.mark.parametrize("name", [*OKABE_ITO, "ink"])
def test_every_colour_stands_out_from_the_background(qtbot, theme, name):
    ground = luminance(QColor(BACKGROUNDS[theme]))
    bright, dull = sorted((luminance(readable(name, theme)), ground), reverse=True)
    # What WCAG asks of graphics.
    assert (bright + 0.05) / (dull + 0.05) >= 3


@pytest.mark.parametrize(
    ("values", "spacing", "texts"),
    [
        ([-1_500_000, -500_000, 0], 500_000, ["−1.5M", "−0.5M", "0"]),
        ([0, 200_000, 400_000], 200_000, ["0", "200k", "400k"]),
        ([-400, 0, 800], 400, ["−400", "0", "800"]),
        ([0, 1000, 2000], 1000, ["0", "1000", "2000"]),
        ([0.0, 0.5, 1.0], 0.5, ["0", "0.5", "1.0"]),
        ([], 1, []),
    ],
)
def test_numbers_of_an_axis_stay_short(qtbot, values, spacing, texts):
    assert ShortAxis("left").tickStrings(values, 1, spacing) == texts


def test_curves_change_colour_with_the_theme(qtbot):
    viewer = ViewerModel()
    plot = ThemedPlot(viewer, "time", "energy", (80, 120))
    qtbot.addWidget(plot)
    curve = plot.plot([0, 1], [0, 1])
    plot.keep_dressed(curve, "sky")
    viewer.theme = "light"
    assert curve.opts["pen"].color() == readable("sky", "light")
    viewer.theme = "dark"
    assert curve.opts["pen"].color() == readable("sky", "dark")
    plot.close_plot()


def test_the_legend_has_the_colours_of_the_curves_in_every_theme(qtbot):
    viewer = ViewerModel()
    plot = ErrorPlot(viewer)
    legend = CurveLegend(plot, ERROR_CURVES)
    for widget in (plot, legend):
        qtbot.addWidget(widget)
    for theme in BACKGROUNDS:
        viewer.theme = theme
        for name, curve in plot._curves.items():
            assert f'color:{curve.opts["pen"].color().name()}">■</span> {name}' in legend.text()
    plot.close_plot()


def test_the_histogram_names_its_counts(qtbot):
    viewer = ViewerModel()
    plot = ScorePlot(viewer)
    qtbot.addWidget(plot)
    plot.start(np.full(100, 0.5), 0.0)
    ticks = {text: place for place, text in plot.getAxis("left")._tickLevels[0]}
    assert ticks["100"] == pytest.approx(plot._heights.max())
    plot.close_plot()


def test_the_histogram_takes_another_range_when_many_scores_lie_beyond_it(qtbot):
    plot = ScorePlot(ViewerModel())
    qtbot.addWidget(plot)
    plot.start(np.linspace(1, 7, 200), 0.0)
    edges = plot._edges
    # A few beyond the ends change nothing.
    plot.show_scores(np.append(np.linspace(1, 7, 200), -9.0))
    assert plot._edges is edges
    # As after a reset: what was merged may be merged again.
    scores = np.linspace(-9, 7, 400)
    plot.show_scores(scores)
    assert plot._edges[0] < -8.9
    assert plot.n_shown == 400
    assert plot._heights[0] < np.log1p(20)
    plot.close_plot()
