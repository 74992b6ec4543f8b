"""The one sentence that the panel shows about what is wrong, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qtpy.QtCore import QObject, Signal

Severity = Literal["error", "warning", ""]
"""How a message is coloured; "" is a mere hint."""


@dataclass(frozen=True)
class Message:
    """A sentence for the user; without a text there is nothing to say."""

    text: str = ""
    severity: Severity = ""


NO_MESSAGE = Message()


class MessageLine(QObject):
    """Holds the newest message."""

    changed = Signal(object)
    """A Message."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.current = NO_MESSAGE

    def say(self, text: str, severity: Severity = "error") -> None:
        """Show a sentence.

        Parameters
        ----------
        text : str
            Says what is wrong and the way out; "" clears the line.
        severity : {"error", "warning", ""}
            How it is coloured.
        """
        self.current = Message(text, severity) if text else NO_MESSAGE
        self.changed.emit(self.current)

    def clear(self) -> None:
        """Show nothing."""
        self.say("")
