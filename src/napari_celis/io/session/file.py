"""The session file: made, opened, read, written to, copied."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from napari_celis.io.atomic import clear_leftovers, sibling
from napari_celis.io.durable import sync_file, sync_folder
from napari_celis.io.session.connection import SessionConnection, hold
from napari_celis.io.session.database import connect, remove_side_files, require_database, translated
from napari_celis.io.session.lesson_rows import (
    LESSONS,
    SWITCHES,
    Switch,
    lesson_rows,
    read_lessons,
    read_switches,
    switch_rows,
)
from napari_celis.io.session.records import (
    MAX_NAME,
    MAX_TEXT,
    Question,
    SegmentNote,
    SessionError,
    SessionEvent,
    SessionHead,
    SessionSplit,
    require_words,
)
from napari_celis.io.session.rows import (
    Checker,
    event_from_row,
    event_to_row,
    head_from_rows,
    head_to_rows,
    question_from_row,
    segment_from_row,
    to_sql,
)
from napari_celis.io.session.schema import migrate
from napari_celis.io.session.split_rows import split_from_rows, split_to_rows

SUFFIX = ".celis"
MAX_EVENTS = 50_000_000
AT_ONCE = 10_000
"""Events that are read at a time."""
_SOME_EVENTS = "SELECT * FROM events WHERE number > ? ORDER BY number LIMIT ?"
_EVENTS = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SPLITS = "INSERT INTO splits VALUES (?, ?, ?)"
_VOXELS = "INSERT INTO split_voxels VALUES (?, ?, ?)"
_SOME_VOXELS = "SELECT runs FROM split_voxels WHERE new_id = ? ORDER BY part LIMIT 100"
MAX_SPLITS = 1_000_000


class Session:
    """An open session file; `Session.create` and `Session.open` make one. May be used from several threads.

    Parameters
    ----------
    connection : SessionConnection
        Open on the file; the session closes it.
    """

    def __init__(self, connection: SessionConnection) -> None:
        self.path, self._connection = connection.path, connection
        self._check = Checker(str(self.path))
        with connection.reading() as sql:
            self.head = _read_head(sql, self.path)
            self.n_events = _count_events(sql, self._check)

    @classmethod
    def create(cls, path: Path, head: SessionHead) -> Session:
        """Make a new session file and open it for writing.

        Parameters
        ----------
        path : Path
            Nothing may have this name; it appears when the file is complete.
        head : SessionHead
            What decisions will be about.

        Raises
        ------
        SessionError
        """
        if path.exists():
            raise SessionError(f"{path} exists already. Open it, or choose another name.")
        with translated(path, "written"), hold(path) as locks:
            temporary = sibling(path)
            clear_leftovers(path)
            try:
                _write_new(temporary, head)
                remove_side_files(path)
                temporary.rename(path)
                sync_folder(path.parent)
            finally:
                temporary.unlink(missing_ok=True)
            return cls._of(SessionConnection.to_write(path, locks))

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Session:
        """Open a session file.

        Parameters
        ----------
        path : Path
            A file of this or an earlier version, which is brought to this one where it may be written.
        read_only : bool
            Change nothing, and do not mind who else has it open.

        Raises
        ------
        SessionInUseError
            If another window or program writes to it.
        SessionError
            If it cannot be read.
        """
        require_database(path)
        if read_only:
            return cls._of(SessionConnection.to_read(path))
        with hold(path) as locks:
            return cls._of(SessionConnection.to_write(path, locks))

    @classmethod
    def _of(cls, connection: SessionConnection) -> Session:
        """Read what the file begins with; a file where that fails is let go."""
        try:
            return cls(connection)
        except BaseException:
            connection.abandon()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_read_only(self) -> bool:
        """Whether nothing may be written."""
        return self._connection.is_read_only

    def close(self) -> None:
        """Close the file, and let others write to it."""
        self._connection.close()

    # What can be read.

    def events(self, after: int = 0) -> Iterator[SessionEvent]:
        """Read everything that happened after the first `after` events, in order."""
        rows: list[tuple[Any, ...]] = [()]
        while rows:
            with self._connection.reading() as sql:
                rows = sql.execute(_SOME_EVENTS, (after, AT_ONCE)).fetchall()
                taught = read_lessons(sql, self._check, after, AT_ONCE)
            for number, row in enumerate(rows, start=after + 1):
                record = event_from_row(self._check, number, row)
                if number in taught:
                    record = replace(record, event=replace(record.event, lesson=taught[number]))
                yield record
            after += len(rows)

    def segments(self) -> list[SegmentNote]:
        """Read what was said about segments."""
        with self._connection.reading() as sql:
            rows = sql.execute("SELECT * FROM segments ORDER BY supervoxel_id").fetchall()
            return [segment_from_row(self._check, row) for row in rows]

    def questions(self) -> list[Question]:
        """Read which decisions were skipped, and of which somebody was unsure."""
        with self._connection.reading() as sql:
            rows = sql.execute("SELECT * FROM questions ORDER BY u_id, v_id").fetchall()
            return [question_from_row(self._check, row) for row in rows]

    def splits(self) -> list[SessionSplit]:
        """Read which supervoxels became two, in the order in which they did."""
        with self._connection.reading() as sql:
            (n_splits,) = sql.execute("SELECT count(*) FROM splits").fetchone()
            if n_splits > MAX_SPLITS:
                raise self._check.fail("it has more splits than there can be")
            rows = sql.execute("SELECT * FROM splits").fetchall()
            found = [split_from_rows(self._check, row, _voxels_of(sql, row[0])) for row in rows]
            return sorted(found, key=lambda one: one.split.new_id)

    def switches(self) -> list[Switch]:
        """Read when learning from answers was switched on and off."""
        with self._connection.reading() as sql:
            return read_switches(sql, self._check)

    @property
    def is_learning(self) -> bool:
        """Whether answers are learned from at the end."""
        switches = self.switches()
        return bool(switches) and switches[-1].is_on

    def problems(self) -> list[str]:
        """Let SQLite look through the whole file, and read every record; one sentence for each problem."""
        with self._connection.reading() as sql:
            rows = sql.execute("PRAGMA integrity_check(20)").fetchall()
        found = [str(text) for (text,) in rows if text != "ok"]
        for read in (lambda: list(self.events()), self.segments, self.questions, self.switches, self.splits):
            try:
                read()
            except SessionError as error:
                found.append(str(error))
        return found

    # What can be written.

    def append(
        self,
        records: Sequence[SessionEvent],
        switches: Sequence[Switch] = (),
        splits: Sequence[SessionSplit] = (),
    ) -> None:
        """Write events in one transaction; when this returns they are on the disk.

        Parameters
        ----------
        records : sequence of SessionEvent
            In order.
        switches : sequence of Switch
            When learning was switched meanwhile, counted in these events.
        splits : sequence of SessionSplit
            What those of them say that split a supervoxel.

        Raises
        ------
        SessionError
            If that fails; then none of them is in the file, and they can be written again.
        """
        if not records and not switches:
            return
        with self._connection.mutex:
            rows = [event_to_row(number, record) for number, record in enumerate(records, self.n_events + 1)]
            divided = [split_to_rows(split) for split in splits]
            lessons, turned = lesson_rows(self.n_events + 1, records), switch_rows(self.n_events, switches)
            with self._connection.writing() as sql:
                for split, voxels in divided:
                    sql.execute(_SPLITS, split)
                    sql.executemany(_VOXELS, voxels)
                sql.executemany(_EVENTS, rows)
                sql.executemany(LESSONS, lessons)
                sql.executemany(SWITCHES, turned)
            self.n_events += len(records)

    def note_segments(self, notes: Sequence[SegmentNote]) -> None:
        """Write what somebody says about segments, in place of what was there; all of it or nothing."""
        for note in notes:
            require_words("The name of a segment", note.name, MAX_NAME)
            require_words("The note of a segment", note.note, MAX_TEXT)
        with self._connection.writing() as sql:
            for note in notes:
                row = (to_sql(note.supervoxel_id), note.name, note.note, note.time, note.who[:MAX_NAME])
                sql.execute("DELETE FROM segments WHERE supervoxel_id = ?", row[:1])
                if note.name or note.note:
                    sql.execute("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", row)

    def answer(self, question: Question) -> None:
        """Write that a decision was skipped, or that somebody is unsure of it."""
        row = (
            to_sql(question.u_id), to_sql(question.v_id), question.answer, question.note, question.time,
            question.who,
        )  # fmt: skip
        with self._connection.writing() as sql:
            sql.execute("INSERT OR REPLACE INTO questions VALUES (?, ?, ?, ?, ?, ?)", row)

    def forget_answer(self, u_id: int, v_id: int) -> None:
        """Take back what was said about a decision."""
        with self._connection.writing() as sql:
            sql.execute("DELETE FROM questions WHERE u_id = ? AND v_id = ?", (to_sql(u_id), to_sql(v_id)))

    def change_head(self, **changes: Any) -> None:
        """Replace fields of the head, such as the volumes after they moved."""
        head = replace(self.head, **changes)
        with self._connection.writing() as sql:
            _write_head(sql, head)
        self.head = head

    def save_as(self, path: Path, *, replace_old: bool = False) -> None:
        """Copy everything to another file; this one stays open, and stays as it is.

        Parameters
        ----------
        path : Path
            Has its name only when it is complete.
        replace_old : bool
            Whether a session of that name may be replaced; one that is open anywhere never is.
        """
        if path.exists() and not replace_old:
            raise SessionError(f"{path} exists already. Choose another name.")
        if path.exists() and path.samefile(self.path):
            raise SessionError(f"{path} is this session itself. Choose another name.")
        with translated(path, "written"), hold(path):
            temporary = sibling(path)
            clear_leftovers(path)
            try:
                self._connection.copy_to(temporary)
                if path.exists():
                    # What its writer left unfinished goes into the old file, not beside the new one.
                    connect(path, read_only=False).close()
                remove_side_files(path)
                temporary.replace(path)
                sync_folder(path.parent)
            finally:
                temporary.unlink(missing_ok=True)


def _read_head(sql: sqlite3.Connection, path: Path) -> SessionHead:
    values, settings = (
        dict(sql.execute(f"SELECT key, value FROM {table} LIMIT 2000").fetchall())
        for table in ("head", "settings")
    )
    volumes = sql.execute("SELECT * FROM volumes ORDER BY role LIMIT 10").fetchall()
    return head_from_rows(values, settings, volumes, str(path))


def _count_events(sql: sqlite3.Connection, check: Checker) -> int:
    n_events, last = sql.execute("SELECT count(*), max(number) FROM events").fetchone()
    if n_events != (last or 0) or n_events > MAX_EVENTS:
        raise check.fail("events are missing")
    return int(n_events)


def _voxels_of(sql: sqlite3.Connection, new_id: int) -> list[Any]:
    return [runs for (runs,) in sql.execute(_SOME_VOXELS, (new_id,)).fetchall()]


def _write_new(path: Path, head: SessionHead) -> None:
    """Write a complete session without events."""
    sql = sqlite3.connect(path, isolation_level=None)
    try:
        migrate(sql, 0)
        sql.execute("BEGIN")
        _write_head(sql, head)
        sql.execute("COMMIT")
    finally:
        sql.close()
    sync_file(path)


def _write_head(sql: sqlite3.Connection, head: SessionHead) -> None:
    values, settings, volumes = head_to_rows(head)
    for table in ("head", "settings", "volumes"):
        sql.execute(f"DELETE FROM {table}")
    sql.executemany("INSERT INTO head VALUES (?, ?)", values.items())
    sql.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
    sql.executemany("INSERT INTO volumes VALUES (?, ?, ?, ?, ?)", volumes)
