"""What people decided about a block-wise result: kept beside it, and part of every later pass over it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from napari_celis.core.errors import CorruptFileError
from napari_celis.scale.reconcile import Answer
from napari_celis.scale.storage import RunStore

FOLDER = "celis/answers"


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
    taken = store.names(FOLDER)
    name = f"{FOLDER}/{len(taken):06d}.json"
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
    answers = []
    for kind, u, v in rows:
        if kind not in ("merge", "keep-apart") or not 0 < u < 2**64 or not 0 < v < 2**64 or u == v:
            raise CorruptFileError(f"The answers in {name} hold a row that is none. Remove the file.")
        answers.append(Answer("merge" if kind == "merge" else "keep-apart", min(u, v), max(u, v)))
    return answers
