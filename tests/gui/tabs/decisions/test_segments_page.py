"""The list of segments: order, filters, speed; names, notes and states from the cell to the file."""

from __future__ import annotations

import time

import numpy as np
import pytest
from napari.layers import Labels
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QComboBox, QLineEdit

from gui.conftest import asked, block_labels, small_agglomerator
from gui.patience import be_patient
from gui.session.test_session_store import HEAD
from napari_celis.core.segment_list import DecidedEnds, SegmentList, SegmentState, list_segments
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.qt.compact_table import CompactTable
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.segments import NONE_UNTOUCHED, NOTHING_SELECTED
from napari_celis.gui.session.session_recorder import SessionRecorder
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.decisions.decisions_tab import DecisionsTab
from napari_celis.gui.tabs.decisions.segment_model import (
    HEADERS,
    ID,
    NAME,
    NOTE,
    SIZE,
    STATE,
    SegmentFilter,
    SegmentModel,
)
from napari_celis.io.session.file import Session
from napari_celis.pipeline.segment_table import SegmentTable
from napari_celis.pipeline.segment_words import Words
from napari_celis.pipeline.session_data import Sources

UP, DOWN = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder
FIRST = 1 << 33


def table_of(n, seed=0):
    rng = np.random.default_rng(seed)
    segments = SegmentList(
        index=np.arange(1, n + 1),
        id=np.arange(n, dtype=np.uint64) + np.uint64(2**63 + 5),
        voxels=rng.integers(1, 10**6, n),
        state=rng.integers(0, 3, n).astype(np.uint8),
        n_decisions=rng.integers(0, 50, n),
        n_by_hand=rng.integers(0, 9, n),
        row_of=np.arange(n + 1) - 1,
    )
    words = {row: Words(f"Axon {row % 7}", "" if row % 2 else f"note {row}") for row in range(0, n, 5)}
    return SegmentTable(segments, words)


def order(model):
    """List what is shown, by the rows of the table of segments."""
    return [int(model.table.segments.row_of[model.supervoxel_at(row)]) for row in range(model.rowCount())]


def test_the_table_sorts_by_every_column_both_ways(qtbot, qtmodeltester):
    model, table = SegmentModel(), table_of(60)
    model.show(table)
    qtmodeltester.check(model)
    segments = table.segments
    keys = {
        ID: segments.id, SIZE: segments.voxels, STATE: segments.state, 4: segments.n_by_hand,
        5: segments.n_decisions,
    }  # fmt: skip
    for column, values in keys.items():
        for direction, sign in ((UP, 1), (DOWN, -1)):
            model.sort(column, direction)
            wanted = sorted(range(60), key=lambda r: (sign * int(values[r]), -segments.voxels[r]))
            assert order(model) == wanted
    for column, text_of in ((NAME, lambda one: one.name), (NOTE, lambda one: one.note)):
        texts = {row: text_of(words) for row, words in table.words.items() if text_of(words)}
        for direction in (UP, DOWN):
            model.sort(column, direction)
            shown = [texts[row] for row in order(model) if row in texts]
            assert shown == sorted(texts.values(), reverse=direction == DOWN)
            # Those without words come last, in either order.
            assert not set(order(model)[len(texts) :]) & set(texts)
    assert [model.headerData(c, Qt.Orientation.Horizontal) for c in range(7)] == [one for one, _ in HEADERS]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("axon 3", lambda row, table: row in table.words and "3" in table.words[row].name),
        ("NOTE 1", lambda row, table: row in table.words and table.words[row].note.startswith("note 1")),
        (str(2**63 + 5 + 42), lambda row, table: row == 42),
        (str(2**63)[:-1], lambda row, table: str(table.segments.id[row]).startswith(str(2**63)[:-1])),
        ("9" * 25, lambda row, table: False),
        ("0", lambda row, table: row in table.words and "0" in table.words[row].name + table.words[row].note),
        ("  ", lambda row, table: True),
    ],
)
def test_text_filters(qtbot, text, wanted):
    model, table = SegmentModel(), table_of(60)
    model.show(table)
    model.set_filter(SegmentFilter(text))
    assert sorted(order(model)) == [row for row in range(60) if wanted(row, table)]


def test_filters_combine(qtbot):
    model, table = SegmentModel(), table_of(200)
    model.show(table)
    model.set_filter(SegmentFilter("axon", SegmentState.DONE, 100_000))
    segments = table.segments
    wanted = [r for r in table.words if segments.state[r] == 2 and segments.voxels[r] >= 100_000]
    assert sorted(order(model)) == wanted
    assert [model.row_of(row + 1) for row in order(model)] == list(range(len(wanted)))
    missing = next(row for row in range(200) if row not in wanted)
    assert model.row_of(missing + 1) == -1
    assert (model.row_of(0), model.supervoxel_at(10**6)) == (-1, 0)


def test_a_hundred_thousand_segments_stay_fast(qtbot):
    """Listing, sorting, filtering and painting together stay below a tenth of a second of work."""
    n = 100_000
    rng = np.random.default_rng(0)
    supervoxels = Supervoxels(
        np.zeros((1, 1, 1), dtype=np.int32),
        np.arange(n + 1, dtype=np.uint64),
        rng.integers(1, 1000, n + 1),
    )
    view, model, decided = CompactTable(), SegmentModel(), DecidedEnds(supervoxels)
    qtbot.addWidget(view)
    view.setModel(model)
    view.setSortingEnabled(True)
    view.show()
    words = {row: Words(f"axon {row}", "a note") for row in range(0, n, 200)}
    ids = np.arange(n + 1, dtype=np.uint64)
    seconds = []
    for seed in range(6):
        is_done = np.random.default_rng(seed).random(n + 1) < 0.01
        start = time.process_time()
        segments = list_segments(supervoxels, ids, is_done, decided)
        model.set_filter(SegmentFilter("axon" if seed % 2 else ""))
        model.show(SegmentTable(segments, words))
        view.viewport().repaint()
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.1


@pytest.fixture
def tab(make_napari_viewer, qtbot, tmp_path):
    be_patient(qtbot)
    viewer = make_napari_viewer(show=True)
    viewer.add_layer(Labels(block_labels(), name="supervoxels", scale=(40, 4, 4)))
    workspace = Workspace.of(viewer)
    made = DecisionsTab(workspace)
    viewer.window.add_dock_widget(made, name="Decisions")
    made.tabs.setCurrentWidget(made.segments)
    assert "no segments yet" in made.segments.empty.text()
    assert not made.segments.done.isEnabled()
    agglomerator = small_agglomerator()
    for _ in range(20):
        agglomerator.step(np.inf)
    engine = Engine(agglomerator, -0.5, parent=workspace)
    workspace.use_engine(engine)
    engine.record_to(SessionRecorder(tmp_path / "work.celis", HEAD, Sources({}, "")))
    qtbot.waitUntil(lambda: made.segments.model.rowCount() > 0)
    qtbot.waitUntil(lambda: made.decisions.pair.geometry is not None)
    yield made
    workspace.dispose()


def cell(page, supervoxel, column):
    return page.model.data(page.model.index(page.model.row_of(supervoxel), column))


def write(page, supervoxel, column, text):
    """Write into a cell as a person does: double click, type, Enter."""
    index = page.model.index(page.model.row_of(supervoxel), column)
    page.view.edit(index)
    editor = page.view.findChild(QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Qt.Key.Key_Return)


def state_of(page, supervoxel):
    segments = page.segments.table().segments
    return SegmentState(int(segments.state[segments.row_of[supervoxel]]))


def test_rows_words_and_states(tab, qtbot, tmp_path):
    page, workspace, engine = tab.segments, tab.workspace, tab.workspace.run.engine
    viewer, supervoxels = workspace.viewer, workspace.run.supervoxels
    assert page.model.rowCount() == engine.snapshot.n_segments
    assert not tab.inspector.isVisible()
    largest = page.model.supervoxel_at(0)
    segments, ids = page.segments.table().segments, supervoxels.ids
    sizes = segments.voxels[segments.row_of]
    assert sizes[largest] == segments.voxels.max()
    assert cell(page, largest, STATE) == "–"
    assert "µm³" in page.model.data(page.model.index(0, 0), Qt.ItemDataRole.ToolTipRole)

    # A click selects the segment and flies into it, whatever the voxels are.
    with qtbot.waitSignal(workspace.segments.visited) as flown:
        page.view.clicked.emit(page.model.index(0, 0))
    position = flown.args[0]
    voxel = tuple(position.astype(int))
    assert engine.snapshot.segment_ids[supervoxels.dense[voxel]] == ids[largest]
    assert viewer.dims.point[0] == pytest.approx(40 * position[0])
    assert workspace.selection.supervoxels == (largest,)

    # What is written is in the file, before any decision was made.
    write(page, largest, NAME, "axon 1")
    qtbot.waitUntil(lambda: cell(page, largest, NAME) == "axon 1")
    write(page, largest, NOTE, "thin")
    qtbot.waitUntil(lambda: cell(page, largest, NOTE) == "thin")
    with qtbot.waitSignal(engine.carried_out):
        engine.pause()
    with Session.open(tmp_path / "work.celis", read_only=True) as session:
        [note] = session.segments()
        assert (note.supervoxel_id, note.name, note.note) == (ids[largest], "axon 1", "thin")

    # Done: by the button, and on to the next one.
    page.done.click()
    qtbot.waitUntil(lambda: state_of(page, largest) == SegmentState.DONE)
    following = page.segments.selected()
    assert sizes[following] == sizes[segments.row_of != segments.row_of[largest]].max()
    qtbot.waitUntil(lambda: page.view.currentIndex().row() == page.model.row_of(following))
    qtbot.waitUntil(lambda: "1 done" in page.count.text())
    # The key does the same, in the list too.
    with qtbot.waitSignal(engine.advanced):
        QTest.keyClick(page.view, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: state_of(page, following) == SegmentState.DONE)
    # Undo takes the newest mark back, and says so.
    tab.decisions.undo()
    qtbot.waitUntil(lambda: state_of(page, following) == SegmentState.UNTOUCHED)
    qtbot.waitUntil(lambda: "is done." in workspace.messages.current.text)

    # A state can be chosen in its cell.
    qtbot.waitUntil(lambda: cell(page, following, STATE) == "–")
    page.view.edit(page.model.index(page.model.row_of(following), STATE))
    box = page.view.findChild(QComboBox)
    box.setCurrentIndex(0)
    box.activated.emit(0)
    qtbot.waitUntil(lambda: state_of(page, following) == SegmentState.IN_WORK)

    # In work again, by the button.
    page.segments.visit(largest)
    page.in_work.click()
    qtbot.waitUntil(lambda: state_of(page, largest) == SegmentState.IN_WORK)
    with Session.open(tmp_path / "work.celis", read_only=True) as session:
        kinds = [(record.event.kind, record.event.step.kind) for record in session.events()]
    assert kinds == [
        ("decide", "done"), ("decide", "done"), ("undo", "done"), ("decide", "in-work"),
        ("decide", "in-work"),
    ]  # fmt: skip
    # The history says so too.
    tab.tabs.setCurrentWidget(tab.history)
    qtbot.waitUntil(lambda: tab.history.table.rowCount() == len(engine.snapshot.steps))
    assert tab.history.table.data(tab.history.table.index(0, 2)) == "in work"


def test_what_is_done_is_not_merged_by_anybody(tab, qtbot):
    page, workspace, engine = tab.segments, tab.workspace, tab.workspace.run.engine
    actions = engine.tables.actions
    best = engine.snapshot.next_action
    chosen = int(actions.u[best])
    page.segments.visit(chosen)
    page.segments.mark(chosen, is_done=True)
    qtbot.waitUntil(lambda: state_of(page, chosen) == SegmentState.DONE)
    done = engine.snapshot.is_done
    before = engine.snapshot.segment_ids[done]
    assert not engine.snapshot.available[best]

    # By hand: one sentence with the way out, in the panel and beside the two.
    workspace.selection.select(int(actions.u[best]), int(actions.v[best]))
    assert tab.inspector.isVisible()
    assert "is done: nothing changes it" in tab.inspector.verdict.text()
    with qtbot.waitSignal(engine.failed):
        tab.decisions.merge()
    assert "Set its state to “in work” first." in workspace.messages.current.text
    # Questions about it are not asked.
    qtbot.waitUntil(lambda: tab.decisions.order.queue is not None)
    asked_about = asked(qtbot, engine, lambda a: tab.decisions.order.queue.order())
    assert not (done[actions.u[asked_about]] | done[actions.v[asked_about]]).any()

    # By greedy: step, run and going on after answers.
    with qtbot.waitSignal(engine.finished):
        engine.run(np.inf)
    qtbot.waitUntil(lambda: not engine.snapshot.is_running)
    np.testing.assert_array_equal(engine.snapshot.segment_ids[done], before)
    # In work again, it is.
    page.segments.mark(chosen, is_done=False)
    with qtbot.waitSignal(engine.finished):
        engine.run(np.inf)
    qtbot.waitUntil(lambda: engine.snapshot.n_segments == 1)


def test_words_that_cannot_be_kept_and_nothing_left_to_do(tab, qtbot):
    page, workspace, engine = tab.segments, tab.workspace, tab.workspace.run.engine
    page.segments.write(1, name="x" * 300)
    assert "300 letters, but at most 200" in workspace.messages.current.text
    page.segments.write(1, note="bell\x07")
    assert "control character" in workspace.messages.current.text
    assert page.segments.table().words == {}
    workspace.selection.clear()
    page.segments.finish()
    assert workspace.messages.current.text == NOTHING_SELECTED
    # All at once, faster than the engine answers: each is done once, and none is left.
    page.segments.visit(1)
    n = len(page.segments.table().segments)
    for _ in range(n):
        page.segments.finish()
    assert workspace.messages.current.text == NONE_UNTOUCHED
    qtbot.waitUntil(lambda: bool(engine.snapshot.is_done[1:].all()))
    assert sum(step.kind == "done" for step in engine.snapshot.steps) == n


def test_filters_above_the_list_and_a_run_while_writing(tab, qtbot):
    page, engine = tab.segments, tab.workspace.run.engine
    page.segments.write(3, name="glia")
    page.text.setText("GLI")
    assert order(page.model) == [page.model.table.segments.row_of[3]]
    page.text.clear()
    page.smallest.setValue(int(page.model.table.segments.voxels.max()))
    assert 1 <= page.model.rowCount() < len(page.model.table.segments)
    page.smallest.setValue(0)
    page.state.setCurrentIndex(page.state.findData(SegmentState.DONE))
    assert page.model.rowCount() == 0
    page.state.setCurrentIndex(0)
    # A snapshot that comes meanwhile does not take the pen away.
    chosen = page.model.supervoxel_at(0)
    page.view.edit(page.model.index(0, NAME))
    editor = page.view.findChild(QLineEdit)
    with qtbot.waitSignal(engine.advanced):
        engine.step(2)
    qtbot.waitUntil(lambda: len(engine.snapshot.steps) == 22)
    page.refresh()
    assert editor.isVisible()
    QTest.keyClicks(editor, "cell 7")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: cell(page, chosen, NAME) == "cell 7")
    assert page.model.rowCount() == engine.snapshot.n_segments


def test_sorting_shows_the_top_or_the_row_of_the_selected_segment(tab, qtbot):
    view, model = tab.segments.view, tab.segments.model
    view.setFixedHeight(140)
    qtbot.waitUntil(lambda: view.viewport().height() < 140)
    for column in (ID, NAME, SIZE):
        view.scrollToBottom()
        assert view.verticalScrollBar().value() > 0
        view.sortByColumn(column, UP)
        assert view.verticalScrollBar().value() == 0
    tab.segments.segments.visit(model.supervoxel_at(0))
    for order in (DOWN, UP):
        view.scrollToBottom()
        view.sortByColumn(SIZE, order)
        place = view.visualRect(view.currentIndex())
        assert place.top() >= 0
        assert place.bottom() <= view.viewport().height()
