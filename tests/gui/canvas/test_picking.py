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
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.contact_tiles import Look
from napari_celis.gui.canvas.highlight import FIRST, FIRST_CLICKED, SECOND_CLICKED, SIDE_A, SIDE_B
from napari_celis.gui.canvas.picking import CONFIRM, NO_ENGINE, OFF
from napari_celis.gui.session.engine.commands import CarryOutCut
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.workspace import Workspace

SCALES = [(1, 1, 1), (4, 1, 1), (40, 4, 4)]
DENSE = (block_labels() - (1 << 33)).astype(np.int32)
"""Dense index of every voxel: the ids of the small volume follow one another."""
KEY = Qt.Key
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def canvas(make_napari_viewer, qtbot):
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(900, 700)
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    made = Canvas.of(workspace)
    assert made.picker.help_text() == NO_ENGINE
    agglomerator = small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace))
    yield made
    workspace.dispose()


def vispy_canvas_of(canvas):
    return canvas.workspace.viewer.window._qt_viewer.canvas


def pixel_of(canvas, voxel):
    """Where a voxel of the section that is shown lies on the canvas."""
    world = canvas.segmentation.layer.data_to_world(voxel)
    shown = [world[axis] for axis in canvas.workspace.viewer.dims.displayed]
    transform = vispy_canvas_of(canvas).view.scene.node_transform(vispy_canvas_of(canvas).view.canvas.scene)
    x, y = transform.map([*shown[::-1], 0, 1][:4] if len(shown) == 2 else [*shown[::-1], 1])[:2]
    return QPoint(round(float(x)), round(float(y)))


def click(canvas, voxel):
    QTest.mouseMove(vispy_canvas_of(canvas).native, pixel_of(canvas, voxel))
    QTest.mouseClick(vispy_canvas_of(canvas).native, Qt.MouseButton.LeftButton, pos=pixel_of(canvas, voxel))


def move_pressed(widget, at):
    """Move the mouse with its left button down; QTest.mouseMove lets go of it."""
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    place, on_screen = QPointF(at), QPointF(widget.mapToGlobal(at))
    event = QMouseEvent(QEvent.Type.MouseMove, place, on_screen, none, left, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, event)


def camera_of(viewer):
    return viewer.scene.camera if hasattr(viewer, "scene") else viewer.camera


def press(canvas, key, modifiers=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(vispy_canvas_of(canvas).native, key, modifiers)


def rescale(canvas, scale):
    for layer in canvas.workspace.viewer.layers:
        layer.scale = scale
    canvas.workspace.viewer.reset_view()


def ids(*indices):
    return tuple((1 << 33) + int(index) for index in indices)


def test_a_click_selects_the_voxel_under_it_at_every_scale(canvas, qtbot):
    viewer, workspace = canvas.workspace.viewer, canvas.workspace
    for scale in SCALES:
        rescale(canvas, scale)
        for voxel in [(5, 2, 3), (5, 17, 12), (9, 8, 17)]:
            viewer.dims.set_point(0, canvas.segmentation.layer.data_to_world(voxel)[0])
            qtbot.wait(1)
            workspace.selection.select()
            click(canvas, voxel)
            assert workspace.selection.supervoxels == (DENSE[voxel],), (scale, voxel)


def test_rotated_sections_3d_views_and_pyramids_find_the_same_voxels(canvas, qtbot):
    viewer, workspace = canvas.workspace.viewer, canvas.workspace
    rescale(canvas, (40, 4, 4))
    # A section along y, with the axes the other way round.
    viewer.dims.order = (1, 2, 0)
    viewer.dims.set_point(1, canvas.segmentation.layer.data_to_world((0, 12, 0))[1])
    viewer.reset_view()
    qtbot.wait(1)
    click(canvas, (9, 12, 17))
    assert workspace.selection.supervoxels == (DENSE[9, 12, 17],)

    workspace.selection.select()
    viewer.dims.order = (0, 1, 2)
    viewer.dims.ndisplay = 3
    qtbot.wait(1)
    middle = np.array(SHAPE) / 2 - 0.2
    for axis, side in [(0, -1), (0, 1), (1, 1), (2, -1)]:
        direction = np.eye(3)[axis] * side
        start = np.array(canvas.segmentation.layer.data_to_world(middle - direction * 30))
        supervoxel, voxel = canvas.picker.find(start, direction, [0, 1, 2])
        first = middle.copy()
        first[axis] = 0 if side > 0 else SHAPE[axis] - 1
        assert supervoxel == DENSE[tuple(np.rint(first).astype(int))]
        np.testing.assert_array_equal(voxel, np.rint(first))
    assert canvas.picker.find(start + 1000, direction, [0, 1, 2])[0] == 0
    camera_of(viewer).angles = (20, 35, 110)
    QTest.mouseClick(vispy_canvas_of(canvas).native, Qt.MouseButton.LeftButton)
    assert len(workspace.selection.supervoxels) == 1
    assert (canvas.highlight.segments.data[:, 0] == 0).any()
    assert (np.asarray(canvas.highlight.segments.data) == FIRST_CLICKED).sum() == 100

    viewer.dims.ndisplay = 2
    data = block_labels()
    viewer.layers.remove(canvas.segmentation.layer)
    pyramid = Labels([data, data[:, ::2, ::2]], scale=(40, 4, 4), multiscale=True, name="pyramid")
    viewer.add_layer(pyramid)
    workspace.data.choose("supervoxels", pyramid)
    world = pyramid.data_to_world((5, 17, 12))
    assert canvas.picker.find(world, None, [1, 2])[0] == DENSE[5, 17, 12]
    assert canvas.picker.find(pyramid.data_to_world((5, -3, 12)), None, [1, 2])[0] == 0


def test_two_clicks_show_the_pair_and_keys_decide(canvas, qtbot):
    workspace, decisions = canvas.workspace, canvas.workspace.decisions
    viewer, engine = workspace.viewer, workspace.run.engine
    here, beside = (5, 7, 7), (5, 7, 12)
    viewer.dims.set_point(0, 5)
    qtbot.wait(1)

    assert "Click a segment" in canvas.mouse_mode.help_text
    click(canvas, here)
    lut = canvas.highlight.segments.data.lut
    assert lut[DENSE[here]] == FIRST_CLICKED
    assert "second segment" in canvas.mouse_mode.help_text
    with qtbot.waitSignal(decisions.changed, check_params_cb=lambda: bool(decisions.pair.parts)):
        click(canvas, beside)
    assert workspace.selection.supervoxels == (DENSE[here], DENSE[beside])
    assert decisions.pair.action == engine.tables.actions.find(DENSE[here], DENSE[beside])
    assert canvas.highlight.segments.data.lut[DENSE[beside]] == SECOND_CLICKED
    qtbot.waitUntil(lambda: bool(decisions.pair.parts))
    assert sum(decisions.pair.parts.values()) == pytest.approx(decisions.pair.score)
    assert decisions.pair.centres == ()
    decisions.pair.show_centres(True)
    qtbot.waitUntil(lambda: len(decisions.pair.centres) == 1)
    assert "M merge" in canvas.mouse_mode.help_text

    with qtbot.waitSignal(engine.advanced):
        press(canvas, KEY.Key_M)
    assert engine.snapshot.steps[-1].kind == "manual"
    assert {engine.snapshot.steps[-1].u_id, engine.snapshot.steps[-1].v_id} == set(
        ids(DENSE[here], DENSE[beside])
    )
    assert workspace.selection.supervoxels == (DENSE[here],)
    assert canvas.highlight.segments.data.lut[DENSE[beside]] == FIRST

    with qtbot.waitSignal(engine.advanced):
        press(canvas, KEY.Key_U)
    assert engine.snapshot.steps == ()
    for redo in ((KEY.Key_Z, CTRL | SHIFT), (KEY.Key_Y,)):
        with qtbot.waitSignal(engine.advanced):
            press(canvas, *redo)
        qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 1 and not engine.snapshot.is_running)
        with qtbot.waitSignal(engine.advanced):
            press(canvas, KEY.Key_Z, CTRL)
        qtbot.waitUntil(lambda: engine.snapshot.steps == ())

    # Undo selects the pair again, in the canvas where it was decided.
    qtbot.waitUntil(lambda: len(workspace.selection.supervoxels) == 2)
    assert not canvas.contact_view.is_shown
    with qtbot.waitSignal(engine.advanced):
        press(canvas, KEY.Key_K)
    assert engine.snapshot.constraints == (ids(DENSE[here], DENSE[beside]),)
    press(canvas, KEY.Key_Escape)
    assert workspace.selection.supervoxels == ()

    far = (5, 17, 17)
    click(canvas, here)
    click(canvas, far)
    assert decisions.pair.action == -1
    assert "do not touch" in canvas.mouse_mode.help_text
    with qtbot.waitSignal(engine.failed) as failed:
        press(canvas, KEY.Key_M)
    assert "The nearest pairs that do" in failed.args[0].sentence
    click(canvas, far)
    assert workspace.selection.supervoxels == (DENSE[here],)
    click(canvas, beside)
    click(canvas, (5, 7, 2))
    assert workspace.selection.supervoxels == (DENSE[here], DENSE[5, 7, 2])


def test_a_cut_is_shown_before_it_is_made(canvas, qtbot):
    workspace, decisions, engine = canvas.workspace, canvas.workspace.decisions, canvas.workspace.run.engine
    first, second, third = 22, 23, 24
    for pair in [(first, second), (second, third)]:
        with qtbot.waitSignal(engine.advanced):
            engine.merge(*ids(*pair))
    workspace.selection.select(second)
    press(canvas, KEY.Key_C)
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    lut = canvas.highlight.segments.data.lut
    assert (lut[second], lut[first], lut[third]) == (SIDE_A, SIDE_B, SIDE_B)
    assert not canvas.highlight.segments.data.is_outlined
    assert canvas.mouse_mode.help_text == CONFIRM
    press(canvas, KEY.Key_Escape)
    assert decisions.cut.plan is None
    assert workspace.selection.supervoxels == (second,)
    assert len(engine.snapshot.steps) == 2

    workspace.selection.select(first, third)
    assert "one segment" in canvas.mouse_mode.help_text
    press(canvas, KEY.Key_C)
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    press(canvas, KEY.Key_Return)
    qtbot.waitUntil(lambda: isinstance(engine.snapshot.last_command, CarryOutCut))
    assert workspace.run.segment_of(first) != workspace.run.segment_of(third)
    assert [step.kind for step in engine.snapshot.steps[-2:]] == ["cut", "keep-apart"]

    # The key of the keypad does the same.
    press(canvas, KEY.Key_U)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    press(canvas, KEY.Key_C)
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    press(canvas, KEY.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 4)
    assert engine.snapshot.steps[-2].kind == "cut"

    workspace.selection.select(40)
    with qtbot.waitSignal(engine.failed) as failed:
        press(canvas, KEY.Key_C)
    assert "a segment of its own" in failed.args[0].sentence
    workspace.selection.select()
    press(canvas, KEY.Key_C)
    assert "Select a supervoxel" in workspace.messages.current.text


def test_the_queue_goes_from_one_uncertain_merge_to_the_next(canvas, qtbot):
    workspace, decisions, engine = canvas.workspace, canvas.workspace.decisions, canvas.workspace.run.engine
    qtbot.waitUntil(lambda: decisions.pair.geometry is not None)
    for key in (KEY.Key_M, KEY.Key_K, KEY.Key_A, KEY.Key_R):
        workspace.messages.say("")
        press(canvas, key)
        assert "press N" in workspace.messages.current.text
    queue = decisions.order.open_actions().tolist()
    camera_of(workspace.viewer).zoom = 1000
    press(canvas, KEY.Key_N)
    assert decisions.pair.action == queue[0]
    contact = decisions.pair.geometry.contact[queue[0]]
    np.testing.assert_allclose(camera_of(workspace.viewer).center[1:], contact[1:])
    assert abs(workspace.viewer.dims.point[0] - contact[0]) <= 0.5
    press(canvas, KEY.Key_N)
    assert decisions.pair.action == queue[1]
    # The queue goes on from where one looks, and shows the next question at once.
    press(canvas, KEY.Key_S)
    assert decisions.pair.action == queue[2]
    assert decisions.order.open_actions()[-1] == queue[1]
    press(canvas, KEY.Key_A)
    assert decisions.pair.action not in queue[:3]
    rejected = decisions.pair.action
    press(canvas, KEY.Key_R)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    assert engine.snapshot.taken[queue[2]]
    assert engine.snapshot.steps[-1].kind == "keep-apart"
    assert engine.snapshot.steps[-1].action_index == rejected

    # Undo goes back to the question that is open again, and says so.
    press(canvas, KEY.Key_U)
    qtbot.waitUntil(lambda: "Taken back" in workspace.messages.current.text)
    assert decisions.pair.action == rejected
    press(canvas, KEY.Key_H)
    qtbot.waitUntil(lambda: engine.snapshot.steps[-1].kind == "not-here")
    assert engine.snapshot.steps[-1].action_index == rejected
    assert decisions.pair.action != rejected


def test_every_answer_is_about_the_question_that_was_shown(canvas, qtbot):
    """Five answers as fast as a keyboard can: none is lost, none is about another pair."""
    _workspace, decisions, engine = canvas.workspace, canvas.workspace.decisions, canvas.workspace.run.engine
    qtbot.waitUntil(lambda: decisions.pair.geometry is not None)
    press(canvas, KEY.Key_N)
    shown, keys = [], [KEY.Key_A, KEY.Key_R, KEY.Key_A, KEY.Key_R, KEY.Key_A]
    for key in keys:
        shown.append((decisions.pair.action, "manual" if key == KEY.Key_A else "keep-apart"))
        assert canvas.contact_view.is_shown
        assert canvas.contact_view._action == decisions.pair.action
        press(canvas, key)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == len(keys))
    assert [(step.action_index, step.kind) for step in engine.snapshot.steps] == shown
    assert len({action for action, _ in shown}) == len(keys)


@pytest.mark.parametrize("scale", SCALES)
def test_the_contact_view_shows_the_contact_in_the_middle(canvas, qtbot, scale):
    workspace, decisions, view = canvas.workspace, canvas.workspace.decisions, canvas.contact_view
    rescale(canvas, scale)
    view._on_run()
    qtbot.waitUntil(lambda: decisions.pair.geometry is not None)
    native = vispy_canvas_of(canvas).native
    press(canvas, KEY.Key_N)
    assert view.is_shown
    assert native.isHidden()
    contact = decisions.pair.geometry.contact[decisions.pair.action]
    tiles = view.pane.tiles
    for section in tiles.evidence.sections:
        assert abs(section.index - contact[section.axis]) <= 0.5
        assert section.plain.shape == section.filled.shape
    qtbot.waitUntil(lambda: tiles.evidence.body is not None)
    # The canvas below is centred and zoomed too.
    world = canvas.segmentation.layer.data_to_world(contact)
    np.testing.assert_allclose(camera_of(workspace.viewer).center[1:], world[1:])
    # Real keys and the wheel change what is seen.
    press(canvas, KEY.Key_F)
    assert (tiles.look, canvas.highlight.look) == (Look.FILL, Look.FILL)
    QTest.keyPress(tiles, KEY.Key_B)
    assert tiles.is_bare
    QTest.keyRelease(tiles, KEY.Key_B)
    assert not tiles.is_bare
    before = tiles.evidence.sections[0].index
    tiles.scrolled.emit(0, 1)
    assert tiles.evidence.sections[0].index in (before + 1, SHAPE[0] - 1)
    QTest.mousePress(tiles, Qt.MouseButton.LeftButton, pos=tiles.tile(3).center().toPoint())
    move_pressed(tiles, tiles.tile(3).center().toPoint() + QPoint(9, 5))
    old = tiles.evidence.body
    QTest.mouseRelease(tiles, Qt.MouseButton.LeftButton, pos=tiles.tile(3).center().toPoint())
    assert tiles.evidence.body is not old
    # A note goes with the answer; the letters of it are no commands.
    press(canvas, KEY.Key_T)
    QTest.keyClicks(view.pane.note, "same axon")
    assert decisions.note == "same axon"
    press(canvas, KEY.Key_W)
    assert not view.is_shown
    assert not native.isHidden()
    press(canvas, KEY.Key_Escape)
    assert workspace.selection.supervoxels == ()


def test_it_stays_out_of_the_way(canvas, qtbot):
    workspace, viewer = canvas.workspace, canvas.workspace.viewer
    native = vispy_canvas_of(canvas).native
    voxel = (5, 7, 7)
    viewer.dims.set_point(0, 5)
    qtbot.wait(1)
    at = pixel_of(canvas, voxel)
    # A drag moves the camera and selects nothing.
    before = camera_of(viewer).center
    QTest.mousePress(native, Qt.MouseButton.LeftButton, pos=at)
    for shift in (10, 40, 80):
        move_pressed(native, at + QPoint(shift, 0))
    QTest.mouseRelease(native, Qt.MouseButton.LeftButton, pos=at + QPoint(80, 0))
    assert workspace.selection.supervoxels == ()
    qtbot.waitUntil(lambda: camera_of(viewer).center != before)
    viewer.reset_view()

    canvas.picker.switch(False)
    assert canvas.mouse_mode.help_text == OFF
    click(canvas, voxel)
    assert workspace.selection.supervoxels == ()
    press(canvas, KEY.Key_N)
    assert canvas.workspace.decisions.pair.action == -1
    canvas.picker.switch(True)

    # The tools of napari keep their clicks and keys.
    painted = viewer.add_labels(np.zeros(SHAPE, dtype=int))
    painted.mode = "paint"
    assert "paint tool" in canvas.mouse_mode.help_text
    click(canvas, voxel)
    press(canvas, KEY.Key_M)
    assert workspace.selection.supervoxels == ()
    assert painted.data[voxel] == 1
    assert painted.selected_label == 2
    painted.mode = "pan_zoom"
    click(canvas, voxel)
    assert workspace.selection.supervoxels == (DENSE[voxel],)
    # Clicks beside the volume clear; layers of ours are never taken for the user's data.
    QTest.mouseClick(native, Qt.MouseButton.LeftButton, pos=QPoint(5, native.height() // 2))
    assert workspace.selection.supervoxels == ()
    assert canvas.highlight.segments is not workspace.data.supervoxels_layer
    assert isinstance(workspace.data.image_layer, Image | None)


def test_meshes_appear_in_3d_or_when_wanted(canvas, qtbot):
    workspace, meshes = canvas.workspace, canvas.highlight.meshes
    rescale(canvas, (40, 4, 4))
    qtbot.waitUntil(lambda: canvas.workspace.decisions.pair.geometry is not None)
    image = workspace.viewer.add_image(np.zeros(SHAPE), scale=(40, 4, 4), blending="translucent")
    workspace.selection.select(22, 23)
    assert meshes.layers == []
    meshes.always_show(True)
    qtbot.waitUntil(lambda: len(meshes.layers) == 2)
    surface = meshes.layers[0]
    low, high = surface.extent.world
    dense = workspace.run.supervoxels.dense
    voxels = np.argwhere(dense == 22)
    np.testing.assert_allclose(low, (voxels.min(axis=0) - 0.5) * (40, 4, 4), atol=20)
    np.testing.assert_allclose(high, (voxels.max(axis=0) + 0.5) * (40, 4, 4), atol=20)
    meshes.always_show(False)
    assert meshes.layers == []
    workspace.viewer.dims.ndisplay = 3
    qtbot.waitUntil(lambda: len(meshes.layers) == 2)
    assert not canvas.highlight.segments.visible
    # Two surfaces stand alone; with one, the rest is there to choose the second from.
    assert not image.visible
    assert not canvas.segmentation.layer.visible
    canvas.segmentation.layer.visible = True
    canvas.workspace.decisions.changed.emit()
    assert canvas.segmentation.layer.visible
    workspace.selection.select(22)
    qtbot.waitUntil(lambda: len(meshes.layers) == 1)
    assert image.visible
    assert image.blending == "translucent_no_depth"
    workspace.selection.select()
    assert meshes.layers == []
    assert image.blending == "translucent"
    # Nothing is selected, so nothing lights up; in a section the outlines come back.
    assert not canvas.highlight.segments.visible
    workspace.viewer.dims.ndisplay = 2
    workspace.selection.select(22)
    assert canvas.highlight.segments.visible
    workspace.use_engine(None)
    assert not {"first segment", "second segment"} & {layer.name for layer in workspace.viewer.layers}
    assert canvas.highlight.segments is None
    assert canvas.mouse_mode.help_text == NO_ENGINE
