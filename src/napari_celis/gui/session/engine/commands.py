"""What the engine's thread can be told to do: one small class per command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import CutPlan
from napari_celis.core.seeded_split import SeededSplit
from napari_celis.gui.session.engine.recording import DecisionRecorder
from napari_celis.gui.session.engine.tables import RunTables
from napari_celis.io.session.records import SegmentNote

_next_id = count(1)


@dataclass(frozen=True, eq=False)
class Command:
    """Something to do between two steps."""

    id: int = field(default_factory=lambda: next(_next_id), init=False)
    """Tells this command from all others; later commands have larger ids."""


@dataclass(frozen=True, eq=False)
class StartRun(Command):
    """Merge greedily until no score is below a threshold."""

    threshold: float | None = None
    """None: the threshold of the engine, also when it changes during the run."""


@dataclass(frozen=True, eq=False)
class RunToThreshold(Command):
    """Go where a run with the present threshold ends, forwards or back."""


@dataclass(frozen=True, eq=False)
class TakeSteps(Command):
    """Take the next merges, whatever their scores."""

    n_steps: int


@dataclass(frozen=True, eq=False)
class Pause(Command):
    """Hold before the next step."""


@dataclass(frozen=True, eq=False)
class PairDecision(Command):
    """A decision about two supervoxels, by their ids."""

    u_id: int
    v_id: int
    note: str = ""
    """What the person who decides says about it; kept with the decision."""


@dataclass(frozen=True, eq=False)
class MergePair(PairDecision):
    """Merge two adjacent supervoxels."""


@dataclass(frozen=True, eq=False)
class KeepApart(PairDecision):
    """Forbid that the segments of two supervoxels become one."""


@dataclass(frozen=True, eq=False)
class AllowPair(PairDecision):
    """Take out that two supervoxels are kept apart; all other decisions stay."""


@dataclass(frozen=True, eq=False)
class AllowSegments(PairDecision):
    """Take out everything that keeps the segments of two supervoxels apart."""


@dataclass(frozen=True, eq=False)
class CutMerge(PairDecision):
    """Take a past merge out and keep its two sides apart, to be taken back at once; a run holds."""


@dataclass(frozen=True, eq=False)
class CarryOutCut(Command):
    """Make all decisions of a planned cut, to be taken back at once; a run holds."""

    plan: CutPlan


@dataclass(frozen=True, eq=False)
class CarryOutSplit(Command):
    """Part a segment between seeds, to be taken back at once; a run holds."""

    plan: SeededSplit


@dataclass(frozen=True, eq=False)
class ConfirmMerge(PairDecision):
    """Note that a past merge was looked at and is right."""


@dataclass(frozen=True, eq=False)
class NotHere(PairDecision):
    """Note that there is a membrane between two adjacent supervoxels; forbids nothing."""


@dataclass(frozen=True, eq=False)
class MarkSegment(Command):
    """Say that the segment of a supervoxel is done, or in work."""

    supervoxel_id: int
    is_done: bool


@dataclass(frozen=True, eq=False)
class WriteWords(Command):
    """Keep names and notes of segments."""

    notes: tuple[SegmentNote, ...]


@dataclass(frozen=True, eq=False)
class SwitchLearning(Command):
    """Learn from the answers that stand and from those that come, or no longer."""

    is_on: bool


@dataclass(frozen=True, eq=False)
class GoOnAfterAnswers(Command):
    """Merge what is below the threshold after every answer, or no longer."""

    is_on: bool


@dataclass(frozen=True, eq=False)
class Undo(Command):
    """Take the last decisions back, each with those that were made together with it, and hold."""

    n_steps: int = 1


@dataclass(frozen=True, eq=False)
class GoBack(Command):
    """Take decisions back until `n_steps` stand."""

    n_steps: int


@dataclass(frozen=True, eq=False)
class Redo(Command):
    """Do the decision again that was taken back last, or all that the last jump back took."""


@dataclass(frozen=True, eq=False)
class RecordTo(Command):
    """Keep all further decisions."""

    recorder: DecisionRecorder


@dataclass(frozen=True, eq=False)
class Ask(Command):
    """Read something of the agglomerator; changes nothing."""

    question: Callable[[Agglomerator], Any]
    """Called in the engine's thread."""
    answer: Callable[[Any], None]
    """Called in the window's thread with the result."""
    key: str | None = None
    """Of waiting questions with the same key only the newest is asked."""
    tables: RunTables | None = None
    """What the window knew of the run; with a key, a question about other supervoxels is dropped."""


GO_ON_AFTER = (MergePair, KeepApart, ConfirmMerge)
"""Answers after which a run may go on; after a cut or a `not here` it would take the very same merge."""
REPEATING = (Redo,)
"""Commands that make earlier decisions again."""
FORWARD = (StartRun, RunToThreshold, TakeSteps)
"""Commands that take new merges."""
