"""What was decided, and how to take it back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from napari_celis.core.constraints import Constraints
from napari_celis.core.scores import Change

StepKind = Literal["greedy", "manual", "keep-apart", "cut"]


@dataclass(frozen=True)
class Step:
    """One decision, as it is shown, logged and stored."""

    index: int
    """Decisions before this one."""
    kind: StepKind
    u_id: int
    """Ids of the two supervoxels that it is about."""
    v_id: int
    action_index: int
    """Row of the action, -1 for a keep-apart of supervoxels that do not touch."""
    score: float
    """Energy change that the action promised when it was decided; for a cut, the change it brought."""
    energy: float
    """Energy afterwards."""
    joins_segments: bool
    """Whether two segments became one; false for a merge that only changed local connectivity."""
    n_segments: int
    """Segments left afterwards."""


@dataclass(frozen=True, eq=False)
class Replaced:
    """The numbers that a merge or a cut replaced."""

    changes: tuple[Change, ...]
    """Per spec, what changed in its regions."""
    actions: tuple[np.ndarray, ...]
    """Per spec, the actions whose sums changed."""
    order: tuple[int, ...] | None
    """Taken actions in order before a cut; None for a merge, which only appended one."""
    moved: np.ndarray
    """Supervoxels that changed segment."""
    segments: np.ndarray
    """Their segments."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A step with what it replaced."""

    step: Step
    replaced: Replaced | None
    """None for a keep-apart, which changes no score."""
    constraints: Constraints
    """Constraints from before."""


@dataclass
class Journal:
    """Entries done, and entries taken back that can be done again."""

    done: list[Entry] = field(default_factory=list)
    undone: list[Entry] = field(default_factory=list)

    def push(self, entry: Entry) -> None:
        """Add an entry; what had been taken back can no longer be done again."""
        self.done.append(entry)
        self.undone.clear()
