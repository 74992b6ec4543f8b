"""Sessions on the command line: begun, gone on with, shown, checked, joined, replayed."""

from __future__ import annotations

import csv
import json
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
import typer

from napari_celis.cli import sessions as command
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import Question, SegmentNote
from napari_celis.io.session.writer import SessionWriter
from napari_celis.io.volumes import open_volume
from napari_celis.pipeline import session_identity
from napari_celis.pipeline.session_merge import Conflict
from napari_celis.pipeline.sessions import go_on
from pipeline.session_run import begin, work, write_data
from pipeline.test_session_merge import events


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    return write_data(folder)


@pytest.fixture
def given(data):
    return [
        "--image", data.volumes["image"], "--supervoxels", data.volumes["supervoxels"], "--model", data.model,
    ]  # fmt: skip


@pytest.fixture
def session(data, tmp_path):
    """A session with decisions of every kind."""
    opened, agglomerator = begin(tmp_path / "work.celis", data)
    work(agglomerator)
    opened.note_segments([SegmentNote(2**33 + 1, "axon")])
    opened.answer(Question(2**33 + 1, 2**33 + 2, "unsure"))
    opened.close()
    agglomerator.close()
    return tmp_path / "work.celis"


def test_a_run_in_two_parts_is_the_run_in_one(celis, given, tmp_path):
    once, parts = tmp_path / "once.npy", tmp_path / "parts.npy"
    assert celis("agglomerate", *given, "--threshold", 0.0, "-o", once)[0] == 0
    path = tmp_path / "s.celis"
    code, out, _ = celis("agglomerate", *given, "--threshold", -0.4, "--session", path)
    assert code == 0
    assert "Wrote" in out
    with Session.open(path) as opened:
        n_first = opened.n_events
    code, out, _ = celis(
        "agglomerate", "--session", path, "--threshold", 0.0, "-o", parts, "--json", tmp_path / "j"
    )
    assert code == 0
    assert f"Went on after {n_first:,} decisions" in out
    figures = json.loads((tmp_path / "j").read_text())
    assert (figures["earlier"], figures["session"]) == (n_first, str(path))
    with Session.open(path) as opened:
        assert opened.n_events == n_first + figures["steps"] > n_first > 0
    np.testing.assert_array_equal(open_volume(once).read(), open_volume(parts).read())
    code, out, _ = celis("replay", path, "--tolerance", 0)
    assert code == 0
    assert " 0 differences" in out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "--output"),
        (["-o", "x.npy"], 2, "--model"),
        (["--session", "NEW", "--relocate", "image=a"], 2, "--relocate"),
        (["--session", "OLD", "--policy", "energy"], 2, "--policy"),
        (["--session", "OLD", "--relocate", "image"], 1, "role=path"),
        (["--session", "OLD", "--relocate", "image=nowhere.h5"], 1, "nowhere.h5"),
        (["--session", "OLD", "--threshold", "nan"], 1, "finite"),
        (["--session", "folder/missing/x.celis", "--model", "m"], 1, "folder does not exist"),
        (["--session", "OLD", "-o", "IMAGE"], 1, "would replace"),
    ],
)
def test_wrong_usage_is_told(celis, session, data, arguments, code, words):
    names = {"OLD": str(session), "NEW": str(session) + "2", "IMAGE": data.volumes["image"]}
    found, out, err = celis("agglomerate", *(names.get(one, one) for one in arguments))
    assert found == code
    assert words in out + err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["IMAGE", "--session", "OLD"], 2, "names its volumes"),
        (["--relocate", "image=x"], 2, "--relocate"),
        (["--session", "missing.celis"], 1, "There is no session"),
        (["--session", "IMAGE"], 1, "There is no session"),
    ],
)
def test_wrong_usage_of_view_is_told_before_a_window_opens(celis, session, data, arguments, code, words):
    names = {"OLD": str(session), "IMAGE": data.volumes["image"]}
    found, out, err = celis("view", *(names.get(one, one) for one in arguments))
    assert (found, words in out + err) == (code, True), out + err


def test_a_session_is_no_output(celis, session, given):
    for arguments in (
        [
            "agglomerate",
            *given,
            "--session",
            session.with_name("n.celis"),
            "--json",
            session.with_name("n.celis"),
        ],
        ["replay", session, "--json", session],
        ["replay", session, "--table", session.with_suffix(".csv"), "--json", session.with_suffix(".csv")],
        ["sessions", "show", session, "--json", session],
        ["sessions", "merge", session, session, "-o", session],
    ):
        before = session.read_bytes()
        code, _, err = celis(*arguments)
        assert (code, session.read_bytes()) == (1, before), arguments
        assert err.startswith("celis: ")


def test_a_session_that_is_open_elsewhere(celis, session):
    with Session.open(session):
        code, _, err = celis("agglomerate", "--session", session)
        assert code == 1
        assert "open in another window or program" in err
        assert celis("sessions", "show", session)[0] == 0


def test_show(celis, session, tmp_path):
    for suffix in (".csv", ".parquet"):
        code, out, _ = celis(
            "sessions", "show", session, "--table", tmp_path / f"t{suffix}", "--json", tmp_path / "j"
        )
        assert code == 0
    assert "events by ada" in out
    for words in ("merges by the run", "decisions stand: ", "orders merges; a run stops at a score of"):
        assert words in out
    for raw in ("greedy", "manual", "keep-apart", "any_voxel_size", "affinity_revision", "begins_with"):
        assert raw not in out
    assert f"Wrote {tmp_path / 't.parquet'}: 21 events." in out
    figures = json.loads((tmp_path / "j").read_text())
    assert (figures["events"], figures["undone"], figures["redone"]) == (21, 4, 2)
    assert (figures["segments"], figures["questions"]) == (1, 1)
    with open(tmp_path / "t.csv") as file:
        rows = list(csv.DictReader(file))
    import pyarrow.parquet as parquet

    table = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    with Session.open(session) as opened:
        records = list(opened.events())
    assert len(rows) == len(table) == len(records)
    for row, other, record in zip(rows, table, records, strict=True):
        step = record.event.step
        assert (row["event"], row["kind"], int(row["u_id"])) == (record.event.kind, step.kind, step.u_id)
        assert float(row["score"]) == other["score"] == step.score
        assert float(row["energy"]) == other["energy"] == record.event.energy
        assert other["time"].timestamp() == pytest.approx(record.time, abs=1e-3)
    assert celis("sessions", "show", session, "--table", tmp_path / "t.xls")[0] == 1


def test_check(celis, session, data, tmp_path):
    code, out, _ = celis("sessions", "check", session)
    assert (code, "is whole" in out) == (0, True)
    code, out, _ = celis("sessions", "check", session, "--relocate", f"supervoxels={data.volumes['image']}")
    assert code == 1
    assert "supervoxels" in out
    with Session.open(session) as opened:
        opened._connection.sql.execute("UPDATE events SET u_id = v_id WHERE number = 4")
    code, out, _ = celis("sessions", "check", session)
    assert code == 1
    assert "Event 4" in out


def test_replay_tells_differences(celis, session, tmp_path):
    with Session.open(session) as opened:
        opened._connection.sql.execute("UPDATE events SET score = score + 1 WHERE number BETWEEN 2 AND 14")
    code, out, _ = celis("replay", session, "--json", tmp_path / "j")
    assert code == 1
    assert "Event 2: score was" in out
    assert "more." in out
    figures = json.loads((tmp_path / "j").read_text())
    assert {one["number"] for one in figures["differences"]} >= set(range(2, 15))
    assert figures["largest_error"] > 0.1
    assert "computes other affinities" not in out


def test_replay_says_when_affinities_are_others(celis, session, monkeypatch):
    monkeypatch.setattr(session_identity, "AFFINITY_REVISION", 99)
    code, out, _ = celis("replay", session)
    assert code == 0
    assert "other affinities" not in out
    with Session.open(session) as opened:
        opened._connection.sql.execute("UPDATE events SET score = score + 1 WHERE number = 2")
    code, out, _ = celis("replay", session)
    assert code == 1
    assert "computes other affinities" in out


@contextmanager
def deciding(path, who):
    """Lend the agglomerator of a session whose decisions are kept."""
    with Session.open(path) as opened, go_on(opened).agglomerator as agglomerator:
        agglomerator.journal.listener = SessionWriter(opened, who)
        yield agglomerator
        agglomerator.journal.listener.flush()


def test_merge(celis, session, tmp_path):
    other = tmp_path / "other.celis"
    shutil.copy(session, other)
    with deciding(other, "bob") as agglomerator:
        step = agglomerator.history[0]
        agglomerator.cut(step.u_id, step.v_id)
        agglomerator.keep_apart(step.u_id, step.v_id)
    with deciding(session, "ada") as agglomerator:
        # Ada confirms by hand what Bob has cut.
        agglomerator.cut(step.u_id, step.v_id)
        agglomerator.merge(step.u_id, step.v_id)
    output, figures = tmp_path / "c.celis", tmp_path / "j"
    code, out, err = celis("sessions", "merge", session, other, "-o", output, "--json", figures)
    assert code == 1
    assert "Disagreement at" in out
    assert "--prefer" in err
    assert not output.exists()
    (conflict, *_) = json.loads(figures.read_text())["conflicts"]
    assert conflict["place_zyx"]
    assert {conflict["first"]["who"], conflict["second"]["who"]} == {"ada", "bob"}
    for n, rule in enumerate(("first", "second", "newer")):
        output = tmp_path / f"c{n}.celis"
        code, out, err = celis("sessions", "merge", session, other, "-o", output, "--prefer", rule)
        assert (code, "Wrote" in out) == (0, True), err
        assert celis("replay", output)[0] == 0
        with Session.open(output) as opened:
            assert [note.name for note in opened.segments()] == ["axon"]


def test_asking_about_disagreements(celis, monkeypatch):
    conflict = Conflict(events("ada", "merge 1 2")[0], events("bob", "apart 1 2")[0], None, "why", None)
    for answer, side in (("1", "first"), ("2", "second")):
        monkeypatch.setattr(typer, "prompt", lambda *a, answer=answer, **o: answer)
        assert command._decide(conflict, None, ask=True) == side


def test_taking_over_lines_of_json(celis, session, given, tmp_path):
    from dataclasses import asdict

    from napari_celis.pipeline.session_merge import standing

    with Session.open(session) as opened:
        steps = [record.event.step for record in standing(opened.events())]
    old, new = tmp_path / "old.jsonl", tmp_path / "new.celis"
    lines = [json.dumps({**asdict(step), "index": index}) for index, step in enumerate(steps)]
    old.write_text("\n".join([*lines[:3], "damaged", *lines[3:]]))
    code, out, err = celis("sessions", "take-over", old, "-o", new, *given)
    assert code == 0, err
    assert f"{len(steps):,} decisions, 1 of the lines or decisions could not" in out
    assert celis("replay", new)[0] == 0


def test_segments_as_a_table_and_beside_the_voxels(celis, session, data, tmp_path):
    with deciding(session, "ada") as agglomerator:
        agglomerator.mark_done(2**33 + 1)
        wanted = dict(zip(*np.unique(agglomerator.labels(), return_counts=True), strict=True))
        label = int(agglomerator.segment_ids()[1])
    table = tmp_path / "segments.csv"
    code, out, err = celis("sessions", "show", session, "--segments", table)
    assert (code, f"Wrote {table}" in out) == (0, True), err
    with open(table, newline="") as file:
        rows = {int(row["id"]): row for row in csv.DictReader(file)}
    assert {one: int(row["voxels"]) for one, row in rows.items()} == {
        int(one): int(n) for one, n in wanted.items() if one
    }
    assert (rows[label]["name"], rows[label]["state"]) == ("axon", "done")
    assert {row["state"] for row in rows.values()} == {"untouched", "in work", "done"}

    # Without a window, greedy leaves what is done as it is; what is said goes with the voxels.
    for suffix in (".zarr", ".precomputed"):
        output = tmp_path / f"out{suffix}"
        code, _, err = celis("agglomerate", "--session", session, "--threshold", 1e9, "-o", output)
        assert code == 0, err
        kept = np.count_nonzero(open_volume(output).read() == label)
        assert kept == int(rows[label]["voxels"])
    ome = json.loads((tmp_path / "out.zarr" / "zarr.json").read_text())["attributes"]["ome"]
    [own] = [one for one in ome["image-label"]["properties"] if one["label-value"] == label]
    assert (own["name"], own["state"], own["voxels"]) == ("axon", "done", int(rows[label]["voxels"]))
    assert own["decisions_by_hand"] >= 1
    inline = json.loads((tmp_path / "out.precomputed" / "properties" / "info").read_text())["inline"]
    columns = {column["id"]: column for column in inline["properties"]}
    place = inline["ids"].index(str(label))
    assert columns["name"]["values"][place] == "axon"
    assert columns["state"]["tags"][columns["state"]["values"][place][0]] == "done"
    assert columns["decisions"]["type"] == "number"
    assert celis("replay", session, "--tolerance", 0)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--segments", "OLD"], 1, "the session"),
        (["--segments", "x.txt"], 1, "ends in .csv"),
        (["--segments", "no/folder/x.csv"], 1, "folder does not exist"),
        (["--relocate", "image=a"], 2, "--segments"),
        (["--segments", "x.csv", "--relocate", "supervoxels=IMAGE"], 1, "supervoxels"),
    ],
)
def test_wrong_usage_of_the_table_of_segments(
    celis, session, data, tmp_path, monkeypatch, arguments, code, words
):
    monkeypatch.chdir(tmp_path)
    names = {"OLD": str(session)}
    given = [names.get(one, one).replace("IMAGE", data.volumes["image"]) for one in arguments]
    found, out, err = celis("sessions", "show", session, *given)
    assert (found, words in out + err) == (code, True), out + err
    assert "Traceback" not in err
    assert not (tmp_path / "x.csv").exists()
