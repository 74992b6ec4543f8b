"""Decisions as files: the merges that stand, for other programs, and the log of every step, to replay it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.core.journal import Step, StepKind
from napari_celis.io.atomic import atomic_file
from napari_celis.io.failures import reading

MERGE_KINDS = ("greedy", "manual")
"""Kinds of step that merge."""
LIST_SUFFIXES = (".csv", ".json")


@dataclass(frozen=True)
class MergeRecord:
    """One merge that stands."""

    u_id: int
    """Ids of the two supervoxels that were joined directly."""
    v_id: int
    score: float
    """What the merge promised when it was decided; lower is better."""
    kind: StepKind


def standing_merges(steps: Iterable[Step], taken: np.ndarray) -> list[MergeRecord]:
    """Pick the merges that no later cut took out, oldest first.

    Parameters
    ----------
    steps : iterable of Step
        The history of an agglomerator.
    taken : ndarray of bool, shape (A,)
        Which actions are taken now.

    Returns
    -------
    merges : list of MergeRecord
        Given as `merges` to a new `Agglomerator`, their pairs make the same segmentation again.
    """
    latest = {step.action_index: step for step in steps if step.kind in MERGE_KINDS}
    standing = sorted((step for row, step in latest.items() if taken[row]), key=lambda step: step.index)
    return [MergeRecord(step.u_id, step.v_id, step.score, step.kind) for step in standing]


def write_merge_list(merges: Sequence[MergeRecord], path: Path) -> Path:
    """Write merges in order, as a table (.csv) or as a list of objects (.json).

    Parameters
    ----------
    merges : sequence of MergeRecord
        From `standing_merges`.
    path : Path
        Replaced only when everything has been written.
    """
    if path.suffix.lower() not in LIST_SUFFIXES:
        raise VolumeError(f"{path} is no merge list we can write. Give it a name that ends in .csv or .json.")
    rows = [asdict(merge) for merge in merges]
    with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        if path.suffix.lower() == ".json":
            json.dump(rows, file, indent=1)
            file.write("\n")
        else:
            table = csv.DictWriter(file, [field.name for field in fields(MergeRecord)], lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    return path


def read_merge_list(path: Path) -> list[MergeRecord]:
    """Read what `write_merge_list` wrote."""
    with reading(str(path)), path.open(newline="", encoding="utf-8") as file:
        rows = json.load(file) if path.suffix.lower() == ".json" else csv.DictReader(file)
        return [
            MergeRecord(int(row["u_id"]), int(row["v_id"]), float(row["score"]), _known_kind(row["kind"]))
            for row in rows
        ]


def write_decision_log(steps: Iterable[Step], path: Path) -> Path:
    """Write every decision that stands as one line of JSON, oldest first.

    Parameters
    ----------
    steps : iterable of Step
        The history of an agglomerator: merges, cuts and pairs kept apart, by the machine and by hand.
    path : Path
        Replaced only when everything has been written.
    """
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for step in steps:
            file.write(json.dumps(asdict(step)) + "\n")
    return path


def read_decision_log(path: Path) -> list[Step]:
    """Read what `write_decision_log` wrote."""
    with reading(str(path)), path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
        return [Step(**{**row, "kind": _known_kind(row["kind"])}) for row in rows]


def _known_kind(kind: Any) -> StepKind:
    """Refuse a kind of decision that there is not."""
    for known in get_args(StepKind):
        if kind == known:
            return known  # type: ignore[no-any-return]
    raise ValueError(f"{kind!r} is no kind of decision")
