"""How the engine writes decisions to disk as they are made."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from napari_celis.core.errors import CelisError
from napari_celis.core.journal import Event
from napari_celis.io.session.records import SegmentNote, SessionSplit

SAVE_SECONDS = 0.1
"""Merges of a run are written together, at least this often, and always before they are shown."""


class DecisionRecorder(Protocol):
    """Keeps the decisions of one run on disk."""

    @property
    def path(self) -> Path:
        """Where they go."""

    def hear(self, event: Event, note: str) -> None:
        """Take a decision, an undo or a redo, and what a person says about it; called for each, in order."""

    def hear_words(self, notes: Sequence[SegmentNote]) -> None:
        """Take names and notes of segments, in place of those at the same supervoxels."""

    def hear_threshold(self, value: float) -> None:
        """Take where runs stop from now on; called in any thread, written with what is written next."""

    def add_split(self, split: SessionSplit) -> None:
        """Take where a supervoxel was split; the event that says so follows."""

    def switch_learning(self, *, is_on: bool) -> None:
        """Take that answers are learned from, or no longer, from here on."""

    def flush(self) -> None:
        """Write what was heard; when this returns it is on the disk.

        Raises a CelisError with a sentence for the user, or an OSError.
        """

    def close(self) -> None:
        """Let go of the file."""


class Recording:
    """Writes decisions to a recorder, if there is one, and says why where that fails."""

    def __init__(self) -> None:
        self._recorder: DecisionRecorder | None = None
        self._saved_at = time.monotonic()
        self.note = ""
        """What a person says about the decision that is being made."""
        self.problem = ""
        """Why the last decisions could not be written; "" if they were."""

    def use(self, recorder: DecisionRecorder) -> None:
        """Write to another recorder from now on."""
        self.close()
        self._recorder = recorder

    def hear(self, event: Event) -> None:
        """Pass on what happens to the history."""
        if self._recorder is not None:
            self._recorder.hear(event, self.note)

    def hear_words(self, notes: Sequence[SegmentNote]) -> None:
        """Pass on names and notes of segments."""
        if self._recorder is not None:
            self._recorder.hear_words(notes)

    def hear_threshold(self, value: float) -> None:
        """Pass on where runs stop from now on; called in any thread."""
        if self._recorder is not None:
            self._recorder.hear_threshold(value)

    def add_split(self, split: SessionSplit) -> None:
        """Pass on where a supervoxel was split."""
        if self._recorder is not None:
            self._recorder.add_split(split)

    def switch_learning(self, *, is_on: bool) -> None:
        """Pass on that answers are learned from, or no longer."""
        if self._recorder is not None:
            self._recorder.switch_learning(is_on=is_on)

    def save_if_due(self) -> None:
        """Write what happened in a run, not more often than needed: merges of a run are written together."""
        if time.monotonic() >= self._saved_at + SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write all that happened."""
        self.problem, self._saved_at = "", time.monotonic()
        if self._recorder is None:
            return
        try:
            self._recorder.flush()
        except CelisError as error:
            self.problem = str(error)
        except OSError as error:
            folder, reason = self._recorder.path.parent, error.strerror or str(error)
            self.problem = f"Decisions cannot be kept in {folder} ({reason}). Save the session elsewhere."

    def close(self) -> None:
        """Write what is left, and let go of the recorder."""
        if self._recorder is not None:
            self.save()
            self._recorder.close()
            self._recorder = None
