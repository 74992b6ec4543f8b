"""What a session file holds, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args
from unicodedata import category

from napari_celis.core.errors import CelisError
from napari_celis.core.journal import Event
from napari_celis.core.splits import SupervoxelSplit

Role = Literal["image", "supervoxels", "affinities", "truth"]
Answer = Literal["skipped", "unsure"]
ROLES: tuple[Role, ...] = get_args(Role)
ANSWERS: tuple[Answer, ...] = get_args(Answer)

MAX_TEXT = 10_000
"""Letters of a path or a note."""
MAX_NAME = 200
"""Letters of a name: of a person, a segment."""


class SessionError(CelisError):
    """A session file cannot be read, written or used."""


class SessionInUseError(SessionError):
    """Another window or program writes to the same session."""


@dataclass(frozen=True)
class SessionVolume:
    """A volume that decisions are about, or depend on."""

    role: Role
    path: str
    """`path[:dataset]`, absolute; empty for one that was made or drawn and lies in no file."""
    relative: str
    """The same, seen from the folder of the session; empty where there is no such way."""
    checksum: str
    """Of its voxels, see `napari_celis.io.session.checksums`."""
    shape: tuple[int, int, int]


@dataclass(frozen=True)
class SessionHead:
    """What the decisions of a session are about."""

    volumes: tuple[SessionVolume, ...]
    """At most one of each role; supervoxels always."""
    model_path: str
    model_checksum: str
    """Of the bytes of the model file."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """How the model is used: `policy`, `threshold`, `any_voxel_size`."""
    units_at_start: tuple[int, ...] | None = None
    """Energy per descriptor spec before the first decision, as the whole numbers that are counted."""
    created: float = 0.0
    """Seconds since 1970."""

    def volume(self, role: Role) -> SessionVolume | None:
        """Return the volume of a role, if there is one."""
        return next((volume for volume in self.volumes if volume.role == role), None)


@dataclass(frozen=True)
class SessionEvent:
    """One thing that happened, and who did it when."""

    event: Event
    time: float
    """Seconds since 1970, as the clock said; the order of events is their order, whatever it said."""
    who: str
    note: str = ""


@dataclass(frozen=True)
class SegmentNote:
    """What somebody said about a segment."""

    supervoxel_id: int
    """One of its supervoxels: the words belong to the segment that holds it."""
    name: str = ""
    note: str = ""
    time: float = 0.0
    who: str = ""


def require_words(what: str, text: str, most: int) -> None:
    """Refuse words about a segment that are too long, or that no line of a table could show.

    Parameters
    ----------
    what : str
        What messages call them.
    text : str
        The words.
    most : int
        How many letters they may have.
    """
    if len(text) > most:
        raise SessionError(f"{what} has {len(text):,} letters, but at most {most:,} are kept. Shorten it.")
    strange = next((letter for letter in text if category(letter) in ("Cc", "Cs")), None)
    if strange is not None:
        raise SessionError(
            f"{what} has a control character (U+{ord(strange):04X}), which no table can show. Leave it out."
        )


@dataclass(frozen=True)
class Question:
    """A decision that somebody looked at and did not take."""

    u_id: int
    v_id: int
    answer: Answer
    note: str = ""
    time: float = 0.0
    who: str = ""


@dataclass(frozen=True, eq=False)
class SessionSplit:
    """A supervoxel that became two."""

    split: SupervoxelSplit
    checksum: str
    """Of all voxels of the supervoxel before, see `napari_celis.io.session.split_rows`."""
