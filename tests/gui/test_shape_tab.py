"""What the shape tab draws is what the agglomeration computes with, wherever the layers lie."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from napari.components import ViewerModel
from napari.layers import Labels
from qtpy.QtCore import QPoint, QPointF, Qt
from qtpy.QtTest import QTest

from gui.conftest import SHAPE, block_labels, small_agglomerator
from gui.patience import PATIENCE_MS
from napari_celis.core.descriptors import shape_descriptors, unpack_bits
from napari_celis.core.lattice import Lattice
from napari_celis.gui.descriptor_view import CHANGED, CONNECTED, DISCONNECTED, DescriptorView, pairs_to_draw
from napari_celis.gui.engine import Engine
from napari_celis.gui.shape_layers import BOXES, COMPONENTS, PAIRS, ZONES
from napari_celis.gui.shape_tab import HELP, MODE, ShapeTab
from napari_celis.gui.workspace import Workspace

SCALES = [(1, 1, 1), (4, 1, 1), (40, 4, 4)]
FIRST_ID = 1 << 33
"""Id of the supervoxel with dense index 0, if there were one."""


def add_supervoxels(viewer, data=None, **settings):
    layer = Labels(block_labels() if data is None else data, name="supervoxels", **settings)
    return viewer.add_layer(layer)


@pytest.fixture
def make_tab(qtbot):
    """Make tabs on viewers without a window."""
    # Kept until the end: a window that nobody refers to may be deleted while it is painted.
    tabs = []

    def make(*, is_scored=False, **settings):
        viewer = ViewerModel()
        add_supervoxels(viewer, **settings)
        workspace = Workspace.of(viewer)
        tab = ShapeTab(workspace)
        tabs.append(tab)
        qtbot.addWidget(tab)
        if is_scored:
            agglomerator = small_agglomerator()
            workspace.use_engine(Engine(agglomerator, 0.0, parent=workspace), agglomerator.supervoxels)
        tab.resize(400, 900)
        tab.show()
        wait_for_answer(qtbot, tab)
        return tab

    yield make
    for tab in tabs:
        tab.workspace.dispose()


def wait_for_answer(qtbot, tab):
    """Wait until what is shown is what was asked for."""

    def is_shown():
        if tab.answer is None or (tab.workspace.engine is not None and tab.spec.name != "small"):
            return False
        request = tab.answer.request
        with_zones = tab.overlays["zones"].isChecked()
        is_asked = (request.lattice, request.centre, request.pair, request.with_zones)
        return is_asked == (tab.lattice, tab.centre, tab.pair, with_zones)

    qtbot.waitUntil(is_shown, timeout=PATIENCE_MS)
    return tab.answer.view


def go(qtbot, tab, position):
    tab.go_to(position)
    return wait_for_answer(qtbot, tab)


def ours(tab):
    """List our layers that are shown."""
    layers = [layer for layer in tab.workspace.viewer.layers if layer.name.startswith("celis: ")]
    return {layer.name: layer for layer in layers if layer.visible}


def show_only(tab, *keys):
    for key, check in tab.overlays.items():
        check.setChecked(key in keys)


def colours_of(layer):
    return ["#" + "".join(f"{round(255 * c):02X}" for c in row[:3]) for row in layer.edge_color]


# The numbers.


def test_without_a_model_the_specs_of_the_paper_look_at_the_supervoxels(make_tab, qtbot):
    tab = make_tab()
    names = [tab.spec_box.itemData(index).name for index in range(tab.spec_box.count())]
    assert names == ["pairwise9", "pairwise17", "pairwise33", "center17", "center33"]
    for position in [(5, 9, 9), (4, 12, 6)]:
        view = go(qtbot, tab, position)
        bits = shape_descriptors(block_labels(), np.array([tab.centre]), tab.spec)
        np.testing.assert_array_equal(view.before, unpack_bits(bits, tab.spec.n_bits)[0])
        assert tab.drawing.view is view
        assert f"Centre {tab.centre}" in tab.note.text()


def test_before_and_after_are_those_of_the_score(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.select(1, 2)
    with qtbot.waitSignal(tab.inspector.found):
        tab.find_merge.click()
    view = wait_for_answer(qtbot, tab)
    agglomerator = tab.workspace.engine.agglomerator
    [changes] = agglomerator.scores_by_centre(agglomerator.actions.find(1, 2))
    here = np.flatnonzero((changes.centres == tab.centre).all(axis=1))
    assert here == [np.abs(changes.changes).argmax()]
    np.testing.assert_array_equal(view.before, unpack_bits(changes.before[here], 64)[0])
    np.testing.assert_array_equal(view.after, unpack_bits(changes.after[here], 64)[0])
    assert tab.drawing.is_compared
    assert f"turns on {view.changed.sum()} bits" in tab.merge_text.text()
    tab.forget_merge.click()
    wait_for_answer(qtbot, tab)
    assert tab.workspace.selected == ()
    assert not tab.drawing.is_compared
    assert not tab.find_merge.isVisible()


def test_strip_and_lines_have_the_colours_of_the_bits(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.select(1, 2)
    with qtbot.waitSignal(tab.inspector.found):
        tab.find_merge.click()
    view = wait_for_answer(qtbot, tab)
    picture = tab.drawing.grab().toImage()
    cells = tab.drawing._cells
    assert len(cells) == 128
    for index, (cell, bit) in enumerate(cells):
        is_new = index >= 64 and view.changed[bit]
        is_on = (view.after if index >= 64 else view.before)[bit]
        expected = CHANGED if is_new else CONNECTED if is_on else DISCONNECTED
        assert picture.pixelColor(cell.center().toPoint()).name().upper() == expected
    a, b = (tuple(int(c) for c in end) for end in view.ends[3])
    assert tab.drawing.describe(cells[3][0].center()).startswith(f"Bit 3: {a} – {b}, ")
    assert tab.drawing.describe(QPointF(-5, -5)) == ""

    tab.n_pairs.setValue(64)
    colours = colours_of(ours(tab)[PAIRS])
    counts = [colours.count(colour) for colour in (CHANGED, CONNECTED, DISCONNECTED)]
    assert counts == [view.changed.sum(), view.before.sum(), (~view.after).sum()]
    tab.is_after.click()
    assert CHANGED not in colours_of(ours(tab)[PAIRS])


def test_half_of_the_pairs_drawn_are_changed_ones(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.select(1, 2)
    with qtbot.waitSignal(tab.inspector.found):
        tab.find_merge.click()
    view = wait_for_answer(qtbot, tab)
    assert view.changed.sum() >= 3
    for n_pairs, n_changed in [(1, 1), (4, 2), (6, 3)]:
        tab.n_pairs.setValue(n_pairs)
        drawn = pairs_to_draw(view, n_pairs)
        assert len(set(drawn)) == n_pairs == len(ours(tab)[PAIRS].data)
        assert view.changed[drawn].sum() == n_changed
    assert list(pairs_to_draw(view, 64)) == list(range(64))


def test_run_and_undo_change_what_is_shown(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    engine = tab.workspace.engine
    action = engine.snapshot.next_action
    before = go(qtbot, tab, engine.agglomerator.actions.centroid[action])
    engine.step()
    qtbot.waitUntil(lambda: tab.answer.view.before.sum() != before.before.sum(), timeout=10000)
    engine.undo()
    qtbot.waitUntil(lambda: tab.answer.view.before.sum() == before.before.sum(), timeout=10000)
    np.testing.assert_array_equal(tab.answer.view.before, before.before)


# The merge.


def test_row_of_the_table_chooses_the_merge(make_tab, qtbot):
    for is_scored in (False, True):
        tab = make_tab(is_scored=is_scored)
        table = tab.table
        assert table.actions.rowCount() == len(tab.answer.view.active) > 0
        text = table.actions.data(table.actions.index(0, 2))
        assert (text == "–") is not is_scored
        pair = tuple(int(end) for end in table.actions.ids[1])
        QTest.mouseClick(
            table.viewport(),
            Qt.MouseButton.LeftButton,
            pos=table.visualRect(table.actions.index(1, 0)).center(),
        )
        view = wait_for_answer(qtbot, tab)
        assert tab.pair == pair == tab.answer.merge
        assert view.joined is not None
        assert tab.drawing.is_compared
        if is_scored:
            assert tab.workspace.selected == tuple(end - FIRST_ID for end in pair)


def test_merge_that_cannot_be_is_explained_and_the_centre_still_shown(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.select(1, 48)
    wait_for_answer(qtbot, tab)
    assert "do not touch" in tab.merge_text.text()
    assert tab.drawing.view is not None
    tab.workspace.engine.merge(FIRST_ID + 1, FIRST_ID + 2)
    tab.workspace.select(1, 2)
    qtbot.waitUntil(lambda: "one segment already" in tab.merge_text.text(), timeout=10000)
    # A merge far from the centre changes nothing there.
    tab.workspace.select(47, 48)
    go(qtbot, tab, (2, 2, 2))
    assert "changes nothing" in tab.merge_text.text()


def test_chosen_supervoxels_that_are_elsewhere_are_explained(make_tab, qtbot):
    tab = make_tab()
    tab.table.chosen.emit((1, 2))
    wait_for_answer(qtbot, tab)
    assert "do not meet" in tab.merge_text.text()


# The position.


def test_positions_snap_and_say_so(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    assert tab.spec.stride_zyx == (2, 2, 2)
    go(qtbot, tab, (5, 8.9, 9.1))
    assert tab.centre == (4, 8, 10)
    assert [spin.value() for spin in tab.spins] == list(tab.centre)
    tab.spins[2].setValue(13)
    view = wait_for_answer(qtbot, tab)
    assert view.centre[2] in (12, 14)
    go(qtbot, tab, (0, 0, 19))
    assert tab.centre == (2, 2, 16)
    shown = tab.centre
    tab.go_to((0, 0, 30))
    assert tab.centre == shown
    assert "outside the volume" in tab.note.text()
    tab.cursor.picked.emit(None)
    assert "outside the volume" in tab.note.text()


def test_corner_says_that_the_box_would_leave(make_tab, qtbot):
    tab = make_tab()
    go(qtbot, tab, (0, 0, 0))
    assert tab.centre == (4, 4, 4)
    assert "would leave the volume" in tab.note.text()


def test_box_that_does_not_fit_and_missing_data_are_said(make_tab, qtbot):
    tab = make_tab()
    assert PAIRS in ours(tab)
    tab.spec_box.setCurrentIndex(2)
    assert "larger than the volume" in tab.drawing.message
    assert not ours(tab)
    assert not tab.pick.isEnabled()
    tab.spec_box.setCurrentIndex(0)
    wait_for_answer(qtbot, tab)
    assert tab.pick.isEnabled()
    tab.workspace.viewer.layers.remove("supervoxels")
    assert "Choose supervoxels" in tab.drawing.message
    assert not ours(tab)
    assert tab.spec_box.count() == 0
    tab.workspace.viewer.add_labels(np.ones((20, 20), dtype=int), name="flat supervoxels")
    assert "Choose supervoxels" in tab.drawing.message


def test_region_of_nothing_but_background_is_said(make_tab, qtbot):
    labels = block_labels()
    labels[:, :, 9:] = 0
    labels[0, 0, -1] = 7
    wide = np.concatenate([labels, np.zeros_like(labels)], axis=2)
    tab = make_tab(data=wide)
    tab.go_to((5, 9, 34))
    qtbot.waitUntil(lambda: "nothing but background" in tab.drawing.message, timeout=10000)
    assert not ours(tab)
    go(qtbot, tab, (5, 9, 5))
    assert PAIRS in ours(tab)


def test_painting_on_the_supervoxels_is_seen(make_tab, qtbot):
    tab = make_tab()
    before = go(qtbot, tab, (5, 9, 9)).before.sum()
    layer = tab.workspace.supervoxels_layer
    layer.data_setitem(np.nonzero(np.ones(SHAPE)), FIRST_ID + 1)
    qtbot.waitUntil(lambda: tab.answer.view.before.sum() == tab.spec.n_bits, timeout=10000)
    assert before < tab.spec.n_bits


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
        tab.overlays[key].setChecked(True)
        wait_for_answer(qtbot, tab)
        assert name in ours(tab)
        assert viewer.layers.selection.active is chosen
    assert [layer.name for layer in viewer.layers][-4:] == [COMPONENTS, ZONES, BOXES, PAIRS]
    assert viewer.dims.range == ranges
    view = tab.answer.view
    np.testing.assert_array_equal(ours(tab)[COMPONENTS].data, view.components)
    np.testing.assert_array_equal(ours(tab)[ZONES].data, view.zones)
    assert f"{view.zones.max()} zones" in tab.note.text()
    viewer.layers.remove(PAIRS)
    assert not tab.overlays["pairs"].isChecked()
    viewer.layers.remove(BOXES)
    assert not tab.overlays["tiling"].isChecked()
    n_layers = len(viewer.layers)
    show_only(tab)
    assert not ours(tab)
    # Hidden, not removed: to make them again would take a second each.
    tab.overlays["components"].setChecked(True)
    assert set(ours(tab)) == {COMPONENTS}
    assert len(viewer.layers) == n_layers


@pytest.mark.parametrize("scale", SCALES)
def test_layers_lie_where_the_supervoxels_lie(make_tab, qtbot, scale):
    tab = make_tab(scale=scale, translate=(80, -8, 3), rotate=(0, 0, 20))
    layer = tab.workspace.supervoxels_layer
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
    layer, viewer = tab.workspace.supervoxels_layer, tab.workspace.viewer
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
    lattice = Lattice.of(SHAPE, tab.spec)
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
    tab.pick.setChecked(True)
    tab.hide()
    assert not ours(tab)
    assert not tab.pick.isChecked()
    tab.show()
    qtbot.waitUntil(lambda: PAIRS in ours(tab), timeout=10000)


# Playing, looking along, ending.


def test_line_is_played_centre_by_centre_and_stops_at_its_end(make_tab, qtbot):
    tab = make_tab()
    line, seen = tab.line, []
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
    tab.line.set_buttons["A"].click()
    go(qtbot, tab, (7, 6, 6))
    tab.line.set_buttons["B"].click()
    tab.line.follow.setChecked(False)
    place = viewer.dims.point[0]
    tab.line.slider.setValue(2)
    assert viewer.dims.point[0] == place
    tab.line.follow.setChecked(True)
    tab.line.slider.setValue(1)
    assert viewer.dims.point[0] == 6


def test_drawing_looks_along_every_axis(make_tab, qtbot):
    tab = make_tab(scale=(40, 4, 4))
    pictures = []
    for axis in range(3):
        tab.axis_box.setCurrentIndex(axis)
        assert tab.drawing.axis == axis
        pictures.append(tab.drawing.grab().toImage())
    assert pictures[0] != pictures[1]
    assert tab.drawing.height() == tab.drawing.heightForWidth(tab.drawing.width())


def test_everything_fits_the_width_of_the_panel(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    for end in ("A", "B"):
        tab.line.set_buttons[end].click()
    tab.workspace.select(1, 2)
    wait_for_answer(qtbot, tab)
    assert tab.find_merge.isVisible()
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
    tab.overlays["zones"].setChecked(True)
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


# The mouse, in a real window.


@pytest.mark.parametrize(
    ("moved", "settings", "is_click"),
    [
        ((2, 1), {}, True),
        ((9, 0), {}, False),
        ((0, 0), {"button": 2}, False),
        ((0, 0), {"modifiers": ("Shift",)}, False),
    ],
)
def test_only_a_plain_click_picks(make_tab, moved, settings, is_click):
    tab = make_tab()
    viewer, picked = tab.workspace.viewer, []
    tab.cursor.picked.connect(picked.append)
    before = list(viewer.mouse_drag_callbacks)
    tab.pick.setChecked(True)
    *others, callback = viewer.mouse_drag_callbacks
    assert others == before
    event = SimpleNamespace(
        pos=(50, 50),
        position=(6.0, 8.0, 7.0),
        dims_displayed=[1, 2],
        button=1,
        modifiers=(),
        type="mouse_press",
    )
    vars(event).update(settings)
    steps = callback(viewer, event)
    next(steps, None)
    event.type = "mouse_move"
    next(steps, None)
    event.type, event.pos = "mouse_release", (50 + moved[0], 50 + moved[1])
    next(steps, None)
    assert len(picked) == is_click
    tab.pick.setChecked(False)
    assert viewer.mouse_drag_callbacks == before


def pixel_of(viewer, layer, voxel):
    canvas = viewer.window._qt_viewer.canvas
    world = layer.data_to_world(voxel)
    shown = [world[axis] for axis in viewer.dims.displayed]
    transform = canvas.view.scene.node_transform(canvas.view.canvas.scene)
    x, y = transform.map([*shown[::-1], 0, 1])[:2]
    return QPoint(round(float(x)), round(float(y)))


def test_clicks_and_moves_of_the_mouse_choose_the_centre(make_napari_viewer, qtbot):
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(1000, 700)
    layer = add_supervoxels(viewer)
    workspace = Workspace.of(viewer)
    tab = ShapeTab(workspace)
    viewer.window.add_dock_widget(tab)
    canvas = viewer.window._qt_viewer.canvas.native
    for scale in SCALES:
        layer.scale = scale
        viewer.dims.set_point(0, layer.data_to_world((6, 0, 0))[0])
        viewer.reset_view()
        qtbot.wait(1)
        tab.pick.setChecked(True)
        assert (workspace.mode, workspace.help_text) == (MODE, HELP)
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=pixel_of(viewer, layer, (6, 8, 13)))
        assert wait_for_answer(qtbot, tab).centre == (6, 8, 13), scale
        tab.pick.setChecked(False)
        assert workspace.mode == ""
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=pixel_of(viewer, layer, (6, 12, 7)))
        assert tab.centre == (6, 8, 13)
        tab.follow.setChecked(True)
        QTest.mouseMove(canvas, pixel_of(viewer, layer, (6, 11, 6)))
        qtbot.waitUntil(lambda: tab.centre == (6, 11, 6), timeout=10000)
        QTest.mouseMove(canvas, pixel_of(viewer, layer, (6, -3, 6)))
        qtbot.waitUntil(lambda: "outside" in tab.note.text(), timeout=10000)
        tab.follow.setChecked(False)

    tab.pick.setChecked(True)
    workspace.set_mode("point")
    assert not tab.pick.isChecked()
    viewer.dims.ndisplay = 3
    tab.pick.setChecked(True)
    tab.go_to((6, 9, 9))
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: tab.centre != (6, 9, 9), timeout=10000)
    workspace.dispose()
