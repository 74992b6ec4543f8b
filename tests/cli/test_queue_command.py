"""Questions are written, answered by anyone, and followed; what cannot be followed changes nothing."""

from __future__ import annotations

import csv
import json
from itertools import pairwise

import numpy as np
import pytest

from napari_celis.io.answer_table import COLUMNS, read_answers
from napari_celis.io.session.file import Session
from napari_celis.io.volumes import open_volume
from pipeline.session_run import begin, work, write_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def given(data):
    return [
        "--image", data.volumes["image"], "--supervoxels", data.volumes["supervoxels"], "--model", data.model,
    ]  # fmt: skip


@pytest.fixture
def run(celis, given, tmp_path):
    """Follow answers after a run; return exit code, what was said, and the segments."""

    def follow(rows, *more, name="answers.csv"):
        path, seg = tmp_path / name, tmp_path / "followed.npy"
        seg.unlink(missing_ok=True)
        if name.endswith(".json"):
            path.write_text(json.dumps(rows))
        else:
            path.write_text("\n".join(["u_id,v_id,answer", *(",".join(map(str, row)) for row in rows)]))
        code, out, err = celis(
            "agglomerate", *given, "--threshold", -0.2, "--decisions", path, "-o", seg, *more
        )
        return code, out + err, open_volume(seg).read() if seg.exists() else None

    return follow


@pytest.fixture
def asked(celis, given, tmp_path):
    """The questions after a run."""
    path = tmp_path / "q.csv"
    code, out, err = celis("queue", *given, "--threshold", -0.2, "-o", path, "--until", 0.01)
    assert code == 0, err
    with path.open(newline="") as file:
        return list(csv.DictReader(file)), out


def labels_of(segments, data, supervoxel):
    where = open_volume(data.volumes["supervoxels"]).read() == int(supervoxel)
    return set(np.unique(segments[where]).tolist())


def test_questions_of_both_kinds_are_written_best_first(asked, celis, given, tmp_path):
    rows, out = asked
    assert tuple(rows[0]) == COLUMNS
    kinds = {row["question"] for row in rows}
    assert kinds == {"same neuron?", "still right?"}
    gains = [float(row["gain"]) for row in rows]
    assert all(later <= 1.12 * gain for gain, later in pairwise(gains))
    assert "Expected to be left" in out
    assert "Answers until 0.01 bits" in out
    path, figures = tmp_path / "q.json", tmp_path / "figures"
    code, *_ = celis(
        "queue", *given, "--threshold", -0.2, "-o", path, "--most", 3, "--json", figures, "--until", 0.0
    )
    assert code == 0
    same = json.loads(path.read_text())
    assert [[row["u_id"], row["v_id"]] for row in same] == [
        [int(row["u_id"]), int(row["v_id"])] for row in rows[:3]
    ]
    told = json.loads(figures.read_text())
    assert (told["questions"], told["written"]) == (len(rows), 3)
    assert told["questions_until"] <= len(rows)
    # Places are those of the contacts, in voxels and in nanometres.
    voxels = open_volume(given[3])
    for axis, size, offset in zip("zyx", voxels.voxel_size_nm, voxels.offset_nm, strict=True):
        expected = offset + float(rows[0][axis]) * size
        assert float(rows[0][f"{axis}_nm"]) == pytest.approx(expected, abs=0.006 * size + 0.01)


def test_a_table_that_was_filled_in_is_followed(asked, celis, given, data, tmp_path):
    rows, _ = asked
    merge = next(row for row in rows if row["question"] == "same neuron?")
    made = next(row for row in rows if row["question"] == "still right?")
    merge["answer"], made["answer"] = "yes", "No"
    path = tmp_path / "filled.csv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    seg, figures = tmp_path / "seg.npy", tmp_path / "figures"
    code, out, err = celis(
        "agglomerate", *given, "--threshold", -0.2, "--decisions", path, "-o", seg, "--json", figures
    )
    assert code == 0, err
    assert "Followed 2 answers: 2 corrections" in out
    told = json.loads(figures.read_text())
    assert (told["answers_decided"], told["unanswered"]) == (2, len(rows) - 2)
    segments = open_volume(seg).read()
    assert labels_of(segments, data, merge["u_id"]) == labels_of(segments, data, merge["v_id"])
    assert labels_of(segments, data, made["u_id"]) != labels_of(segments, data, made["v_id"])
    assert told["segments"] == len(np.unique(segments[segments > 0]))


def test_answers_that_change_nothing_leave_the_run_as_it_is(asked, run, celis, given, tmp_path):
    rows, _ = asked
    plain = tmp_path / "plain.npy"
    assert celis("agglomerate", *given, "--threshold", -0.2, "-o", plain)[0] == 0
    said = {"same neuron?": "no", "still right?": "yes"}
    code, words, segments = run([(row["u_id"], row["v_id"], said[row["question"]]) for row in rows])
    assert code == 0, words
    np.testing.assert_array_equal(segments, open_volume(plain).read())
    assert "0 corrections" in words


def test_no_about_two_that_others_joined_cuts_between_them(asked, run, data):
    """The pair itself was never merged: a merge on the way between them goes."""
    rows, _ = asked
    made = [(int(row["u_id"]), int(row["v_id"])) for row in rows if row["question"] == "still right?"]
    chains = ((a, b) for a in made for b in made if a != b and len({*a, *b}) == 3)
    first, second = next(chains)
    ends = sorted({*first} ^ {*second})
    code, words, segments = run([(*ends, "no")])
    assert code == 0, words
    assert labels_of(segments, data, ends[0]) != labels_of(segments, data, ends[1])
    code, words, segments = run([(*ends, "no"), (*first, "yes")])
    assert code == 0, words
    assert labels_of(segments, data, first[0]) == labels_of(segments, data, first[1])
    code, words, _ = run([(*ends, "no"), (*first, "yes"), (*second, "yes")])
    assert code == 1
    assert "line 2, parts supervoxels" in words
    assert "lines 3, 4 together make them one" in words


def test_contradictions_name_both_lines_or_the_later_counts(asked, run, data, tmp_path):
    rows, _ = asked
    row = next(row for row in rows if row["question"] == "same neuron?")
    pair = row["u_id"], row["v_id"]
    answers = [(*pair, "no"), (*pair[::-1], "yes")]
    code, words, segments = run(answers)
    assert (code, segments) == (1, None)
    assert "lines 2 and 3 contradict each other" in words
    assert run(answers, "--session", tmp_path / "new.celis")[0] == 1
    assert not (tmp_path / "new.celis").exists()
    code, words, segments = run(answers, "--prefer", "newer")
    assert code == 0, words
    assert labels_of(segments, data, pair[0]) == labels_of(segments, data, pair[1])


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("A", "B", "perhaps")], "has the answer 'perhaps'"),
        ([("x", "B", "yes")], "has the id 'x'"),
        ([(7, 9, "yes"), (12, 13, "no")], "is about other supervoxels"),
        ([("A", "B", "yes"), ("A", 7, "no")], "line 3, names supervoxel 7, which this volume does not have"),
        ([("A", "A", "no")], "twice"),
        ([("FAR", "AWAY", "yes")], "line 2: Supervoxels"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_one_sentence(asked, run, data, rows, words):
    questions, _ = asked
    a, b = questions[0]["u_id"], questions[0]["v_id"]
    pairs = {frozenset((row["u_id"], row["v_id"])) for row in questions}
    ids = sorted({end for pair in pairs for end in pair})
    labels = open_volume(data.volumes["supervoxels"]).read()
    middle = {end: np.argwhere(labels == int(end)).mean(axis=0) for end in ids}
    far, away = max(
        ((one, two) for one in ids for two in ids),
        key=lambda pair: np.linalg.norm(middle[pair[0]] - middle[pair[1]]),
    )
    names = {"A": a, "B": b, "FAR": far, "AWAY": away}
    code, said, segments = run([tuple(names.get(cell, cell) for cell in row) for row in rows])
    assert (code, segments) == (1, None)
    assert words in said
    assert "Traceback" not in said


def test_lists_of_objects_and_other_separators_are_read(tmp_path, run):
    path = tmp_path / "a.csv"
    path.write_text(
        "\ufeffU_ID;V_ID;Answer;who;note\n3;4;not here;ada;a membrane\n\n5;6;;\n7;8;Still right\n"
    )
    found = read_answers(path)
    assert [(one.line, one.pair, one.verdict, one.who) for one in found.rows] == [
        (2, (3, 4), "not-here", "ada"),
        (5, (7, 8), "same", ""),
    ]
    assert found.n_open == 1
    code, words, _ = run([{"u_id": 1, "v_id": 2}], name="a.json")
    assert code == 1
    assert "entry 1, has no `answer`" in words
    code, words, _ = run({"u_id": 1}, name="a.json")
    assert code == 1
    assert "is no list of answers" in words


def test_answers_become_decisions_of_a_session_or_none_does(celis, data, tmp_path):
    session, agglomerator = begin(tmp_path / "s.celis", data)
    work(agglomerator)
    session.close()
    agglomerator.close()
    questions = tmp_path / "q.json"
    code, _, err = celis("queue", "--session", tmp_path / "s.celis", "-o", questions)
    assert code == 0, err
    rows = json.loads(questions.read_text())
    n_before = len(rows)
    made = next(row for row in rows if row["question"] == "still right?")
    merge = next(row for row in rows if row["question"] == "same neuron?")
    made |= {"answer": "yes", "who": "grace", "note": "clear"}
    merge |= {"answer": "not-here"}
    questions.write_text(json.dumps(rows))
    with Session.open(tmp_path / "s.celis") as opened:
        n_events = opened.n_events
    arguments = ["agglomerate", "--session", tmp_path / "s.celis", "--threshold", -99.0]
    code, out, err = celis(*arguments, "--decisions", questions)
    assert code == 0, err
    assert "0 corrections, 2 that confirm what there is" in out
    with Session.open(tmp_path / "s.celis") as opened:
        new = list(opened.events(n_events))
    assert {(one.event.step.kind, one.who, one.note) for one in new} >= {("confirm", "grace", "clear")}
    assert len(new) == 2
    # What is answered is not asked again, and the same file again changes nothing.
    code, *_ = celis("queue", "--session", tmp_path / "s.celis", "-o", tmp_path / "q2.json")
    assert len(json.loads((tmp_path / "q2.json").read_text())) == n_before - 2
    code, out, _ = celis(*arguments, "--decisions", questions)
    assert code == 0
    assert "2 that were known" in out
    # One that cannot be followed: nothing is written.
    apart = next(row for row in rows[2:] if row["question"] == "same neuron?" and row is not merge)
    answers = [{**apart, "answer": "no"}, {**merge, "answer": "yes"}, {**merge, "answer": "no"}]
    questions.write_text(json.dumps(answers))
    code, _, err = celis(*arguments, "--decisions", questions)
    assert code == 1
    assert "entries 2 and 3 contradict" in err
    with Session.open(tmp_path / "s.celis") as opened:
        assert opened.n_events == n_events + 2
    assert celis("replay", tmp_path / "s.celis")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-o", "q.csv"], 2, "--model"),
        (["-o", "q.txt", "--model", "m"], 1, "ends in .csv or .json"),
        (["-o", "q.csv", "--session", "s", "--policy", "energy"], 2, "--policy"),
        (["-o", "q.csv", "--model", "m", "--relocate", "image=a"], 2, "--relocate"),
    ],
)
def test_wrong_usage_is_one_sentence(celis, tmp_path, monkeypatch, arguments, code, words):
    monkeypatch.chdir(tmp_path)
    found, _, err = celis("queue", *arguments)
    assert found == code
    assert words in err
    assert not list(tmp_path.iterdir())
