"""Session files: what is written is there, whatever happens; one writes at a time; nothing is believed."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from session_samples import FILES, a_head, a_record, some_records

from napari_celis.io.locks import locked
from napari_celis.io.session import schema
from napari_celis.io.session.database import MAX_BYTES, connect
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import Question, SegmentNote, SessionError, SessionInUseError
from napari_celis.io.session.writer import SessionWriter


@pytest.fixture
def path(tmp_path):
    return tmp_path / "work.celis"


def test_everything_comes_back(path):
    head, records = a_head(), some_records(50)
    note = SegmentNote(2**63 + 5, "axon 3", "ends at the border", 1.0, "ada")
    question = Question(4, 2**64 - 1, "unsure", "blurred", 2.0, "bob")
    with Session.create(path, head) as session:
        session.append(records[:20])
        session.append(records[20:])
        session.note_segments([SegmentNote(2**63 + 5, "other"), SegmentNote(3, "gone")])
        session.note_segments([note, SegmentNote(3)])
        session.answer(question)
        session.answer(Question(9, 8, "skipped"))
        session.forget_answer(9, 8)
    assert sorted(one.name for one in path.parent.iterdir()) == ["work.celis"]
    for read_only in (True, False):
        with Session.open(path, read_only=read_only) as session:
            assert session.head == head
            assert list(session.events()) == records
            assert list(session.events(after=45)) == records[45:]
            assert session.segments() == [note]
            assert session.questions() == [question]
            assert session.problems() == []
        # At rest a session is one file, also after it was read.
        assert sorted(one.name for one in path.parent.iterdir()) == ["work.celis"]


def test_more_events_than_are_read_at_a_time(path, monkeypatch):
    monkeypatch.setattr("napari_celis.io.session.file.AT_ONCE", 7)
    with Session.create(path, a_head()) as session:
        session.append(some_records(21))
        assert list(session.events()) == some_records(21)


def test_an_energy_that_nobody_evaluated(path):
    from dataclasses import replace

    record = a_record(0)
    unknown = replace(record, event=replace(record.event, energy=float("nan")))
    with Session.create(path, a_head()) as session:
        session.append([unknown])
        (found,) = session.events()
    assert found.event.energy != found.event.energy


def test_the_second_opener_is_told_and_may_read(path):
    with Session.create(path, a_head()) as first:
        first.append(some_records(3))
        with pytest.raises(SessionInUseError, match=r"open in another window or program.*reading only"):
            Session.open(path)
        with Session.open(path, read_only=True) as second:
            assert second.n_events == 3
            first.append([a_record(4)])
            assert len(list(second.events())) == 4
            with pytest.raises(SessionError, match="for reading only"):
                second.append([a_record(5)])
    with Session.open(path) as again:
        assert again.n_events == 4


def test_a_reader_follows_a_writer_that_comes_and_goes(path):
    Session.create(path, a_head()).close()
    with Session.open(path, read_only=True) as reader:
        for n_events in (1, 2):
            with Session.open(path) as writer:
                writer.append([a_record(n_events)])
                assert len(list(reader.events())) == n_events
            assert len(list(reader.events())) == n_events


HOLDING = """
import sys, time
from pathlib import Path
from napari_celis.io.session.file import Session
session = Session.open(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_two_processes_and_a_kill(path):
    Session.create(path, a_head()).close()
    process = subprocess.Popen([sys.executable, "-c", HOLDING, path], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(SessionInUseError):
            Session.open(path)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    Session.open(path).close()


WRITING = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from session_samples import a_record
from napari_celis.io.session.file import Session
session = Session.open(Path(sys.argv[1]))
for index in range(int(sys.argv[3])):
    session.append([a_record(index)])
    print(index, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_acknowledged_survives_a_kill(path):
    Session.create(path, a_head()).close()
    arguments = [sys.executable, "-c", WRITING, path, os.path.dirname(__file__), "25"]
    process = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert process.returncode == -signal.SIGKILL
    assert len(process.stdout.split()) == 25
    with Session.open(path) as session:
        assert list(session.events()) == [a_record(index) for index in range(25)]
        assert session.problems() == []


def test_a_transaction_is_on_the_disk_before_it_counts(path):
    with Session.create(path, a_head()) as session:
        assert session._connection.sql.execute("PRAGMA synchronous").fetchone() == (2,)
        assert session._connection.sql.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert session._connection.sql.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_threads_write_one_after_the_other(path):
    with Session.create(path, a_head()) as session:
        threads = [
            threading.Thread(target=lambda: [session.append([a_record(0)]) for _ in range(20)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list(session.events())) == session.n_events == 80


def test_a_clock_that_goes_backwards_changes_no_order(path):
    times = iter([1000.0, 900.0, -5.0])
    with Session.create(path, a_head()) as session:
        writer = SessionWriter(session, "ada", clock=lambda: next(times))
        for index in range(3):
            writer(a_record(index, u_id=index + 1).event)
            writer.flush()
        found = list(session.events())
    assert [record.time for record in found] == [1000.0, 900.0, -5.0]
    assert [record.event.step.u_id for record in found] == [1, 2, 3]


def test_nothing_is_lost_when_writing_fails(path, monkeypatch):
    with Session.create(path, a_head()) as session:
        writer = SessionWriter(session)
        writer(a_record(0).event)
        monkeypatch.setattr(session._connection, "is_read_only", True)
        with pytest.raises(SessionError):
            writer.flush()
        assert writer.n_waiting == 1
        monkeypatch.setattr(session._connection, "is_read_only", False)
        writer(a_record(1).event)
        writer.flush()
        assert writer.n_waiting == 0
        assert [record.event for record in session.events()] == [a_record(0).event, a_record(1).event]


FULL = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from session_samples import a_record
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionError
session = Session.open(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
n = 0
try:
    while True:
        session.append([a_record(n + i) for i in range(20)])
        n += 20
        print(n, flush=True)
except SessionError as error:
    print(error, flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
session.append([a_record(n + i) for i in range(20)])
print("again", session.n_events, flush=True)
"""


def test_a_full_disk_is_one_sentence_and_writing_goes_on_when_there_is_room(path):
    Session.create(path, a_head()).close()
    arguments = [sys.executable, "-c", FULL, path, os.path.dirname(__file__)]
    process = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    *counts, sentence, again = process.stdout.strip().split("\n")
    assert "could not be written" in sentence
    assert "nothing that was written before is lost" in sentence
    n = int(counts[-1]) + 20
    assert again == f"again {n}"
    with Session.open(path) as session:
        assert list(session.events()) == [a_record(index) for index in range(n)]
        assert session.problems() == []


def as_nobody(work):
    """Do something in a process that is not root, for whom access rights do not count."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            told = work()
        except BaseException as error:
            told = repr(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read()


def test_a_folder_that_may_only_be_read():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "work.celis")
        with Session.create(path, a_head()) as session:
            session.append(some_records(3))
        os.chmod(folder, 0o555)
        os.chmod(path, 0o444)

        def work():
            told = []
            for attempt in (
                lambda: Session.open(path),
                lambda: Session.create(path.with_name("b"), a_head()),
            ):
                try:
                    attempt()
                except SessionError as error:
                    told.append(str(error))
            with Session.open(path, read_only=True) as session:
                return "|".join([*told, str(len(list(session.events())))])

        first, second, n_events = as_nobody(work).split("|")
        os.chmod(folder, 0o755)
    assert "cannot be written: Permission denied" in first
    assert "cannot be written: Permission denied" in second
    assert n_events == "3"


def test_a_read_only_folder(path, monkeypatch):
    Session.create(path, a_head()).close()

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("napari_celis.io.locks.os.open", refuse)
    with pytest.raises(SessionError, match=r"cannot be written: Permission denied.*reading only"):
        Session.open(path)
    with Session.open(path, read_only=True) as session:
        assert session.n_events == 0


# Copies.


def test_save_as(path, tmp_path):
    other = tmp_path / "other.celis"
    with Session.create(path, a_head()) as session:
        session.append(some_records(5))
        session.save_as(other)
        session.append([a_record(9)])
        with pytest.raises(SessionError, match="exists already"):
            session.save_as(other)
        with pytest.raises(SessionError, match="this session itself"):
            session.save_as(path, replace_old=True)
        with Session.open(other) as copy:
            assert list(copy.events()) == some_records(5)
            with pytest.raises(SessionInUseError):
                session.save_as(other, replace_old=True)
        session.save_as(other, replace_old=True)
    with Session.open(other) as copy:
        assert copy.n_events == 6
        assert copy.problems() == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other.celis", "work.celis"]


def test_what_a_killed_writer_left_beside_does_no_harm_to_a_new_file(path, tmp_path):
    """A log of another file with the same name would be written into the new one."""
    session = Session.create(path, a_head())
    session.append(some_records(40))
    killed = tmp_path / "killed"
    killed.mkdir()
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(f"{path}{suffix}", killed / f"work.celis{suffix}")
    session.close()
    (killed / "work.celis").unlink()
    Session.create(killed / "work.celis", a_head()).close()
    with Session.open(killed / "work.celis") as new:
        assert new.n_events == 0
        assert new.problems() == []


def test_replacing_a_session_that_a_killed_writer_left(path, tmp_path):
    session = Session.create(path, a_head())
    session.append(some_records(40))
    killed = tmp_path / "killed.celis"
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{killed}{suffix}")
    with Session.open(killed, read_only=True) as copy:
        assert copy.n_events == 40
    session.append([a_record(50)])
    session.save_as(killed, replace_old=True)
    session.close()
    with Session.open(killed) as copy:
        assert copy.n_events == 41
        assert copy.problems() == []


def test_nothing_is_made_where_something_is(path):
    path.write_text("mine")
    with pytest.raises(SessionError, match="exists already"):
        Session.create(path, a_head())
    assert path.read_text() == "mine"
    with pytest.raises(SessionError, match="not a session file"):
        Session.open(path)
    with pytest.raises(SessionError, match="There is no session"):
        Session.open(path.with_name("missing.celis"))


def test_a_session_that_is_being_made_elsewhere(path):
    with locked(path), pytest.raises(SessionInUseError):
        Session.create(path, a_head())
    assert not path.exists()


# Versions.


def test_the_kept_file_of_version_1(tmp_path):
    path = tmp_path / "version1.celis"
    shutil.copy(FILES / "version1.celis", path)
    with Session.open(path) as session:
        assert session.head == a_head()
        assert list(session.events()) == some_records(12)
        assert [note.name for note in session.segments()] == ["axon 3"]
        assert [question.answer for question in session.questions()] == ["unsure"]


def test_the_kept_file_of_version_2(tmp_path):
    path = tmp_path / "version2.celis"
    shutil.copy(FILES / "version2.celis", path)
    for read_only in (True, False):
        with Session.open(path, read_only=read_only) as session:
            assert session.head == a_head()
            assert list(session.events()) == some_records(12)
            assert session.splits() == []
            assert session.problems() == []


def test_the_kept_file_of_version_3(tmp_path):
    path = tmp_path / "version3.celis"
    shutil.copy(FILES / "version3.celis", path)
    for read_only in (True, False):
        with Session.open(path, read_only=read_only) as session:
            assert list(session.events()) == some_records(12)
            # A state that was a word of no meaning is kept as one.
            assert session.segments() == [
                SegmentNote(2**63 + 5, "axon 3", "finished; ends at the border", 1.0, "ada"),
                SegmentNote(7, "", "in work", 2.0, "bob"),
            ]
            assert session.problems() == []


@pytest.mark.parametrize(
    ("note", "sentence"),
    [
        (SegmentNote(1, "x" * 201), "The name of a segment has 201 letters, but at most 200 are kept"),
        (SegmentNote(1, "", "x" * 10_001), "The note of a segment has 10,001 letters"),
        (SegmentNote(1, "bell\x07"), r"The name of a segment has a control character \(U\+0007\)"),
        (SegmentNote(1, "", "half\ud800"), r"The note of a segment has a control character \(U\+D800\)"),
    ],
)
def test_words_that_cannot_be_kept_are_refused(path, note, sentence):
    fine = SegmentNote(2, "axon")
    with Session.create(path, a_head()) as session:
        with pytest.raises(SessionError, match=sentence):
            session.note_segments([fine, note])
        assert session.segments() == []


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE segments SET name = 'bell' || char(7)", "the name of a segment has a control character"),
        ("UPDATE segments SET name = printf('%.*c', 300, 'x')", "the name of a segment is no text of at"),
        ("UPDATE events SET kind = 'finished'", "the kind of event 1 is 'finished', which means nothing"),
    ],
)
def test_strange_words_and_states_in_a_file_are_one_sentence(path, statement, sentence):
    with Session.create(path, a_head()) as session:
        session.append(some_records(1))
        session.note_segments([SegmentNote(2, "axon")])
        session._connection.sql.execute(statement)
        [problem] = session.problems()
        assert sentence in problem


def two_versions(monkeypatch, step):
    """Pretend that this program knows one version more."""
    migrations = (*schema.MIGRATIONS, step)
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)
    for module in ("schema", "connection"):
        monkeypatch.setattr(f"napari_celis.io.session.{module}.VERSION", len(migrations))
    monkeypatch.setattr(schema.migrate, "__defaults__", (migrations,))
    monkeypatch.setattr(schema.version_of, "__defaults__", (len(migrations),))
    schema.expected_schema.cache_clear()


def add_table(connection):
    connection.execute("CREATE TABLE colours (supervoxel_id INTEGER PRIMARY KEY, colour TEXT) STRICT")
    connection.execute("INSERT INTO colours SELECT supervoxel_id, 'red' FROM segments")


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.celis"
    shutil.copy(FILES / "version1.celis", path)
    yield path
    schema.expected_schema.cache_clear()


@pytest.mark.parametrize("read_only", [False, True])
def test_migration_to_the_next_version(old, monkeypatch, read_only):
    before = old.read_bytes()
    with monkeypatch.context() as patch:
        two_versions(patch, add_table)
        with Session.open(old, read_only=read_only) as session:
            assert list(session.events()) == some_records(12)
            assert session._connection.sql.execute("SELECT colour FROM colours").fetchall() == [("red",)]
        with Session.open(old, read_only=True) as session:
            assert session.problems() == []
    schema.expected_schema.cache_clear()
    if read_only:
        assert old.read_bytes() == before
    else:
        known = f"format {schema.VERSION + 1}, this one knows {schema.VERSION}"
        with pytest.raises(SessionError, match=rf"newer version of napari-celis \({known}\)"):
            Session.open(old)


def test_a_migration_that_fails_leaves_the_old_version(old, monkeypatch):
    def fail(connection):
        add_table(connection)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        two_versions(patch, fail)
        with pytest.raises(SessionError):
            Session.open(old)
    schema.expected_schema.cache_clear()
    with Session.open(old) as session:
        assert list(session.events()) == some_records(12)


# Files from strangers.


def changed(path, *statements):
    Session.create(path, a_head()).close()
    with Session.open(path) as session:
        session.append(some_records(3))
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE VIEW extra AS SELECT 1", "other tables"),
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END", "other tables"),
        ("CREATE TABLE extra (a)", "other tables"),
        ("ALTER TABLE events ADD COLUMN more TEXT", "other tables"),
        ("PRAGMA user_version = 77", "newer version"),
        ("PRAGMA application_id = 5", "another program"),
        ("DELETE FROM events WHERE number = 2", "events are missing"),
        ("UPDATE events SET number = 99 WHERE number = 3", "events are missing"),
        ("UPDATE events SET event = 'explode' WHERE number = 2", "'explode', which means nothing"),
        ("UPDATE events SET kind = 'undo' WHERE number = 2", "which means nothing"),
        ("UPDATE events SET u_id = 0 WHERE number = 2", "no id"),
        ("UPDATE events SET score = 9e999 WHERE number = 2", "score of event 2 is no finite number"),
        ("UPDATE events SET time = 9e999", "no finite number"),
        ("UPDATE events SET n_segments = -4", "number of segments"),
        ("UPDATE events SET who = hex(zeroblob(200))", "no text of at most 200"),
        ("UPDATE events SET note = hex(zeroblob(20000))", "no text of at most 10,000"),
        ("UPDATE events SET note = hex(zeroblob(2000000))", "could not be read"),
        ("DELETE FROM volumes WHERE role = 'supervoxels'", "names no supervoxels"),
        ("UPDATE volumes SET role = 'exe' WHERE role = 'image'", "'exe', which means nothing"),
        ("UPDATE volumes SET shape = '[1, 2]'", "three sizes"),
        ("UPDATE volumes SET shape = '[1, 2, -3]'", "three sizes"),
        ("UPDATE volumes SET shape = '[1, 2, 1e99]'", "whole numbers"),
        ("UPDATE volumes SET shape = '[[[[[[[['", "no list of numbers"),
        ("UPDATE head SET value = '" + "[" * 9000 + "' WHERE key = 'units_at_start'", "no list of numbers"),
        ("UPDATE head SET value = 'Infinity' WHERE key = 'created'", "no finite number"),
        ("UPDATE head SET value = 'soon' WHERE key = 'created'", "no number"),
        ("DELETE FROM head", "is damaged"),
        ("UPDATE settings SET key = hex(zeroblob(300)) WHERE key = 'policy'", "a setting is no text"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(path, statement, reason):
    changed(path, statement)
    for read_only in (True, False):
        with (
            pytest.raises(SessionError, match=reason) as caught,
            Session.open(path, read_only=read_only) as session,
        ):
            list(session.events())
        assert "\n" not in str(caught.value)


def test_types_that_the_tables_would_not_take(path):
    """Written past SQLite's own checks, as an attacker can."""
    changed(path)
    data = path.read_bytes()
    at = data.rindex(b"greedy")
    path.write_bytes(data[:at] + b"\xff\xfe\xfd\xfc\xfb\xfa" + data[at + 6 :])
    with Session.open(path) as session:
        with pytest.raises(SessionError):
            list(session.events())
        assert session.problems()


def test_a_pipe_and_a_file_of_any_size(path, tmp_path):
    os.mkfifo(tmp_path / "pipe.celis")
    with pytest.raises(Exception, match="pipe or a device"):
        Session.open(tmp_path / "pipe.celis")
    Session.create(path, a_head()).close()
    os.truncate(path, MAX_BYTES + 1)
    with pytest.raises(SessionError, match="more than a session can have"):
        Session.open(path)


def test_a_file_that_takes_forever_is_given_up(path, monkeypatch):
    Session.create(path, a_head()).close()
    monkeypatch.setattr("napari_celis.io.session.database.SECONDS", -1.0)
    monkeypatch.setattr("napari_celis.io.session.database.SECONDS_PER_GB", 0.0)
    monkeypatch.setattr("napari_celis.io.session.database.OPERATIONS", 1)
    with pytest.raises(SessionError, match="takes longer"):
        connect(path, read_only=True)


def test_words_that_look_like_commands_are_words(path):
    name = "'); DROP TABLE events; --"
    with Session.create(path, a_head()) as session:
        session.append(some_records(2))
        session.note_segments([SegmentNote(1, name, name, 0.0, name)])
        assert session.segments()[0].name == name
        assert len(list(session.events())) == 2
