"""The panel at its default width in two windows: nothing is cut off, and messages can be read to the end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from napari.layers import Layer
from qtpy.QtCore import QPoint
from qtpy.QtWidgets import QAbstractItemView, QAbstractScrollArea, QGraphicsView, QWidget

from gui.patience import be_patient
from napari_celis.gui.layers.samples import phantom_model
from napari_celis.gui.layers.volume_layers import KINDS, volume_to_layer
from napari_celis.gui.plugin.panel import TABS, WIDTH
from napari_celis.gui.plugin.viewer_window import dock_panel
from napari_celis.io.samples import sample_volumes

SIZES = ((1280, 800), (1600, 1000))
LARGE = {
    "Merges": "1,234,567",
    "Segments": "1,234,567",
    "Last score": "−12.345",
    "Next score": "−12.345",
    "Energy": "123,456,789",
    "Merges / s": "10,000",
}
"""Figures of a run over a large volume."""
LONG = "A sentence that goes on and on, with a reason and a way out. " * 5


def left_and_right(widget):
    left = widget.mapToGlobal(QPoint(0, 0)).x()
    return left, left + widget.width()


def views_around(widget, panel):
    """List the panel and the parts of scroll areas that a widget lies in; None for a cell or a plot."""
    around = [panel]
    while widget is not panel:
        parent = widget.parentWidget()
        if isinstance(parent, QAbstractScrollArea) and parent.viewport() is widget:
            if isinstance(parent, (QAbstractItemView, QGraphicsView)):
                return None
            around.append(widget)
        widget = parent
    return around


def cut_off(panel):
    """Name the visible widgets that reach out of the panel or of what scrolls, or overlap its edge."""
    found = []
    for widget in panel.findChildren(QWidget):
        around = views_around(widget, panel) if widget.isVisible() else None
        for view in around or ():
            (left, right), (begin, end) = left_and_right(widget), left_and_right(view)
            if left < begin or right > end:
                text = widget.text() if hasattr(widget, "text") else ""
                found.append((type(widget).__name__, text, right - end))
    return found


def look_everywhere(panel, qtbot):
    """Open every tab and every page, and name what is cut off there."""
    found = {}

    def look(name):
        qtbot.wait(20)
        panel.layout().activate()
        assert panel.width() == WIDTH, name
        if cut := cut_off(panel):
            found[name] = cut

    for title in TABS:
        panel.show_tab(title)
        look(title)
        pages = {"Decisions": "tabs", "Shape": "form"}.get(title)
        if pages:
            pages = getattr(panel.tab(title), pages)
            pages = getattr(pages, "more", pages)
            for index in range(pages.count()):
                pages.setCurrentIndex(index)
                look(f"{title}, {pages.tabText(index)}")
            pages.setCurrentIndex(0)
    return found


@pytest.fixture
def panel(our_plugin, make_napari_viewer, qtbot):
    """The panel at its default width, on a corner of the sample and its model."""
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    for role, volume in sample_volumes().items():
        corner = replace(volume, data=volume.read()[:32, :64, :64])
        viewer.add_layer(Layer.create(*volume_to_layer(corner, KINDS[role])))
    panel = dock_panel(viewer, phantom_model())
    viewer.window._qt_window.resize(*SIZES[0])
    qtbot.waitUntil(lambda: panel.isVisible() and panel.width() == WIDTH)
    workspace = panel.workspace
    qtbot.waitUntil(lambda: workspace.data.model is not None and not workspace.preparation.is_busy)
    yield panel
    viewer.close()


def test_nothing_is_cut_off_at_the_default_width(panel, qtbot):
    workspace, window = panel.workspace, panel.workspace.viewer.window._qt_window

    def look_in_both_windows():
        for size in SIZES:
            window.resize(*size)
            assert look_everywhere(panel, qtbot) == {}, size

    look_in_both_windows()
    panel.show_tab("Agglomerate")
    with qtbot.waitSignal(workspace.run.finished, timeout=60_000):
        workspace.preparation.prepare(and_then=lambda engine: engine.run())
    qtbot.waitUntil(lambda: len(workspace.decisions.order.open_actions()) > 0)
    form = panel.tab("Agglomerate").form
    form.plot_choice.setCurrentIndex(1)
    for name, text in LARGE.items():
        form.figures.show_value(name, text)
    workspace.run.engine.switch_learning(is_on=True)
    workspace.run.engine.go_on_after_answers(is_on=True)
    workspace.decisions.next_uncertain()
    qtbot.waitUntil(lambda: len(workspace.selection.supervoxels) == 2)
    look_in_both_windows()


def test_a_long_message_can_be_read_to_its_end(panel, qtbot):
    place = panel.messages
    line = place.status.fontMetrics().lineSpacing()
    for sentence in (LONG, "Short."):
        panel.workspace.messages.say(sentence, "warning")
        qtbot.wait(20)
        viewport, status = place.viewport(), place.status
        assert status.height() >= status.heightForWidth(status.width()), "no line is squeezed"
        bar = place.verticalScrollBar()
        assert bar.isVisible() == (sentence == LONG)
        # Whole lines below the upper edge of the frame: none is cut through.
        assert viewport.height() >= 3 * line + 8
        bar.setValue(bar.maximum())
        bottom = status.mapTo(viewport, QPoint(0, status.height())).y()
        assert bottom <= viewport.height()
        assert status.toolTip() == sentence
    panel.workspace.messages.clear()
    panel.messages.show_help(LONG)
    qtbot.wait(20)
    assert place.help.height() >= place.help.heightForWidth(place.help.width())
