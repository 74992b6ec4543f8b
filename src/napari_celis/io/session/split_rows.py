"""Split supervoxels from and to rows of a session file: which voxels left, as compressed runs."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import numpy as np

from napari_celis.core.splits import SupervoxelSplit
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.io.session.checksums import DIGEST_BYTES
from napari_celis.io.session.records import MAX_NAME, SessionError, SessionSplit
from napari_celis.io.session.rows import Checker, to_sql

MAX_BLOB = 32 * 2**20
"""Bytes that the runs of one split may take in the file."""
PART_BYTES = 2**19
"""Bytes of them in one row: no row of a session is long."""
MAX_RUNS = 2**27
"""Bytes that they may take in memory; a run of voxels takes 16."""
MAX_VOXEL = 2**62


def supervoxel_checksum(supervoxels: Supervoxels, supervoxel_id: int) -> str:
    """Return the checksum of the voxels of one supervoxel, and of where they lie.

    Parameters
    ----------
    supervoxels : Supervoxels
        The volume.
    supervoxel_id : int
        Which one.
    """
    voxels = np.flatnonzero(supervoxels.dense.reshape(-1) == supervoxels.index_of(supervoxel_id))
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    found.update(f"{tuple(int(size) for size in supervoxels.dense.shape)}".encode())
    found.update(np.ascontiguousarray(voxels, dtype="<i8").data)
    return found.hexdigest()


def require_same_supervoxel(supervoxels: Supervoxels, record: SessionSplit) -> None:
    """Refuse to split another supervoxel than the one that was split.

    Parameters
    ----------
    supervoxels : Supervoxels
        Before the split.
    record : SessionSplit
        What the file says.
    """
    name = record.split.supervoxel_id
    if supervoxel_checksum(supervoxels, name) != record.checksum:
        raise SessionError(
            f"Supervoxel {name} is not the one that was split in this session: its voxels are others. "
            "Use the supervoxels that the session was made with."
        )


def split_to_rows(record: SessionSplit) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return a row of the table `splits`, and those of `split_voxels`."""
    split, name = record.split, to_sql(record.split.new_id)
    blob = zlib.compress(_to_runs(split.voxels).tobytes(), 6)
    if len(blob) > MAX_BLOB:
        raise SessionError(
            f"The part that leaves supervoxel {split.supervoxel_id} has too ragged a surface to be kept "
            f"({len(blob) / 2**20:.0f} MB). Undo the split, and set other seeds."
        )
    begins = range(0, len(blob), PART_BYTES)
    parts = [(name, part, blob[begin : begin + PART_BYTES]) for part, begin in enumerate(begins)]
    return (name, to_sql(split.supervoxel_id), record.checksum), parts


def split_from_rows(check: Checker, row: tuple[Any, ...], parts: list[Any]) -> SessionSplit:
    """Check a row of the table `splits`.

    Parameters
    ----------
    check : Checker
        Of the file.
    row : tuple
        All columns.
    parts : list
        The column `runs` of its rows in `split_voxels`, in order.
    """
    new_id, supervoxel_id, checksum = row
    name = check.id(new_id, "a part of a supervoxel")
    what = f"the voxels of {name}"
    if not all(isinstance(part, bytes) for part in parts):
        raise check.fail(f"{what} are no list of runs")
    voxels = _from_runs(check, b"".join(parts), what)
    split = SupervoxelSplit(check.id(supervoxel_id, "a split supervoxel"), name, voxels)
    return SessionSplit(split, check.text(checksum, "the checksum of a supervoxel", MAX_NAME))


def _to_runs(voxels: np.ndarray) -> np.ndarray:
    """Turn ascending indices into gaps and lengths of runs, int64 (2 · runs,)."""
    first = np.flatnonzero(np.diff(voxels, prepend=-2) > 1)
    starts, ends = voxels[first], voxels[np.append(first[1:], len(voxels)) - 1] + 1
    runs = np.empty(2 * len(first), dtype="<i8")
    runs[0::2] = starts - np.append(0, ends[:-1])
    runs[1::2] = ends - starts
    return runs


def _from_runs(check: Checker, blob: bytes, what: str) -> np.ndarray:
    """Turn runs back into indices."""
    if len(blob) > MAX_BLOB:
        raise check.fail(f"{what} are no list of runs")
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(blob, MAX_RUNS)
    except zlib.error as error:
        raise check.fail(f"{what} cannot be unpacked") from error
    if not unpacker.eof or len(raw) % 16 or not raw:
        raise check.fail(f"{what} are no list of runs")
    runs = np.frombuffer(raw, dtype="<i8")
    gaps, lengths = runs[0::2], runs[1::2]
    is_fine = gaps[0] >= 0 and (gaps[1:] > 0).all() and (lengths > 0).all()
    # As floats, because a sum of wrong numbers could come round to a right one.
    if not is_fine or runs.astype(np.float64).sum() > MAX_VOXEL or int(lengths.sum()) > MAX_RUNS:
        raise check.fail(f"{what} are no list of runs")
    starts = np.cumsum(gaps) + np.cumsum(lengths) - lengths
    offsets = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    voxels: np.ndarray = (np.repeat(starts, lengths) + offsets).astype(np.int64)
    return voxels
