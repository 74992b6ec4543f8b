"""The selection: what clicks add and drop."""

from __future__ import annotations

import numpy as np

from napari_celis.gui.session.selection import Selection

HERE, THERE = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def test_clicks_add_replace_the_second_and_drop(qtbot):
    selection, told = Selection(), []
    selection.changed.connect(lambda: told.append(selection.supervoxels))
    selection.click(5, HERE)
    selection.click(7, THERE)
    assert selection.clicks == (HERE, THERE)
    selection.click(9, THERE)
    assert selection.supervoxels == (5, 9)
    selection.click(5, THERE)
    assert selection.supervoxels == (9,)
    assert selection.clicks == (THERE,)
    selection.clear()
    assert told == [(5,), (5, 7), (5, 9), (9,), ()]


def test_what_is_not_clicked_has_no_position(qtbot):
    selection = Selection()
    selection.click(5, HERE)
    selection.select(np.int32(3), 4, 5)
    assert (selection.supervoxels, selection.clicks) == ((3, 4), ())
    selection.click(8, THERE)
    assert (selection.supervoxels, selection.clicks) == ((3, 8), (THERE,))
    selection.keep_first()
    assert selection.supervoxels == (3,)


def test_the_same_again_is_not_told(qtbot):
    selection, told = Selection(), []
    selection.select(1, 2)
    selection.changed.connect(lambda: told.append(True))
    selection.select(1, 2)
    assert told == []
