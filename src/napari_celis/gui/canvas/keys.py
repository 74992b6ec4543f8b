"""Keys of the canvas and the panel: one place where all of them are bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtGui import QKeyEvent, QKeySequence
from qtpy.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from napari_celis.gui.canvas.key_table import CARD_KEYS, RUN_KEYS, STEP_KEY, KeyChoice
from napari_celis.gui.qt.widgets import as_int

__all__ = ["CARD_KEYS", "REDO_TIP", "RUN_KEYS", "STEP_KEY", "CanvasKeys", "key_name"]

REDO_TIP = (
    "Do again what was taken back last: one decision, or all that Reset or Go back took. Also Ctrl+Shift+Z."
)
PRESS, RELEASE, OVERRIDE = QEvent.Type.KeyPress, QEvent.Type.KeyRelease, QEvent.Type.ShortcutOverride
EDITORS = (QTextEdit, QPlainTextEdit)
"""Texts of several lines, as in napari's console: all keys are theirs."""
TEXT_WIDGETS = (QLineEdit, QAbstractSpinBox, *EDITORS)
"""Letters that are typed there are no commands."""


def key_name(event: QKeyEvent) -> str:
    """Write a key the way `CanvasKeys.bind` wants it."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return str(QKeySequence(as_int(modifiers) | as_int(event.key())).toString())


@dataclass(frozen=True)
class KeyBinding:
    """What a key does, and when."""

    action: Callable[[], object]
    is_active: Callable[[], bool]
    """While it says no, the key goes where it always went."""
    on_release: Callable[[], object] | None = None
    in_fields: bool = False
    """Whether it also counts where a number or a line of text is typed."""


class CanvasKeys(QObject):
    """Sees keys before napari does, wherever the focus of the window is, but not where text is typed.

    napari's own bindings of a layer would come first otherwise, and a click on the eye of a layer would take
    the keys away. Nothing of napari's is changed: while ours are not active, its keys are as they were.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.choice = KeyChoice(self)
        """The key of every command."""
        self._bindings: dict[str, KeyBinding] = {}
        self._commands: dict[str, KeyBinding] = {}
        self._command_keys: dict[str, KeyBinding] = {}
        self._window: QWidget | None = None
        self._watched: set[int] = set()
        self._followed: QWidget | None = None
        self._held: dict[str, KeyBinding] = {}
        self._cover: QDialog | None = None
        self.choice.changed.connect(self._bind_commands)

    def bind(
        self,
        key: str,
        action: Callable[[], object],
        is_active: Callable[[], bool] = lambda: True,
        *,
        in_fields: bool = False,
    ) -> None:
        """Do something when a key is pressed.

        Parameters
        ----------
        key : str
            As Qt writes it, such as "Ctrl+Z".
        action : callable
            What to do.
        is_active : callable
            Asked for every press; while it says no, the key is not ours.
        in_fields : bool
            Whether the key also counts where a number or a line of text is typed; what was typed counts
            first.
        """
        self._bindings[key] = KeyBinding(action, is_active, in_fields=in_fields)

    def bind_command(
        self,
        name: str,
        action: Callable[[], object],
        is_active: Callable[[], bool] = lambda: True,
        on_release: Callable[[], object] | None = None,
    ) -> None:
        """Do something at the key that the settings give a command.

        Parameters
        ----------
        name : str
            As in `key_table.COMMANDS`.
        action, is_active
            As for `bind`.
        on_release : callable, optional
            What to do when the key is let go.
        """
        self._commands[name] = KeyBinding(action, is_active, on_release)
        self._bind_commands()

    def watch(self, *widgets: QWidget) -> None:
        """Take the keys of these widgets too."""
        for widget in widgets:
            self._watched.add(id(widget))
            widget.installEventFilter(self)

    def watch_viewer(self, viewer: Any) -> None:
        """Take the keys of the window of a viewer, if it has one, wherever its focus is."""
        window = getattr(viewer, "window", None)
        if window is not None:
            self._window = window._qt_window
            self.watch(window._qt_viewer.canvas.native, window._qt_viewer, window._qt_window)
            QApplication.instance().focusChanged.connect(self._on_focus)

    def close_at_next_key(self, cover: QDialog) -> None:
        """Let the next key do nothing but close what covers the window: nobody answers what is not seen.

        Parameters
        ----------
        cover : QDialog
            Shown at present.
        """
        self._cover = cover
        cover.finished.connect(self._uncover)

    def _uncover(self) -> None:
        self._cover = None

    def close(self) -> None:
        """Take no more keys."""
        self._cover = None
        self._bindings, self._commands, self._command_keys = {}, {}, {}
        self.choice.close()
        if self._window is not None:
            QApplication.instance().focusChanged.disconnect(self._on_focus)
            self._follow(None)
            self._window = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Carry out our keys and let all others pass."""
        if event.type() not in (PRESS, RELEASE, OVERRIDE):
            return False
        assert isinstance(event, QKeyEvent)
        if event.type() == RELEASE:
            return not event.isAutoRepeat() and self._let_go(key_name(event))
        if self._cover is not None:
            if event.type() == PRESS and not event.isAutoRepeat():
                self._cover.close()
            event.accept()
            return True
        name, binding = self._find(event)
        if binding is None or not binding.is_active():
            return False
        if _takes_text(watched) and not binding.in_fields:
            return False
        if event.type() == PRESS and not event.isAutoRepeat():
            if isinstance(watched, QAbstractSpinBox):
                # The number that was typed counts, as after Enter.
                watched.interpretText()
            if binding.on_release is not None:
                self._held[name] = binding
            binding.action()
        # Accepting the override keeps a menu with the same key from taking it.
        event.accept()
        return True

    def _find(self, event: QKeyEvent) -> tuple[str, KeyBinding | None]:
        """Find what a key does: by its name, or by its sign, which some keyboards have at other keys."""
        for name in (key_name(event), event.text()):
            binding = self._command_keys.get(name) or self._bindings.get(name)
            if binding is not None:
                return name, binding
        return "", None

    def _let_go(self, name: str) -> bool:
        binding = self._held.pop(name, None)
        if binding is None or binding.on_release is None:
            return False
        binding.on_release()
        return True

    def _bind_commands(self) -> None:
        """Bind the commands to the keys that the settings give them now."""
        self._command_keys = {
            key: binding for name, binding in self._commands.items() for key in self.choice.all_of(name)
        }

    def _on_focus(self, before: QWidget | None, now: QWidget | None) -> None:
        """Follow the focus through our window."""
        for name in list(self._held):
            self._let_go(name)
        is_ours = now is not None and now.window() is self._window and not isinstance(now, EDITORS)
        self._follow(now if is_ours else None)

    def _follow(self, widget: QWidget | None) -> None:
        if self._followed is not None and id(self._followed) not in self._watched:
            self._followed.removeEventFilter(self)
        self._followed = widget
        if widget is not None:
            # Once more for one that is watched: the last filter is asked first, and Qt keeps each only once.
            widget.installEventFilter(self)
            widget.destroyed.connect(self._forget)

    def _forget(self, widget: QObject | None = None) -> None:
        if self._followed is widget:
            self._followed = None


def _takes_text(widget: QObject) -> bool:
    """Tell whether letters are typed into a widget."""
    return isinstance(widget, TEXT_WIDGETS) or (isinstance(widget, QComboBox) and widget.isEditable())
