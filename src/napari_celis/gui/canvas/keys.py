"""Keys of the canvas and the panel: one place where all of them are bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qtpy.QtCore import QEvent, QObject, Qt
from qtpy.QtGui import QKeyEvent, QKeySequence
from qtpy.QtWidgets import QWidget

from napari_celis.gui.qt.widgets import as_int
from napari_celis.gui.session.decision_controller import DecisionController

RUN_KEYS, STEP_KEY = ("Ctrl+Return", "Ctrl+Enter"), "."
DECISION_KEYS: dict[str, Callable[[DecisionController], None]] = {
    "M": DecisionController.merge,
    "K": DecisionController.keep_apart,
    "C": DecisionController.plan_cut,
    "U": DecisionController.undo,
    "Ctrl+Z": DecisionController.undo,
    "Ctrl+Shift+Z": DecisionController.redo,
    "Y": DecisionController.redo,
    "N": DecisionController.next_uncertain,
    "A": DecisionController.accept,
    "R": DecisionController.reject,
    "S": DecisionController.skip,
    "Return": DecisionController.confirm,
    "Enter": DecisionController.confirm,
    "Esc": DecisionController.clear,
}
"""What each key does while clicks select segments."""
REDO_TIP = (
    "Do again what was taken back last: one decision, or all that Reset or Go back took. Also Ctrl+Shift+Z."
)


def key_name(event: QKeyEvent) -> str:
    """Write a key the way `DECISION_KEYS` does."""
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return str(QKeySequence(as_int(modifiers) | as_int(event.key())).toString())


@dataclass(frozen=True)
class KeyBinding:
    """What a key does, and when."""

    action: Callable[[], object]
    is_active: Callable[[], bool]
    """While it says no, the key goes where it always went."""


class CanvasKeys(QObject):
    """Sees the keys of some widgets before these do; napari's own bindings of a layer would come first."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bindings: dict[str, KeyBinding] = {}

    def bind(
        self, key: str, action: Callable[[], object], is_active: Callable[[], bool] = lambda: True
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
        """
        self._bindings[key] = KeyBinding(action, is_active)

    def watch(self, *widgets: QWidget) -> None:
        """Take the keys of these widgets too."""
        for widget in widgets:
            widget.installEventFilter(self)

    def watch_viewer(self, viewer: Any) -> None:
        """Take the keys of the window of a viewer, if it has one."""
        window = getattr(viewer, "window", None)
        if window is not None:
            self.watch(window._qt_viewer.canvas.native, window._qt_viewer, window._qt_window)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Carry out our keys and let all others pass."""
        if event.type() not in (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride):
            return False
        assert isinstance(event, QKeyEvent)
        binding = self._bindings.get(key_name(event))
        if binding is None or not binding.is_active():
            return False
        if event.type() == QEvent.Type.KeyPress and not event.isAutoRepeat():
            binding.action()
        # Accepting the override keeps a menu with the same key from taking it.
        event.accept()
        return True
