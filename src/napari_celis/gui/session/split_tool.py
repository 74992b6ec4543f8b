"""Split a segment: seeds of two sides, what they would part, and carrying it out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from qtpy.QtCore import QObject, Signal

from napari_celis.core.errors import ActionError
from napari_celis.core.protection import require_not_done
from napari_celis.core.seeded_split import SeededSplit, Seeds, Voxel
from napari_celis.gui.session.engine.commands import Ask, CarryOutSplit
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.events import CommandFailed
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.messages import MessageLine
from napari_celis.gui.session.preferences import preferences
from napari_celis.gui.session.preview import Preview
from napari_celis.gui.session.run import Run
from napari_celis.gui.session.selection import Selection

FIRST, SECOND = 0, 1
WORDS = {"sky": "blue"}
"""Names of colours that people do not use."""
NO_ENGINE = "There is nothing to split yet. Prepare the data first."
NO_SEGMENT = "Click the segment to split first."
TWO_SEGMENTS = "Two segments are selected, and one is split at a time. Press Esc, and click the one to split."
NO_PREVIEW = "The preview of these seeds is not there yet. Wait for it, then carry the split out."
DONE = "The segment was split, and the two sides are kept apart. Undo takes all of it back at once."
IS_BUSY = "The split is being carried out. Wait until it is done."


def side_names() -> tuple[str, str]:
    """Name the colours of the two sides, as the user prefers them."""
    wanted = preferences()
    first, second = wanted.first_colour, wanted.second_colour
    return WORDS.get(first, first), WORDS.get(second, second)


@dataclass(frozen=True)
class Seed:
    """A voxel that belongs to one of the two sides."""

    side: int
    voxel: Voxel


class SplitTool(QObject):
    """Collects seeds, shows what they part, and lets the engine carry it out.

    Parameters
    ----------
    run : Run
        Whose engine plans and splits.
    selection : Selection
        Says which segment is split; another selection ends the tool.
    preview : Preview
        Left when the tool begins: seeds are about the present.
    messages : MessageLine
        Told what is wrong with a seed.
    """

    changed = Signal()
    """The tool was switched on or off, or its seeds or its plan are others."""

    def __init__(
        self,
        run: Run,
        selection: Selection,
        preview: Preview,
        messages: MessageLine,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._run, self._selection, self._preview, self._messages = run, selection, preview, messages
        self.is_on = False
        self.side = FIRST
        """Whose seeds a click sets."""
        self.seeds: tuple[Seed, ...] = ()
        """In the order in which they were set."""
        self.plan: SeededSplit | None = None
        """What the seeds, or those of a moment ago, would part; None while one side has none."""
        self._supervoxel = 0
        self._asked: Ask | None = None
        self._sent: CarryOutSplit | None = None
        self._said = ""
        selection.changed.connect(self._on_selection)
        run.changed.connect(self._on_run)
        run.advanced.connect(self._on_advanced)
        run.failed.connect(self._on_failed)

    @property
    def is_busy(self) -> bool:
        """Whether the engine carries the split out."""
        return self._sent is not None

    @property
    def is_ready(self) -> bool:
        """Whether the plan is that of the present seeds."""
        return self.plan is not None and self.plan.seeds == self._as_seeds()

    @property
    def segment(self) -> int:
        """Id of the segment that is split."""
        return self._run.segment_of(self._supervoxel)

    def members(self) -> np.ndarray:
        """List the supervoxels of the segment, by dense index."""
        snapshot = self._run.snapshot
        if snapshot is None or not self.is_on:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(snapshot.segment_ids == snapshot.segment_ids[self._supervoxel])

    # What the user does.

    def start(self) -> None:
        """Begin to set seeds in the selected segment; a run holds."""
        engine, selected = self._run.engine, self._selection.supervoxels
        if engine is None or not selected:
            self._say(NO_ENGINE if engine is None else NO_SEGMENT)
        elif len({self._run.segment_of(supervoxel) for supervoxel in selected}) > 1:
            self._say(TWO_SEGMENTS)
        elif not self.is_on and self._may_split(engine, selected[0]):
            if engine.snapshot.is_running:
                engine.pause()
            self._preview.leave()
            self._messages.clear()
            self.is_on, self.side, self._supervoxel = True, FIRST, selected[0]
            self.changed.emit()

    def stop(self) -> None:
        """Drop all seeds, and leave everything as it is."""
        if self.is_on:
            self.is_on, self.seeds, self.plan = False, (), None
            self._asked = self._sent = None
            self._clear_said()
            self.changed.emit()

    def switch_side(self) -> None:
        """Let clicks set seeds of the other side."""
        self.use_side(SECOND if self.side == FIRST else FIRST)

    def use_side(self, side: int) -> None:
        """Let clicks set seeds of a side."""
        if self.is_on and side != self.side:
            self.side = side
            self.changed.emit()

    def add(self, supervoxel: int, voxel: Voxel, side: int) -> None:
        """Set a seed, or say why it cannot be there.

        Parameters
        ----------
        supervoxel : int
            Under the click, by dense index; 0 for none.
        voxel : tuple of int
            z, y, x.
        side : int
            `FIRST` or `SECOND`.
        """
        if not self._may_change():
            return
        if supervoxel == 0:
            self._say(f"Here is no segment. Set seeds in segment {self.segment}, or press Esc to leave it.")
        elif self._run.segment_of(supervoxel) != self.segment:
            self._say(
                f"This is segment {self._run.segment_of(supervoxel)}, but segment {self.segment} is split. "
                "Set seeds there, or press Esc to leave it."
            )
        else:
            self._use((*(one for one in self.seeds if one.voxel != voxel), Seed(side, voxel)))

    def remove(self, seed: Seed) -> None:
        """Take a seed away."""
        if self._may_change():
            self._use(tuple(one for one in self.seeds if one != seed))

    def remove_last(self) -> None:
        """Take the seed away that was set last."""
        if self.seeds:
            self.remove(self.seeds[-1])

    def confirm(self) -> None:
        """Carry out what is shown."""
        engine = self._run.engine
        if engine is None or not self._may_change():
            return
        sides = {seed.side for seed in self.seeds}
        if len(sides) < 2:
            self._say(self._one_side(sides))
        elif self.plan is None or not self.is_ready:
            self._say(NO_PREVIEW)
        else:
            self._clear_said()
            self._sent = engine.carry_out_split(self.plan)
            self.changed.emit()

    # What follows.

    def _may_split(self, engine: Engine, supervoxel: int) -> bool:
        """Tell whether a segment may be split; if it is done, say so."""
        supervoxels = engine.tables.supervoxels
        named_by = supervoxels.index_of(self._run.segment_of(supervoxel))
        try:
            require_not_done(engine.snapshot.is_done, supervoxels.ids, named_by)
        except ActionError as error:
            self._say(str(error))
            return False
        return True

    def _may_change(self) -> bool:
        if self.is_busy:
            self._say(IS_BUSY)
        return self.is_on and not self.is_busy

    def _use(self, seeds: tuple[Seed, ...]) -> None:
        self.seeds = seeds
        self._clear_said()
        self._ask()
        self.changed.emit()

    def _as_seeds(self) -> Seeds:
        first, second = (
            tuple(seed.voxel for seed in self.seeds if seed.side == side) for side in (FIRST, SECOND)
        )
        return Seeds(first, second)

    def _ask(self) -> None:
        """Let the engine's thread plan; what is shown stays until the new plan is there."""
        seeds, engine = self._as_seeds(), self._run.engine
        if engine is not None and seeds.first and seeds.second:
            self._asked = engine.plan_split(seeds, self._on_plan)
        else:
            self._asked = self.plan = None

    def _on_plan(self, plan: SeededSplit) -> None:
        if self.is_on and plan.seeds == self._as_seeds():
            self._asked, self.plan = None, plan
            self.changed.emit()

    def _on_failed(self, failure: CommandFailed) -> None:
        """Show nothing that cannot be; the sentence is said elsewhere."""
        if failure.command is None or failure.command not in (self._asked, self._sent):
            return
        if failure.command is self._asked:
            self._asked = self.plan = None
        self._sent, self._said = None, failure.sentence
        self.changed.emit()

    def _on_selection(self) -> None:
        """End with another selection."""
        self._clear_said()
        self.stop()

    def _on_run(self) -> None:
        """End after the split of a supervoxel, or with the run."""
        snapshot = self._run.snapshot
        if self._sent is not None and snapshot is not None and snapshot.is_after(self._sent):
            self._finish()
        self.stop()

    def _finish(self) -> None:
        """Show the segments that were made, with nothing selected."""
        self._selection.clear()
        self.stop()
        self._messages.say(DONE, "")
        # Until something else is selected: the keys of a question stand in its place.
        self._said = DONE

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """End after the split; follow a segment that changes otherwise."""
        if self._sent is not None and snapshot.is_after(self._sent):
            self._finish()
        elif self.plan is not None and not np.array_equal(self.plan.members, self.members()):
            self.plan = None
            self._ask()
            self.changed.emit()

    def _one_side(self, sides: set[int]) -> str:
        first, second = side_names()
        if not sides:
            return f"There are no seeds yet. Click to set {first} ones and {second} ones."
        there, missing = (first, second) if FIRST in sides else (second, first)
        return f"All seeds are {there}. Set at least one {missing} seed on the other side of the split."

    def _say(self, text: str) -> None:
        self._said = text
        self._messages.say(text, "warning")

    def _clear_said(self) -> None:
        """Take back a sentence that is out of date."""
        if self._said and self._messages.current.text == self._said:
            self._messages.clear()
        self._said = ""
