"""What the engine's thread tells the window."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from napari_celis.gui.session.engine.commands import Ask, Command
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.engine.tables import RunTables


class RunEnd(Enum):
    """Why a run ended by itself."""

    THRESHOLD = "threshold reached"
    NOTHING_LEFT = "nothing left"


@dataclass(frozen=True, eq=False)
class Advanced:
    """There is a new state to show."""

    snapshot: Snapshot
    end: RunEnd | None
    """Set when a run has ended by itself since the last snapshot."""
    tables: RunTables | None = None
    """Set when supervoxels became two since the last snapshot: what this one is about."""


@dataclass(frozen=True, eq=False)
class CarriedOut:
    """A command did what it should."""

    command: Command


@dataclass(frozen=True, eq=False)
class CommandFailed:
    """A command, or a step of a run, did nothing."""

    command: Command | None
    """None for a step of a run."""
    sentence: str


@dataclass(frozen=True, eq=False)
class NotSaved:
    """Decisions could not be written to disk."""

    sentence: str


@dataclass(frozen=True, eq=False)
class Answered:
    """A question has an answer."""

    ask: Ask
    result: Any


Event = Advanced | CarriedOut | CommandFailed | NotSaved | Answered
