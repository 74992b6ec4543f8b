"""Records from and to rows of a session file; nothing that a file says is believed before it is looked at."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from napari_celis.core.journal import Event, EventKind, Step, StepKind
from napari_celis.io.session.records import (
    ANSWERS,
    MAX_NAME,
    MAX_TEXT,
    ROLES,
    Question,
    SegmentNote,
    SessionError,
    SessionEvent,
    SessionHead,
    SessionVolume,
    require_words,
)

MAX_SETTINGS = 1000
MAX_AXIS = 2**31
MAX_SPECS = 100
MAX_SEGMENTS = 2**31
_HALF, _WHOLE = 2**63, 2**64


def to_sql(number: int) -> int:
    """Store an id of 64 bits without sign as one with a sign, which is what SQLite has."""
    return number - _WHOLE if number >= _HALF else number


class Checker:
    """Checks values of one file.

    Parameters
    ----------
    name : str
        The file, as messages call it.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, what: str) -> SessionError:
        """Make the error for something that cannot be."""
        return SessionError(f"{self.name} is damaged: {what}. Use a copy that is whole.")

    def text(self, value: Any, what: str, most: int = MAX_TEXT) -> str:
        """Return a text that is not too long."""
        if not isinstance(value, str) or len(value) > most or "\x00" in value:
            raise self.fail(f"{what} is no text of at most {most:,} letters")
        return value

    def words(self, value: Any, what: str, most: int) -> str:
        """Return words about a segment, as a person can write them."""
        text = self.text(value, what, most)
        try:
            require_words(what, text, most)
        except SessionError as error:
            raise self.fail(f"{what} has a control character") from error
        return text

    def id(self, value: Any, what: str) -> int:
        """Return the id of a supervoxel."""
        if type(value) is not int or value == 0:
            raise self.fail(f"{what} is no id of a supervoxel")
        return value + _WHOLE if value < 0 else value

    def count(self, value: Any, what: str, most: int) -> int:
        """Return a whole number from 0 on."""
        if type(value) is not int or not 0 <= value <= most:
            raise self.fail(f"{what} is no number from 0 to {most:,}")
        return value

    def number(self, value: Any, what: str) -> float:
        """Return a finite number."""
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.fail(f"{what} is no finite number")
        return float(value)

    def word(self, value: Any, what: str, words: Iterable[str]) -> Any:
        """Return one of a few words."""
        if not isinstance(value, str) or value not in words:
            raise self.fail(f"{what} is {str(value)[:40]!r}, which means nothing")
        return value

    def numbers(self, text: Any, what: str, most: int) -> list[int]:
        """Return whole numbers that were stored as JSON."""
        try:
            values = json.loads(self.text(text, what))
        except (ValueError, RecursionError) as error:
            raise self.fail(f"{what} is no list of numbers") from error
        if not isinstance(values, list) or len(values) > most or any(type(one) is not int for one in values):
            raise self.fail(f"{what} is no list of at most {most} whole numbers")
        return values


def head_to_rows(head: SessionHead) -> tuple[dict[str, str], dict[str, str], list[tuple[Any, ...]]]:
    """Return the rows of the tables `head`, `settings` and `volumes`."""
    values = {
        "model_path": head.model_path,
        "model_checksum": head.model_checksum,
        "created": repr(float(head.created)),
    }
    if head.units_at_start is not None:
        values["units_at_start"] = json.dumps(list(head.units_at_start))
    volumes: list[tuple[Any, ...]] = [
        (volume.role, volume.path, volume.relative, volume.checksum, json.dumps(list(volume.shape)))
        for volume in head.volumes
    ]
    return values, dict(head.settings), volumes


def head_from_rows(
    values: Mapping[Any, Any], settings: Mapping[Any, Any], volumes: Iterable[tuple[Any, ...]], name: str
) -> SessionHead:
    """Check the rows of the tables `head`, `settings` and `volumes`.

    Parameters
    ----------
    values, settings : mapping
        Their keys and values.
    volumes : iterable of tuple
        Rows of `volumes`.
    name : str
        The file, as messages call it.
    """
    check = Checker(name)
    if len(values) > MAX_SETTINGS or len(settings) > MAX_SETTINGS:
        raise check.fail("it has more settings than there can be")
    units = values.get("units_at_start")
    try:
        created = float(check.text(values.get("created"), "the time of its beginning", 40))
    except ValueError as error:
        raise check.fail("the time of its beginning is no number") from error
    found = tuple(_volume(check, row) for row in volumes)
    head = SessionHead(
        found,
        check.text(values.get("model_path"), "the path of the model"),
        check.text(values.get("model_checksum"), "the checksum of the model", MAX_NAME),
        {
            check.text(key, "a setting", MAX_NAME): check.text(value, f"the setting {key}")
            for key, value in settings.items()
        },
        None if units is None else tuple(check.numbers(units, "the energy at the start", MAX_SPECS)),
        check.number(created, "the time of its beginning"),
    )
    if head.volume("supervoxels") is None:
        raise check.fail("it names no supervoxels")
    return head


def _volume(check: Checker, row: tuple[Any, ...]) -> SessionVolume:
    role, path, relative, checksum, shape = row
    axes = check.numbers(shape, "the shape of a volume", 3)
    if len(axes) != 3 or any(not 0 < size <= MAX_AXIS for size in axes):
        raise check.fail("the shape of a volume is not three sizes")
    return SessionVolume(
        check.word(role, "the role of a volume", ROLES),
        check.text(path, "the path of a volume"),
        check.text(relative, "the path of a volume"),
        check.text(checksum, "the checksum of a volume", MAX_NAME),
        (axes[0], axes[1], axes[2]),
    )


def event_to_row(number: int, record: SessionEvent) -> tuple[Any, ...]:
    """Return a row of the table `events`."""
    event, step = record.event, record.event.step
    energy = event.energy if math.isfinite(event.energy) else None
    return (
        number, event.kind, step.kind, to_sql(step.u_id), to_sql(step.v_id), float(step.score), energy,
        step.n_segments, record.time, record.who[:MAX_NAME], record.note[:MAX_TEXT], int(step.follows),
    )  # fmt: skip


def event_from_row(check: Checker, expected: int, row: tuple[Any, ...]) -> SessionEvent:
    """Check a row of the table `events`.

    Parameters
    ----------
    check : Checker
        Of the file.
    expected : int
        The number that the event must have: none is missing.
    row : tuple
        All columns.
    """
    number, event, kind, u_id, v_id, score, energy, n_segments, time, who, note, follows = row
    if number != expected:
        raise check.fail(f"event {expected:,} is missing")
    what = f"of event {expected:,}"
    energy = math.nan if energy is None else check.number(energy, f"the energy {what}")
    step = Step(
        index=0,
        kind=check.word(kind, f"the kind {what}", get_args(StepKind)),
        u_id=check.id(u_id, f"an end {what}"),
        v_id=check.id(v_id, f"an end {what}"),
        action_index=-1,
        score=check.number(score, f"the score {what}"),
        energy=energy,
        joins_segments=False,
        n_segments=check.count(n_segments, f"the number of segments {what}", MAX_SEGMENTS),
        follows=bool(check.count(follows, f"the group {what}", 1)),
    )
    return SessionEvent(
        Event(check.word(event, f"the sort {what}", get_args(EventKind)), step, energy),
        check.number(time, f"the time {what}"),
        check.text(who, f"the person {what}", MAX_NAME),
        check.text(note, f"the note {what}"),
    )


def segment_from_row(check: Checker, row: tuple[Any, ...]) -> SegmentNote:
    """Check a row of the table `segments`."""
    supervoxel_id, name, note, time, who = row
    return SegmentNote(
        check.id(supervoxel_id, "a segment"),
        check.words(name, "the name of a segment", MAX_NAME),
        check.words(note, "the note of a segment", MAX_TEXT),
        check.number(time, "the time of a note"),
        check.text(who, "the person of a note", MAX_NAME),
    )


def question_from_row(check: Checker, row: tuple[Any, ...]) -> Question:
    """Check a row of the table `questions`."""
    u_id, v_id, answer, note, time, who = row
    return Question(
        check.id(u_id, "an end of a question"),
        check.id(v_id, "an end of a question"),
        check.word(answer, "the answer to a question", ANSWERS),
        check.text(note, "the note of a question"),
        check.number(time, "the time of a question"),
        check.text(who, "the person of a question", MAX_NAME),
    )
