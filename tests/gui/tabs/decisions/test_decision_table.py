"""The table of merges: order, filters, how things are written, and speed."""

from __future__ import annotations

import time

import numpy as np
import pytest
from qtpy.QtCore import QModelIndex, Qt

from napari_celis.core.decisions import ActionState
from napari_celis.gui.qt.compact_table import CompactTable
from napari_celis.gui.qt.numbers import short_number, signed
from napari_celis.gui.tabs.decisions.decision_table import (
    NO_RANK,
    NO_SCORE,
    RANK_ROOM,
    DecisionArrays,
    DecisionFilter,
    DecisionTable,
)

UP, DOWN = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


def arrays_of(n, seed=0):
    rng = np.random.default_rng(seed)
    rank = np.full(n, NO_RANK, dtype=np.int64)
    rank[: n // 2] = rng.permutation(n // 2) + 1
    return DecisionArrays(
        rank=rank,
        score=rng.normal(size=n),
        area=rng.integers(1, 500, n),
        smaller=rng.integers(1, 10**5, n),
        larger=rng.integers(10**5, 10**7, n),
        state=rng.integers(0, 6, n).astype(np.uint8),
        u_id=np.arange(n, dtype=np.uint64) + 2**40,
        v_id=np.arange(n, dtype=np.uint64) + 2**40 + 1,
        parts={"near": rng.normal(size=n), "far": rng.normal(size=n)},
    )


def column(model, index):
    return [model.data(model.index(row, index)) for row in range(model.rowCount())]


def test_the_table_sorts_by_every_column_both_ways(qtbot, qtmodeltester):
    model, arrays = DecisionTable(), arrays_of(60)
    model.show(arrays)
    qtmodeltester.check(model)
    titles = [model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount())]
    assert titles == ["№", "Score", "near", "far", "Area", "Small", "Large", "State"]
    values = [arrays.rank, arrays.score, *arrays.parts.values()]
    values += [arrays.area, arrays.smaller, arrays.larger, arrays.state]
    for index, numbers in enumerate(values):
        for order, expected in ((UP, np.sort(numbers)), (DOWN, np.sort(numbers)[::-1])):
            model.sort(index, order)
            shown = numbers[[model.action_at(row) for row in range(60)]]
            np.testing.assert_array_equal(shown, expected)
    model.sort(1, UP)
    model.set_filter(DecisionFilter(state=ActionState.OPEN))
    assert column(model, 1)[0] == signed(arrays.score[arrays.state == ActionState.OPEN].min())


def test_filters_combine_and_rows_are_found_again(qtbot):
    model, arrays = DecisionTable(), arrays_of(200)
    model.show(arrays)
    model.set_filter(DecisionFilter(state=ActionState.OPEN, min_voxels=20_000))
    expected = np.flatnonzero((arrays.state == 0) & (arrays.smaller >= 20_000))
    assert sorted(model.action_at(row) for row in range(model.rowCount())) == expected.tolist()
    assert set(column(model, 7)) == {"open"}
    assert model.action_at(model.row_of(expected[3])) == expected[3]
    assert model.row_of(int(np.flatnonzero(arrays.state == 1)[0])) == -1
    model.set_filter(DecisionFilter(supervoxel_id=2**40 + 5))
    assert sorted(model.action_at(row) for row in range(model.rowCount())) == [4, 5]
    assert "1099511627781" in model.data(model.index(0, 0), Qt.ItemDataRole.ToolTipRole)
    model.show(None)
    assert model.rowCount() == 0
    assert model.action_at(0) == -1
    assert model.data(QModelIndex()) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (7, "7"),
        (9999, "9,999"),
        (12_345, "12.3k"),
        (20_000, "20.0k"),
        (99_960, "100k"),
        (999_600, "1000k"),
        (2_500_000, "2.50M"),
        (4e9, "4.00G"),
    ],
)
def test_counts_are_short(number, text):
    assert short_number(number) == text


def test_what_is_merged_or_unseen_has_no_score(qtbot):
    model, arrays = DecisionTable(), arrays_of(60)
    model.show(arrays)
    for state in ActionState:
        model.set_filter(DecisionFilter(state=state))
        has_none = state in (ActionState.MERGED, ActionState.UNSEEN)
        assert model.rowCount()
        assert all((text == NO_SCORE) == has_none for text in column(model, 1))


def test_the_longest_state_is_not_cut(qtbot):
    view, model = CompactTable(), DecisionTable()
    qtbot.addWidget(view)
    view.setModel(model)
    view.resize(360, 200)
    view.fix_widths({0: RANK_ROOM, 5: "kept apart"})
    view.show()
    assert view.columnWidth(5) > view.fontMetrics().horizontalAdvance("kept apart")
    assert sum(view.columnWidth(c) for c in range(6)) == view.viewport().width()


@pytest.mark.parametrize(("score", "text"), [(-2.8864, "−2.886"), (113.81, "+113.8"), (-1e-9, "0.000")])
def test_scores_have_a_sign(score, text):
    assert signed(score) == text


def test_a_hundred_thousand_rows_stay_fast(qtbot):
    view, model = CompactTable(), DecisionTable()
    qtbot.addWidget(view)
    view.setModel(model)

    view.setSortingEnabled(True)
    view.show()
    model.show(arrays_of(100_000))
    seconds = []
    for seed in range(1, 6):
        arrays = arrays_of(100_000, seed)
        start = time.process_time()
        model.show(arrays)
        view.viewport().repaint()
        seconds.append(time.process_time() - start)
    # The table refreshes four times a second: even a slow machine must not feel it.
    assert min(seconds) < 0.2
