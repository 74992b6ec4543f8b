"""Questions as a table that anyone can fill in, and the answers read back; CSV or JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from napari_celis.core.errors import CorruptFileError, VolumeError
from napari_celis.core.questions import Question, QuestionKind
from napari_celis.io.atomic import atomic_file
from napari_celis.io.confinement import require_regular
from napari_celis.io.failures import reading
from napari_celis.io.property_table import MAX_ID

SUFFIXES = (".csv", ".json")
ASKED = {QuestionKind.MERGE: "same neuron?", QuestionKind.MADE: "still right?"}
"""What a question is called in a file."""
Verdict = Literal["same", "apart", "cut", "not-here"]
WORDS: dict[str, Verdict | None] = {
    **dict.fromkeys(("yes", "merge", "same", "confirm", "still-right", "accept"), "same"),
    **dict.fromkeys(("no", "apart", "keep-apart", "reject"), "apart"),
    "cut": "cut",
    "not-here": "not-here",
    **dict.fromkeys(("", "unsure", "skip", "skipped"), None),
}
"""Words for an answer; None says nothing."""
ENDS, ANSWER = ("u_id", "v_id"), "answer"
COLUMNS = (
    "question", *ENDS, ANSWER, "score", "probability", "gain", "smaller", "larger",
    "z", "y", "x", "z_nm", "y_nm", "x_nm", "who", "note",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What somebody said about two supervoxels."""

    line: int
    """Where it is: the line of a table, or the entry of a list, counted from 1."""
    u_id: int
    v_id: int
    verdict: Verdict
    who: str = ""
    note: str = ""

    @property
    def pair(self) -> tuple[int, int]:
        """The two supervoxels, the lower id first."""
        return min(self.u_id, self.v_id), max(self.u_id, self.v_id)


@dataclass(frozen=True)
class Answers:
    """All answers of a file, in its order."""

    name: str
    """Of the file, for messages."""
    rows: tuple[Answer, ...]
    n_open: int
    """Rows without an answer."""
    unit: str = "line"
    """What a row is called."""

    @property
    def units(self) -> str:
        """What several rows are called."""
        return "entries" if self.unit == "entry" else f"{self.unit}s"

    def at(self, answer: Answer) -> str:
        """Say where an answer is."""
        return f"{self.name}, {self.unit} {answer.line}"


def require_answer_table(path: Path) -> None:
    """Refuse a name that is no table."""
    if path.suffix.lower() not in SUFFIXES:
        raise VolumeError(f"{path} is no table of questions. Give it a name that ends in .csv or .json.")


def write_questions(
    questions: Iterable[Question],
    path: Path,
    voxel_size_nm: Sequence[float],
    offset_nm: Sequence[float],
) -> Path:
    """Write questions in the order in which they should be asked, with an empty column for answers.

    Parameters
    ----------
    questions : iterable of Question
        From `Questions.row`.
    path : Path
        `.csv` or `.json`; replaced only when everything has been written.
    voxel_size_nm, offset_nm : sequence of float
        Of the volume: places are written in voxels and in nanometres.
    """
    require_answer_table(path)
    rows = [_row_of(question, voxel_size_nm, offset_nm) for question in questions]
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        if path.suffix.lower() == ".json":
            json.dump(rows, file, indent=1)
            file.write("\n")
        else:
            table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    return path


def _row_of(question: Question, voxel_size_nm: Sequence[float], offset_nm: Sequence[float]) -> dict[str, Any]:
    place = [round(value, 2) for value in question.position_zyx]
    in_nm = [
        round(offset + value * size, 2)
        for offset, value, size in zip(offset_nm, question.position_zyx, voxel_size_nm, strict=True)
    ]
    values = (
        ASKED[question.kind], question.u_id, question.v_id, "", question.score, question.probability,
        question.gain, question.smaller, question.larger, *place, *in_nm, "", "",
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def read_answers(path: Path) -> Answers:
    """Read answers to questions, from `write_questions` or from anyone.

    Parameters
    ----------
    path : Path
        A table (`.csv`, separated by commas, semicolons or tabs) or a list of objects (`.json`) with `u_id`,
        `v_id` and `answer`; `who` and `note` are kept, everything else is left alone.

    Raises
    ------
    CelisError
        Naming the line that cannot be understood.
    """
    require_answer_table(path)
    require_regular(path)
    is_list = path.suffix.lower() == ".json"
    with reading(str(path)), path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(_entries(json.load(file), path) if is_list else _lines(file))
    where = "entry" if is_list else "line"
    found: list[Answer] = []
    for number, row in rows:
        place = f"{path}, {where} {number}"
        missing = [name for name in (*ENDS, ANSWER) if name not in row]
        if missing:
            raise CorruptFileError(
                f"{place}, has no `{missing[0]}`. A file of answers has the columns u_id, v_id and answer."
            )
        verdict = _verdict(row[ANSWER], place)
        if verdict is not None:
            u_id, v_id = (_id(row[name], place) for name in ENDS)
            who, note = (_text(row.get(name)) for name in ("who", "note"))
            found.append(Answer(number, u_id, v_id, verdict, who, note))
    return Answers(str(path), tuple(found), len(rows) - len(found), where)


def _lines(file: Iterable[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Read a table, whatever separates its columns."""
    lines = iter(file)
    header = next(lines, "")
    separator = max(",;\t", key=header.count)
    names = [name.strip().lower() for name in next(csv.reader([header], delimiter=separator), [])]
    for number, cells in enumerate(csv.reader(lines, delimiter=separator), start=2):
        if any(cell.strip() for cell in cells):
            yield number, dict(zip(names, cells, strict=False))


def _entries(content: Any, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Read a list of objects."""
    if not isinstance(content, list) or not all(isinstance(entry, dict) for entry in content):
        raise CorruptFileError(
            f"{path} is no list of answers. Write a list of objects with u_id, v_id and answer."
        )
    yield from enumerate(content, start=1)


def _verdict(word: Any, place: str) -> Verdict | None:
    known = "-".join(_text(word).lower().replace("-", " ").split())
    if known not in WORDS:
        raise CorruptFileError(
            f"{place}, has the answer {_text(word)[:40]!r}. Answers are yes, no, cut and not-here, or "
            "nothing where there is none."
        )
    return WORDS[known]


def _id(value: Any, place: str) -> int:
    text = _text(value)
    if not text.isdecimal() or not 0 < int(text) <= MAX_ID:
        raise CorruptFileError(
            f"{place}, has the id {text[:40]!r}, but ids are whole numbers from 1 to 2^64 - 1. Correct it."
        )
    return int(text)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
