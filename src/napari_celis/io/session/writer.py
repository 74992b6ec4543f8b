"""Decisions on their way from an agglomerator to a session file."""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable

from napari_celis.core.journal import Event
from napari_celis.io.session.file import Session
from napari_celis.io.session.lesson_rows import Switch
from napari_celis.io.session.records import MAX_NAME, SessionEvent, SessionSplit

UNKNOWN = "unknown"


class SessionWriter:
    """Collects events, as listener of a journal, and writes them when it is told to.

    Nothing may be shown as decided before `flush` has returned. A decision by hand is flushed by itself;
    those of a greedy run may be flushed together.

    Parameters
    ----------
    session : Session
        Open for writing.
    who : str, optional
        Who decides; the user of the system by default.
    clock : callable
        Tells the time in seconds since 1970.
    """

    def __init__(
        self, session: Session, who: str | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.session, self.who, self.note = session, who or user_name(), ""
        self._clock = clock
        self._waiting: list[SessionEvent] = []
        self._splits: list[SessionSplit] = []
        self._switches: list[Switch] = []

    @property
    def n_waiting(self) -> int:
        """Events that are not written yet."""
        return len(self._waiting)

    def __call__(self, event: Event) -> None:
        """Take an event."""
        self._waiting.append(SessionEvent(event, self._clock(), self.who, self.note))

    def switch_learning(self, *, is_on: bool) -> None:
        """Take that answers are learned from, or no longer, from here on."""
        self._switches.append(Switch(len(self._waiting), is_on))

    def add_split(self, split: SessionSplit) -> None:
        """Take what an event that follows will say: where a supervoxel was split."""
        self._splits.append(split)

    def flush(self) -> None:
        """Write everything that was taken; when this returns it is on the disk.

        Raises
        ------
        SessionError
            If that fails; the next call tries again.
        """
        records, switches, splits = list(self._waiting), list(self._switches), list(self._splits)
        self.session.append(records, switches, splits)
        del self._waiting[: len(records)], self._switches[: len(switches)], self._splits[: len(splits)]


def user_name() -> str:
    """Return who uses this computer, as the system knows."""
    try:
        return getpass.getuser()[:MAX_NAME] or UNKNOWN
    except (OSError, KeyError, ImportError):
        return UNKNOWN
