"""What is made of the chosen data in the background: counts, supervoxels, all that a run needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.core.errors import CelisError
from napari_celis.gui.session.background.job_queue import JobQueue
from napari_celis.gui.session.data_origin import DataOrigin
from napari_celis.gui.session.data_selection import DataSelection
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.messages import MessageLine, Severity
from napari_celis.gui.session.session_recorder import SessionRecorder
from napari_celis.gui.session.session_run import SessionRun, SessionWish, prepare_session
from napari_celis.gui.session.session_store import new_path
from napari_celis.io.session.records import SegmentNote
from napari_celis.pipeline.checks import check_volumes, require_room
from napari_celis.pipeline.choice import Atoms, Choice
from napari_celis.pipeline.recipe import Prepared, prepare_inputs, read_atoms
from napari_celis.pipeline.stages import Report

if TYPE_CHECKING:
    from napari_celis.models.model_file import CelisModel

RECOUNT_MS = 500
"""Time after the last edit of a layer until supervoxels are counted again."""
AndThen = Callable[[Engine], object]
"""What to do with an engine once there is one."""


@dataclass(frozen=True, eq=False)
class PreparedRun:
    """Everything that a run needs."""

    choice: Choice
    origin: DataOrigin
    """What was chosen when the preparation began."""
    prepared: Prepared
    recorder: SessionRecorder | None
    """Keeps decisions; None where another window keeps those of the same session."""
    session_path: Path
    """The session: one that was opened, or one that begins with the first decision."""
    remarks: tuple[str, ...]
    """Sentences that the user should know."""
    and_then: AndThen | None
    """What the run was prepared for."""
    notes: tuple[SegmentNote, ...] = ()
    """Names and notes of segments, as the session has them."""


class Preparation(QObject):
    """Does what takes longer than a click, one piece of work after the other.

    Parameters
    ----------
    data : DataSelection
        What is chosen; told what was computed.
    messages : MessageLine
        Told why something could not be done.
    """

    progressed = Signal(object)
    """The Progress of the work in the background; without a stage when it has ended."""
    prepared = Signal(object)
    """A PreparedRun."""

    def __init__(self, data: DataSelection, messages: MessageLine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._data, self._messages = data, messages
        self.jobs = JobQueue(self)
        """Does the work."""
        self.jobs.progressed.connect(self.progressed)
        self.jobs.failed.connect(self._on_failed)
        self.jobs.cancelled.connect(self._on_cancelled)
        self._is_preparing = False
        self._and_then: AndThen | None = None
        self._session: SessionWish | None = None
        self._recount = QTimer(self)
        self._recount.setSingleShot(True)
        self._recount.setInterval(RECOUNT_MS)
        self._recount.timeout.connect(self.count_supervoxels)
        data.edited.connect(self._recount.start)
        data.supervoxels_chosen.connect(self.count_supervoxels)

    @property
    def is_busy(self) -> bool:
        """Whether something is being prepared."""
        return self.jobs.is_busy

    def cancel(self) -> None:
        """End the work in the background at its next opportunity, and what waits for it."""
        self.jobs.cancel()

    def close(self) -> None:
        """End everything and wait for the thread."""
        self.jobs.close()

    def load_model(self, path: Path | str) -> None:
        """Load a model file in the background and use it."""
        data = self._data

        def load(report: Report) -> CelisModel:
            report("loading the model", 0.0)
            from napari_celis.models.model_file import load_model

            return load_model(path)

        def give_up() -> None:
            if data.loading_path == Path(path):
                data.loading_path = None

        data.loading_path = Path(path)
        data.changed.emit()
        data.check()
        self.jobs.when_free(
            lambda: self.jobs.start(load, lambda model: data.use_model(model, Path(path)), give_up)
        )

    def count_supervoxels(self) -> None:
        """Find out in the background how many supervoxels and actions the chosen layer has."""
        self.jobs.when_free(self._count)

    def make_supervoxels(self) -> None:
        """Cut the image into supervoxels in the background and add them as a layer."""
        self.jobs.when_free(self._make_supervoxels)

    def prepare(self, and_then: AndThen | None = None, session: SessionWish | None = None) -> None:
        """Make all that an engine needs in the background.

        A second call meanwhile does not start again; the newest wishes count.

        Parameters
        ----------
        and_then : callable, optional
            Called with the engine once it is there.
        session : SessionWish, optional
            The session to go on with or to begin; by default a new one in the usual place.
        """
        self._and_then, self._session = and_then, session
        if not self._is_preparing:
            self._is_preparing = True
            self.jobs.when_free(self._prepare)

    def _count(self) -> None:
        data = self._data
        try:
            choice, n_edits = data.choice(), data.n_edits
            volume = choice.supervoxels
            if volume is None or choice.atoms is not None:
                return
            check_volumes(choice)
            require_room(replace(choice, model=None))
        except CelisError:
            return

        def keep(atoms: Atoms) -> None:
            # What was edited meanwhile will be counted again.
            if n_edits == data.n_edits:
                data.remember_counts(volume, atoms)

        self.jobs.start(lambda report: read_atoms(volume, report), keep)

    def _prepare(self) -> None:
        self._is_preparing = self._may_begin()
        if not self._is_preparing:
            return
        choice, origin, sources = self._data.choice(), self._data.origin(), self._data.sources()
        wish = self._session or SessionWish(new_path(sources.volumes.get("image", "") or "session"))
        self._session = None

        def hand_over(result: SessionRun) -> None:
            self._is_preparing = False
            self.prepared.emit(
                PreparedRun(
                    choice,
                    origin,
                    result.prepared,
                    result.recorder,
                    result.path,
                    tuple(result.remarks),
                    self._and_then,
                    result.notes,
                )
            )

        self.jobs.start(lambda report: prepare_session(wish, choice, sources, report), hand_over)

    def _make_supervoxels(self) -> None:
        if self._may_begin():
            choice = replace(self._data.choice(), supervoxels=None, atoms=None)
            self.jobs.start(
                lambda report: prepare_inputs(choice, report),
                lambda inputs: self._data.remember(choice, inputs),
            )

    def _may_begin(self) -> bool:
        """Check what is chosen; who asked for work is told aloud what is still missing."""
        is_fine = self._data.check()
        if not is_fine:
            message = self._messages.current
            self._messages.say(message.text, message.severity or "warning")
        return is_fine

    def _on_failed(self, sentence: str, severity: Severity = "error") -> None:
        """Say why work in the background ended early."""
        self._is_preparing = False
        self._data.changed.emit()
        self._messages.say(sentence, severity)

    def _on_cancelled(self) -> None:
        """Forget the model that waited to be loaded, and say so."""
        self._data.loading_path = None
        self._on_failed("Cancelled; nothing was changed.", "warning")
