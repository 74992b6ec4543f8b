"""What answers teach, from and to rows of a session file, and when learning was switched on and off."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from napari_celis.core.lessons import Lesson
from napari_celis.io.session.records import SessionEvent
from napari_celis.io.session.rows import Checker

MAX_NUMBERS = 4096
"""Of one row of features; there are about a hundred."""
MAX_SWITCHES = 1_000_000
LESSONS = "INSERT INTO lessons VALUES (?, ?, ?, ?)"
SWITCHES = "INSERT OR REPLACE INTO learning VALUES (?, ?)"


class Switch(NamedTuple):
    """Learning was switched on or off."""

    after: int
    """Events before it."""
    is_on: bool


def lesson_rows(first: int, records: Sequence[SessionEvent]) -> list[tuple[Any, ...]]:
    """Return rows of the table `lessons`; what is made again teaches what it did the first time.

    Parameters
    ----------
    first : int
        Number of the first event.
    records : sequence of SessionEvent
        Events that will be written.
    """
    found: list[tuple[Any, ...]] = []
    for number, record in enumerate(records, first):
        lesson = record.event.lesson
        if lesson is not None and record.event.kind == "decide":
            numbers = (np.asarray(one, dtype="<f4").tobytes() for one in (lesson.features, lesson.contact))
            found.append((number, int(lesson.is_wrong), *numbers))
    return found


def read_lessons(connection: sqlite3.Connection, check: Checker, after: int, n: int) -> dict[int, Lesson]:
    """Read what the `n` events after the first `after` teach, by their numbers.

    Parameters
    ----------
    connection : sqlite3.Connection
        Open on a session file.
    check : Checker
        Of the file.
    after, n : int
        Which events.
    """
    rows = connection.execute("SELECT * FROM lessons WHERE number > ? AND number <= ?", (after, after + n))
    return {number: _lesson(check, *row) for number, *row in rows.fetchall()}


def read_switches(connection: sqlite3.Connection, check: Checker) -> list[Switch]:
    """Read when learning was switched, in order."""
    rows = connection.execute("SELECT * FROM learning ORDER BY after LIMIT ?", (MAX_SWITCHES + 1,)).fetchall()
    if len(rows) > MAX_SWITCHES:
        raise check.fail("learning was switched more often than it can be")
    return [
        Switch(
            check.count(after, "the place of a switch", 2**40),
            bool(check.count(is_on, "the state of a switch", 1)),
        )
        for after, is_on in rows
    ]


def switch_rows(first: int, switches: Iterable[Switch]) -> list[tuple[int, int]]:
    """Return rows of the table `learning`.

    Parameters
    ----------
    first : int
        Events that are in the file.
    switches : iterable of Switch
        Counted from there.
    """
    return [(first + one.after, int(one.is_on)) for one in switches]


def _lesson(check: Checker, is_wrong: Any, features: Any, contact: Any) -> Lesson:
    return Lesson(
        _numbers(check, features), _numbers(check, contact), bool(check.count(is_wrong, "an answer", 1))
    )


def _numbers(check: Checker, blob: Any) -> np.ndarray:
    """Return the features in a blob, float32."""
    if not isinstance(blob, bytes) or len(blob) % 4 or not 0 < len(blob) <= 4 * MAX_NUMBERS:
        raise check.fail("what was seen at an answer is no row of numbers")
    numbers = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    if not np.isfinite(numbers).all():
        raise check.fail("what was seen at an answer is not finite")
    return numbers
