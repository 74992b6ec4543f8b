"""Keys, without a viewer."""

from __future__ import annotations

from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import QWidget

from napari_celis.gui.canvas.keys import DECISION_KEYS, RUN_KEYS, STEP_KEY, CanvasKeys


def test_bound_keys_are_ours_while_they_are_active(qtbot):
    widget, keys, pressed, is_active = QWidget(), CanvasKeys(), [], [True]
    qtbot.addWidget(widget)
    keys.bind("M", lambda: pressed.append("M"), lambda: is_active[0])
    keys.bind("Ctrl+Z", lambda: pressed.append("Ctrl+Z"))
    keys.watch(widget)
    QTest.keyClick(widget, Qt.Key.Key_M)
    QTest.keyClick(widget, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(widget, Qt.Key.Key_Z)
    assert pressed == ["M", "Ctrl+Z"]
    is_active[0] = False
    QTest.keyClick(widget, Qt.Key.Key_M)
    assert pressed == ["M", "Ctrl+Z"]


def test_no_key_means_two_things():
    assert not {*RUN_KEYS, STEP_KEY} & DECISION_KEYS.keys()
