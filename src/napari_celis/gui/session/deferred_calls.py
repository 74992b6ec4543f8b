"""Work in the window's thread that can wait until the window has answered the user."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from qtpy.QtCore import QObject, QTimer


class DeferredCalls(QObject):
    """Makes calls later, one at a time, and lets the window answer in between.

    Adding a layer or collecting garbage takes a third of a second each time.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], object]] = deque()
        self._is_closed = False

    def add(self, work: Callable[[], object]) -> None:
        """Call `work` after everything that was added before."""
        self._waiting.append(work)
        if len(self._waiting) == 1:
            QTimer.singleShot(0, self._call_next)

    def close(self) -> None:
        """Call nothing more."""
        self._is_closed = True

    def _call_next(self) -> None:
        if self._is_closed:
            return
        try:
            self._waiting[0]()
        finally:
            self._waiting.popleft()
            if self._waiting:
                QTimer.singleShot(0, self._call_next)
