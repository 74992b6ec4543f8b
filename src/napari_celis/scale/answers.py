"""What people decided about a block-wise result: kept beside it, and part of every later pass over it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any, get_args

from napari_celis.core.errors import CorruptFileError
from napari_celis.scale.honour import Answer, AnswerKind
from napari_celis.scale.storage import RunStore

FOLDER = "celis/answers"
DIGITS = 6
"""Length of the number that file names begin with: the later, the higher."""


def add_answers(store: RunStore, answers: Sequence[Answer], who: str = "") -> str | None:
    """Write answers, by supervoxel id, as one file that nothing ever changes.

    Parameters
    ----------
    store : RunStore
        The run.
    answers : sequence of Answer
        Newer ones overrule older ones about the same two supervoxels.
    who : str
        Who gave them.

    Returns
    -------
    name : str or None
        The file; None if there was nothing to write.
    """
    if not answers:
        return None
    taken = [int(name[:DIGITS]) for name in store.names(FOLDER) if name[:DIGITS].isdecimal()]
    # Two windows may write at the same moment: neither replaces what the other one wrote.
    name = f"{FOLDER}/{max(taken, default=-1) + 1:0{DIGITS}d}-{uuid.uuid4().hex[:8]}.json"
    rows = [{"kind": one.kind, "u": int(one.u), "v": int(one.v)} for one in answers]
    store.write_json(name, {"who": who, "time": time.time(), "answers": rows})
    return name


def read_answers(store: RunStore) -> list[Answer]:
    """Read all answers, each pair once, as it was decided last."""
    found: dict[tuple[int, int], Answer] = {}
    for name in store.names(FOLDER):
        values = store.read_json(f"{FOLDER}/{name}")
        for row in _rows(values, name):
            # A dictionary keeps the place of its first entry, but the newest answer counts as newest.
            found.pop((row.u, row.v), None)
            if row.kind != "withdrawn":
                found[row.u, row.v] = row
    return list(found.values())


def _rows(values: Any, name: str) -> list[Answer]:
    """Check a file of answers."""
    try:
        rows = [(str(row["kind"]), int(row["u"]), int(row["v"])) for row in values["answers"]]
    except (KeyError, TypeError, ValueError, json.JSONDecodeError) as error:
        raise CorruptFileError(
            f"The answers in {name} cannot be read ({error!r}). Remove the file."
        ) from error
    known: dict[str, AnswerKind] = {kind: kind for kind in get_args(AnswerKind)}
    answers = []
    for kind, u, v in rows:
        if kind not in known or not 0 < u < 2**64 or not 0 < v < 2**64 or u == v:
            raise CorruptFileError(f"The answers in {name} hold a row that is none. Remove the file.")
        answers.append(Answer(known[kind], min(u, v), max(u, v)))
    return answers
