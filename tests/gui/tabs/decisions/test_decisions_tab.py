"""The tab Decisions: what a row, a filter and a button do, and how the table follows."""

from __future__ import annotations

import numpy as np
import pytest
from napari.layers import Labels
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest

from gui.conftest import block_labels, small_agglomerator
from gui.patience import be_patient
from napari_celis.core.decisions import ActionState
from napari_celis.core.questions import QuestionKind
from napari_celis.gui.qt.numbers import signed
from napari_celis.gui.qt.widgets import CommandLine
from napari_celis.gui.session.decision_controller import NOTHING_OPEN
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.messages import Message
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.decisions_tab import DecisionsTab

UP, DOWN = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


@pytest.fixture
def tab(make_napari_viewer, qtbot):
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    viewer.add_layer(Labels(block_labels(), name="supervoxels"))
    workspace = Workspace.of(viewer)
    made = DecisionsTab(workspace)
    assert "no merges to decide" in made.empty.text()
    assert not made.next.isEnabled()
    viewer.window.add_dock_widget(made, name="Decisions")
    agglomerator = small_agglomerator()
    workspace.use_engine(Engine(agglomerator, -0.5, parent=workspace))
    qtbot.waitUntil(lambda: made.table.rowCount() > 0)
    qtbot.waitUntil(lambda: made.decisions.pair.geometry is not None)
    yield made
    workspace.dispose()


def choose(tab, row):
    tab.view.setCurrentIndex(tab.table.index(row, 0))


def test_rows_buttons_keys_and_filters(tab, qtbot):
    workspace, decisions, engine = tab.workspace, tab.decisions, tab.workspace.run.engine
    actions, viewer = engine.tables.actions, tab.workspace.viewer
    assert tab.table.rowCount() == np.count_nonzero(engine.snapshot.available)
    assert tab.table.action_at(0) == decisions.order.open_actions()[0]
    assert not tab.empty.isVisible()
    assert f"of {len(actions)} contacts" in tab.count.text()

    # A row selects both segments, flies there and explains the score.
    choose(tab, 3)
    action, first_of_queue = tab.table.action_at(3), decisions.order.open_actions()[0]
    assert decisions.pair.action == action
    assert workspace.selection.supervoxels == (actions.u[action], actions.v[action])
    contact = decisions.pair.geometry.contact[action]
    assert abs(viewer.dims.point[0] - contact[0]) <= 0.5
    assert not tab.inspector.centres.isChecked()
    tab.inspector.centres.setChecked(True)
    qtbot.waitUntil(lambda: bool(decisions.pair.parts) and bool(decisions.pair.centres))
    assert tab.inspector.score.text() == signed(engine.snapshot.scores[action])
    assert tab.inspector.parts.parts == decisions.pair.parts
    assert "threshold" in tab.inspector.verdict.text()
    # All of it fits into a window of 1280 × 800.
    assert tab.heightForWidth(366) <= 620
    points = tab.canvas.highlight.centres
    assert points.features["ΔE"].sum() == pytest.approx(2 * decisions.pair.score, rel=1e-4)
    tab.inspector.centres.setChecked(False)
    assert len(points.data) == 0
    tab.inspector.centres.setChecked(True)
    qtbot.waitUntil(lambda: len(points.data) > 0)
    # Blue where the merge lowers the energy, red where it raises it.
    best, worst = points.features["ΔE"].argmin(), points.features["ΔE"].argmax()
    assert points.face_color[best, 2] > points.face_color[best, 0]
    assert points.face_color[worst, 0] > points.face_color[worst, 2]
    tab.inspector.meshes.setChecked(True)
    qtbot.waitUntil(lambda: len(tab.canvas.highlight.meshes.layers) == 2)
    tab.inspector.meshes.setChecked(False)
    assert tab.canvas.highlight.meshes.layers == []

    # Single keys work in the table as well.
    with qtbot.waitSignal(engine.advanced):
        QTest.keyClick(tab.view, Qt.Key.Key_A)
    assert engine.snapshot.taken[action]
    # The queue goes on from there.
    assert decisions.pair.action not in (action, first_of_queue)
    qtbot.waitUntil(lambda: tab.view.currentIndex().row() == tab.table.row_of(decisions.pair.action) >= 0)
    rejected = decisions.pair.action
    with qtbot.waitSignal(engine.advanced):
        QTest.keyClick(tab.view, Qt.Key.Key_R)
    assert tab.decisions.order.candidates().state[rejected] == ActionState.REJECTED

    # The buttons.
    skipped = decisions.pair.action
    tab.inspector.buttons["unsure"].click()
    assert decisions.order.open_actions()[-1] == skipped
    for name, kind in (("yes", "manual"), ("no", "keep-apart"), ("merge", "manual")):
        with qtbot.waitSignal(engine.advanced):
            tab.inspector.buttons[name].click()
        assert engine.snapshot.steps[-1].kind == kind
    assert len(workspace.selection.supervoxels) == 1
    tab.next.click()
    with qtbot.waitSignal(engine.advanced):
        tab.inspector.buttons["keep_apart"].click()
    assert engine.snapshot.steps[-1].kind == "keep-apart"
    n_steps = len(engine.snapshot.steps)
    with qtbot.waitSignal(engine.advanced):
        tab.undo.click()
    assert len(engine.snapshot.steps) == n_steps - 1
    with qtbot.waitSignal(engine.advanced):
        tab.redo.click()
    assert len(engine.snapshot.steps) == n_steps
    merged = next(step for step in engine.snapshot.steps if step.kind == "manual")
    workspace.selection.select(
        *(workspace.run.supervoxels.index_of(one) for one in (merged.u_id, merged.v_id))
    )
    tab.inspector.buttons["cut"].click()
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    assert "fall apart" in tab.inspector.segments.text()
    tab.inspector.buttons["cancel"].click()
    assert decisions.cut.plan is None
    tab.inspector.buttons["cut"].click()
    qtbot.waitUntil(lambda: decisions.cut.plan is not None)
    with qtbot.waitSignal(engine.advanced):
        tab.inspector.buttons["confirm"].click()
    assert [step.kind for step in engine.snapshot.steps[-2:]] == ["cut", "keep-apart"]

    # Filters: first what is asked about, of both kinds.
    assert tab.state.currentText() == "Questions"
    decisions.order.renew()
    qtbot.waitUntil(lambda: tab.table.rowCount() == len(decisions.order.open_actions()))
    kinds = set(decisions.order.queue.questions().kind.tolist())
    assert kinds == {QuestionKind.MERGE, QuestionKind.MADE}
    assert tab._passes(decisions.order.open_actions()).all()
    tab.state.setCurrentIndex(tab.state.findText("All"))
    assert tab.table.rowCount() == len(actions)
    tab.id_filter.setText(str(workspace.run.supervoxels.ids[1]))
    assert tab.table.rowCount() == 3
    tab.id_filter.clear()
    tab.smallest.setValue(10**6)
    assert tab.table.rowCount() == 0
    tab.smallest.setValue(0)
    entry = tab.view.column_menu().actions()[1]
    entry.setChecked(False)
    assert tab.view.isColumnHidden(1)

    # Pointing can be switched here.
    tab.toggle.setChecked(False)
    assert not tab.canvas.picker.is_on
    tab.toggle.setChecked(True)
    assert tab.canvas.picker.is_on
    assert not tab.findChildren(CommandLine), "no command decides by hand"

    # Two that do not touch are told so, with the nearest that do.
    workspace.selection.select(1, workspace.run.supervoxels.n)
    assert "do not touch" in tab.inspector.verdict.text()
    assert not tab.inspector.buttons["merge"].isEnabled()
    workspace.use_engine(None)
    assert tab.table.rowCount() == 0
    assert tab.empty.isVisible()


def test_the_row_follows_its_merge_when_the_table_is_sorted(tab, qtbot):
    decisions, viewer = tab.decisions, tab.workspace.viewer
    choose(tab, 3)
    action = decisions.pair.action
    for order in (DOWN, UP):
        tab.view.sortByColumn(1, order)
        assert decisions.pair.action == action
        assert tab.table.action_at(tab.view.currentIndex().row()) == action
        assert [index.row() for index in tab.view.selectionModel().selectedRows()] == [
            tab.table.row_of(action)
        ]
    # A click on the current row goes back to its place.
    at = viewer.dims.point[0]
    viewer.dims.set_point(0, 11 if at < 6 else 0)
    tab.view.scrollTo(tab.view.currentIndex())
    place = tab.view.visualRect(tab.view.currentIndex()).center()
    QTest.mouseClick(tab.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert viewer.dims.point[0] == at


def is_in_sight(view):
    place = view.visualRect(view.currentIndex())
    return view.currentIndex().isValid() and place.top() >= 0 and place.bottom() < view.viewport().height()


def test_the_current_row_stays_in_sight(tab, qtbot):
    view, decisions = tab.view, tab.decisions
    tab.window().resize(1280, 800)
    qtbot.waitUntil(lambda: view.viewport().height() > 60)
    # What the inspector says about a question takes room from the table.
    before = view.viewport().height()
    last = view.rowAt(before - 1) - 1
    assert 0 < last < tab.table.rowCount() - 1
    choose(tab, last)
    qtbot.waitUntil(lambda: view.viewport().height() < before)
    qtbot.waitUntil(lambda: is_in_sight(view))

    # The next question is shown, also where the user has scrolled away, and in the row of the last one too.
    view.scrollToBottom()
    choose(tab, 0)
    view.scrollToBottom()
    assert not is_in_sight(view)
    tab.table.sort(0, DOWN)
    decisions.inspect(tab.table.action_at(0))
    assert view.currentIndex().row() == 0
    assert is_in_sight(view)
    # Nothing moves while the user reads elsewhere.
    view.scrollToBottom()
    at = view.verticalScrollBar().value()
    tab.resize(tab.width(), tab.height() - 10)
    tab._follow()
    assert view.verticalScrollBar().value() >= at


def test_nothing_above_the_pages_jumps(tab, qtbot):
    places = set()
    for index in range(tab.tabs.count()):
        tab.tabs.setCurrentIndex(index)
        tab.layout().activate()
        assert tab.learning.isVisible()
        places.add((tab.learning.geometry().top(), tab.tabs.geometry().top()))
    assert len(places) == 1


def test_the_next_question_is_one_that_the_table_shows(tab, qtbot):
    decisions, supervoxels = tab.decisions, tab.workspace.run.supervoxels
    tab.id_filter.setText(str(supervoxels.ids[22]))
    rows = [tab.table.action_at(row) for row in range(tab.table.rowCount())]
    seen = []
    for _ in rows:
        QTest.keyClick(tab.view, Qt.Key.Key_N)
        seen.append(decisions.pair.action)
    assert seen == rows
    # After the last comes the first again; without the filter, the row below the one that was clicked.
    QTest.keyClick(tab.view, Qt.Key.Key_N)
    assert decisions.pair.action == rows[0]
    tab.id_filter.clear()
    choose(tab, 6)
    after = tab.table.action_at(7)
    tab.inspector.buttons["unsure"].click()
    assert decisions.pair.action == after
    # Undo takes that back, and the question is there again.
    tab.undo.click()
    assert decisions.pair.action != after
    assert "Taken back" in tab.workspace.messages.current.text


def test_the_queue_begins_again_after_its_end(tab, qtbot):
    decisions = tab.decisions
    queue = decisions.order.open_actions()
    decisions.inspect(int(queue[-1]))
    decisions.next_uncertain()
    assert decisions.pair.action == queue[0]
    assert tab.workspace.messages.current != Message(NOTHING_OPEN, "warning")
    with qtbot.waitSignal(tab.workspace.run.engine.finished):
        tab.workspace.run.engine.run(np.inf)
    decisions.next_uncertain()
    assert tab.workspace.messages.current == Message(NOTHING_OPEN, "warning")


def test_the_table_keeps_up_with_a_run(tab, qtbot):
    engine = tab.workspace.run.engine
    tab.state.setCurrentIndex(tab.state.findText("Open"))
    choose(tab, tab.table.rowCount() - 1)
    action = tab.decisions.pair.action
    with qtbot.waitSignal(engine.advanced, check_params_cb=lambda snapshot: not snapshot.is_running):
        engine.step(5)
    n_open = np.count_nonzero(tab.decisions.order.candidates().state == ActionState.OPEN)
    qtbot.waitUntil(lambda: tab.table.rowCount() == n_open)
    assert tab.decisions.pair.action == action
    assert tab.table.action_at(tab.view.currentIndex().row()) == action or tab.table.row_of(action) < 0

    # Where nobody looks, nothing is drawn.
    shown = tab.table.arrays
    tab.hide()
    with qtbot.waitSignal(engine.advanced, check_params_cb=lambda snapshot: not snapshot.is_running):
        engine.step(5)
    assert not tab._timer.isActive()
    assert tab.table.arrays is shown
    tab.show()
    qtbot.waitUntil(lambda: tab.table.arrays.score is engine.snapshot.scores)
