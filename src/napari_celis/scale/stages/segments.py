"""Segments of the whole volume from the decisions of all blocks, and what each block has to write."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from napari_celis.pipeline.stages import Report
from napari_celis.scale.answers import read_answers
from napari_celis.scale.grid import Block
from napari_celis.scale.reconcile import Answer, Votes, reconcile
from napari_celis.scale.run import HOME, BlockRun
from napari_celis.scale.stages.contacts import CONTACTS, MEASURE, SIZES
from napari_celis.scale.stages.decisions import DECIDE, DECISIONS
from napari_celis.scale.stages.stage import Figures, Stage, single

SEGMENTS = f"{HOME}/segments"


def _digest(run: BlockRun, block: Block) -> str:
    """Tell contacts, decisions and answers apart."""
    digest = hashlib.sha256(repr(read_answers(run.store)).encode())
    for stage in (MEASURE, DECIDE):
        for name in sorted(run.finished(stage.name)):
            digest.update(f"{name} {(run.flag(stage.name, name) or {}).get('content')}".encode())
    return digest.hexdigest()


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    names = sorted(run.finished(DECIDE.name))
    report("sizes", 0.0)
    ids, sizes, own = read_sizes(run, names)
    report("decisions", 0.3)
    votes = read_votes(run, names, ids)
    answers = [
        Answer(one.kind, _index(ids, one.u), _index(ids, one.v))
        for one in read_answers(run.store)
        if _index(ids, one.u) and _index(ids, one.v)
    ]
    done = reconcile(votes, sizes, run.settings.rule, run.settings.threshold, answers)
    report("writing", 0.8)
    digests = {}
    for name, present in own.items():
        segment = ids[done.segment[present]]
        digests[name] = hashlib.sha256(ids[present].tobytes() + segment.tobytes()).hexdigest()
        run.store.write_table(f"{SEGMENTS}/{name}.parquet", {"id": ids[present], "segment": segment})
    return {
        "supervoxels": len(ids) - 1,
        "segments": len(np.unique(done.segment[1:])),
        "pairs": len(votes.u),
        "disputed": done.n_disputed,
        "joined": done.n_joined,
        "answers": len(answers),
        "blocks": digests,
    }


def read_sizes(run: BlockRun, names: list[str]) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Add up the voxels of every supervoxel.

    Parameters
    ----------
    run : BlockRun
        The run.
    names : list of str
        The blocks that count.

    Returns
    -------
    ids : ndarray of uint64, shape (N + 1,)
        Ascending; the first is 0, the background.
    sizes : ndarray of int64, shape (N + 1,)
        Voxels of each.
    own : dict
        Which of them each block holds, as indices.
    """
    tables = {name: run.store.read_table(f"{SIZES}/{name}.parquet", ["id", "voxels"]) for name in names}
    found = {name: table for name, table in tables.items() if table is not None}
    none = np.zeros(1, dtype=np.uint64)
    ids = np.unique(np.concatenate([none, *(table["id"] for table in found.values())]))
    sizes = np.zeros(len(ids), dtype=np.int64)
    own = {name: np.searchsorted(ids, table["id"]) for name, table in found.items()}
    for name, table in found.items():
        sizes[own[name]] += table["voxels"]
    return ids, sizes, own


def read_votes(run: BlockRun, names: list[str], ids: np.ndarray) -> Votes:
    """Read the decisions of all blocks, and which part of each contact a block holds.

    Parameters
    ----------
    run : BlockRun
        The run.
    names : list of str
        The blocks that count.
    ids : ndarray of uint64, shape (N + 1,)
        All supervoxels, ascending.
    """
    columns: dict[str, list[np.ndarray]] = {key: [] for key in ("u", "v", "merged", "score", "owned")}
    for name in names:
        table = run.store.read_table(f"{DECISIONS}/{name}.parquet", ["u", "v", "merged", "score"])
        held = run.store.read_table(f"{CONTACTS}/{name}.parquet", ["u", "v", "area"])
        if table is None or held is None:
            continue
        known = _known(ids, table)
        table = {key: values[known] for key, values in table.items()}
        table["u"], table["v"] = (np.searchsorted(ids, table[key]).astype(np.int64) for key in ("u", "v"))
        keys = table["u"] * len(ids) + table["v"]
        own = np.searchsorted(ids, held["u"]).astype(np.int64) * len(ids) + np.searchsorted(ids, held["v"])
        order = np.argsort(own)
        at = np.minimum(np.searchsorted(own[order], keys), max(len(own) - 1, 0))
        is_own = own[order][at] == keys if len(own) else np.zeros(len(keys), dtype=bool)
        table["owned"] = np.where(is_own, held["area"][order][at] if len(own) else 0, 0)
        for key, values in table.items():
            columns[key].append(values)
    joined = {key: np.concatenate(parts) if parts else np.empty(0) for key, parts in columns.items()}
    return Votes(
        joined["u"].astype(np.int64),
        joined["v"].astype(np.int64),
        joined["merged"].astype(bool),
        joined["score"],
        joined["owned"].astype(np.int64),
    )


def _known(ids: np.ndarray, table: dict[str, Any]) -> np.ndarray:
    """Find pairs of which both are in a core; a failed block takes its own with it."""
    is_known = np.ones(len(table["u"]), dtype=bool)
    for key in ("u", "v"):
        at = np.minimum(np.searchsorted(ids, table[key]), len(ids) - 1)
        is_known &= ids[at] == table[key]
    return is_known


def _index(ids: np.ndarray, supervoxel_id: int) -> int:
    """Find a supervoxel; 0 if there is none of that id."""
    at = int(np.searchsorted(ids, np.uint64(supervoxel_id)))
    return at if at < len(ids) and int(ids[at]) == supervoxel_id else 0


JOIN = Stage("segments", "joining blocks", 0.01, single, _work, digest=_digest)
