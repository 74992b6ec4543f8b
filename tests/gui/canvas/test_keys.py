"""Keys: which are ours and when, that the focus may be anywhere, and that settings change them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from npe2 import PluginManifest
from qtpy.QtCore import Qt
from qtpy.QtTest import QTest
from qtpy.QtWidgets import (
    QCheckBox,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

import napari_celis
from napari_celis.gui.canvas.key_card import KeyCard
from napari_celis.gui.canvas.key_table import (
    CARD_KEYS,
    COMMANDS,
    FIXED_KEYS,
    RUN_KEYS,
    STEP_KEY,
    KeyChoice,
    as_key,
    chosen_keys,
)
from napari_celis.gui.canvas.keys import CanvasKeys
from napari_celis.gui.canvas.picking import DECISIONS

KEY = Qt.Key


def test_bound_keys_are_ours_while_they_are_active(qtbot):
    widget, keys, pressed, is_active = QWidget(), CanvasKeys(), [], [True]
    qtbot.addWidget(widget)
    keys.bind("M", lambda: pressed.append("M"), lambda: is_active[0])
    keys.bind("Ctrl+Z", lambda: pressed.append("Ctrl+Z"))
    keys.watch(widget)
    QTest.keyClick(widget, KEY.Key_M)
    QTest.keyClick(widget, KEY.Key_Z, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(widget, KEY.Key_Z)
    assert pressed == ["M", "Ctrl+Z"]
    is_active[0] = False
    QTest.keyClick(widget, KEY.Key_M)
    assert pressed == ["M", "Ctrl+Z"]


@pytest.fixture
def window(qtbot):
    """A window with a canvas, a check box and places where text is typed, as a viewer has them."""
    window, inner = QMainWindow(), QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(inner)
    window.widgets = [QWidget(), QCheckBox("eye"), QLineEdit(), QSpinBox()]
    for widget in window.widgets:
        widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        layout.addWidget(widget)
    window.setCentralWidget(inner)
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    return window


def viewer_of(window):
    canvas = SimpleNamespace(native=window.widgets[0])
    qt_viewer = window.centralWidget()
    qt_viewer.canvas = canvas
    return SimpleNamespace(window=SimpleNamespace(_qt_window=window, _qt_viewer=qt_viewer))


def test_keys_work_wherever_the_focus_is_but_not_where_text_is_typed(window, qtbot):
    keys, pressed = CanvasKeys(), []
    keys.bind_command("yes", lambda: pressed.append("A"))
    keys.watch_viewer(viewer_of(window))
    for widget, is_ours in zip(window.widgets, (True, True, False, False), strict=True):
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        pressed.clear()
        QTest.keyClick(widget, KEY.Key_A)
        assert pressed == ["A"] * is_ours, widget
    assert window.widgets[2].text() == "a"
    # Closed, nothing is ours.
    keys.close()
    window.widgets[1].setFocus()
    QTest.keyClick(window.widgets[1], KEY.Key_A)
    assert pressed == []


class Console(QPlainTextEdit):
    """Carries out what was typed, as that of napari does."""

    def keyPressEvent(self, event):  # noqa: N802
        event.accept()


def test_run_and_pause_count_in_fields_too(window, qtbot):
    keys, pressed = CanvasKeys(), []
    control = Qt.KeyboardModifier.ControlModifier
    keys.bind("Ctrl+Return", lambda: pressed.append(window.widgets[3].value()), in_fields=True)
    keys.bind("Ctrl+Z", lambda: pressed.append("Ctrl+Z"))
    keys.watch_viewer(viewer_of(window))
    editor = Console()
    window.centralWidget().layout().addWidget(editor)
    for widget in (*window.widgets, editor):
        widget.setFocus()
        qtbot.waitUntil(widget.hasFocus)
        pressed.clear()
        QTest.keyClick(widget, KEY.Key_Return, control)
        assert pressed == ([] if widget is editor else [0]), widget
    line, number = window.widgets[2:]
    line.setFocus()
    qtbot.waitUntil(line.hasFocus)
    pressed.clear()
    QTest.keyClicks(line, "ab")
    QTest.keyClick(line, KEY.Key_Z, control)
    assert pressed == [], "a text has an undo of its own"
    # A number that was typed counts first.
    number.setKeyboardTracking(False)
    number.setFocus()
    qtbot.waitUntil(number.hasFocus)
    number.selectAll()
    QTest.keyClicks(number, "42")
    QTest.keyClick(number, KEY.Key_Return, control)
    assert pressed == [42]
    keys.close()


def test_a_key_that_is_held_is_let_go_once_also_when_the_focus_goes(window, qtbot):
    keys, heard = CanvasKeys(), []
    keys.bind_command("blink", lambda: heard.append("on"), on_release=lambda: heard.append("off"))
    keys.watch_viewer(viewer_of(window))
    canvas, box = window.widgets[:2]
    canvas.setFocus()
    qtbot.waitUntil(canvas.hasFocus)
    QTest.keyPress(canvas, KEY.Key_B)
    assert heard == ["on"]
    QTest.keyRelease(canvas, KEY.Key_B)
    assert heard == ["on", "off"]
    QTest.keyPress(canvas, KEY.Key_B)
    box.setFocus()
    qtbot.waitUntil(lambda: heard == ["on", "off"] * 2)
    QTest.keyRelease(box, KEY.Key_B)
    assert heard == ["on", "off"] * 2
    keys.close()


def test_signs_are_found_on_every_keyboard(qtbot):
    widget, keys, pressed = QWidget(), CanvasKeys(), []
    qtbot.addWidget(widget)
    keys.bind("?", lambda: pressed.append("?"))
    keys.watch(widget)
    QTest.keyClick(widget, "?", Qt.KeyboardModifier.ShiftModifier)
    assert pressed == ["?"]


def test_no_key_means_two_things():
    ours = [key for command in COMMANDS.values() for key in (command.default, *command.more)]
    assert len({*ours, *RUN_KEYS, STEP_KEY, *CARD_KEYS}) == len(ours) + len(RUN_KEYS) + 1 + len(CARD_KEYS)
    assert not set(ours) & FIXED_KEYS.keys()
    assert set(DECISIONS) <= set(COMMANDS)
    assert all(as_key(key) == key for key in ours)


def test_the_manifest_has_every_command_with_its_default():
    path = next(iter(napari_celis.__path__)) + "/napari.yaml"
    properties = PluginManifest.from_file(path).contributions.configurations["keys"].properties
    assert {name: one.default for name, one in properties.items()} == {
        name: command.default for name, command in COMMANDS.items()
    }


@given(
    st.dictionaries(
        st.sampled_from(sorted(COMMANDS)), st.sampled_from([*"ABRQXZ1?", "Ctrl+Z", "F5", "", "§§", "Esc"])
    )
)
def test_whatever_is_chosen_no_key_means_two_things(settings):
    keys, problems = chosen_keys(settings)
    assert keys.keys() == COMMANDS.keys()
    assert len(set(keys.values())) == len(keys)
    assert not set(keys.values()) & {*FIXED_KEYS, "Ctrl+Z", "Ctrl+Shift+Z"}
    for name, text in settings.items():
        assert keys[name] == as_key(text) or any(f"“{name}”" in problem for problem in problems)


def test_the_next_key_closes_the_card_and_does_nothing_else(qtbot):
    keys, pressed = CanvasKeys(), []
    widget = QWidget()
    qtbot.addWidget(widget)
    keys.bind_command("yes", lambda: pressed.append("yes"))
    keys.watch(widget)
    card = KeyCard(keys.choice)
    card.show()
    keys.close_at_next_key(card)
    # The window has the focus, as where a window manager gives none to new windows.
    with qtbot.waitSignal(card.destroyed):
        QTest.keyClick(widget, KEY.Key_A)
    assert pressed == []
    QTest.keyClick(widget, KEY.Key_A)
    assert pressed == ["yes"]
    keys.close()


def test_settings_of_napari_change_keys_and_the_card_at_once(qtbot, our_plugin, plugin_settings):
    from napari.settings import get_plugin_settings

    keys, pressed = CanvasKeys(), []
    widget = QWidget()
    qtbot.addWidget(widget)
    keys.bind_command("yes", lambda: pressed.append("yes"))
    keys.watch(widget)
    settings = get_plugin_settings("napari-celis").keys
    settings.yes = "j"
    QTest.keyClick(widget, KEY.Key_A)
    assert pressed == []
    QTest.keyClick(widget, KEY.Key_J)
    assert pressed == ["yes"]
    card = KeyCard(keys.choice)
    qtbot.addWidget(card)
    texts = [label.text() for label in card.findChildren(QWidget) if hasattr(label, "text")]
    assert "J" in texts
    assert "A" not in texts
    assert KeyChoice().keys["yes"] == "J"
    settings.no = "j"
    assert "another meaning" in keys.choice.problems[0]
    assert keys.choice.keys["no"] == "R"
    card.show()
    QTest.keyClick(card, KEY.Key_Space)
    assert not card.isVisible()
    keys.close()
