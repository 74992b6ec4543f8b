"""Real clicks set seeds of two colours; what they show is what Enter does, Undo takes back and files keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from napari.components import ViewerModel
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest

from gui.canvas.test_picking import CTRL, KEY, SCALES, pixel_of, press, rescale, vispy_canvas_of
from gui.conftest import add, asked, block_labels, kept, small_volumes
from gui.patience import be_patient
from models.small import small_model
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.highlight import FIRST, SECOND
from napari_celis.gui.session.engine.commands import CarryOutSplit, Redo, Undo
from napari_celis.gui.session.session_run import SessionWish
from napari_celis.gui.session.split_tool import DONE, IS_BUSY, NO_PREVIEW, NO_SEGMENT, TWO_SEGMENTS, Seed
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.decisions_tab import DecisionsTab
from napari_celis.gui.tabs.decisions.split_box import plan_text
from napari_celis.gui.tabs.export.export_form import export_volume
from napari_celis.io.session.file import Session

LEFT, MIDDLE, RIGHT = 22, 23, 24
"""Three supervoxels side by side along x; 5 × 5 in the section, from z = 4 to 7."""
AT = {LEFT: (5, 7, 7), MIDDLE: (5, 7, 12), RIGHT: (5, 7, 17)}
NEAR, FAR = (5, 6, 6), (5, 8, 9)
"""Two voxels of LEFT."""
SHIFT = Qt.KeyboardModifier.ShiftModifier


def ids(*indices):
    return tuple((1 << 33) + index for index in indices)


def prepared(qtbot, viewer, *roles, session=None):
    """Prepare the small volumes in a viewer, as a person would."""
    add(viewer, *roles)
    workspace = Workspace.of(viewer)
    canvas = Canvas.of(workspace)
    workspace.data.use_model(small_model())
    workspace.preparation.prepare(session=session)
    qtbot.waitUntil(lambda: workspace.run.engine is not None and not workspace.preparation.is_busy)
    return canvas


@pytest.fixture
def canvas(make_napari_viewer, qtbot):
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    viewer.window.resize(900, 700)
    made = prepared(qtbot, viewer, "image", "supervoxels", "truth")
    merge(qtbot, made, (LEFT, MIDDLE), (MIDDLE, RIGHT))
    look_at_section(qtbot, made)
    yield made
    made.workspace.dispose()


def merge(qtbot, canvas, *pairs):
    engine = canvas.workspace.run.engine
    for pair in pairs:
        n_before = len(engine.snapshot.steps)
        engine.merge(*ids(*pair))
        qtbot.waitUntil(lambda n=n_before: len(engine.snapshot.steps) == n + 1)


def look_at_section(qtbot, canvas):
    canvas.workspace.viewer.dims.set_point(0, canvas.segmentation.layer.data_to_world((5, 0, 0))[0])
    qtbot.wait(1)


def click(canvas, voxel, button=Qt.MouseButton.LeftButton, modifiers=Qt.KeyboardModifier.NoModifier):
    native, at = vispy_canvas_of(canvas).native, pixel_of(canvas, voxel)
    QTest.mouseMove(native, at)
    QTest.mouseClick(native, button, modifiers, at)


def right_click(canvas, voxel):
    click(canvas, voxel, Qt.MouseButton.RightButton)


def begin(canvas, voxel=AT[LEFT]):
    """Choose a segment and begin to split it."""
    click(canvas, voxel)
    press(canvas, KEY.Key_X)
    assert canvas.workspace.split_tool.is_on


def seed_supervoxel(qtbot, canvas):
    """Set a seed of each colour in one supervoxel, and wait for the preview."""
    begin(canvas)
    click(canvas, NEAR)
    right_click(canvas, FAR)
    qtbot.waitUntil(lambda: canvas.workspace.split_tool.is_ready)
    return canvas.workspace.split_tool.plan


def carry_out(qtbot, canvas):
    engine = canvas.workspace.run.engine
    press(canvas, KEY.Key_Return)
    qtbot.waitUntil(lambda: isinstance(engine.snapshot.last_command, CarryOutSplit))
    assert not canvas.workspace.split_tool.is_on


def groups(canvas):
    """Say which voxels are one segment now, as a partition that does not depend on names."""
    labels = np.asarray(canvas.segmentation.layer.data)
    return np.unique(labels, return_inverse=True)[1].reshape(labels.shape)


def same_partition(a, b):
    pairs = np.unique(np.stack([a.ravel(), b.ravel()]), axis=1)
    return pairs.shape[1] == len(np.unique(a)) == len(np.unique(b))


def test_seeds_part_a_segment_between_its_supervoxels(canvas, qtbot):
    workspace, tool, engine = canvas.workspace, canvas.workspace.split_tool, canvas.workspace.run.engine
    before = groups(canvas)
    begin(canvas)
    assert "orange" in canvas.mouse_mode.help_text
    click(canvas, AT[LEFT])
    assert tool.plan is None
    assert "Enter" not in canvas.mouse_mode.help_text
    press(canvas, KEY.Key_X)
    assert canvas.mouse_mode.help_text.startswith("Click sets blue seeds")
    click(canvas, AT[RIGHT])
    assert tool.seeds == (Seed(0, AT[LEFT]), Seed(1, AT[RIGHT]))
    np.testing.assert_array_equal(canvas.seeds.layer.data, [AT[LEFT], AT[RIGHT]])
    assert not np.array_equal(*canvas.seeds.layer.face_color)
    qtbot.waitUntil(lambda: tool.is_ready)
    lut = canvas.highlight.segments.data.lut
    assert (lut[LEFT], lut[RIGHT]) == (FIRST, SECOND)
    assert lut[MIDDLE] in (FIRST, SECOND)
    assert not canvas.highlight.segments.data.is_outlined
    assert "Enter splits" in canvas.mouse_mode.help_text

    # A third seed: the preview follows.
    side = 1 - int(lut[MIDDLE] == SECOND)
    (right_click if side == 0 else click)(canvas, AT[MIDDLE])
    qtbot.waitUntil(lambda: tool.is_ready)
    assert canvas.highlight.segments.data.lut[MIDDLE] == (FIRST, SECOND)[side]
    shown = np.asarray(canvas.highlight.segments.data[...])
    carry_out(qtbot, canvas)
    assert workspace.selection.supervoxels == ()
    assert workspace.messages.current.text == DONE
    after = groups(canvas)
    assert len(np.unique(after[shown == FIRST])) == len(np.unique(after[shown == SECOND])) == 1
    assert after[shown == FIRST][0] != after[shown == SECOND][0]
    assert not canvas.seeds.layer.visible
    press(canvas, KEY.Key_U)
    qtbot.waitUntil(lambda: isinstance(engine.snapshot.last_command, Undo))
    assert same_partition(groups(canvas), before)
    press(canvas, KEY.Key_Y)
    qtbot.waitUntil(lambda: isinstance(engine.snapshot.last_command, Redo) and not engine.snapshot.is_running)
    assert same_partition(groups(canvas), after)


def test_seeds_are_the_voxels_under_clicks_at_every_scale(canvas, qtbot):
    tool = canvas.workspace.split_tool
    for scale in SCALES:
        rescale(canvas, scale)
        look_at_section(qtbot, canvas)
        canvas.workspace.selection.select()
        begin(canvas)
        click(canvas, NEAR)
        click(canvas, FAR, modifiers=SHIFT)
        right_click(canvas, AT[RIGHT])
        assert tool.seeds == (Seed(0, NEAR), Seed(1, FAR), Seed(1, AT[RIGHT])), scale
        # A click on a seed takes it away, whatever colour is chosen.
        click(canvas, FAR)
        assert tool.seeds == (Seed(0, NEAR), Seed(1, AT[RIGHT])), scale
        press(canvas, KEY.Key_Escape)
        assert not tool.is_on
        assert tool.seeds == ()
    assert len(canvas.workspace.run.engine.snapshot.steps) == 2


def test_in_3d_a_click_meets_the_segment_and_both_sides_become_surfaces(canvas, qtbot):
    viewer, tool = canvas.workspace.viewer, canvas.workspace.split_tool
    qtbot.waitUntil(lambda: canvas.workspace.decisions.pair.geometry is not None)
    begin(canvas)
    viewer.dims.ndisplay = 3
    qtbot.wait(1)
    for y, x, is_other in [(6, 6, False), (8, 9, True)]:
        start = np.array(canvas.segmentation.layer.data_to_world((-30, y, x)))
        canvas.picker.click_seed(start, np.array([1.0, 0, 0]), [0, 1, 2], is_other=is_other)
    # Supervoxels of other segments lie in front.
    assert tool.seeds == (Seed(0, (4, 6, 6)), Seed(1, (4, 8, 9)))
    qtbot.waitUntil(lambda: len(canvas.highlight.meshes.layers) == 2)
    # Seeds lie above the surfaces.
    qtbot.waitUntil(lambda: viewer.layers[-1] is canvas.seeds.layer)
    canvas.picker.click_seed(start, np.array([1.0, 0, 0]), [0, 1, 2], is_other=False)
    assert tool.seeds == (Seed(0, (4, 6, 6)),)


def test_a_supervoxel_with_both_colours_becomes_two(canvas, qtbot):
    workspace, tool = canvas.workspace, canvas.workspace.split_tool
    engine, layer = workspace.run.engine, canvas.segmentation.layer
    before, tables, snapshot = groups(canvas), engine.tables, engine.snapshot
    plan = seed_supervoxel(qtbot, canvas)
    assert [split.supervoxel_id for split in plan.splits] == list(ids(LEFT))
    shown = np.asarray(canvas.highlight.segments.data[...])
    assert (shown[NEAR], shown[FAR]) == (FIRST, SECOND)
    assert set(np.unique(shown[tables.supervoxels.dense == LEFT])) == {FIRST, SECOND}
    assert "only" not in plan_text(plan)
    n_blue = int(plan.volume.supervoxels.sizes[plan.second_side].sum())
    warned = plan_text(replace(plan, has_hardly_grown=(False, True)))
    assert f"The blue side has only {n_blue} voxels." in warned
    assert "orange side" not in warned
    assert engine.tables is tables
    carry_out(qtbot, canvas)

    # The window follows: another supervoxel, other actions, the same layers.
    assert engine.tables.supervoxels.n == tables.supervoxels.n + 1
    assert len(engine.snapshot.segment_ids) == engine.tables.supervoxels.n + 1
    assert len(engine.snapshot.scores) == len(engine.tables.actions)
    assert canvas.segmentation.layer is layer
    assert [step.kind for step in engine.snapshot.steps[:3]] == ["manual", "manual", "split"]
    assert kept(engine.snapshot.steps[1:2]) == kept(snapshot.steps[1:])
    # The first merge is now one of the part that has more faces with the other supervoxel.
    (own, new), neighbour = (plan.splits[0].supervoxel_id, plan.splits[0].new_id), ids(MIDDLE)[0]
    assert {engine.snapshot.steps[0].u_id, engine.snapshot.steps[0].v_id} in (
        {own, neighbour},
        {new, neighbour},
    )
    after = groups(canvas)
    assert after[NEAR] != after[FAR]
    for value in (FIRST, SECOND):
        assert len(np.unique(after[shown == value])) == 1
    assert same_partition(after[shown == 0], before[shown == 0])
    assert not canvas.highlight.segments.data.lut.any()
    assert canvas.highlight.segments.data.dense is engine.tables.supervoxels.dense
    truth = small_volumes()["truth"].read()
    expected = score(contingency_table(np.asarray(layer.data), truth))
    np.testing.assert_allclose(engine.snapshot.vi_split, expected.vi_split, atol=1e-9)
    np.testing.assert_allclose(engine.snapshot.vi_merge, expected.vi_merge, atol=1e-9)
    qtbot.waitUntil(lambda: workspace.decisions.pair.geometry is not None)
    assert len(workspace.decisions.pair.geometry.contact) == len(engine.tables.actions)
    assert len(workspace.decisions.order.candidates().state) == len(engine.tables.actions)
    assert canvas.contact_view._scene.dense is engine.tables.supervoxels.dense

    # Back to before the split, and there again.
    press(canvas, KEY.Key_Z, CTRL)
    qtbot.waitUntil(lambda: isinstance(engine.snapshot.last_command, Undo))
    assert same_partition(groups(canvas), before)
    qtbot.waitUntil(lambda: "your split" in workspace.messages.current.text)
    assert kept(engine.snapshot.steps[1:]) == kept(snapshot.steps[1:])
    press(canvas, KEY.Key_Y)
    qtbot.waitUntil(lambda: isinstance(engine.snapshot.last_command, Redo) and not engine.snapshot.is_running)
    assert same_partition(groups(canvas), after)

    # A run goes on with the parts, and never joins the two sides again.
    with qtbot.waitSignal(engine.finished):
        engine.run(np.inf)
    final = groups(canvas)
    assert final[NEAR] != final[FAR]
    assert engine.snapshot.n_segments == 2
    engine.go_back(0)
    qtbot.waitUntil(lambda: engine.snapshot.steps == ())
    assert same_partition(groups(canvas), block_labels())
    assert not tool.is_on


def test_several_supervoxels_with_both_colours_and_one_undo(canvas, qtbot):
    engine, tool = canvas.workspace.run.engine, canvas.workspace.split_tool
    before = groups(canvas)
    begin(canvas)
    for x in (6, 11, 17):
        click(canvas, (5, 6, x))
        right_click(canvas, (5, 9, x))
    qtbot.waitUntil(lambda: tool.is_ready)
    assert len(tool.plan.splits) == 3
    shown = np.asarray(canvas.highlight.segments.data[...])
    carry_out(qtbot, canvas)
    after = groups(canvas)
    for value in (FIRST, SECOND):
        assert len(np.unique(after[shown == value])) == 1
    assert len(np.unique(after[shown > 0])) == 2
    assert [step.kind for step in engine.snapshot.steps[2:5]] == ["split"] * 3
    press(canvas, KEY.Key_U)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    assert same_partition(groups(canvas), before)


def test_a_split_is_in_the_session_before_it_is_shown_and_a_new_window_has_it(canvas, qtbot):
    workspace, engine = canvas.workspace, canvas.workspace.run.engine
    seed_supervoxel(qtbot, canvas)
    carry_out(qtbot, canvas)
    path, before = workspace.run.session_path, engine.snapshot
    labels, scores = np.asarray(canvas.segmentation.layer.data), before.scores
    np.testing.assert_array_equal(export_volume(workspace, "segmentation").read(), labels)
    # Nothing is written when the window closes: a killed one has lost nothing.
    with Session.open(path, read_only=True) as session:
        assert len(session.splits()) == 1
        assert [record.event.step.kind for record in session.events()] == [s.kind for s in before.steps]
    merge(qtbot, canvas, (1, 2))
    press(canvas, KEY.Key_U)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == len(before.steps))
    workspace.dispose()

    again = prepared(qtbot, ViewerModel(), "image", "supervoxels", session=SessionWish(path, goes_on=True))
    engine = again.workspace.run.engine
    assert kept(engine.snapshot.steps) == kept(before.steps)
    np.testing.assert_array_equal(np.asarray(again.segmentation.layer.data), labels)
    np.testing.assert_array_equal(engine.snapshot.scores, scores)
    engine.undo()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 2)
    assert engine.snapshot.segment_ids[LEFT] == engine.snapshot.segment_ids[-1]
    again.workspace.dispose()


def test_questions_that_were_put_aside_stay_so(canvas, qtbot):
    decisions, engine = canvas.workspace.decisions, canvas.workspace.run.engine
    pair = 1, 2
    decisions.inspect(engine.tables.actions.find(*pair))
    press(canvas, KEY.Key_S)
    decisions.clear_all()
    seed_supervoxel(qtbot, canvas)
    carry_out(qtbot, canvas)
    assert decisions.order.queue.skipped == [engine.tables.actions.find(*pair)]
    assert decisions.order.open_actions()[-1] == engine.tables.actions.find(*pair)


def test_bad_seeds_are_told_in_one_sentence_and_change_nothing(canvas, qtbot):
    workspace, tool, engine = canvas.workspace, canvas.workspace.split_tool, canvas.workspace.run.engine
    before, said = groups(canvas), lambda: workspace.messages.current.text
    press(canvas, KEY.Key_X)
    assert said() == NO_SEGMENT
    click(canvas, (5, 2, 2))
    assert said() == ""
    click(canvas, AT[LEFT])
    press(canvas, KEY.Key_X)
    assert said() == TWO_SEGMENTS
    press(canvas, KEY.Key_Escape)
    press(canvas, KEY.Key_Escape)

    begin(canvas)
    press(canvas, KEY.Key_Return)
    assert "no seeds yet" in said()
    click(canvas, (5, 2, 2))
    assert "is split. Set seeds there" in said()
    QTest.mouseClick(
        vispy_canvas_of(canvas).native, Qt.MouseButton.LeftButton, pos=pixel_of(canvas, (5, -3, 5))
    )
    assert "Here is no segment" in said()
    assert tool.seeds == ()
    click(canvas, NEAR)
    assert said() == ""
    press(canvas, KEY.Key_Return)
    assert said() == "All seeds are orange. Set at least one blue seed on the other side of the split."
    assert tool.is_on
    # Other decisions wait, and say so.
    for key in (KEY.Key_N, KEY.Key_A, KEY.Key_M, KEY.Key_C):
        press(canvas, key)
        assert "is being split" in said()
    assert tool.seeds == (Seed(0, NEAR),)
    # Enter does nothing before the preview is there.
    right_click(canvas, FAR)
    press(canvas, KEY.Key_Return)
    assert said() == NO_PREVIEW
    qtbot.waitUntil(lambda: tool.is_ready)
    # Undo and Backspace take seeds away one by one.
    press(canvas, KEY.Key_U)
    assert tool.seeds == (Seed(0, NEAR),)
    assert tool.plan is None
    press(canvas, KEY.Key_Backspace)
    assert tool.seeds == ()
    press(canvas, KEY.Key_Escape)
    assert not tool.is_on
    assert same_partition(groups(canvas), before)
    assert len(engine.snapshot.steps) == 2


def test_what_changes_meanwhile_is_refused_or_shown(canvas, qtbot):
    workspace, tool, engine = canvas.workspace, canvas.workspace.split_tool, canvas.workspace.run.engine
    plan = seed_supervoxel(qtbot, canvas)
    # The segment grows: the preview follows.
    engine.merge(*ids(LEFT, 21))
    qtbot.waitUntil(lambda: tool.is_ready and tool.plan is not plan)
    assert 21 in tool.plan.members
    # An old plan is refused by the engine.
    with qtbot.waitSignal(engine.failed) as failed:
        engine.carry_out_split(plan)
    assert "has changed since" in failed.args[0].sentence
    assert tool.is_on
    # Two presses of Enter are one split.
    press(canvas, KEY.Key_Return)
    press(canvas, KEY.Key_Return)
    assert workspace.messages.current.text == IS_BUSY
    qtbot.waitUntil(lambda: not tool.is_on)
    assert [step.kind for step in engine.snapshot.steps].count("split") == 1
    # What was asked before the split about actions of before is not answered.
    assert asked(qtbot, engine, lambda a: a.supervoxels.n) == engine.tables.supervoxels.n
    # Another selection ends the tool.
    click(canvas, AT[RIGHT])
    press(canvas, KEY.Key_X)
    workspace.decisions.inspect(0)
    assert not tool.is_on


def test_the_panel_has_buttons_for_all_of_it_and_follows(canvas, qtbot):
    workspace, tool, engine = canvas.workspace, canvas.workspace.split_tool, canvas.workspace.run.engine
    tab = DecisionsTab(workspace)
    qtbot.addWidget(tab)
    tab.show()
    buttons, box = tab.inspector.buttons, tab.inspector.split
    assert not buttons["split"].isEnabled()
    assert box.isHidden()
    click(canvas, AT[LEFT])
    assert buttons["split"].isEnabled()
    buttons["split"].click()
    assert box.isVisible()
    assert not buttons["merge"].isVisible()
    click(canvas, NEAR)
    assert "Set seeds on both sides" in box.text.text()
    assert not box.confirm.isEnabled()
    box.sides[1].click()
    click(canvas, FAR)
    click(canvas, AT[RIGHT])
    box.remove.click()
    assert tool.seeds == (Seed(0, NEAR), Seed(1, FAR))
    assert [made.text() for made in box.sides] == ["1 orange seed [X]", "1 blue seed"]
    qtbot.waitUntil(lambda: box.confirm.isEnabled())
    assert f"Supervoxel {ids(LEFT)[0]} with seeds of both" in box.text.text()
    box.cancel.click()
    assert box.isHidden()
    assert buttons["merge"].isVisible()
    canvas.workspace.selection.select()
    seed_supervoxel(qtbot, canvas)
    box.confirm.click()
    qtbot.waitUntil(lambda: not tool.is_on)
    # The next question at once, whatever the table still shows.
    press(canvas, KEY.Key_N)
    assert workspace.decisions.pair.action >= 0
    qtbot.waitUntil(lambda: tab.table.arrays is not None)
    assert len(tab.table.arrays.score) == len(engine.tables.actions)
    tab.tabs.setCurrentWidget(tab.history)
    qtbot.waitUntil(lambda: tab.history.table.rowCount() == len(engine.snapshot.steps))
    kinds = [tab.history.table.data(tab.history.table.index(row, 2)) for row in range(4)]
    assert "split" in kinds
