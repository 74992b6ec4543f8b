"""Begin a session, or go on with one: everything between the file and a ready agglomerator."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.journal import Event
from napari_celis.core.recorded import Recorder
from napari_celis.io.atomic import scratch_name
from napari_celis.io.session.file import Session
from napari_celis.io.session.json_lines import events_from_steps, read_json_lines
from napari_celis.io.session.kept_arrays import KeptArrays, folder_beside
from napari_celis.io.session.records import SessionEvent, SessionHead
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.kept_preparation import (
    keep_preparation,
    load_scores,
    parts_of,
    with_preparation,
)
from napari_celis.pipeline.recipe import Inputs, Past, Prepared, prepare
from napari_celis.pipeline.session_data import Sources, describe, moved, open_data
from napari_celis.pipeline.session_identity import (
    require_same_image,
    require_same_inputs,
    require_same_model,
    require_same_start,
)
from napari_celis.pipeline.session_merge import as_decision, is_same, standing
from napari_celis.pipeline.splits import history_of
from napari_celis.pipeline.stages import Report, Say, silent

TOLERANCE = 1e-6
"""Largest relative difference of scores and energies that counts as equal. On one computer they are equal to
the bit; networks in float32 on other processors are not."""


@dataclass(frozen=True, eq=False)
class OpenedSession:
    """A session whose agglomerator is ready."""

    session: Session
    choice: Choice
    sources: Sources
    prepared: Prepared

    @property
    def agglomerator(self) -> Agglomerator:
        """Everything is as it was after the last event."""
        return self.prepared.agglomerator


def begin_session(path: Path, choice: Choice, prepared: Prepared, sources: Sources) -> Session:
    """Make the session file of a run that has made no decision yet, and keep its preparation beside it.

    Parameters
    ----------
    path : Path
        Nothing may have this name.
    choice : Choice
        What was chosen.
    prepared : Prepared
        What was made of it.
    sources : Sources
        Where it lies.
    """
    units = prepared.agglomerator.energy_units()
    session = Session.create(path, describe(choice, prepared.inputs, sources, path, units, time.time()))
    keep_preparation(session.head, KeptArrays(folder_beside(path)), choice, prepared)
    return session


def go_on(
    session: Session,
    *,
    relocate: Mapping[str, str] | None = None,
    beside: Path | None = None,
    is_lazy: bool = False,
    report: Report = silent,
    say: Say | None = None,
) -> OpenedSession:
    """Bring an agglomerator to where a session ends, in one scoring pass.

    Parameters
    ----------
    session : Session
        Open; where volumes moved to is written to it, unless it is open for reading only.
    relocate : mapping, optional
        Where volumes or the model are now, see `open_data`.
    beside : Path, optional
        Another session of the same data, whose preparation is used.
    is_lazy : bool
        Evaluate energies only where a decision can depend on them.
    report, say : callable, optional
        As in `napari_celis.pipeline.recipe.prepare`.

    Raises
    ------
    SessionError
        If a volume or the model is missing or another one; nothing is applied then.
    """
    head = session.head
    choice, sources = open_data(head, session.path, relocate, is_lazy=is_lazy)
    kept = KeptArrays(folder_beside(beside or session.path))
    prepared = go_on_with(session, choice, sources, kept, report=report, say=say)
    new = moved(head, sources, session.path)
    if not session.is_read_only:
        if new is not None:
            session.change_head(volumes=new.volumes, model_path=new.model_path)
        keep_preparation(head, KeptArrays(folder_beside(session.path)), choice, prepared)
    return OpenedSession(session, choice, sources, prepared)


def go_on_with(
    session: Session,
    choice: Choice,
    sources: Sources,
    kept: KeptArrays,
    *,
    report: Report = silent,
    say: Say | None = None,
) -> Prepared:
    """Bring an agglomerator to where a session ends, with volumes that are open already.

    Parameters
    ----------
    session : Session
        Only read.
    choice, sources : Choice, Sources
        The volumes and the model; they are held against the session before anything is applied.
    kept : KeptArrays
        What was kept of an earlier preparation.
    report, say : callable, optional
        As in `napari_celis.pipeline.recipe.prepare`.
    """
    head = session.head
    report("checking the volumes of the session", 0.0)
    require_same_model(head, choice.known_model, sources.model)
    require_same_image(head, choice)
    require_same_start(head, choice)
    events = list(session.events())
    if choice.decided.digest:
        prepared = _repeat(choice, head, standing(events), report, say)
        _go_on_learning(session, prepared)
        return prepared

    splits = session.splits()

    def past(inputs: Inputs) -> Past:
        require_same_inputs(head, choice, inputs)
        plain = [record.event for record in events]
        volume, history = history_of(inputs.atoms, plain, splits, head.units_at_start)
        n_specs = 0 if choice.is_lazy else len(choice.known_model.specs)
        return Past(volume, history, load_scores(head, kept, n_specs, parts_of(volume)))

    known = with_preparation(choice, head, kept, report)
    prepared = prepare(known, report, say=say, past=past)
    _compare_energy(session, prepared, events, say)
    _go_on_learning(session, prepared)
    return prepared


def _repeat(
    choice: Choice, head: SessionHead, decisions: list[SessionEvent], report: Report, say: Say | None
) -> Prepared:
    """Make the decisions of a session anew on top of what was decided before it began."""
    # Those that keep apart are among the decisions: the run began with them.
    started = replace(choice, decided=replace(choice.decided, apart=()))

    def past(inputs: Inputs) -> None:
        require_same_inputs(head, choice, inputs)

    prepared = prepare(started, report, say=say, past=past)
    for done, record in enumerate(decisions):
        report("decisions", done / len(decisions))
        prepared.agglomerator.repeat(record.event.step)
    return prepared


def _go_on_learning(session: Session, prepared: Prepared) -> None:
    """Learn from the answers of a session, if that was on at its end."""
    if session.is_learning and prepared.learner is not None:
        prepared.agglomerator.learn(prepared.learner)


def _compare_energy(
    session: Session, prepared: Prepared, events: list[SessionEvent], say: Say | None
) -> None:
    """Say so if the energy is another than the file tells: then scores are not those of the day."""
    recorded = events[-1].event.energy if events else math.nan
    energy = prepared.agglomerator.energy
    if say is not None and math.isfinite(recorded) and not is_equal(energy, recorded):
        say(
            f"Remark: the energy is {energy:.9g}, but {session.path} says {recorded:.9g}. Scores "
            "differ from those of the day; `celis replay` tells which."
        )


def is_equal(value: float, recorded: float, tolerance: float = TOLERANCE) -> bool:
    """Tell whether two scores or energies are equal, up to a share of the larger one."""
    return abs(value - recorded) <= tolerance * max(1.0, abs(value), abs(recorded))


def join_into(
    path: Path,
    first: Session,
    decisions: Sequence[SessionEvent],
    *,
    relocate: Mapping[str, str] | None = None,
    report: Report = silent,
) -> None:
    """Write the decisions of two sessions that were joined to a new session; scores are computed anew.

    Parameters
    ----------
    path : Path
        Nothing may have this name; it appears when everything is in it.
    first : Session
        The one whose volumes and settings are taken.
    decisions : sequence of SessionEvent
        From `napari_celis.pipeline.session_merge.plan_merge`.
    relocate : mapping, optional
        Where volumes or the model are now.
    report : callable
        Told the stage and the finished share.
    """
    recorded = standing(first.events())
    n_same = 0
    # Scores that were learned depend on when learning was on; the joined session computes all anew, without.
    if first.switches():
        recorded = []
    while n_same < min(len(recorded), len(decisions)) and is_same(recorded[n_same], decisions[n_same]):
        n_same += 1
    with scratch_name(path) as folder:
        folder.mkdir()
        head = replace(first.head, created=time.time())
        with Session.create(folder / path.name, head) as session:
            # Their states are those of the first session, so their scores are.
            session.append([replace(record, event=as_decision(record.event)) for record in recorded[:n_same]])
            opened = go_on(session, relocate=relocate, beside=first.path, is_lazy=True, report=report)
            told: list[Event] = []
            with opened.agglomerator as agglomerator:
                agglomerator.journal.listener = told.append
                rest = decisions[n_same:]
                for done, record in enumerate(rest):
                    report("decisions", done / len(rest))
                    agglomerator.repeat(record.event.step)
            session.append([replace(record, event=event) for record, event in zip(rest, told, strict=True)])
            session.save_as(path)
        KeptArrays(folder_beside(folder / path.name)).remove()


def take_over_json_lines(
    old: Path, path: Path, choice: Choice, prepared: Prepared, sources: Sources
) -> tuple[int, int]:
    """Make a session of decisions that an earlier version kept as lines of JSON.

    Parameters
    ----------
    old : Path
        The old file; it stays.
    path : Path
        Nothing may have this name; it appears when everything is in it.
    choice, prepared, sources
        The volumes that the decisions are about, see `begin_session`.

    Returns
    -------
    n_taken, n_lost : int
        Decisions that are in the session now, and lines or decisions that could not be.
    """
    lines = read_json_lines(old)
    atoms = prepared.inputs.atoms
    recorder = Recorder(atoms.supervoxels, atoms.actions)
    note = f"taken over from {old.name}"
    events, n_left_out = events_from_steps(lines.steps, recorder, old.stat().st_mtime, note)
    units = prepared.agglomerator.energy_units()
    head = describe(choice, prepared.inputs, sources, path, units, time.time())
    with scratch_name(path) as folder:
        folder.mkdir()
        with Session.create(folder / path.name, head) as session:
            session.append(events)
            session.save_as(path)
    return len(events), lines.n_lost + n_left_out
