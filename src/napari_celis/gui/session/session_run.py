"""From chosen data and a session to a ready agglomerator and somebody who keeps its decisions. No Qt here."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from napari_celis.core.journal import Event
from napari_celis.gui.session.session_recorder import SessionRecorder
from napari_celis.gui.session.session_store import new_path, preparation_of, set_aside
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SegmentNote, SessionInUseError
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.kept_preparation import keep_preparation
from napari_celis.pipeline.recipe import Prepared, prepare
from napari_celis.pipeline.session_data import Sources, describe, settings_of
from napari_celis.pipeline.sessions import go_on_with, take_over_json_lines
from napari_celis.pipeline.stages import Report


@dataclass(frozen=True)
class SessionWish:
    """Which session a run should have."""

    path: Path
    """Of the session, or of an old file of lines."""
    goes_on: bool = False
    """Whether the file is there, and the run should begin where it ends."""
    is_old: bool = False
    """Whether it is an old file, of which a session is made first."""
    begins_now: bool = False
    """Whether a new file is made at once, and not with the first decision."""


@dataclass(eq=False)
class SessionRun:
    """A run that is ready."""

    prepared: Prepared
    path: Path
    recorder: SessionRecorder | None
    """None where another window writes to the session."""
    remarks: list[str] = field(default_factory=list)
    notes: tuple[SegmentNote, ...] = ()
    """Names and notes of segments, as the session has them."""


def prepare_session(wish: SessionWish, choice: Choice, sources: Sources, report: Report) -> SessionRun:
    """Prepare a run; called in the background.

    Parameters
    ----------
    wish : SessionWish
        The session to begin, or to go on with.
    choice : Choice
        What is chosen.
    sources : Sources
        Where it lies.
    report : callable
        Told the stage and the finished share; may raise to cancel.
    """
    if wish.is_old:
        wish = _take_over(wish, choice, sources, report)
    return _go_on(wish, choice, sources, report) if wish.goes_on else _begin(wish, choice, sources, report)


def _begin(wish: SessionWish, choice: Choice, sources: Sources, report: Report) -> SessionRun:
    prepared = prepare(choice, report)
    try:
        report("describing the volumes", 0.0)
        units = prepared.agglomerator.energy_units()
        head = describe(choice, prepared.inputs, sources, wish.path, units, time.time())
        keep_preparation(head, preparation_of(wish.path), choice, prepared)
        recorder = SessionRecorder(wish.path, head, sources)
        for step in prepared.agglomerator.history:
            recorder.hear(Event("decide", step, step.energy))
        if wish.begins_now:
            recorder.begin()
    except BaseException:
        prepared.agglomerator.close()
        raise
    return SessionRun(prepared, wish.path, recorder)


def _go_on(wish: SessionWish, choice: Choice, sources: Sources, report: Report) -> SessionRun:
    """Open the session, for reading only where another window has it, and begin where it ends."""
    remarks: list[str] = []
    try:
        session = Session.open(wish.path)
    except SessionInUseError:
        session = Session.open(wish.path, read_only=True)
        remarks.append(
            f"{wish.path.name} is open in another window, so here it is open for reading only: what you "
            "decide here is not kept. Use Session → Save as… to go on in a copy."
        )
    try:
        chosen = replace(choice, **settings_of(session.head))
        kept = preparation_of(wish.path)
        prepared = go_on_with(session, chosen, sources, kept, report=report, say=remarks.append)
        keep_preparation(session.head, kept, choice, prepared)
        notes = tuple(session.segments())
    except BaseException:
        session.close()
        raise
    if session.is_read_only:
        session.close()
        return SessionRun(prepared, wish.path, None, remarks, notes)
    recorder = SessionRecorder(wish.path, session.head, sources, session)
    return SessionRun(prepared, wish.path, recorder, remarks, notes)


def _take_over(wish: SessionWish, choice: Choice, sources: Sources, report: Report) -> SessionWish:
    """Make a session of an old file; the wish is then to go on with that."""
    path = new_path(sources.volumes.get("image", "") or "session")
    path.parent.mkdir(parents=True, exist_ok=True)
    prepared = prepare(choice, report)
    with prepared.agglomerator:
        take_over_json_lines(wish.path, path, choice, prepared, sources)
    set_aside(wish.path)
    return SessionWish(path, goes_on=True)
