"""How the engine writes decisions to disk as they are made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from napari_celis.core.errors import CelisError
from napari_celis.core.journal import Step


class DecisionRecorder(Protocol):
    """Keeps the decisions of one run on disk."""

    @property
    def path(self) -> Path:
        """Where they go."""

    def keep(self, steps: Sequence[Step]) -> None:
        """Write what has changed since the last call; `steps` are all decisions that stand, oldest first.

        Raises a CelisError with a sentence for the user, or an OSError.
        """

    def close(self) -> None:
        """Let go of the file."""


class Recording:
    """Writes decisions to a recorder, if there is one, and says why where that fails."""

    def __init__(self) -> None:
        self._recorder: DecisionRecorder | None = None
        self.problem = ""
        """Why the last decisions could not be written; "" if they were."""

    def use(self, recorder: DecisionRecorder) -> None:
        """Write to another recorder from now on."""
        self.close()
        self._recorder = recorder

    def save(self, steps: Sequence[Step]) -> None:
        """Write all decisions that stand."""
        self.problem = ""
        if self._recorder is None:
            return
        try:
            self._recorder.keep(steps)
        except CelisError as error:
            self.problem = str(error)
        except OSError as error:
            folder, reason = self._recorder.path.parent, error.strerror or str(error)
            self.problem = f"Decisions cannot be kept in {folder} ({reason}). Export them before closing."

    def close(self) -> None:
        """Let go of the recorder."""
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
