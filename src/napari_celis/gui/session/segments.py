"""The segments of a run: their list, what people say about them, and which one comes next."""

from __future__ import annotations

import time

import numpy as np
from qtpy.QtCore import QObject, Signal

from napari_celis.core.segment_list import DecidedEnds, SegmentList, SegmentState, list_segments
from napari_celis.gui.session.decision_controller import DecisionController
from napari_celis.gui.session.engine.commands import Command
from napari_celis.gui.session.engine.events import CommandFailed
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.geometry import point_inside
from napari_celis.gui.session.messages import MessageLine
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.selection import Selection
from napari_celis.io.session.records import SessionError
from napari_celis.io.session.writer import user_name
from napari_celis.pipeline.segment_table import SegmentTable
from napari_celis.pipeline.segment_words import SegmentWords, Words, words_by_row

NOTHING_SELECTED = "No segment is selected. Click one in the list or in the canvas first."
NONE_UNTOUCHED = "No segment is untouched any more: all were worked on or are done."


class Segments(QObject):
    """Names, notes and states of the segments of one viewer's run.

    Parameters
    ----------
    run : Run
        Whose segments they are.
    selection : Selection
        Follows what is gone to.
    decisions : DecisionController
        Knows where supervoxels lie.
    messages : MessageLine
        Told why something could not be done.
    """

    changed = Signal()
    """Names or notes are others, or there is another run."""
    visited = Signal(object)
    """A position in voxels, float64 (3,), that the camera should go to."""

    def __init__(
        self,
        run: Run,
        selection: Selection,
        decisions: DecisionController,
        messages: MessageLine,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._run, self._selection, self._decisions, self._messages = run, selection, decisions, messages
        self._words = SegmentWords()
        self._decided: DecidedEnds | None = None
        self._table: tuple[Snapshot, SegmentTable] | None = None
        self._sent: dict[int, Command] = {}
        """Segments that will be done, by id, until a snapshot shows it."""
        run.changed.connect(self._on_run)
        run.advanced.connect(self._on_advanced)
        run.failed.connect(self._on_failed)

    # What can be asked.

    def table(self) -> SegmentTable | None:
        """List all segments as of the newest snapshot; None without a run."""
        engine = self._run.engine
        if engine is None or self._decided is None:
            return None
        snapshot, supervoxels = engine.snapshot, engine.tables.supervoxels
        if self._table is None or self._table[0] is not snapshot:
            self._decided.follow(snapshot.steps)
            segments = list_segments(supervoxels, snapshot.segment_ids, snapshot.is_done, self._decided)
            words = self._words.by_segment(supervoxels, snapshot.segment_ids)
            self._table = snapshot, SegmentTable(segments, words_by_row(words, segments.id))
        return self._table[1]

    def selected(self) -> int:
        """Return a supervoxel of the selected segment, by dense index; 0 where none or two are selected."""
        selected = self._selection.supervoxels
        segments = {self._run.segment_of(supervoxel) for supervoxel in selected}
        return selected[0] if len(segments) == 1 else 0

    # What can be done. Supervoxels, by dense index, stand for the segments that hold them now.

    def visit(self, supervoxel: int) -> None:
        """Select a segment and go to it."""
        engine, geometry = self._run.engine, self._decisions.pair.geometry
        if engine is None or supervoxel <= 0:
            return
        self._selection.select(supervoxel)
        if geometry is not None:
            box = geometry.box_of(np.array([supervoxel]))
            self.visited.emit(point_inside(engine.tables.supervoxels.dense, supervoxel, box))

    def write(self, supervoxel: int, *, name: str | None = None, note: str | None = None) -> None:
        """Call a segment by another name, or say something else about it; "" takes it away.

        Parameters
        ----------
        supervoxel : int
            One of its own.
        name, note : str, optional
            None leaves it.
        """
        table, engine = self.table(), self._run.engine
        if table is None or engine is None:
            return
        row = int(table.segments.row_of[supervoxel])
        words = table.words.get(row, Words())
        new = Words(words.name if name is None else name, words.note if note is None else note)
        try:
            notes = self._words.edited(
                engine.tables.supervoxels,
                engine.snapshot.segment_ids,
                int(table.segments.id[row]),
                new,
                who=user_name(),
                time=time.time(),
            )
        except SessionError as error:
            self._messages.say(str(error))
            return
        if notes:
            self._run.notes, self._table = self._words.notes, None
            engine.write_words(notes)
            self.changed.emit()

    def mark(self, supervoxel: int, *, is_done: bool) -> None:
        """Let a segment be done, or in work; untouched is what nobody has decided about.

        Parameters
        ----------
        supervoxel : int
            One of its own.
        is_done : bool
            Done, or in work.
        """
        table, engine = self.table(), self._run.engine
        wanted = SegmentState.DONE if is_done else SegmentState.IN_WORK
        if table is None or engine is None:
            return
        row = int(table.segments.row_of[supervoxel])
        name = int(table.segments.id[row])
        if table.segments.state[row] == wanted or (is_done and name in self._sent):
            return
        command = engine.mark(name, is_done=is_done)
        if is_done:
            self._sent[name] = command

    def finish(self) -> None:
        """Let the selected segment be done, and go to the largest one that is untouched."""
        selected, table = self.selected(), self.table()
        if not selected or table is None:
            self._messages.say(NOTHING_SELECTED, "warning")
            return
        self.mark(selected, is_done=True)
        following = self._largest_untouched(table.segments)
        if following:
            self.visit(following)
        else:
            self._messages.say(NONE_UNTOUCHED, "")

    def _largest_untouched(self, segments: SegmentList) -> int:
        """Find the largest untouched segment that will not be done in a moment; 0 if none is left."""
        is_left = segments.state == SegmentState.UNTOUCHED
        is_left &= ~np.isin(segments.id, np.array(list(self._sent), dtype=np.uint64))
        row = np.where(is_left, segments.voxels, 0).argmax() if is_left.any() else -1
        return int(segments.index[row]) if row >= 0 else 0

    # How it follows.

    def _on_run(self) -> None:
        supervoxels = self._run.supervoxels
        self._decided = None if supervoxels is None else DecidedEnds(supervoxels)
        self._words, self._table, self._sent = SegmentWords(self._run.notes), None, {}
        self.changed.emit()

    def _on_advanced(self, snapshot: Snapshot) -> None:
        self._sent = {name: command for name, command in self._sent.items() if not snapshot.is_after(command)}

    def _on_failed(self, failure: CommandFailed) -> None:
        self._sent = {name: one for name, one in self._sent.items() if one is not failure.command}
