"""The list of segments with their names and notes, for files: a table, and properties beside the voxels."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.segment_list import (
    STATE_NAMES,
    DecidedEnds,
    SegmentList,
    SegmentState,
    list_segments,
)
from napari_celis.core.volume import Triple
from napari_celis.io.atomic import atomic_file
from napari_celis.io.ome_writing import MAX_LISTED, Properties, Value
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionError
from napari_celis.pipeline.choice import Atoms
from napari_celis.pipeline.segment_words import SegmentWords, Words, words_by_row
from napari_celis.pipeline.splits import history_of

COLUMNS = ("id", "name", "state", "voxels", "volume_um3", "decisions", "decisions_by_hand", "note")
NM3_PER_UM3 = 1e9


@dataclass(frozen=True, eq=False)
class SegmentTable:
    """Segments of a run, and what is said about them."""

    segments: SegmentList
    words: Mapping[int, Words]
    """By row, where there are any."""

    def properties(self, present: np.ndarray | None = None) -> Properties:
        """Describe segments in the way that goes with a volume of them.

        Parameters
        ----------
        present : ndarray of uint64, optional
            Ids of those that the volume holds; all by default.

        Returns
        -------
        properties : mapping
            By id. Where there are more than can be listed, only those that somebody named, wrote about,
            worked on or finished.
        """
        segments = self.segments
        is_wanted = np.ones(len(segments), dtype=bool) if present is None else np.isin(segments.id, present)
        if is_wanted.sum() > MAX_LISTED:
            is_told = segments.state != SegmentState.UNTOUCHED
            is_told[list(self.words)] = True
            is_wanted &= is_told
        return {int(segments.id[row]): self._properties_of(row) for row in np.flatnonzero(is_wanted).tolist()}

    def _properties_of(self, row: int) -> dict[str, Value]:
        segments, words = self.segments, self.words.get(row, Words())
        said = {key: text for key, text in (("name", words.name), ("note", words.note)) if text}
        return {
            **said,
            "state": STATE_NAMES[SegmentState(int(segments.state[row]))],
            "decisions": int(segments.n_decisions[row]),
            "decisions_by_hand": int(segments.n_by_hand[row]),
        }

    def write_csv(self, path: Path, voxel_size_nm: Triple) -> Path:
        """Write all segments as a table that `celis convert --properties` reads.

        Parameters
        ----------
        path : Path
            Replaced only when everything has been written.
        voxel_size_nm : tuple of float
            Gives volumes their unit.
        """
        require_csv(path)
        segments = self.segments
        volume = segments.voxels * (float(np.prod(voxel_size_nm)) / NM3_PER_UM3)
        states = [STATE_NAMES[SegmentState(state)] for state in segments.state.tolist()]
        numbers = zip(
            segments.id.tolist(), states, segments.voxels.tolist(), volume.tolist(),
            segments.n_decisions.tolist(), segments.n_by_hand.tolist(), strict=True,
        )  # fmt: skip
        with atomic_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            for row, (name, state, voxels, size, n_all, n_by_hand) in enumerate(numbers):
                words = self.words.get(row, Words())
                table.writerow([name, words.name, state, voxels, f"{size:.6g}", n_all, n_by_hand, words.note])
        return path


def require_csv(path: Path) -> None:
    """Refuse a name that is not one of a table of segments."""
    if path.suffix.lower() != ".csv":
        raise SessionError(f"{path} is no table of segments. Give it a name that ends in .csv.")


def table_of(agglomerator: Agglomerator, words: SegmentWords) -> SegmentTable:
    """List the segments of an agglomeration as it is.

    Parameters
    ----------
    agglomerator : Agglomerator
        Only read.
    words : SegmentWords
        What people said about its segments.
    """
    decided = DecidedEnds(agglomerator.supervoxels)
    decided.follow(agglomerator.history)
    segment_ids = agglomerator.segment_ids()
    segments = list_segments(agglomerator.supervoxels, segment_ids, agglomerator.is_done(), decided)
    known = words.by_segment(agglomerator.supervoxels, segment_ids)
    return SegmentTable(segments, words_by_row(known, segments.id))


def table_of_session(session: Session, atoms: Atoms) -> SegmentTable:
    """List the segments at the end of a session, without computing a score.

    Parameters
    ----------
    session : Session
        Only read.
    atoms : Atoms
        The supervoxels that it began with.
    """
    events = [record.event for record in session.events()]
    volume, history = history_of(atoms, events, session.splits())
    supervoxels, is_done = volume.supervoxels, np.zeros(volume.supervoxels.n + 1, dtype=bool)
    is_done[list(history.done_segments)] = True
    decided = DecidedEnds(supervoxels)
    decided.follow([entry.step for entry in history.done])
    segment_ids = supervoxels.ids[history.segment]
    segments = list_segments(supervoxels, segment_ids, is_done, decided)
    known = SegmentWords(session.segments()).by_segment(supervoxels, segment_ids)
    return SegmentTable(segments, words_by_row(known, segments.id))
