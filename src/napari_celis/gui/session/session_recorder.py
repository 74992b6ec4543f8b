"""Writes the decisions of a run to its session file, which begins with the first of them. No Qt here."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from napari_celis.core.journal import Event
from napari_celis.gui.session.session_store import new_sessions_folder, note_recent, sessions_folder
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import Question, SegmentNote, SessionEvent, SessionHead, SessionSplit
from napari_celis.io.session.writer import SessionWriter, user_name
from napari_celis.pipeline.session_data import Sources, moved


class SessionRecorder:
    """Keeps decisions in a session; all methods belong to the engine's thread, unless they say otherwise.

    Parameters
    ----------
    path : Path
        Of the session.
    head : SessionHead
        What it is about.
    sources : Sources
        Where that lies.
    session : Session, optional
        The session, if it is open; without it the file is made with the first decision.
    """

    def __init__(
        self, path: Path, head: SessionHead, sources: Sources, session: Session | None = None
    ) -> None:
        self._path, self._head, self._sources = path, head, sources
        self._writer: SessionWriter | None = None
        self._early: list[tuple[Event, str] | SessionSplit | bool] = []
        """Events with their notes, splits, and switches of learning, from before there is a file."""
        self._put_aside: list[Question] = []
        self._words: list[SegmentNote] = []
        """Names and notes of segments that are not written yet."""
        self._threshold: float | None = None
        """Where runs stop, if that was changed and is not written yet."""
        self._lock = threading.Lock()
        self.skipped: list[tuple[int, int]] = []
        """Ids of supervoxels whose decisions are put aside, now or at an earlier time."""
        if session is not None:
            self.skipped = [(one.u_id, one.v_id) for one in session.questions()]
            self._use(session)

    @property
    def path(self) -> Path:
        """Where decisions go."""
        return self._path

    def hear(self, event: Event, note: str = "") -> None:
        """Take an event of the journal, and what a person says about it.

        Parameters
        ----------
        event : Event
            What happened.
        note : str
            Kept with it.
        """
        if self._writer is None:
            self._early.append((event, note))
        else:
            self._write(event, note)

    def hear_words(self, notes: Sequence[SegmentNote]) -> None:
        """Take names and notes of segments, in place of those at the same supervoxels."""
        self._words += notes

    def hear_threshold(self, value: float) -> None:
        """Take where runs stop from now on, in any thread; by itself it begins no file."""
        with self._lock:
            self._threshold = value

    def add_split(self, split: SessionSplit) -> None:
        """Take where a supervoxel was split; the event that says so follows."""
        if self._writer is None:
            self._early.append(split)
        else:
            self._writer.add_split(split)

    def switch_learning(self, *, is_on: bool) -> None:
        """Take that answers are learned from, or no longer; by itself it begins no file."""
        if self._writer is None:
            self._early.append(is_on)
        else:
            self._writer.switch_learning(is_on=is_on)

    def flush(self) -> None:
        """Write all that was heard; when this returns it is on the disk.

        Raises
        ------
        SessionError
            If that fails; the next call tries again.
        """
        if self._words or any(isinstance(one, tuple) for one in self._early):
            self.begin()
        if self._writer is not None:
            self._writer.flush()
            words = list(self._words)
            if words:
                self._writer.session.note_segments(words)
                del self._words[: len(words)]
            self._write_threshold(self._writer.session)

    def put_aside(self, u_id: int, v_id: int, note: str = "") -> None:
        """Keep that somebody is unsure of a decision; before the first one there is no file, so it waits.

        May be called in any thread, as `take_up`.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the supervoxels.
        note : str
            What the person says about it.
        """
        with self._lock:
            self._put_aside.append(Question(u_id, v_id, "unsure", note, time.time(), user_name()))
            self.skipped.append((u_id, v_id))
            if self._writer is not None:
                self._write_put_aside(self._writer.session)

    def take_up(self, u_id: int, v_id: int) -> None:
        """Forget that somebody was unsure of a decision.

        Parameters
        ----------
        u_id, v_id : int
            Ids of the supervoxels.
        """
        with self._lock:
            self.skipped = [pair for pair in self.skipped if pair != (u_id, v_id)]
            self._put_aside = [one for one in self._put_aside if (one.u_id, one.v_id) != (u_id, v_id)]
            if self._writer is not None:
                self._writer.session.forget_answer(u_id, v_id)

    def begin(self) -> None:
        """Make the file now, if it is not there yet."""
        if self._writer is not None:
            return
        if self._path.parent in (sessions_folder(), new_sessions_folder()):
            self._path.parent.mkdir(parents=True, exist_ok=True)
        self._use(Session.create(self._path, self._head))

    def save_as(self, path: Path) -> None:
        """Go on in a copy under another name; the session that there was stays as it is.

        Parameters
        ----------
        path : Path
            A session that has this name is replaced, unless it is open somewhere.
        """
        # What could not be written where it was may be why it should go elsewhere.
        if self._writer is None:
            before, self._path = self._path, path
            try:
                self.begin()
            except BaseException:
                self._path = before
                raise
        else:
            old = self._writer.session
            old.save_as(path, replace_old=True)
            new = Session.open(path)
            head = moved(new.head, self._sources, path)
            if head is not None:
                new.change_head(volumes=head.volumes, model_path=head.model_path)
            with self._lock:
                self._path, self._writer.session = path, new
                old.close()
            note_recent(path)
        self.flush()

    def copy_to(self, path: Path) -> None:
        """Copy the session as it is now; decisions go on to go to this one.

        Parameters
        ----------
        path : Path
            Nothing may have this name; its folder is made.
        """
        self.flush()
        self.begin()
        assert self._writer is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer.session.save_as(path)
        with Session.open(path) as copy:
            head = moved(copy.head, self._sources, path)
            if head is not None:
                copy.change_head(volumes=head.volumes, model_path=head.model_path)

    def events(self) -> list[SessionEvent]:
        """Read everything that is in the file."""
        return [] if self._writer is None else list(self._writer.session.events())

    def close(self) -> None:
        """Let go of the file, and let other windows have it."""
        with self._lock:
            if self._writer is not None:
                self._writer.session.close()
                self._writer = None

    def _use(self, session: Session) -> None:
        with self._lock:
            self._writer = SessionWriter(session)
            for one in self._early:
                if isinstance(one, bool):
                    self._writer.switch_learning(is_on=one)
                elif isinstance(one, SessionSplit):
                    self._writer.add_split(one)
                else:
                    self._write(*one)
            self._early.clear()
            self._write_put_aside(session)
        note_recent(self._path)

    def _write(self, event: Event, note: str) -> None:
        assert self._writer is not None
        self._writer.note = note
        self._writer(event)

    def _write_threshold(self, session: Session) -> None:
        with self._lock:
            value, self._threshold = self._threshold, None
        if value is not None and session.head.settings.get("threshold") != repr(value):
            session.change_head(settings={**session.head.settings, "threshold": repr(value)})

    def _write_put_aside(self, session: Session) -> None:
        while self._put_aside:
            session.answer(self._put_aside[0])
            del self._put_aside[0]
