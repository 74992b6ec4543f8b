"""How two segments stand to each other now: what can still be decided about them."""

from __future__ import annotations

from enum import Enum

import numpy as np

from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.engine.tables import RunTables


class Standing(Enum):
    """What is known of two supervoxels, or of the contact between them."""

    OPEN = "two segments"
    APART = "kept apart by a decision"
    MERGED = "merged at this contact"
    JOINED = "one segment by other merges"
    DONE = "in a segment that is done"


def standing_of(tables: RunTables, snapshot: Snapshot, u: int, v: int, action: int = -1) -> Standing:
    """Tell how two supervoxels stand to each other.

    Parameters
    ----------
    tables : RunTables
        The supervoxels of the run.
    snapshot : Snapshot
        The state that is asked about.
    u, v : int
        Dense indices of the supervoxels.
    action : int
        The contact that is looked at; -1 for none.
    """
    if snapshot.is_done[[u, v]].any():
        return Standing.DONE
    if action >= 0 and snapshot.taken[action]:
        return Standing.MERGED
    if snapshot.segment_ids[u] == snapshot.segment_ids[v]:
        return Standing.JOINED
    return Standing.OPEN if kept_apart_by(tables, snapshot, u, v) is None else Standing.APART


def kept_apart_by(tables: RunTables, snapshot: Snapshot, u: int, v: int) -> tuple[int, int] | None:
    """Return the ids of the supervoxels whose decision keeps two segments apart; None if none does.

    Parameters
    ----------
    tables, snapshot, u, v
        As for `standing_of`.
    """
    if not snapshot.constraints:
        return None
    ends = np.searchsorted(tables.supervoxels.ids, np.array(snapshot.constraints, dtype=np.uint64))
    first, second = snapshot.segment_ids[ends].T
    own, other = snapshot.segment_ids[[u, v]]
    is_theirs = ((first == own) & (second == other)) | ((first == other) & (second == own))
    found = np.flatnonzero(is_theirs)
    return snapshot.constraints[found[0]] if len(found) else None
