"""Make every decision of a session again from the beginning, and compare what it promised and brought."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event, Step
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionError, SessionSplit
from napari_celis.io.session.split_rows import require_same_supervoxel
from napari_celis.pipeline.recipe import prepare
from napari_celis.pipeline.session_data import open_data
from napari_celis.pipeline.session_identity import require_same_image, require_same_inputs, require_same_model
from napari_celis.pipeline.sessions import TOLERANCE, is_equal
from napari_celis.pipeline.splits import Divider
from napari_celis.pipeline.stages import Report, Say, silent


@dataclass(frozen=True)
class Difference:
    """Something that is not as the session says."""

    number: int
    """Of the event."""
    what: str
    """`score`, `energy`, `segments`, or `choice` where greedy would have taken another action."""
    recorded: float
    again: float


@dataclass(frozen=True)
class Replayed:
    """One event that was made again."""

    number: int
    event: Event
    """As it is now."""
    error: float
    """Difference of the scores, as a share of the larger one or of 1."""
    differences: tuple[Difference, ...]
    agglomerator: Agglomerator
    """As it is now; close the last one."""


def prepare_replay(
    session: Session,
    relocate: Mapping[str, str] | None = None,
    report: Report = silent,
    say: Say | None = None,
) -> Divider:
    """Prepare the volumes of a session from scratch; nothing that was kept beside it is used.

    Parameters
    ----------
    session : Session
        Only read.
    relocate : mapping, optional
        Where volumes or the model are now.
    report, say : callable, optional
        As in `napari_celis.pipeline.recipe.prepare`.

    Raises
    ------
    SessionError
        If a volume or the model is missing or another one.
    """
    head = session.head
    choice, sources = open_data(head, session.path, relocate, is_lazy=True)
    require_same_model(head, choice.known_model, sources.model)
    require_same_image(head, choice)
    prepared = prepare(choice, report, say=say)
    try:
        require_same_inputs(head, choice, prepared.inputs)
        # Steps tell the energy from the moment somebody has asked for it.
        units = prepared.agglomerator.energy_units()
        if head.units_at_start is not None and len(units) != len(head.units_at_start):
            raise SessionError("The model has another number of descriptor specs than the session says.")
    except BaseException:
        prepared.agglomerator.close()
        raise
    return Divider(choice, prepared)


def replay(session: Session, divider: Divider, tolerance: float = TOLERANCE) -> Iterator[Replayed]:
    """Make one event after the other again; answers are learned from where they were.

    Parameters
    ----------
    session : Session
        Only read.
    divider : Divider
        Of the same volumes, before the first decision. Where a supervoxel is split, an agglomerator of its
        parts takes the place of the one before, which is closed.
    tolerance : float
        Largest difference that counts as equal, as a share of the larger number or of 1.

    Raises
    ------
    SessionError
        If an event cannot be done; its number is told.
    """
    told: list[Event] = []
    agglomerator = divider.agglomerator
    agglomerator.journal.listener = told.append
    splits = {record.split.new_id: record for record in session.splits()}
    learner = divider.prepared.learner
    switches = {} if learner is None else {one.after: one.is_on for one in session.switches()}
    for number, record in enumerate(session.events(), start=1):
        event = record.event
        if number - 1 in switches:
            agglomerator.learn(learner if switches[number - 1] else None)
        found: list[Difference] = []

        def compare(what: str, recorded: float, again: float) -> None:
            if math.isfinite(recorded) and not is_equal(again, recorded, tolerance):
                found.append(Difference(number, what, recorded, again))  # noqa: B023

        try:
            if event.kind == "decide" and event.step.kind == "split":
                agglomerator = _divide(divider, agglomerator, splits.get(event.step.v_id))
                agglomerator.journal.listener = told.append
            if event.kind == "decide" and event.step.kind == "greedy":
                _compare_choice(agglomerator, event.step, compare)
            again = _make(agglomerator, event)
        except ActionError as error:
            raise SessionError(f"Event {number:,} of {session.path} cannot be made again: {error}") from error
        if (again.kind, {again.u_id, again.v_id}) != (event.step.kind, {event.step.u_id, event.step.v_id}):
            raise SessionError(
                f"Event {number:,} of {session.path} is about another decision than the one that it would "
                "repeat: the record is damaged."
            )
        compare("score", event.step.score, again.score)
        compare("energy", event.energy, told[-1].energy)
        if event.kind != "undo" and event.step.n_segments and event.step.n_segments != again.n_segments:
            found.append(Difference(number, "segments", event.step.n_segments, again.n_segments))
        error_of_score = abs(again.score - event.step.score) / max(
            1.0, abs(again.score), abs(event.step.score)
        )
        yield Replayed(number, told[-1], error_of_score, tuple(found), agglomerator)
        told.clear()


def _divide(divider: Divider, agglomerator: Agglomerator, record: SessionSplit | None) -> Agglomerator:
    """Go on with the parts of a supervoxel that was split."""
    if record is None:
        raise ActionError("it splits a supervoxel, but does not say where")
    require_same_supervoxel(agglomerator.supervoxels, record)
    parts = divider.divide(agglomerator, record.split).agglomerator
    # Steps tell the energy from the moment somebody has asked for it.
    parts.energy_units()
    agglomerator.close()
    return parts


def _make(agglomerator: Agglomerator, event: Event) -> Step:
    if event.kind == "undo":
        return agglomerator.undo()
    return agglomerator.redo() if event.kind == "redo" else agglomerator.repeat(event.step)


def _compare_choice(
    agglomerator: Agglomerator, step: Step, compare: Callable[[str, float, float], None]
) -> None:
    """Compare a greedy merge with the one that greedy would take now; those with equal scores are equal."""
    best = agglomerator.best_action()
    if best >= 0:
        compare("choice", step.score, agglomerator.score(best))
