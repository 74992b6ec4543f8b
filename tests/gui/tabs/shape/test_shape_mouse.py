"""The mouse chooses what the shape tab looks at, in a real window."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from qtpy.QtCore import QPoint, Qt
from qtpy.QtTest import QTest

from gui.tabs.shape.conftest import (
    SCALES,
    add_supervoxels,
    wait_for_answer,
)
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.shape.shape_tab import HELP, MODE, ShapeTab

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
    tab.pointer.picked.connect(picked.append)
    before = list(viewer.mouse_drag_callbacks)
    tab.form.pick.setChecked(True)
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
    tab.form.pick.setChecked(False)
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
        viewer.reset_view(margin=0.3)
        qtbot.wait(1)
        tab.form.pick.setChecked(True)
        assert (Canvas.of(workspace).mouse_mode.current, Canvas.of(workspace).mouse_mode.help_text) == (
            MODE,
            HELP,
        )
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=pixel_of(viewer, layer, (6, 8, 13)))
        assert wait_for_answer(qtbot, tab).centre == (6, 8, 13), scale
        tab.form.pick.setChecked(False)
        assert Canvas.of(workspace).mouse_mode.current == ""
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=pixel_of(viewer, layer, (6, 12, 7)))
        assert tab.centre == (6, 8, 13)
        tab.form.follow.setChecked(True)
        QTest.mouseMove(canvas, pixel_of(viewer, layer, (6, 11, 6)))
        qtbot.waitUntil(lambda: tab.centre == (6, 11, 6), timeout=10000)
        QTest.mouseMove(canvas, pixel_of(viewer, layer, (6, -3, 6)))
        qtbot.waitUntil(lambda: "outside" in tab.form.note.text(), timeout=10000)
        tab.form.follow.setChecked(False)

    tab.form.pick.setChecked(True)
    Canvas.of(workspace).mouse_mode.use("point")
    assert not tab.form.pick.isChecked()
    viewer.dims.ndisplay = 3
    tab.form.pick.setChecked(True)
    tab.go_to((6, 9, 9))
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: tab.centre != (6, 9, 9), timeout=10000)
    workspace.dispose()
