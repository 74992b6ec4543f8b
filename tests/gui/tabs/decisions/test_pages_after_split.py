"""After a supervoxel became two, all pages are about the parts; names, notes and states stay."""

from __future__ import annotations

import numpy as np
import pytest
from napari.components import ViewerModel

from gui.canvas.test_picking import KEY, press
from gui.canvas.test_split_tool import (
    AT,
    FAR,
    LEFT,
    MIDDLE,
    NEAR,
    RIGHT,
    begin,
    carry_out,
    click,
    look_at_section,
    merge,
    prepared,
    right_click,
)
from gui.conftest import asked
from gui.patience import be_patient
from napari_celis.core.segment_list import SegmentState
from napari_celis.evaluation.worst_errors import worst_errors
from napari_celis.gui.session.session_run import SessionWish
from napari_celis.gui.tabs.decisions.errors_tab import N_WORST, ErrorsTab
from napari_celis.gui.tabs.decisions.left_page import LeftPage
from napari_celis.gui.tabs.decisions.segments_page import SegmentsPage

OTHER = 2
"""A supervoxel that nothing is done about, except that it is marked."""


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


def shown(qtbot, page):
    qtbot.addWidget(page)
    page.show()
    return page


def state_of(workspace, index):
    table = workspace.segments.table()
    return table.segments.state[table.segments.row_of[index]]


def words_of(workspace, index):
    table = workspace.segments.table()
    words = table.words.get(int(table.segments.row_of[index]))
    return None if words is None else (words.name, words.note)


def mark(qtbot, workspace, index, *, is_done):
    wanted = SegmentState.DONE if is_done else SegmentState.IN_WORK
    workspace.segments.mark(index, is_done=is_done)
    qtbot.waitUntil(lambda: state_of(workspace, index) == wanted)


def split(qtbot, canvas):
    begin(canvas)
    click(canvas, NEAR)
    right_click(canvas, FAR)
    qtbot.waitUntil(lambda: canvas.workspace.split_tool.is_ready)
    carry_out(qtbot, canvas)


def test_pages_show_the_parts_and_words_and_marks_stay(canvas, qtbot):
    workspace = canvas.workspace
    engine, segments = workspace.run.engine, workspace.segments
    page, left, errors = (shown(qtbot, one(workspace)) for one in (SegmentsPage, LeftPage, ErrorsTab))
    qtbot.waitUntil(lambda: list(left.past) == [2] and bool(errors.table.errors))
    segments.write(LEFT, name="giant", note="two neurons?")
    segments.write(OTHER, name="small")
    mark(qtbot, workspace, OTHER, is_done=True)
    n_before = len(page.model.table.segments)

    split(qtbot, canvas)
    new, snapshot = engine.tables.supervoxels.n, engine.snapshot
    n_parts = len(np.unique(snapshot.segment_ids[[LEFT, MIDDLE, RIGHT, new]]))
    qtbot.waitUntil(lambda: len(page.model.table.segments) == n_before - 1 + n_parts)
    assert page.model.table.segments.voxels.sum() == engine.tables.supervoxels.sizes[1:].sum()
    assert set(page.model.table.segments.id.tolist()) == set(snapshot.segment_ids[1:].tolist())
    # The words stay at one side, the one with the supervoxel where they were written.
    named = [index for index in (LEFT, new) if words_of(workspace, index)]
    assert [words_of(workspace, index) for index in named] == [("giant", "two neurons?")]
    assert words_of(workspace, OTHER) == ("small", "")
    assert state_of(workspace, OTHER) == SegmentState.DONE
    assert state_of(workspace, new) == SegmentState.IN_WORK
    # One answer more, and the curve goes on.
    qtbot.waitUntil(lambda: list(left.past) == [2, 3])
    trees = asked(qtbot, engine, lambda agglomerator: agglomerator.merges.trees())
    expected = worst_errors(engine.tables.overlaps, trees, N_WORST)
    qtbot.waitUntil(lambda: errors.table.errors == expected)

    press(canvas, KEY.Key_U)
    qtbot.waitUntil(lambda: len(page.model.table.segments) == n_before)
    assert words_of(workspace, LEFT) == words_of(workspace, new) == ("giant", "two neurons?")
    qtbot.waitUntil(lambda: list(left.past) == [2])


def test_a_done_segment_is_neither_split_nor_cut_until_it_is_in_work(canvas, qtbot):
    workspace, tool = canvas.workspace, canvas.workspace.split_tool
    mark(qtbot, workspace, LEFT, is_done=True)
    click(canvas, AT[RIGHT])
    press(canvas, KEY.Key_X)
    name = workspace.run.segment_of(RIGHT)
    assert workspace.messages.current.text.startswith(f"Segment {name} is done, so no merge, cut or split")
    assert not tool.is_on
    # A cut is refused with the same sentence, before it is shown.
    with qtbot.waitSignal(workspace.run.failed) as failed:
        press(canvas, KEY.Key_C)
    assert failed.args[0].sentence == workspace.messages.current.text
    assert failed.args[0].sentence.startswith(f"Segment {name} is done")
    assert workspace.decisions.cut.plan is None
    press(canvas, KEY.Key_Escape)
    mark(qtbot, workspace, LEFT, is_done=False)
    split(qtbot, canvas)
    assert workspace.run.engine.snapshot.steps[4].kind == "split"


def test_a_session_with_splits_marks_and_words_goes_on(canvas, qtbot):
    workspace = canvas.workspace
    segments, engine = workspace.segments, workspace.run.engine
    segments.write(LEFT, name="giant")
    split(qtbot, canvas)
    new = engine.tables.supervoxels.n
    segments.write(new, name="part", note="new")
    mark(qtbot, workspace, new, is_done=True)
    before, path = engine.snapshot, workspace.run.session_path
    words = [words_of(workspace, index) for index in (LEFT, new)]
    workspace.dispose()

    again = prepared(qtbot, ViewerModel(), "image", "supervoxels", session=SessionWish(path, goes_on=True))
    other, engine = again.workspace, again.workspace.run.engine
    assert [(step.kind, step.u_id, step.v_id) for step in engine.snapshot.steps] == [
        (step.kind, step.u_id, step.v_id) for step in before.steps
    ]
    np.testing.assert_array_equal(engine.snapshot.segment_ids, before.segment_ids)
    np.testing.assert_array_equal(engine.snapshot.is_done, before.is_done)
    assert [words_of(other, index) for index in (LEFT, new)] == words
    assert state_of(other, new) == SegmentState.DONE
    # All back, and all there again: marks and words with it.
    engine.go_back(0)
    qtbot.waitUntil(lambda: engine.snapshot.steps == ())
    assert not engine.snapshot.is_done.any()
    engine.redo()
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == len(before.steps))
    np.testing.assert_array_equal(engine.snapshot.is_done, before.is_done)
    assert [words_of(other, index) for index in (LEFT, new)] == words
    other.dispose()
