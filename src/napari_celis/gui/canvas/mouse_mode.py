"""What a click in the canvas does now."""

from __future__ import annotations

from qtpy.QtCore import QObject, Signal


class MouseMode(QObject):
    """The part of the panel that uses clicks, and a line of help for it."""

    changed = Signal(str)
    """The name of another mode; "" leaves clicks to napari."""
    help_changed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.current = ""
        self.help_text = ""

    def use(self, mode: str) -> None:
        """Change what clicks do."""
        if mode != self.current:
            self.current = mode
            self.changed.emit(mode)

    def set_help(self, text: str) -> None:
        """Tell what a click does now."""
        self.help_text = text
        self.help_changed.emit(text)
