"""Takes many decisions back at once; those by hand only after a question, and after a copy of the session."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from qtpy.QtCore import QObject, Signal
from qtpy.QtWidgets import QWidget

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import CelisError
from napari_celis.gui.qt.widgets import is_confirmed
from napari_celis.gui.session.background.job import sentence_of
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.messages import MessageLine
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.session_recorder import SessionRecorder
from napari_celis.gui.session.session_store import new_sessions_folder
from napari_celis.io.session.file import SUFFIX

COPY_NAME = re.compile(r"(?P<root>.+)-before-(?P<time>\d{8}-\d{6})(?:-\d+)?-with-(?P<n>\d+)-by-hand")
"""How copies of a session are named: when they were made, and how many decisions by hand are in them."""
KEPT = "A copy of the session is kept first: Session → Bring back returns to it, also after another run."
NOT_KEPT = (
    "This session is only read here, so no copy can be kept: Redo brings them again until you run or decide. "
    "Use Session → Save as… first to keep them."
)

Confirm = Callable[[QWidget, str, str], bool]


class Rewind(QObject):
    """Goes back to an earlier state of the run.

    Parameters
    ----------
    run : Run
        Whose decisions are taken back.
    messages : MessageLine
        Told where the copy is, or why there is none.
    """

    kept = Signal(object)
    """The Path of a copy that was made."""

    def __init__(self, run: Run, messages: MessageLine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run, self._messages = run, messages

    def go_back(self, n_steps: int, parent: QWidget, confirm: Confirm = is_confirmed) -> bool:
        """Take decisions back until `n_steps` stand; tell whether that was begun.

        Parameters
        ----------
        n_steps : int
            How many stay.
        parent : QWidget
            Lies below the question.
        confirm : callable
            Asks it.
        """
        engine, recorder = self._run.engine, self._run.recorder
        if engine is None:
            return False
        gone = engine.snapshot.steps[n_steps:]
        n_by_hand = sum(step.kind != "greedy" for step in gone)
        if not n_by_hand:
            engine.go_back(n_steps)
            return True
        also = len(gone) - n_by_hand
        more = f" and {also:,} merge{'s' * (also != 1)} of the run" if also else ""
        mine = f"{n_by_hand:,} decision{'s' * (n_by_hand != 1)} that you made by hand"
        question = f"This takes back {mine}{more}. {KEPT if recorder else NOT_KEPT} Go back?"
        if not confirm(parent, "Go back", question):
            return False
        if recorder is None:
            engine.go_back(n_steps)
        else:
            self._keep(engine, recorder, lambda: engine.go_back(n_steps))
        return True

    def _keep(self, engine: Engine, recorder: SessionRecorder, then: Callable[[], object]) -> None:
        """Copy the session in the thread that writes it; go on only when the copy is on the disk."""
        path = copy_path(recorder.path, sum(step.kind != "greedy" for step in engine.snapshot.steps))

        def copy(agglomerator: Agglomerator) -> str:
            try:
                recorder.copy_to(path)
            except (CelisError, OSError) as error:
                return sentence_of(error)
            return ""

        def tell(problem: str) -> None:
            if problem:
                self._messages.say(f"Nothing was taken back, because no copy could be kept. {problem}")
            else:
                then()
                self.kept.emit(path)

        engine.ask(copy, tell)


def copy_path(session: Path, n_by_hand: int) -> Path:
    """Name a copy of a session; nothing has this name.

    Parameters
    ----------
    session : Path
        What is copied.
    n_by_hand : int
        Decisions by hand that stand in it.
    """
    stamp, number = time.strftime("%Y%m%d-%H%M%S"), 1
    while True:
        more = f"-{number}" if number > 1 else ""
        name = f"{_root(session)}-before-{stamp}{more}-with-{n_by_hand}-by-hand{SUFFIX}"
        path = new_sessions_folder() / name
        if not path.exists():
            return path
        number += 1


def copies_of(session: Path) -> dict[Path, str]:
    """List the copies of a session, the newest first, with what to call them.

    Parameters
    ----------
    session : Path
        The session, or one of the copies, which is not listed itself.
    """
    found: dict[Path, str] = {}
    for path in sorted(new_sessions_folder().glob(f"*{SUFFIX}"), key=lambda one: one.name, reverse=True):
        match = COPY_NAME.fullmatch(path.stem)
        if match is not None and match["root"] == _root(session) and path != session:
            moment = time.strptime(match["time"], "%Y%m%d-%H%M%S")
            found[path] = f"{time.strftime('%d %b %Y, %H:%M:%S', moment)}: {int(match['n']):,} by hand"
    return found


def _root(session: Path) -> str:
    """Return the name of the session that a copy was made of."""
    match = COPY_NAME.fullmatch(session.stem)
    return session.stem if match is None else match["root"]
