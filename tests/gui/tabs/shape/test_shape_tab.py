"""What the shape tab draws is what the agglomeration computes with."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import QPointF, Qt
from qtpy.QtTest import QTest

from gui.conftest import SHAPE, asked, block_labels
from gui.tabs.shape.conftest import (
    FIRST_ID,
    colours_of,
    go,
    ours,
    wait_for_answer,
)
from napari_celis.core.descriptors import shape_descriptors, unpack_bits
from napari_celis.gui.tabs.shape.descriptor_view import CHANGED, CONNECTED, DISCONNECTED, pairs_to_draw
from napari_celis.gui.tabs.shape.shape_layers import PAIRS

# The numbers.


def test_without_a_model_the_specs_of_the_paper_look_at_the_supervoxels(make_tab, qtbot):
    tab = make_tab()
    names = [tab.form.spec_box.itemData(index).name for index in range(tab.form.spec_box.count())]
    assert names == ["pairwise9", "pairwise17", "pairwise33", "center17", "center33"]
    for position in [(5, 9, 9), (4, 12, 6)]:
        view = go(qtbot, tab, position)
        bits = shape_descriptors(block_labels(), np.array([tab.centre]), tab.form.spec)
        np.testing.assert_array_equal(view.before, unpack_bits(bits, tab.form.spec.n_bits)[0])
        assert tab.form.drawing.view is view
        assert f"Centre {tab.centre}" in tab.form.note.text()


def test_before_and_after_are_those_of_the_score(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.selection.select(1, 2)
    with qtbot.waitSignal(tab.inspector.found):
        tab.form.find_merge.click()
    view = wait_for_answer(qtbot, tab)
    [changes] = asked(qtbot, tab.workspace.run.engine, lambda a: a.scoring.by_centre(a.actions.find(1, 2)))
    here = np.flatnonzero((changes.centres == tab.centre).all(axis=1))
    assert here == [np.abs(changes.changes).argmax()]
    np.testing.assert_array_equal(view.before, unpack_bits(changes.before[here], 64)[0])
    np.testing.assert_array_equal(view.after, unpack_bits(changes.after[here], 64)[0])
    assert tab.form.drawing.is_compared
    assert f"turns on {view.changed.sum()} bits" in tab.form.merge_text.text()
    tab.form.forget_merge.click()
    wait_for_answer(qtbot, tab)
    assert tab.workspace.selection.supervoxels == ()
    assert not tab.form.drawing.is_compared
    assert not tab.form.find_merge.isVisible()


def test_strip_and_lines_have_the_colours_of_the_bits(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.selection.select(1, 2)
    with qtbot.waitSignal(tab.inspector.found):
        tab.form.find_merge.click()
    view = wait_for_answer(qtbot, tab)
    picture = tab.form.drawing.grab().toImage()
    cells = tab.form.drawing._cells
    assert len(cells) == 128
    for index, (cell, bit) in enumerate(cells):
        is_new = index >= 64 and view.changed[bit]
        is_on = (view.after if index >= 64 else view.before)[bit]
        expected = CHANGED if is_new else CONNECTED if is_on else DISCONNECTED
        assert picture.pixelColor(cell.center().toPoint()).name().upper() == expected
    a, b = (tuple(int(c) for c in end) for end in view.ends[3])
    assert tab.form.drawing.describe(cells[3][0].center()).startswith(f"Bit 3: {a} – {b}, ")
    assert tab.form.drawing.describe(QPointF(-5, -5)) == ""

    tab.form.n_pairs.setValue(64)
    colours = colours_of(ours(tab)[PAIRS])
    counts = [colours.count(colour) for colour in (CHANGED, CONNECTED, DISCONNECTED)]
    assert counts == [view.changed.sum(), view.before.sum(), (~view.after).sum()]
    tab.form.is_after.click()
    assert CHANGED not in colours_of(ours(tab)[PAIRS])


def test_half_of_the_pairs_drawn_are_changed_ones(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.selection.select(1, 2)
    with qtbot.waitSignal(tab.inspector.found):
        tab.form.find_merge.click()
    view = wait_for_answer(qtbot, tab)
    assert view.changed.sum() >= 3
    for n_pairs, n_changed in [(1, 1), (4, 2), (6, 3)]:
        tab.form.n_pairs.setValue(n_pairs)
        drawn = pairs_to_draw(view, n_pairs)
        assert len(set(drawn)) == n_pairs == len(ours(tab)[PAIRS].data)
        assert view.changed[drawn].sum() == n_changed
    assert list(pairs_to_draw(view, 64)) == list(range(64))


def test_run_and_undo_change_what_is_shown(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    engine = tab.workspace.run.engine
    action = engine.snapshot.next_action
    before = go(qtbot, tab, engine.tables.actions.centroid[action])
    engine.step()
    qtbot.waitUntil(lambda: tab.answer.view.before.sum() != before.before.sum(), timeout=10000)
    engine.undo()
    qtbot.waitUntil(lambda: tab.answer.view.before.sum() == before.before.sum(), timeout=10000)
    np.testing.assert_array_equal(tab.answer.view.before, before.before)


# The merge.


def test_tab_opens_where_the_merge_changes_most(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.hide()
    tab.workspace.selection.select(1, 2)
    with qtbot.waitSignal(tab.inspector.found):
        tab.show()
    wait_for_answer(qtbot, tab)
    [changes] = asked(qtbot, tab.workspace.run.engine, lambda a: a.scoring.by_centre(a.actions.find(1, 2)))
    assert tab.centre == tuple(changes.centres[np.abs(changes.changes).argmax()])


def test_row_of_the_table_chooses_the_merge(make_tab, qtbot):
    for is_scored in (False, True):
        tab = make_tab(is_scored=is_scored)
        table = tab.form.table
        assert table.active.rowCount() == len(tab.answer.view.active) > 0
        text = table.active.data(table.active.index(0, 2))
        assert (text == "–") is not is_scored
        pair = tuple(int(end) for end in table.active.ids[1])
        QTest.mouseClick(
            table.viewport(),
            Qt.MouseButton.LeftButton,
            pos=table.visualRect(table.active.index(1, 0)).center(),
        )
        view = wait_for_answer(qtbot, tab)
        assert tab.pair == pair == tab.answer.merge
        assert view.joined is not None
        assert tab.form.drawing.is_compared
        if is_scored:
            assert tab.workspace.selection.supervoxels == tuple(end - FIRST_ID for end in pair)


def test_merge_that_cannot_be_is_explained_and_the_centre_still_shown(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    tab.workspace.selection.select(1, 48)
    wait_for_answer(qtbot, tab)
    assert "do not touch" in tab.form.merge_text.text()
    assert tab.form.drawing.view is not None
    tab.workspace.run.engine.merge(FIRST_ID + 1, FIRST_ID + 2)
    tab.workspace.selection.select(1, 2)
    qtbot.waitUntil(lambda: "one segment already" in tab.form.merge_text.text(), timeout=10000)
    # A merge far from the centre changes nothing there.
    tab.workspace.selection.select(47, 48)
    go(qtbot, tab, (2, 2, 2))
    assert "changes nothing" in tab.form.merge_text.text()


def test_chosen_supervoxels_that_are_elsewhere_are_explained(make_tab, qtbot):
    tab = make_tab()
    tab.form.table.chosen.emit((1, 2))
    wait_for_answer(qtbot, tab)
    assert "do not meet" in tab.form.merge_text.text()


# The position.


def test_positions_snap_and_say_so(make_tab, qtbot):
    tab = make_tab(is_scored=True)
    assert tab.form.spec.stride_zyx == (2, 2, 2)
    go(qtbot, tab, (5, 8.9, 9.1))
    assert tab.centre == (4, 8, 10)
    assert [spin.value() for spin in tab.form.spins] == list(tab.centre)
    tab.form.spins[2].setValue(13)
    view = wait_for_answer(qtbot, tab)
    assert view.centre[2] in (12, 14)
    go(qtbot, tab, (0, 0, 19))
    assert tab.centre == (2, 2, 16)
    shown = tab.centre
    tab.go_to((0, 0, 30))
    assert tab.centre == shown
    assert "outside the volume" in tab.form.note.text()
    tab.pointer.picked.emit(None)
    assert "outside the volume" in tab.form.note.text()


def test_corner_says_that_the_box_would_leave(make_tab, qtbot):
    tab = make_tab()
    go(qtbot, tab, (0, 0, 0))
    assert tab.centre == (4, 4, 4)
    assert "would leave the volume" in tab.form.note.text()


def test_box_that_does_not_fit_and_missing_data_are_said(make_tab, qtbot):
    tab = make_tab()
    assert PAIRS in ours(tab)
    tab.form.spec_box.setCurrentIndex(2)
    assert "larger than the volume" in tab.form.drawing.message
    assert not ours(tab)
    assert not tab.form.pick.isEnabled()
    tab.form.spec_box.setCurrentIndex(0)
    wait_for_answer(qtbot, tab)
    assert tab.form.pick.isEnabled()
    tab.workspace.viewer.layers.remove("supervoxels")
    assert "Choose supervoxels" in tab.form.drawing.message
    assert not ours(tab)
    assert tab.form.spec_box.count() == 0
    tab.workspace.viewer.add_labels(np.ones((20, 20), dtype=int), name="flat supervoxels")
    assert "Choose supervoxels" in tab.form.drawing.message


def test_region_of_nothing_but_background_is_said(make_tab, qtbot):
    labels = block_labels()
    labels[:, :, 9:] = 0
    labels[0, 0, -1] = 7
    wide = np.concatenate([labels, np.zeros_like(labels)], axis=2)
    tab = make_tab(data=wide)
    tab.go_to((5, 9, 34))
    qtbot.waitUntil(lambda: "nothing but background" in tab.form.drawing.message, timeout=10000)
    assert not ours(tab)
    go(qtbot, tab, (5, 9, 5))
    assert PAIRS in ours(tab)


def test_painting_on_the_supervoxels_is_seen(make_tab, qtbot):
    tab = make_tab()
    before = go(qtbot, tab, (5, 9, 9)).before.sum()
    layer = tab.workspace.data.supervoxels_layer
    layer.data_setitem(np.nonzero(np.ones(SHAPE)), FIRST_ID + 1)
    qtbot.waitUntil(lambda: tab.answer.view.before.sum() == tab.form.spec.n_bits, timeout=10000)
    assert before < tab.form.spec.n_bits
