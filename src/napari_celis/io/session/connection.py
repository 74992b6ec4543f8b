"""The connection to a session file: one thread at a time, and all of a change or nothing of it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from napari_celis.core.errors import VolumeError
from napari_celis.io.durable import sync_file
from napari_celis.io.locks import locked
from napari_celis.io.session.database import bounded, connect, translated
from napari_celis.io.session.records import SessionError, SessionInUseError
from napari_celis.io.session.schema import VERSION, migrate, version_of


class SessionConnection:
    """A connection to a session file of this version; `to_write` and `to_read` make one.

    Parameters
    ----------
    path : Path
        The file.
    sql : sqlite3.Connection
        Open on it, or on a copy of it in memory.
    locks : ExitStack
        What to let go at the end.
    is_read_only : bool
        Whether nothing may be written.
    """

    def __init__(self, path: Path, sql: sqlite3.Connection, locks: ExitStack, *, is_read_only: bool) -> None:
        self.path, self.sql, self.is_read_only = path, sql, is_read_only
        self.mutex = threading.RLock()
        """Held while something is read or written; take it where more than one step belongs together."""
        self._locks = locks
        self._is_closed = False

    @classmethod
    def to_write(cls, path: Path, locks: ExitStack) -> SessionConnection:
        """Connect for writing; an earlier version is brought to this one.

        Parameters
        ----------
        path : Path
            The file.
        locks : ExitStack
            From `hold`; they belong to the connection from now on.
        """
        sql = connect(path, read_only=False)
        try:
            with translated(path, "written"), bounded(sql, path):
                migrate(sql, version_of(sql, str(path)))
        except BaseException:
            sql.close()
            raise
        return cls(path, sql, locks.pop_all(), is_read_only=False)

    @classmethod
    def to_read(cls, path: Path) -> SessionConnection:
        """Connect for reading only."""
        sql = connect(path, read_only=True)
        try:
            with translated(path, "read"):
                version = version_of(sql, str(path))
                if version < VERSION:
                    # What may not be written is brought to this version in memory.
                    old, sql = sql, sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
                    with closing(old), bounded(old, path):
                        old.backup(sql)
                    migrate(sql, version)
        except BaseException:
            sql.close()
            raise
        return cls(path, sql, ExitStack(), is_read_only=True)

    def close(self) -> None:
        """Close the file, and let others write to it."""
        with self.mutex:
            if not self._is_closed:
                if not self.is_read_only:
                    # At rest a session is one file, which can be read without making others beside it.
                    with suppress(sqlite3.Error):
                        self.sql.execute("PRAGMA busy_timeout = 0")
                        self.sql.execute("PRAGMA journal_mode = DELETE")
                self.abandon()

    def abandon(self) -> None:
        """Close the file as it is: nothing more is written to one that is damaged."""
        self._is_closed = True
        self.sql.close()
        self._locks.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read inside; what goes wrong becomes one sentence."""
        with self.mutex, translated(self.path, "read"), bounded(self.sql, self.path):
            yield self.sql

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Do everything inside in one transaction, or nothing of it."""
        if self.is_read_only:
            raise SessionError(f"{self.path} is open for reading only. Save it under another name to go on.")
        with self.mutex, translated(self.path, "written"):
            self.sql.execute("BEGIN IMMEDIATE")
            try:
                yield self.sql
                self.sql.execute("COMMIT")
            except BaseException:
                # A full disk ends the transaction by itself.
                if self.sql.in_transaction:
                    self.sql.execute("ROLLBACK")
                raise

    def copy_to(self, path: Path) -> None:
        """Write everything to another file; when this returns it is on the disk."""
        with self.mutex:
            copy = sqlite3.connect(path, isolation_level=None)
            try:
                self.sql.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE").fetchone()
            finally:
                copy.close()
        sync_file(path)


@contextmanager
def hold(path: Path) -> Iterator[ExitStack]:
    """Keep all others from writing to a session, until the stack is closed.

    Raises
    ------
    SessionInUseError
    """
    with ExitStack() as locks:
        try:
            locks.enter_context(locked(path, patience=0.0))
        except VolumeError as error:
            raise SessionInUseError(
                f"{path} is open in another window or program. Close it there to go on here, or open it for "
                "reading only."
            ) from error
        except OSError as error:
            raise SessionError(
                f"{path} cannot be written: {error.strerror}. Check the access rights of its folder, or open "
                "it for reading only."
            ) from error
        yield locks
