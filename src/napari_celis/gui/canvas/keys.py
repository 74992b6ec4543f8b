"""Keys of the canvas and the panel while pointing is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtGui import QKeyEvent, QKeySequence
from qtpy.QtWidgets import QWidget

KEYS: dict[str, str] = {
    "M": "merge",
    "K": "keep_apart",
    "C": "plan_cut",
    "U": "undo",
    "Ctrl+Z": "undo",
    "Ctrl+Shift+Z": "redo",
    "Y": "redo",
    "N": "next_doubtful",
    "A": "accept",
    "R": "reject",
    "S": "skip",
    "Return": "confirm",
    "Enter": "confirm",
    "Esc": "clear",
}
"""What each key calls, by the name of a method of `Deciding`."""
REDO_TIP = (
    "Do again what was taken back last: one decision, or all that Reset or Go back took. Also Ctrl+Shift+Z."
)


def key_name(event: QKeyEvent) -> str:
    """Write a key the way `KEYS` does."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return str(QKeySequence(as_int(modifiers) | as_int(event.key())).toString())


def as_int(value: Any) -> int:
    """Turn a key or modifier into its number: an enum in some bindings of Qt, an int in others."""
    return int(getattr(value, "value", value))


class KeyFilter(QObject):
    """Sees the keys of some widgets before these do; napari's own bindings of a layer would come first.

    Parameters
    ----------
    actions : mapping of str to callable
        What to do for each key.
    is_active : callable
        Asked for every key: while it says no, all keys go where they always went.
    """

    def __init__(
        self,
        actions: Mapping[str, Callable[[], object]],
        is_active: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._actions = dict(actions)
        self._is_active = is_active

    def watch(self, *widgets: QWidget) -> None:
        """Take the keys of these widgets too."""
        for widget in widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Carry out our keys and let all others pass."""
        if event.type() not in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride):
            return False
        action = self._actions.get(key_name(event))
        if action is None or not self._is_active():
            return False
        if event.type() == QEvent.Type.KeyPress and not event.isAutoRepeat():
            action()
        # Accepting the override keeps a menu with the same key from taking it.
        event.accept()
        return True
