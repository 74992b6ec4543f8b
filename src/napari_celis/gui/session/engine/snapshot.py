"""The state of a run at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.journal import Step
from napari_celis.evaluation.running_errors import RunningErrors
from napari_celis.gui.session.engine.commands import Command


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state of an agglomeration, made in the thread that owns it; nothing in it changes any more."""

    steps: tuple[Step, ...]
    """The decisions that stand, oldest first."""
    segment_ids: np.ndarray
    """Segment of every dense supervoxel index, uint64 (N + 1,)."""
    scores: np.ndarray
    """Score of every action, float64 (A,)."""
    available: np.ndarray
    """Actions that greedy may take, bool (A,)."""
    taken: np.ndarray
    """Actions that are taken, bool (A,)."""
    contacts: np.ndarray
    """Contact of two segments that each action belongs to, int32 (A,)."""
    constraints: tuple[tuple[int, int], ...]
    """Pairs of supervoxel ids that are kept apart."""
    is_done: np.ndarray
    """Of every supervoxel whether its segment is done, bool (N + 1,)."""
    energy: float
    n_segments: int
    n_undone: int
    """Decisions that can be done again."""
    next_action: int
    """The action that greedy takes next, -1 if there is none."""
    is_running: bool
    steps_per_second: float
    vi_split: float | None
    """In bits; None without a truth."""
    vi_merge: float | None
    n_lessons: int
    """Answers that stand and teach something."""
    is_learning: bool
    """Whether they are learned from."""
    goes_on: bool
    """Whether a run goes on after every answer."""
    last_command: Command | None
    """The newest command that was carried out or failed; questions do not count."""

    def is_after(self, command: Command) -> bool:
        """Tell whether a command was done, well or not, before this snapshot was taken."""
        return self.last_command is not None and self.last_command.id >= command.id

    @property
    def n_by_itself(self) -> int:
        """Merges that greedy made since the newest decision by hand; 0 while there is none by hand."""
        after = (n for n, step in enumerate(reversed(self.steps)) if step.kind != "greedy")
        return next(after, 0)

    @property
    def next_score(self) -> float | None:
        """Score of the next merge."""
        return float(self.scores[self.next_action]) if self.next_action >= 0 else None


def take_snapshot(
    agglomerator: Agglomerator,
    steps: Sequence[Step],
    errors: RunningErrors | None,
    *,
    is_running: bool,
    steps_per_second: float,
    last_command: Command | None,
    goes_on: bool = False,
) -> Snapshot:
    """Ask an agglomerator for all that the panel shows.

    Parameters
    ----------
    agglomerator : Agglomerator
        Asked in the thread that owns it.
    steps : sequence of Step
        The decisions that stand.
    errors : RunningErrors, optional
        Brought up to date; None without a truth.
    is_running : bool
        Whether more steps will come.
    steps_per_second : float
        The present speed.
    last_command : Command, optional
        The newest command that was done.
    goes_on : bool
        Whether a run goes on after every answer.
    """
    scores, available = agglomerator.scores(), agglomerator.available()
    segment_ids = agglomerator.segment_ids()
    if errors is not None:
        errors.update(segment_ids)
    return Snapshot(
        steps=tuple(steps),
        segment_ids=segment_ids,
        scores=scores,
        available=available,
        taken=agglomerator.taken(),
        contacts=agglomerator.contacts(),
        constraints=agglomerator.constraints,
        is_done=agglomerator.is_done(),
        energy=agglomerator.energy,
        n_segments=agglomerator.n_segments,
        n_undone=len(agglomerator.journal.undone),
        next_action=agglomerator.best_action(),
        is_running=is_running,
        steps_per_second=steps_per_second,
        vi_split=None if errors is None else errors.split,
        vi_merge=None if errors is None else errors.merge,
        n_lessons=len(agglomerator.learning.lessons),
        is_learning=agglomerator.learning.is_on,
        goes_on=goes_on,
        last_command=last_command,
    )
