"""The run of one viewer: the engine, and what is known about it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from qtpy.QtCore import QObject, Signal

from napari_celis.core.errors import ActionError, CelisError
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session.data_origin import DataOrigin
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.events import NotSaved
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.session_recorder import SessionRecorder
from napari_celis.io.session.records import SegmentNote

if TYPE_CHECKING:
    from napari_celis.models.model_file import PolicyName


class Run(QObject):
    """Has an engine or none, and passes its signals on, so that nobody has to follow when it is replaced."""

    changed = Signal()
    """There is another engine, or none, or its supervoxels and actions are others."""
    advanced = Signal(object)
    """A Snapshot."""
    drawn = Signal()
    """The last snapshot was drawn."""
    carried_out = Signal(object)
    """A Command that did what it should."""
    failed = Signal(object)
    """A CommandFailed."""
    finished = Signal(object)
    """A RunEnd."""
    not_saved = Signal(object)
    """A NotSaved."""
    threshold_changed = Signal(float)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.engine: Engine | None = None
        self.policy: PolicyName = "energy"
        """How the engine orders merges; another policy may be chosen already."""
        self.origin: DataOrigin | None = None
        """The data that the engine was made of."""
        self.session_path: Path | None = None
        """The session that the engine goes on with, or that begins with its first decision."""
        self.recorder: SessionRecorder | None = None
        """Keeps its decisions; None where nobody does: without an engine, or in a second window."""
        self.notes: tuple[SegmentNote, ...] = ()
        """Names and notes of segments, as the session has them."""

    @property
    def snapshot(self) -> Snapshot | None:
        """The newest snapshot."""
        return None if self.engine is None else self.engine.snapshot

    @property
    def supervoxels(self) -> Supervoxels | None:
        """The supervoxels that the engine works on."""
        return None if self.engine is None else self.engine.tables.supervoxels

    def segment_of(self, supervoxel: int) -> int:
        """Return the id of the segment that a supervoxel, by dense index, belongs to now."""
        return 0 if self.engine is None else int(self.engine.snapshot.segment_ids[supervoxel])

    def put_aside(self, action: int, note: str = "") -> None:
        """Keep in the session that the user is unsure of a decision.

        Parameters
        ----------
        action : int
            What was asked about.
        note : str
            What the user says about it.
        """
        if self.engine is None or self.recorder is None:
            return
        try:
            self.recorder.put_aside(*self.engine.tables.ids_of(action), note)
        except CelisError as error:
            self.not_saved.emit(NotSaved(str(error)))

    def take_up(self, action: int) -> None:
        """Take out of the session that the user was unsure of a decision."""
        if self.engine is None or self.recorder is None:
            return
        try:
            self.recorder.take_up(*self.engine.tables.ids_of(action))
        except CelisError as error:
            self.not_saved.emit(NotSaved(str(error)))

    def skipped_actions(self) -> list[int]:
        """List the actions whose decisions are put aside."""
        if self.engine is None or self.recorder is None:
            return []
        tables, found = self.engine.tables, []
        for u_id, v_id in self.recorder.skipped:
            with suppress(ActionError):
                index_of = tables.supervoxels.index_of
                found.append(tables.actions.find(index_of(u_id), index_of(v_id)))
        return [action for action in found if action >= 0]

    def use(self, engine: Engine | None, policy: PolicyName = "energy") -> None:
        """Work with another engine; None closes the present one.

        Parameters
        ----------
        engine : Engine, optional
            Closed when it is replaced.
        policy : {"energy", "learned"}
            How it orders merges.
        """
        if self.engine is not None:
            self.engine.close()
            self.engine.deleteLater()
        self.engine, self.policy = engine, policy
        if engine is not None:
            for own, theirs in (
                (self.changed, engine.rebuilt),
                (self.advanced, engine.advanced),
                (self.drawn, engine.drawn),
                (self.carried_out, engine.carried_out),
                (self.failed, engine.failed),
                (self.finished, engine.finished),
                (self.not_saved, engine.not_saved),
                (self.threshold_changed, engine.threshold_changed),
            ):
                theirs.connect(own)
        self.changed.emit()

    def close(self) -> None:
        """End the engine's thread."""
        if self.engine is not None:
            self.engine.close()
            self.engine = None
