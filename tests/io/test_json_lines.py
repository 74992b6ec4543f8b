"""Decisions that earlier versions kept as lines of JSON: every line that can be read counts."""

import json

import pytest
from session_samples import FILES

from napari_celis.io.session.json_lines import MAX_LINE, read_json_lines
from napari_celis.io.session.records import SessionError


def line(index, kind="greedy", u_id=1, v_id=2, **more):
    fields = {"index": index, "kind": kind, "u_id": u_id, "v_id": v_id, "action_index": 0, "score": -1.5}
    return json.dumps({**fields, "energy": 4.0, "joins_segments": True, "n_segments": 9, **more})


def read(tmp_path, *lines):
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(lines))
    found = read_json_lines(path)
    return [(step.kind, step.u_id) for step in found.steps], found.n_lost


def test_the_kept_file_of_version_0():
    found = read_json_lines(FILES / "version0.jsonl")
    assert found.n_lost == 0
    assert [(step.kind, step.u_id, step.v_id) for step in found.steps] == [
        ("greedy", 8589934593, 8589934594),
        ("keep-apart", 8589934595, 8589934596),
        ("manual", 8589934597, 8589934598),
    ]
    assert found.steps[0].score == -1.25


def test_an_undo_takes_back_everything_from_its_index_on(tmp_path):
    lines = [
        line(0, u_id=1),
        line(1, u_id=3),
        line(2, u_id=5),
        '{"index": 1, "kind": "undo"}',
        line(1, u_id=7),
    ]
    assert read(tmp_path, *lines) == ([("greedy", 1), ("greedy", 7)], 0)


def test_fields_that_are_new_or_missing_do_no_harm(tmp_path):
    short = json.dumps({"index": 1, "kind": "manual", "u_id": 5, "v_id": 6})
    assert read(tmp_path, line(0, colour="red"), short) == ([("greedy", 1), ("manual", 5)], 0)


@pytest.mark.parametrize(
    "damage",
    [
        '{"index": 1, "ki', "null", "[]", "3", '{"index": 1}', '{"index": Infinity, "kind": "greedy"}',
        '{"index": NaN, "kind": "undo"}', '{"index": 1e400, "kind": "undo"}', '{"index": -1, "kind": "undo"}',
        '{"index": true, "kind": "undo"}', "[" * 3000, '{"a":' * 800, "\x00\x01", "x" * (MAX_LINE + 1),
        line(1, u_id=0), line(1, u_id=2**64), line(1, u_id="1"), line(1, kind="explode"),
        line(1, kind=["cut"]),
    ],
)  # fmt: skip
def test_a_damaged_line_costs_itself_only(tmp_path, damage):
    assert read(tmp_path, line(0, u_id=1), damage, line(2, u_id=5)) == ([("greedy", 1), ("greedy", 5)], 1)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path):
    with pytest.raises(SessionError, match="cannot be read"):
        read_json_lines(tmp_path)
    with pytest.raises(SessionError, match="cannot be read"):
        read_json_lines(tmp_path / "missing.jsonl")
