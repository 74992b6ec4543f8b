"""Version 0: decisions as lines of JSON, which programs before sessions kept in a folder of the system.

A line is a decision with its index, or an undo, which takes back everything from its index on. Lines that
cannot be read are told and left out; all others count.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event, Step, StepKind
from napari_celis.core.recorded import Recorder
from napari_celis.io.confinement import require_regular
from napari_celis.io.session.records import SessionError, SessionEvent
from napari_celis.io.session.writer import user_name

UNDO = "undo"
MAX_BYTES = 2**30
MAX_LINE = 4096
"""Letters of a line; a decision has about 200."""
MAX_INDEX = 2**40


@dataclass(frozen=True)
class JsonLines:
    """What an old file says."""

    steps: tuple[Step, ...]
    """Decisions that stood at the end, oldest first."""
    n_lost: int
    """Lines that could not be read."""


def read_json_lines(path: Path) -> JsonLines:
    """Read an old file, whatever is wrong with some of its lines.

    Raises
    ------
    SessionError
        If it cannot be read at all.
    """
    require_regular(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SessionError(f"{path} is larger than a list of decisions can be. Use a copy that is whole.")
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise SessionError(f"{path} cannot be read: {error.strerror}. Check its name.") from error
    standing: list[tuple[int, Step]] = []
    n_lost = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            index, step = _parse(line)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            n_lost += 1
            continue
        while standing and standing[-1][0] >= index:
            standing.pop()
        if step is not None:
            standing.append((index, step))
    return JsonLines(tuple(step for _, step in standing), n_lost)


def _parse(line: str) -> tuple[int, Step | None]:
    """Read one line; missing or new fields do no harm, those that say what was decided must be there."""
    if len(line) > MAX_LINE:
        raise ValueError("too long")
    row = json.loads(line)
    index = row["index"]
    if type(index) is not int or not 0 <= index <= MAX_INDEX:
        raise ValueError("no index")
    if row["kind"] == UNDO:
        return index, None
    if row["kind"] not in get_args(StepKind):
        raise ValueError("no kind of decision")
    return index, Step(
        index=index,
        kind=row["kind"],
        u_id=_id(row["u_id"]),
        v_id=_id(row["v_id"]),
        action_index=-1,
        score=_number(row.get("score"), 0.0),
        energy=_number(row.get("energy"), math.nan),
        joins_segments=row.get("joins_segments") is True,
        n_segments=0,
    )


def _id(value: Any) -> int:
    if type(value) is not int or not 0 < value < 2**64:
        raise ValueError("no id")
    return value


def _number(value: Any, otherwise: float) -> float:
    return float(value) if type(value) in (int, float) and math.isfinite(value) else otherwise


def events_from_steps(
    steps: tuple[Step, ...], recorder: Recorder, time: float, note: str
) -> tuple[list[SessionEvent], int]:
    """Turn old decisions into events, leaving out those that cannot be done without a lost one.

    Parameters
    ----------
    steps : tuple of Step
        From `read_json_lines`.
    recorder : Recorder
        Of the volume that they are about; it follows them.
    time : float
        When the last of them was made.
    note : str
        Where they are from.

    Returns
    -------
    events : list of SessionEvent
    n_left_out : int
        Decisions that could not be done.
    """
    events, n_left_out, who = [], 0, user_name()
    for step in steps:
        try:
            recorder.decide(step)
        except ActionError:
            n_left_out += 1
            continue
        kept = recorder.done[-1].step
        events.append(SessionEvent(Event("decide", kept, kept.energy), time, who, note))
    return events, n_left_out
