"""Names and notes of segments: to which one they belong when segments merge, are cut, or merges are undone.

Words are written at a supervoxel and belong to the segment that holds it, so they follow every merge, cut and
undo by themselves. Of several in one segment, those at the supervoxel that names it come first, then those at
larger supervoxels: the first name counts, and notes are joined. Writing new words takes the place of all of
that kind in the segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from napari_celis.core.supervoxels import Supervoxels
from napari_celis.io.session.records import MAX_NAME, MAX_TEXT, SegmentNote, require_words

BETWEEN = "; "
"""Between two notes."""


@dataclass(frozen=True)
class Words:
    """Name and note of a segment; both may be empty."""

    name: str = ""
    note: str = ""


class SegmentWords:
    """What people said about the segments of one volume.

    Parameters
    ----------
    notes : iterable of SegmentNote
        From `Session.segments`.
    """

    def __init__(self, notes: Iterable[SegmentNote] = ()) -> None:
        self._notes = {note.supervoxel_id: note for note in notes}

    @property
    def notes(self) -> tuple[SegmentNote, ...]:
        """All there are, by supervoxel."""
        return tuple(self._notes.values())

    def by_segment(self, supervoxels: Supervoxels, segment_ids: np.ndarray) -> dict[int, Words]:
        """Return the words of every segment that has some, by its id.

        Parameters
        ----------
        supervoxels : Supervoxels
            The volume; words about others are left out.
        segment_ids : ndarray of uint64, shape (N + 1,)
            Segment of every supervoxel.
        """
        ordered = self._ordered(supervoxels, segment_ids)
        return {segment: _joined(notes) for segment, notes in ordered.items()}

    def edited(
        self,
        supervoxels: Supervoxels,
        segment_ids: np.ndarray,
        segment: int,
        words: Words,
        *,
        who: str = "",
        time: float = 0.0,
    ) -> list[SegmentNote]:
        """Write words about a segment; returns what has to be kept, an empty note where nothing is said.

        Parameters
        ----------
        supervoxels, segment_ids
            As for `by_segment`.
        segment : int
            Its id.
        words : Words
            What it is called and what is said about it from now on.
        who : str
            Who says so.
        time : float
            When, in seconds since 1970.

        Raises
        ------
        SessionError
            If words are too long or hold control characters; nothing changes then.
        """
        name, note = words.name.strip(), words.note.strip()
        require_words("The name of a segment", name, MAX_NAME)
        require_words("The note of a segment", note, MAX_TEXT)
        own = self._ordered(supervoxels, segment_ids).get(segment, [])
        before = _joined(own)
        changed: dict[int, SegmentNote] = {}
        for one in dict.fromkeys((segment, *(other.supervoxel_id for other in own))):
            known = new = self._notes.get(one, SegmentNote(one))
            if name != before.name:
                new = replace(new, name=name if one == segment else "")
            if note != before.note:
                new = replace(new, note=note if one == segment else "")
            if new != known:
                changed[one] = replace(new, who=who, time=time)
        self._notes |= changed
        self._notes = {one: note for one, note in self._notes.items() if note.name or note.note}
        return list(changed.values())

    def _ordered(self, supervoxels: Supervoxels, segment_ids: np.ndarray) -> dict[int, list[SegmentNote]]:
        """List the notes of every segment, those that count first before others."""
        ids = np.array(list(self._notes), dtype=np.uint64)
        index = np.minimum(np.searchsorted(supervoxels.ids, ids), supervoxels.n)
        segments, sizes = segment_ids[index], supervoxels.sizes[index]
        rows = np.flatnonzero(supervoxels.ids[index] == ids)
        rows = rows[np.lexsort((ids[rows], -sizes[rows], segments[rows] != ids[rows]))]
        found: dict[int, list[SegmentNote]] = {}
        for one, segment in zip(ids[rows].tolist(), segments[rows].tolist(), strict=True):
            found.setdefault(segment, []).append(self._notes[one])
        return found


def _joined(notes: Iterable[SegmentNote]) -> Words:
    notes = list(notes)
    name = next((note.name for note in notes if note.name), "")
    return Words(name, BETWEEN.join(dict.fromkeys(note.note for note in notes if note.note)))


def words_by_row(words: Mapping[int, Words], ids: np.ndarray) -> dict[int, Words]:
    """Find the rows of segments that have words.

    Parameters
    ----------
    words : mapping
        By id of the segment.
    ids : ndarray of uint64
        Ids of all segments, ascending.
    """
    known = np.array(list(words), dtype=np.uint64)
    return dict(zip(np.searchsorted(ids, known).tolist(), words.values(), strict=True))
