"""Answers from a file become decisions: checked against each other and the volume, then made one by one.

An answer says what is true of two supervoxels, not what to do. What has to be done depends on what is merged:
`same` merges or confirms, `apart` keeps apart, or cuts first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from napari_celis.core.action_lookup import find_action
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError, LabelsError
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.io.answer_table import Answer, Answers
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import MAX_NAME, MAX_TEXT
from napari_celis.io.session.writer import SessionWriter

Pair = tuple[int, int]
SAID = {"same": "one neuron", "apart": "two neurons", "cut": "not one", "not-here": "not joined here"}
FEW = 3
"""Lines that a message names."""


@dataclass(frozen=True)
class AnswersTaken:
    """What has become of the answers of a file."""

    n_decided: int
    """Those that became decisions."""
    n_so_already: int
    """Those that changed nothing, and that the history tells already."""
    n_corrections: int
    """Those that changed the segmentation."""


def newest_only(answers: Answers) -> Answers:
    """Leave out answers about pairs that a later line answers too."""
    newest = {answer.pair: answer for answer in answers.rows}
    return replace(answers, rows=tuple(one for one in answers.rows if newest[one.pair] is one))


def require_answers(answers: Answers, supervoxels: Supervoxels, actions: ActionTable) -> None:
    """Refuse answers that contradict each other, or that are about something else.

    Parameters
    ----------
    answers : Answers
        From a file.
    supervoxels, actions : Supervoxels, ActionTable
        The volume that they should be about.

    Raises
    ------
    LabelsError, ActionError
        Naming the lines.
    """
    _require_known(answers, supervoxels)
    for answer in answers.rows:
        if answer.verdict in ("same", "not-here"):
            try:
                find_action(supervoxels, actions, answer.u_id, answer.v_id)
            except ActionError as error:
                raise ActionError(f"{answers.at(answer)}: {error}") from error
        elif answer.u_id == answer.v_id:
            raise ActionError(
                f"{answers.at(answer)}, names supervoxel {answer.u_id} twice. Name two different ones."
            )
    _require_no_contradiction(answers)


def _require_known(answers: Answers, supervoxels: Supervoxels) -> None:
    """Refuse ids that the volume does not have."""
    known = set(supervoxels.ids.tolist())
    named = {end for answer in answers.rows for end in answer.pair}
    unknown = named - known
    if len(unknown) > len(named) / 2:
        raise LabelsError(
            f"{answers.name} is about other supervoxels: of {len(named):,} that it names, {len(unknown):,} "
            f"are not among the {supervoxels.n:,} of this volume. Give the supervoxels that it was made for."
        )
    for answer in answers.rows:
        for end in answer.pair:
            if end in unknown:
                raise LabelsError(
                    f"{answers.at(answer)}, names supervoxel {end}, which this volume does not have. "
                    "Remove it, or give the supervoxels that the file was made for."
                )


def _require_no_contradiction(answers: Answers) -> None:
    """Refuse a pair that is said to be both, directly or by way of others."""
    said: dict[Pair, Answer] = {}
    for answer in answers.rows:
        before = said.setdefault(answer.pair, answer)
        if (before.verdict == "same") != (answer.verdict == "same"):
            u_id, v_id = answer.pair
            raise ActionError(
                f"{answers.name}: {answers.units} {before.line} and {answer.line} contradict each other: "
                f"supervoxels {u_id} and {v_id} are {SAID[before.verdict]}, and {SAID[answer.verdict]}. "
                "Remove one of them, or let the later one count with --prefer newer."
            )
    neighbours: dict[int, list[Answer]] = {}
    for answer in answers.rows:
        if answer.verdict == "same":
            for end in answer.pair:
                neighbours.setdefault(end, []).append(answer)
    for answer in answers.rows:
        way = _way(neighbours, *answer.pair) if answer.verdict in ("apart", "cut") else []
        if way:
            lines = ", ".join(str(one.line) for one in sorted(way, key=lambda one: one.line)[:FEW])
            more = " and more" if len(way) > FEW else ""
            raise ActionError(
                f"{answers.at(answer)}, parts supervoxels {answer.pair[0]} and {answer.pair[1]}, but "
                f"{answers.units} {lines}{more} together make them one. Correct one of them."
            )


def _way(neighbours: dict[int, list[Answer]], a: int, b: int) -> list[Answer]:
    """List the answers that lead from one supervoxel to another; none if there is no way."""
    came_by: dict[int, Answer] = {}
    waiting = [a]
    while waiting and b not in came_by:
        here = waiting.pop()
        for answer in neighbours.get(here, []):
            there = answer.pair[0] if answer.pair[1] == here else answer.pair[1]
            if there != a and there not in came_by:
                came_by[there] = answer
                waiting.append(there)
    way: list[Answer] = []
    while b in came_by and b != a:
        way.append(came_by[b])
        b = way[-1].pair[0] if way[-1].pair[1] == b else way[-1].pair[1]
    return way


def take_answers(
    agglomerator: Agglomerator, answers: Answers, begin: Callable[[Answer], None] | None = None
) -> AnswersTaken:
    """Make decisions of answers, in the order of the file; if one cannot be made, none of them stands.

    Parameters
    ----------
    agglomerator : Agglomerator
        Of the volume that they are about, see `require_answers`; changed.
    answers : Answers
        From a file.
    begin : callable, optional
        Told every answer before its decisions are made.

    Raises
    ------
    ActionError
        Naming the line, and the one that it is at odds with.
    """
    kept = {answer.pair for answer in answers.rows if answer.verdict == "same"}
    counts = [0, 0, 0]
    n_before = len(agglomerator.history)
    try:
        for answer in answers.rows:
            if begin is not None:
                begin(answer)
            for place, value in enumerate(_decide(agglomerator, answer, kept)):
                counts[place] += value
    except ActionError as error:
        while len(agglomerator.history) > n_before:
            agglomerator.undo()
        raise ActionError(f"{answers.at(answer)}, cannot be followed: {error} No answer was.") from error
    return AnswersTaken(*counts)


def _decide(agglomerator: Agglomerator, answer: Answer, kept: Collection[Pair]) -> tuple[bool, bool, bool]:
    """Make the decisions of one answer; returns what to add to the counts of `AnswersTaken`."""
    segment, supervoxels = agglomerator.segment_ids(), agglomerator.supervoxels
    u, v = (supervoxels.index_of(end) for end in answer.pair)
    is_one, last = bool(segment[u] == segment[v]), agglomerator.journal.last_about(*answer.pair)
    newest = None if last is None else last.kind
    action = agglomerator.actions.find(u, v)
    if answer.verdict == "same":
        if is_one and (newest in ("manual", "confirm") or not agglomerator.taken()[action]):
            return False, True, False
        (agglomerator.confirm if is_one else agglomerator.merge)(*answer.pair)
        return True, False, not is_one
    if answer.verdict == "not-here":
        if newest == "not-here":
            return False, True, False
        agglomerator.not_here(*answer.pair)
        return True, False, False
    if not is_one and (answer.verdict == "cut" or answer.pair in agglomerator.constraints):
        return False, True, False
    with agglomerator.together():
        if is_one:
            agglomerator.cut(*_to_cut(agglomerator, u, v, kept))
        if answer.verdict == "apart":
            agglomerator.keep_apart(*answer.pair)
    return True, False, is_one


def _to_cut(agglomerator: Agglomerator, u: int, v: int, kept: Collection[Pair]) -> Pair:
    """Find the merge that parts two supervoxels of one segment: the least certain that nobody calls right."""
    ids, actions = agglomerator.supervoxels.ids, agglomerator.actions
    path = agglomerator.merges.forest_of(u).path(u, v)
    score = agglomerator.journal.merge_scores(len(actions))

    def pair_of(action: int) -> Pair:
        a, b = int(ids[actions.u[action]]), int(ids[actions.v[action]])
        return min(a, b), max(a, b)

    free = [action for action in path if pair_of(action) not in kept]
    return pair_of(max(free, key=lambda action: (np.nan_to_num(score[action], nan=-np.inf), action)))


def record_answers(session: Session, agglomerator: Agglomerator, answers: Answers) -> AnswersTaken:
    """Let answers from a file become decisions of a session, signed by who gave them; all of them, or none.

    Parameters
    ----------
    session : Session
        Open for writing.
    agglomerator : Agglomerator
        Where the session ends.
    answers : Answers
        Checked, see `require_answers`.
    """
    writer = SessionWriter(session)
    own = writer.who

    def sign(answer: Answer) -> None:
        writer.who, writer.note = answer.who[:MAX_NAME] or own, answer.note[:MAX_TEXT]

    agglomerator.journal.listener = writer
    try:
        taken = take_answers(agglomerator, answers, sign)
    finally:
        agglomerator.journal.listener = None
    writer.flush()
    return taken
