"""Layers of the shape tab lie where the supervoxels lie, and come and go with the tab."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import QPointF

from gui.conftest import SHAPE
from gui.tabs.shape.conftest import (
    SCALES,
    add_supervoxels,
    colours_of,
    go,
    ours,
    show_only,
    wait_for_answer,
)
from napari_celis.core.lattice import Lattice
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.shape.descriptor_view import DISCONNECTED, DescriptorView, pairs_to_draw
from napari_celis.gui.tabs.shape.shape_layers import BOXES, COMPONENTS, PAIRS, ZONES
from napari_celis.gui.tabs.shape.shape_tab import ShapeTab

# The layers.


def test_overlays_come_and_go_without_touching_the_choice_of_layer(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    viewer = tab.workspace.viewer
    chosen = viewer.layers["segmentation"]
    viewer.layers.selection.active = chosen
    ranges = viewer.dims.range
    show_only(tab)
    assert not ours(tab)
    for key, name in [("pairs", PAIRS), ("tiling", BOXES), ("components", COMPONENTS), ("zones", ZONES)]:
        tab.form.overlays[key].setChecked(True)
        wait_for_answer(qtbot, tab)
        assert name in ours(tab)
        assert viewer.layers.selection.active is chosen
    assert [layer.name for layer in viewer.layers][-4:] == [COMPONENTS, ZONES, BOXES, PAIRS]
    assert viewer.dims.range == ranges
    view = tab.answer.view
    np.testing.assert_array_equal(ours(tab)[COMPONENTS].data, view.components)
    np.testing.assert_array_equal(ours(tab)[ZONES].data, view.zones)
    assert f"{view.zones.max()} groups" in tab.form.note.text()
    viewer.layers.remove(PAIRS)
    assert not tab.form.overlays["pairs"].isChecked()
    viewer.layers.remove(BOXES)
    assert not tab.form.overlays["tiling"].isChecked()
    n_layers = len(viewer.layers)
    show_only(tab)
    assert not ours(tab)
    # Hidden, not removed: to make them again would take a second each.
    tab.form.overlays["components"].setChecked(True)
    assert set(ours(tab)) == {COMPONENTS}
    assert len(viewer.layers) == n_layers


@pytest.mark.parametrize("scale", SCALES)
def test_layers_lie_where_the_supervoxels_lie(make_tab, qtbot, scale):
    tab = make_tab(scale=scale, translate=(80, -8, 3), rotate=(0, 0, 20))
    layer = tab.workspace.data.supervoxels_layer
    show_only(tab, "pairs", "region", "components", "zones")
    view = wait_for_answer(qtbot, tab)
    layers = ours(tab)
    np.testing.assert_allclose(
        layers[COMPONENTS].data_to_world((0, 1, 2)), layer.data_to_world(view.region.low + np.arange(3))
    )
    centres = view.region.centres()
    last = np.array(view.zones.shape) - 1
    np.testing.assert_allclose(layers[ZONES].data_to_world((0, 0, 0)), layer.data_to_world(centres[0]))
    np.testing.assert_allclose(layers[ZONES].data_to_world(last), layer.data_to_world(centres[-1]))
    start = layers[PAIRS].data[0, 0]
    np.testing.assert_allclose(layers[PAIRS].data_to_world(start), layer.data_to_world(start))
    assert layers[PAIRS].units == layer.units


@pytest.mark.parametrize("scale", SCALES)
def test_lines_follow_the_slice_and_the_third_dimension(make_tab, qtbot, scale):
    tab = make_tab(scale=scale)
    layer, viewer = tab.workspace.data.supervoxels_layer, tab.workspace.viewer
    show_only(tab, "pairs", "box")
    view = go(qtbot, tab, (5, 9, 9))
    assert view.centre == (5, 9, 9)

    def move_to(axis, place):
        viewer.dims.set_point(axis, layer.data_to_world([place] * 3)[axis])
        with qtbot.waitSignal(tab._redraw.timeout, raising=False, timeout=500):
            pass

    move_to(0, 4)
    pairs, boxes = ours(tab)[PAIRS], ours(tab)[BOXES]
    assert (pairs.data[:, 0, 0] == 4).all()
    assert (pairs.data[:, 1, 0] == 0).all()
    assert len(boxes.data) == 4
    np.testing.assert_array_equal(np.unique(boxes.data[:, 0, 1]), [4.5, 13.5])
    move_to(0, 0)
    assert not pairs.visible
    viewer.dims.order = (1, 0, 2)
    move_to(1, 12)
    assert pairs.visible
    assert (pairs.data[:, 0, 1] == 12).all()
    viewer.dims.ndisplay = 3
    qtbot.waitUntil(lambda: len(boxes.data) == 12)
    ends = view.ends[pairs_to_draw(view, 64)]
    expected = {tuple(end) for end in ends[:, 0]}
    assert {tuple(start) for start in pairs.data[:, 0].astype(int)} == expected
    assert DISCONNECTED not in colours_of(pairs)


def test_tiling_shows_every_region_border_in_the_slice(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    show_only(tab, "tiling")
    wait_for_answer(qtbot, tab)
    lattice = Lattice.of(SHAPE, tab.form.spec)
    lines = ours(tab)[BOXES].data
    rows = np.unique(lines[lines[:, 1, 2] > 0][:, 0, 1])
    np.testing.assert_array_equal(rows, np.unique(np.clip(lattice.edges(1) - 0.5, 0, SHAPE[1] - 1)))
    tab.workspace.viewer.dims.ndisplay = 3
    qtbot.waitUntil(
        lambda: len(ours(tab)[BOXES].data) == 12 * len(lattice.neighbours(tab.answer.view.region))
    )


def test_lines_stay_equally_thick_when_the_view_is_zoomed(make_tab, qtbot):
    tab = make_tab(scale=(4, 2, 2))
    camera = tab.workspace.viewer.scene.camera
    camera.zoom = 4
    width = ours(tab)[PAIRS].edge_width
    camera.zoom = 8
    assert ours(tab)[PAIRS].edge_width == pytest.approx(width / 2)


def test_another_tab_in_front_takes_the_layers_away(make_tab, qtbot):
    tab = make_tab()
    tab.form.pick.setChecked(True)
    tab.hide()
    assert not ours(tab)
    assert not tab.form.pick.isChecked()
    tab.show()
    qtbot.waitUntil(lambda: PAIRS in ours(tab), timeout=10000)


# Playing, looking along, ending.


def test_line_is_played_centre_by_centre_and_stops_at_its_end(make_tab, qtbot):
    tab = make_tab()
    line, seen = tab.form.line, []
    assert not line.play.isEnabled()
    go(qtbot, tab, (5, 6, 6))
    line.set_buttons["A"].click()
    go(qtbot, tab, (6, 6, 10))
    line.set_buttons["B"].click()
    expected = tab.lattice.centres_between((5, 6, 6), (6, 6, 10))
    assert line.centres == expected
    assert len(expected) == 5
    tab.inspector.seen.connect(lambda answer: seen.append(answer.view.centre))
    line.play.click()
    assert line.play.text() == "Stop"
    qtbot.waitUntil(lambda: not line.play.isChecked(), timeout=20000)
    assert seen == expected[1:]
    assert line.count.text() == "5 of 5"
    line.slider.setValue(2)
    assert wait_for_answer(qtbot, tab).centre == expected[2]
    line.play.click()
    line.play.click()
    assert line.play.text() == "Play"


def test_view_moves_along_only_when_asked(make_tab, qtbot):
    tab = make_tab()
    viewer = tab.workspace.viewer
    go(qtbot, tab, (5, 6, 6))
    tab.form.line.set_buttons["A"].click()
    go(qtbot, tab, (7, 6, 6))
    tab.form.line.set_buttons["B"].click()
    tab.form.line.follow.setChecked(False)
    place = viewer.dims.point[0]
    tab.form.line.slider.setValue(2)
    assert viewer.dims.point[0] == place
    tab.form.line.follow.setChecked(True)
    tab.form.line.slider.setValue(1)
    assert viewer.dims.point[0] == 6


def test_drawing_looks_along_every_axis(make_tab, qtbot):
    tab = make_tab(scale=(40, 4, 4))
    pictures = []
    for axis in range(3):
        tab.form.axis_box.setCurrentIndex(axis)
        assert tab.form.drawing.axis == axis
        pictures.append(tab.form.drawing.grab().toImage())
    assert pictures[0] != pictures[1]
    assert tab.form.drawing.height() == tab.form.drawing.heightForWidth(tab.form.drawing.width())


def test_everything_fits_the_width_of_the_panel(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    for end in ("A", "B"):
        tab.form.line.set_buttons[end].click()
    tab.workspace.selection.select(1, 2)
    wait_for_answer(qtbot, tab)
    assert tab.form.find_merge.isVisible()
    assert tab.minimumSizeHint().width() <= 370


def test_empty_drawing_shows_its_sentence(qtbot):
    drawing = DescriptorView()
    qtbot.addWidget(drawing)
    drawing.resize(360, 300)
    empty = drawing.grab().toImage()
    drawing.show_view(None, message="Nothing to see here.")
    assert drawing.grab().toImage() != empty
    assert drawing.describe(QPointF(10, 10)) == ""


def test_nothing_is_left_behind_when_the_viewer_closes(make_tab, qtbot):
    tab = make_tab()
    tab.form.overlays["zones"].setChecked(True)
    for place in range(4, 12):
        tab.go_to((5, 9, place))
    tab.workspace.dispose()
    names = [thread.name for thread in threading.enumerate()]
    assert "celis shape" not in names


def test_deleted_tab_leaves_the_viewer_in_peace(qtbot):
    viewer = ViewerModel()
    add_supervoxels(viewer)
    tab = ShapeTab(Workspace.of(viewer))
    with qtbot.waitSignal(tab.destroyed):
        tab.deleteLater()
    viewer.dims.ndisplay = 3
    viewer.dims.ndisplay = 2
    viewer.scene.camera.zoom = 3
    viewer.layers.clear()
    Workspace.of(viewer).dispose()
