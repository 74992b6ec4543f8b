"""Real clicks and keys on the canvas select and decide, at any scale, in 2-D and 3-D."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Image, Labels
from qtpy.QtCore import QEvent, QPoint, QPointF, Qt
from qtpy.QtGui import QMouseEvent
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QApplication

from gui.conftest import SHAPE, block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.gui.canvas.highlight import FIRST, FIRST_CLICKED, SECOND_CLICKED, SIDE_A, SIDE_B
from napari_celis.gui.canvas.picking import CONFIRM, NO_ENGINE, OFF, Pointing
from napari_celis.gui.session.engine import Engine
from napari_celis.gui.session.workspace import Workspace

SCALES = [(1, 1, 1), (4, 1, 1), (40, 4, 4)]
DENSE = (block_labels() - (1 << 33)).astype(np.int32)
"""Dense index of every voxel: the ids of the small volume follow one another."""
KEY = Qt.Key
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def pointing(make_napari_viewer, qtbot):
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(900, 700)
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    made = Pointing.of(workspace)
    assert made.help_text() == NO_ENGINE
    agglomerator = small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace), agglomerator.supervoxels)
    yield made
    workspace.dispose()


def canvas_of(pointing):
    return pointing.workspace.viewer.window._qt_viewer.canvas


def pixel_of(pointing, voxel):
    """Where a voxel of the section that is shown lies on the canvas."""
    world = pointing.workspace.segmentation_layer.data_to_world(voxel)
    shown = [world[axis] for axis in pointing.workspace.viewer.dims.displayed]
    transform = canvas_of(pointing).view.scene.node_transform(canvas_of(pointing).view.canvas.scene)
    x, y = transform.map([*shown[::-1], 0, 1][:4] if len(shown) == 2 else [*shown[::-1], 1])[:2]
    return QPoint(round(float(x)), round(float(y)))


def click(pointing, voxel):
    QTest.mouseMove(canvas_of(pointing).native, pixel_of(pointing, voxel))
    QTest.mouseClick(canvas_of(pointing).native, Qt.MouseButton.LeftButton, pos=pixel_of(pointing, voxel))


def move_pressed(widget, at):
    """Move the mouse with its left button down; QTest.mouseMove lets go of it."""
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    place, on_screen = QPointF(at), QPointF(widget.mapToGlobal(at))
    event = QMouseEvent(QEvent.Type.MouseMove, place, on_screen, none, left, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, event)


def camera_of(viewer):
    return viewer.scene.camera if hasattr(viewer, "scene") else viewer.camera


def press(pointing, key, modifiers=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(canvas_of(pointing).native, key, modifiers)


def rescale(pointing, scale):
    for layer in pointing.workspace.viewer.layers:
        layer.scale = scale
    pointing.workspace.viewer.reset_view()


def ids(*indices):
    return tuple((1 << 33) + int(index) for index in indices)


def test_a_click_selects_the_voxel_under_it_at_every_scale(pointing, qtbot):
    viewer, workspace = pointing.workspace.viewer, pointing.workspace
    for scale in SCALES:
        rescale(pointing, scale)
        for voxel in [(5, 2, 3), (5, 17, 12), (9, 8, 17)]:
            viewer.dims.set_point(0, workspace.segmentation_layer.data_to_world(voxel)[0])
            qtbot.wait(1)
            workspace.select()
            click(pointing, voxel)
            assert workspace.selected == (DENSE[voxel],), (scale, voxel)


def test_rotated_sections_3d_views_and_pyramids_find_the_same_voxels(pointing, qtbot):
    viewer, workspace = pointing.workspace.viewer, pointing.workspace
    rescale(pointing, (40, 4, 4))
    # A section along y, with the axes the other way round.
    viewer.dims.order = (1, 2, 0)
    viewer.dims.set_point(1, workspace.segmentation_layer.data_to_world((0, 12, 0))[1])
    viewer.reset_view()
    qtbot.wait(1)
    click(pointing, (9, 12, 17))
    assert workspace.selected == (DENSE[9, 12, 17],)

    workspace.select()
    viewer.dims.order = (0, 1, 2)
    viewer.dims.ndisplay = 3
    qtbot.wait(1)
    middle = np.array(SHAPE) / 2 - 0.2
    for axis, side in [(0, -1), (0, 1), (1, 1), (2, -1)]:
        direction = np.eye(3)[axis] * side
        start = np.array(workspace.segmentation_layer.data_to_world(middle - direction * 30))
        supervoxel, voxel = pointing.find(start, direction, [0, 1, 2])
        first = middle.copy()
        first[axis] = 0 if side > 0 else SHAPE[axis] - 1
        assert supervoxel == DENSE[tuple(np.rint(first).astype(int))]
        np.testing.assert_array_equal(voxel, np.rint(first))
    assert pointing.find(start + 1000, direction, [0, 1, 2])[0] == 0
    camera_of(viewer).angles = (20, 35, 110)
    QTest.mouseClick(canvas_of(pointing).native, Qt.MouseButton.LeftButton)
    assert len(workspace.selected) == 1
    assert (pointing.highlight.segments.data[:, 0] == 0).any()
    assert (np.asarray(pointing.highlight.segments.data) == FIRST_CLICKED).sum() == 100

    viewer.dims.ndisplay = 2
    data = block_labels()
    viewer.layers.remove(workspace.segmentation_layer)
    pyramid = Labels([data, data[:, ::2, ::2]], scale=(40, 4, 4), multiscale=True, name="pyramid")
    viewer.add_layer(pyramid)
    workspace.supervoxels_layer = pyramid
    world = pyramid.data_to_world((5, 17, 12))
    assert pointing.find(world, None, [1, 2])[0] == DENSE[5, 17, 12]
    assert pointing.find(pyramid.data_to_world((5, -3, 12)), None, [1, 2])[0] == 0


def test_two_clicks_show_the_pair_and_keys_decide(pointing, qtbot):
    workspace, deciding = pointing.workspace, pointing.deciding
    viewer, engine = workspace.viewer, workspace.engine
    here, beside = (5, 7, 7), (5, 7, 12)
    viewer.dims.set_point(0, 5)
    qtbot.wait(1)

    assert "Click a segment" in workspace.help_text
    click(pointing, here)
    lut = pointing.highlight.segments.data.lut
    assert lut[DENSE[here]] == FIRST_CLICKED
    assert "second segment" in workspace.help_text
    with qtbot.waitSignal(deciding.changed, check_params_cb=lambda: bool(deciding.parts)):
        click(pointing, beside)
    assert workspace.selected == (DENSE[here], DENSE[beside])
    assert deciding.action == engine.agglomerator.actions.find(DENSE[here], DENSE[beside])
    assert pointing.highlight.segments.data.lut[DENSE[beside]] == SECOND_CLICKED
    qtbot.waitUntil(lambda: bool(deciding.parts))
    assert sum(deciding.parts.values()) == pytest.approx(deciding.score)
    qtbot.waitUntil(lambda: len(deciding.centres) == 1)
    assert "M merge" in workspace.help_text

    with qtbot.waitSignal(engine.advanced):
        press(pointing, KEY.Key_M)
    assert engine.snapshot.steps[-1].kind == "manual"
    assert {engine.snapshot.steps[-1].u_id, engine.snapshot.steps[-1].v_id} == set(
        ids(DENSE[here], DENSE[beside])
    )
    assert workspace.selected == (DENSE[here],)
    assert pointing.highlight.segments.data.lut[DENSE[beside]] == FIRST

    with qtbot.waitSignal(engine.advanced):
        press(pointing, KEY.Key_U)
    assert engine.snapshot.steps == ()
    for redo in ((KEY.Key_Z, CTRL | SHIFT), (KEY.Key_Y,)):
        with qtbot.waitSignal(engine.advanced):
            press(pointing, *redo)
        qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1 and not engine.snapshot.is_running)
        with qtbot.waitSignal(engine.advanced):
            press(pointing, KEY.Key_Z, CTRL)
        qtbot.waitUntil(lambda: engine.snapshot.steps == ())

    click(pointing, beside)
    with qtbot.waitSignal(engine.advanced):
        press(pointing, KEY.Key_K)
    assert engine.snapshot.constraints == (ids(DENSE[here], DENSE[beside]),)
    press(pointing, KEY.Key_Escape)
    assert workspace.selected == ()

    far = (5, 17, 17)
    click(pointing, here)
    click(pointing, far)
    assert deciding.action == -1
    assert "do not touch" in workspace.help_text
    with qtbot.waitSignal(engine.failed) as failed:
        press(pointing, KEY.Key_M)
    assert "The nearest pairs that do" in failed.args[0]
    click(pointing, far)
    assert workspace.selected == (DENSE[here],)
    click(pointing, beside)
    click(pointing, (5, 7, 2))
    assert workspace.selected == (DENSE[here], DENSE[5, 7, 2])


def test_a_cut_is_shown_before_it_is_made(pointing, qtbot):
    workspace, deciding, engine = pointing.workspace, pointing.deciding, pointing.workspace.engine
    first, second, third = 22, 23, 24
    for pair in [(first, second), (second, third)]:
        with qtbot.waitSignal(engine.advanced):
            engine.merge(*ids(*pair))
    workspace.select(second)
    press(pointing, KEY.Key_C)
    qtbot.waitUntil(lambda: deciding.plan is not None)
    lut = pointing.highlight.segments.data.lut
    assert (lut[second], lut[first], lut[third]) == (SIDE_A, SIDE_B, SIDE_B)
    assert not pointing.highlight.segments.data.is_outlined
    assert workspace.help_text == CONFIRM
    press(pointing, KEY.Key_Escape)
    assert deciding.plan is None
    assert workspace.selected == (second,)
    assert len(engine.snapshot.steps) == 2

    workspace.select(first, third)
    assert "one segment" in workspace.help_text
    press(pointing, KEY.Key_C)
    qtbot.waitUntil(lambda: deciding.plan is not None)
    press(pointing, KEY.Key_Return)
    qtbot.waitUntil(lambda: engine.snapshot.last_command == "cut")
    assert workspace.segment_of(first) != workspace.segment_of(third)
    assert engine.snapshot.steps[-1].kind == "cut"

    # The key of the keypad does the same.
    press(pointing, KEY.Key_U)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    press(pointing, KEY.Key_C)
    qtbot.waitUntil(lambda: deciding.plan is not None)
    press(pointing, KEY.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 3)
    assert engine.snapshot.steps[-1].kind == "cut"

    workspace.select(40)
    with qtbot.waitSignal(engine.failed) as failed:
        press(pointing, KEY.Key_C)
    assert "a segment of its own" in failed.args[0]
    workspace.select()
    press(pointing, KEY.Key_C)
    assert "Select a supervoxel" in workspace.problem[0]


def test_the_queue_goes_from_doubt_to_doubt(pointing, qtbot):
    workspace, deciding, engine = pointing.workspace, pointing.deciding, pointing.workspace.engine
    qtbot.waitUntil(lambda: deciding.places is not None)
    for key in (KEY.Key_M, KEY.Key_K, KEY.Key_A, KEY.Key_R):
        workspace.say("")
        press(pointing, key)
        assert "press N" in workspace.problem[0]
    queue = deciding.queue().tolist()
    camera_of(workspace.viewer).zoom = 1000
    press(pointing, KEY.Key_N)
    assert deciding.action == queue[0]
    contact = deciding.places.contact[queue[0]]
    np.testing.assert_allclose(camera_of(workspace.viewer).center[1:], contact[1:])
    assert abs(workspace.viewer.dims.point[0] - contact[0]) <= 0.5
    press(pointing, KEY.Key_N)
    assert deciding.action == queue[1]
    press(pointing, KEY.Key_S)
    assert deciding.action == queue[0]
    assert deciding.queue()[-1] == queue[1]

    with qtbot.waitSignal(engine.advanced):
        press(pointing, KEY.Key_A)
    assert engine.snapshot.taken[queue[0]]
    assert deciding.action == deciding.queue()[0] != queue[0]
    rejected = deciding.action
    with qtbot.waitSignal(engine.advanced):
        press(pointing, KEY.Key_R)
    assert engine.snapshot.steps[-1].kind == "keep-apart"
    assert engine.snapshot.steps[-1].action_index == rejected
    assert deciding.action == deciding.queue()[0] != rejected


def test_it_stays_out_of_the_way(pointing, qtbot):
    workspace, viewer = pointing.workspace, pointing.workspace.viewer
    native = canvas_of(pointing).native
    voxel = (5, 7, 7)
    viewer.dims.set_point(0, 5)
    qtbot.wait(1)
    at = pixel_of(pointing, voxel)
    # A drag moves the camera and selects nothing.
    before = camera_of(viewer).center
    QTest.mousePress(native, Qt.MouseButton.LeftButton, pos=at)
    for shift in (10, 40, 80):
        move_pressed(native, at + QPoint(shift, 0))
    QTest.mouseRelease(native, Qt.MouseButton.LeftButton, pos=at + QPoint(80, 0))
    assert workspace.selected == ()
    qtbot.waitUntil(lambda: camera_of(viewer).center != before)
    viewer.reset_view()

    pointing.switch(False)
    assert workspace.help_text == OFF
    click(pointing, voxel)
    assert workspace.selected == ()
    press(pointing, KEY.Key_N)
    assert pointing.deciding.action == -1
    pointing.switch(True)

    # The tools of napari keep their clicks and keys.
    painted = viewer.add_labels(np.zeros(SHAPE, dtype=int))
    painted.mode = "paint"
    assert "paint tool" in workspace.help_text
    click(pointing, voxel)
    press(pointing, KEY.Key_M)
    assert workspace.selected == ()
    assert painted.data[voxel] == 1
    assert painted.selected_label == 2
    painted.mode = "pan_zoom"
    click(pointing, voxel)
    assert workspace.selected == (DENSE[voxel],)
    # Clicks beside the volume clear; layers of ours are never taken for the user's data.
    QTest.mouseClick(native, Qt.MouseButton.LeftButton, pos=QPoint(5, native.height() // 2))
    assert workspace.selected == ()
    assert pointing.highlight.segments is not workspace.supervoxels_layer
    assert isinstance(workspace.image_layer, Image | None)


def test_meshes_appear_in_3d_or_when_wanted(pointing, qtbot):
    workspace, meshes = pointing.workspace, pointing.highlight.meshes
    rescale(pointing, (40, 4, 4))
    qtbot.waitUntil(lambda: pointing.deciding.places is not None)
    image = workspace.viewer.add_image(np.zeros(SHAPE), scale=(40, 4, 4), blending="translucent")
    workspace.select(22, 23)
    assert meshes.layers == []
    meshes.always_show(True)
    qtbot.waitUntil(lambda: len(meshes.layers) == 2)
    surface = meshes.layers[0]
    low, high = surface.extent.world
    dense = workspace.supervoxels.dense
    voxels = np.argwhere(dense == 22)
    np.testing.assert_allclose(low, (voxels.min(axis=0) - 0.5) * (40, 4, 4), atol=20)
    np.testing.assert_allclose(high, (voxels.max(axis=0) + 0.5) * (40, 4, 4), atol=20)
    meshes.always_show(False)
    assert meshes.layers == []
    workspace.viewer.dims.ndisplay = 3
    qtbot.waitUntil(lambda: len(meshes.layers) == 2)
    assert not pointing.highlight.segments.visible
    # Two surfaces stand alone; with one, the rest is there to choose the second from.
    assert not image.visible
    assert not workspace.segmentation_layer.visible
    workspace.segmentation_layer.visible = True
    pointing.deciding.changed.emit()
    assert workspace.segmentation_layer.visible
    workspace.select(22)
    qtbot.waitUntil(lambda: len(meshes.layers) == 1)
    assert image.visible
    assert image.blending == "translucent_no_depth"
    workspace.select()
    assert meshes.layers == []
    assert image.blending == "translucent"
    # Nothing is selected, so nothing lights up; in a section the outlines come back.
    assert not pointing.highlight.segments.visible
    workspace.viewer.dims.ndisplay = 2
    workspace.select(22)
    assert pointing.highlight.segments.visible
    workspace.use_engine(None)
    assert not {"first segment", "second segment"} & {layer.name for layer in workspace.viewer.layers}
    assert pointing.highlight.segments is None
    assert workspace.help_text == NO_ENGINE
