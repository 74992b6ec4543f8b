"""Segments of the whole volume from the decisions of all blocks, and what each block has to write."""

from __future__ import annotations

import hashlib

import numpy as np

from napari_celis.pipeline.stages import Report
from napari_celis.scale.answers import read_answers
from napari_celis.scale.grid import Block
from napari_celis.scale.honour import Answer
from napari_celis.scale.reconcile import Pairs, combine, reconcile
from napari_celis.scale.run import HOME, BlockRun
from napari_celis.scale.stages.contacts import SIZES
from napari_celis.scale.stages.decisions import DECIDE
from napari_celis.scale.stages.pairs import GATHER, PAIRS
from napari_celis.scale.stages.stage import Figures, Stage, single

SEGMENTS = f"{HOME}/segments"


def _digest(run: BlockRun, block: Block) -> str:
    """Tell contacts, decisions and answers apart."""
    digest = hashlib.sha256(repr(read_answers(run.store)).encode())
    for name in sorted(run.finished(GATHER.name)):
        digest.update(f"{name} {(run.flag(GATHER.name, name) or {}).get('digest')}".encode())
    return digest.hexdigest()


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    names = sorted(run.finished(DECIDE.name))
    report("sizes", 0.0)
    ids, sizes, own = read_sizes(run, names)
    report("decisions", 0.3)
    pairs = read_pairs(run, ids)
    answers = [
        Answer(one.kind, _index(ids, one.u), _index(ids, one.v))
        for one in read_answers(run.store)
        if _index(ids, one.u) and _index(ids, one.v)
    ]
    done = reconcile(pairs, sizes, run.settings.rule, run.settings.threshold, answers)
    report("writing", 0.8)
    digests = {}
    for name, present in own.items():
        segment = ids[done.segment[present]]
        digests[name] = hashlib.sha256(ids[present].tobytes() + segment.tobytes()).hexdigest()
        run.store.write_table(f"{SEGMENTS}/{name}.parquet", {"id": ids[present], "segment": segment})
    return {
        "supervoxels": len(ids) - 1,
        "segments": len(np.unique(done.segment[1:])),
        "pairs": len(pairs),
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


def read_pairs(run: BlockRun, ids: np.ndarray) -> Pairs:
    """Read what all blocks say about every pair, by dense index.

    Parameters
    ----------
    run : BlockRun
        The run.
    ids : ndarray of uint64, shape (N + 1,)
        All supervoxels, ascending.
    """
    parts = []
    for name in sorted(run.finished(GATHER.name)):
        table = run.store.read_table(f"{PAIRS}/{name}.parquet")
        if table is not None:
            # A failed block takes its supervoxels with it.
            known = _is_known(ids, table["u"]) & _is_known(ids, table["v"])
            table = {key: values[known] for key, values in table.items()}
            for key in ("u", "v"):
                table[key] = np.searchsorted(ids, table[key]).astype(np.int64)
            parts.append(Pairs(**table))
    return combine(parts)


def _is_known(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    is_known: np.ndarray = ids[at] == wanted
    return is_known


def _index(ids: np.ndarray, supervoxel_id: int) -> int:
    """Find a supervoxel; 0 if there is none of that id."""
    at = int(np.searchsorted(ids, np.uint64(supervoxel_id)))
    return at if at < len(ids) and int(ids[at]) == supervoxel_id else 0


JOIN = Stage("segments", "joining blocks", 0.01, single, _work, digest=_digest)
