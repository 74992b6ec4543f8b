"""The tables of a session file, their versions, and how a file of an older version becomes one of the newest.

Version 0 is the files of decisions, one line of JSON each, that programs before sessions kept; see
`napari_celis.io.session.json_lines`. A new version adds a function to `MIGRATIONS`, and a file of the old one
to the tests.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import cache

from napari_celis.io.session.records import MAX_TEXT, SessionError

APPLICATION_ID = 0x43454C53
"""Says in the header of an SQLite file that it is one of ours."""

Migration = Callable[[sqlite3.Connection], None]


def _make_version_1(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty file."""
    for statement in (
        "CREATE TABLE head (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
        "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
        "CREATE TABLE volumes (role TEXT PRIMARY KEY, path TEXT NOT NULL, relative TEXT NOT NULL, "
        "checksum TEXT NOT NULL, shape TEXT NOT NULL) STRICT",
        "CREATE TABLE events (number INTEGER PRIMARY KEY, event TEXT NOT NULL, kind TEXT NOT NULL, "
        "u_id INTEGER NOT NULL, v_id INTEGER NOT NULL, score REAL NOT NULL, energy REAL, "
        "n_segments INTEGER NOT NULL, time REAL NOT NULL, who TEXT NOT NULL, note TEXT NOT NULL) STRICT",
        "CREATE TABLE segments (supervoxel_id INTEGER PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL, "
        "note TEXT NOT NULL, time REAL NOT NULL, who TEXT NOT NULL) STRICT",
        "CREATE TABLE questions (u_id INTEGER NOT NULL, v_id INTEGER NOT NULL, answer TEXT NOT NULL, "
        "note TEXT NOT NULL, time REAL NOT NULL, who TEXT NOT NULL, PRIMARY KEY (u_id, v_id)) STRICT",
    ):
        connection.execute(statement)


def _add_lessons(connection: sqlite3.Connection) -> None:
    """Let answers teach: what was seen at each, and when learning was switched on or off."""
    connection.execute(
        "CREATE TABLE lessons (number INTEGER PRIMARY KEY, is_wrong INTEGER NOT NULL, "
        "features BLOB NOT NULL, contact BLOB NOT NULL) STRICT"
    )
    connection.execute("CREATE TABLE learning (after INTEGER PRIMARY KEY, is_on INTEGER NOT NULL) STRICT")


def _add_splits(connection: sqlite3.Connection) -> None:
    """Let decisions be made together, and supervoxels be split."""
    connection.execute("ALTER TABLE events ADD COLUMN follows INTEGER NOT NULL DEFAULT 0")
    connection.execute(
        "CREATE TABLE splits (new_id INTEGER PRIMARY KEY, supervoxel_id INTEGER NOT NULL, "
        "checksum TEXT NOT NULL) STRICT"
    )
    connection.execute(
        "CREATE TABLE split_voxels (new_id INTEGER NOT NULL, part INTEGER NOT NULL, runs BLOB NOT NULL, "
        "PRIMARY KEY (new_id, part)) STRICT"
    )


def _make_states_decisions(connection: sqlite3.Connection) -> None:
    """Let segments be done and in work by decisions; a state that was written as a word goes to the note."""
    rows = connection.execute(
        "SELECT supervoxel_id, name, substr(CASE WHEN state = '' THEN note WHEN note = '' THEN state "
        f"ELSE state || '; ' || note END, 1, {MAX_TEXT}), time, who FROM segments"
    ).fetchall()
    connection.execute("DROP TABLE segments")
    connection.execute(
        "CREATE TABLE segments (supervoxel_id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT NOT NULL, "
        "time REAL NOT NULL, who TEXT NOT NULL) STRICT"
    )
    connection.executemany("INSERT INTO segments VALUES (?, ?, ?, ?, ?)", rows)


MIGRATIONS: tuple[Migration, ...] = (_make_version_1, _add_lessons, _add_splits, _make_states_decisions)
"""Each leads from the version that is its place in the list to the next."""
VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection, name: str, newest: int = VERSION) -> int:
    """Return the version of a session file, or refuse what is none or newer than this program.

    Parameters
    ----------
    connection : sqlite3.Connection
        Open on the file.
    name : str
        What messages call it.
    newest : int
        The newest version that can be read.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise SessionError(
            f"{name} is an SQLite file of another program, not a session. Choose another file."
        )
    if version > newest:
        raise SessionError(
            f"{name} was written by a newer version of napari-celis (format {version}, this one knows "
            f"{newest}). Open it with that version."
        )
    return int(version)


def migrate(
    connection: sqlite3.Connection, version: int, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring a file to the newest version, in one transaction: killed at any moment, it is old or new.

    Parameters
    ----------
    connection : sqlite3.Connection
        In autocommit mode, able to write.
    version : int
        The version that the file has; 0 for an empty one.
    migrations : sequence of callable
        All there are, from version 0 on.
    """
    if version == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in migrations[version:]:
            step(connection)
        # Pragmas take no parameters; both are numbers of ours.
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@cache
def expected_schema(version: int) -> frozenset[tuple[str, str, str, str | None]]:
    """Return what `sqlite_master` of a file of a version says: its tables as text, and nothing else."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection, 0, MIGRATIONS[:version])
        return frozenset(master_of(connection))
    finally:
        connection.close()


def master_of(connection: sqlite3.Connection) -> list[tuple[str, str, str, str | None]]:
    """List the tables, indices, views and triggers of a file."""
    return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
