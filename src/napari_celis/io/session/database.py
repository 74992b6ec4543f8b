"""Open SQLite files that may come from a stranger, and translate what goes wrong into one sentence."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from napari_celis.core.errors import CelisError
from napari_celis.io.confinement import require_regular
from napari_celis.io.failures import short_reason
from napari_celis.io.session.records import MAX_TEXT, SessionError
from napari_celis.io.session.schema import expected_schema, master_of, version_of

MAGIC = b"SQLite format 3\x00"
MAX_BYTES = 8 * 2**30
"""A decision takes about a hundred bytes."""
BUSY_SECONDS = 10.0
SECONDS, SECONDS_PER_GB = 30.0, 120.0
"""Time that reading a file may take, so that a damaged one does not take forever."""
OPERATIONS = 20_000
"""Operations of SQLite between two looks at the clock."""
SIDE_SUFFIXES = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a file."""


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Connect to a session file that exists; nothing in it is trusted.

    Parameters
    ----------
    path : Path
        The file.
    read_only : bool
        Whether nothing may be changed.

    Raises
    ------
    SessionError
    """
    require_database(path)
    mode = "ro" if read_only else "rw"
    if read_only and not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
        # SQLite would make files beside it, which it cannot there; and nobody else can either.
        mode += "&immutable=1"
    with translated(path, "read"):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
    try:
        with translated(path, "read"), bounded(connection, path):
            _distrust(connection)
            version = version_of(connection, str(path))
            if frozenset(master_of(connection)) != expected_schema(version):
                raise SessionError(
                    f"{path} has other tables than a session of its version ({version}): it is damaged, or "
                    "made by another program. Use a copy that is whole."
                )
            if not read_only:
                # Every transaction is on the disk before it counts as done.
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
                connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def require_database(path: Path) -> None:
    """Refuse what cannot be an SQLite file, or is larger than any session."""
    require_regular(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except FileNotFoundError as error:
        raise SessionError(f"There is no session {path}. Check the name, or begin a new one.") from error
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {short_reason(error)}. Choose another file.") from error
    if start != MAGIC:
        raise SessionError(f"{path} is not a session file. Choose one that ends in .celis.")
    if size > MAX_BYTES:
        raise SessionError(
            f"{path} has {size / 1e9:.0f} GB, more than a session can have. Use a copy that is whole."
        )


def _distrust(connection: sqlite3.Connection) -> None:
    """Keep a file from running anything, and from making SQLite take much memory."""
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 * MAX_TEXT)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 10 * MAX_TEXT)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)


@contextmanager
def bounded(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """End whatever SQLite does with a file after a time that depends on its size."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    end = time.monotonic() + SECONDS + SECONDS_PER_GB * size / 1e9
    connection.set_progress_handler(lambda: int(time.monotonic() > end), OPERATIONS)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 0)


@contextmanager
def translated(path: Path, verb: str) -> Iterator[None]:
    """Say in one sentence what SQLite or the system complains about.

    Parameters
    ----------
    path : Path
        The session.
    verb : {"read", "written"}
        What was being done to it.
    """
    try:
        yield
    except CelisError:
        raise
    except (sqlite3.Error, OSError) as error:
        raise SessionError(f"{path} could not be {verb}: {_reason(error, verb)}") from error
    except (UnicodeDecodeError, OverflowError, ValueError) as error:
        raise SessionError(
            f"{path} could not be {verb}: {short_reason(error)}. Use a copy that is whole."
        ) from error


def _reason(error: sqlite3.Error | OSError, verb: str) -> str:
    """Give the reason, and the way out."""
    name, text = getattr(error, "sqlite_errorname", ""), short_reason(error)
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")) and verb == "written":
        return f"{text}. Free some space, or save it somewhere else; nothing that was written before is lost."
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"{text}. Check the access rights of the file and its folder, or use a copy."
    if name.startswith("SQLITE_BUSY"):
        return f"{text}. Another program works on it; wait until that has finished."
    if name.startswith("SQLITE_INTERRUPT"):
        return "it takes longer than any whole session of its size. Use a copy that is whole."
    if isinstance(error, OSError):
        return f"{text}. Check the folder's access rights, or choose another place."
    return f"{text}. It is damaged or incomplete; use a copy that is whole."


def remove_side_files(path: Path) -> None:
    """Remove what SQLite left beside a file that is not there any more: in a new one it would do harm."""
    for suffix in SIDE_SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
