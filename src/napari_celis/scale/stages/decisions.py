"""Decisions of a block: the one recipe on its window, and what became of every pair of supervoxels in it."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.pipeline.choice import Choice
from napari_celis.pipeline.recipe import prepare
from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block
from napari_celis.scale.run import HOME, BlockRun
from napari_celis.scale.stages.stage import Figures, Stage, own_grid

DECISIONS = f"{HOME}/decisions"
REPORT_EVERY = 50


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    affinities, supervoxels = run.window_volumes(block.window)
    labels = np.asarray(supervoxels.data)
    if not _has_contacts(labels):
        return _write(run, block, _nothing())
    names = None
    if run.settings.supervoxels is None:
        # Of merges that are equally good the first comes first, so numbers must be those of a watershed.
        labels, names = in_scan_order(labels)
        supervoxels = replace(supervoxels, data=labels)
    choice = Choice(
        supervoxels=supervoxels,
        affinities=affinities,
        model=run.model,
        policy="learned" if run.settings.policy == "learned" else "energy",
        threshold=run.settings.threshold,
        any_voxel_size=True,
        is_lazy=True,
    )
    prepared = prepare(choice, report)
    with prepared.agglomerator as agglomerator:
        for index, _ in enumerate(agglomerator.steps(prepared.threshold)):
            if index % REPORT_EVERY == 0:
                report("merges", 0.0)
        return _write(run, block, _named(decisions_of(agglomerator, run.settings.model), names))


def in_scan_order(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number supervoxels 1, 2, … in the order of their first voxels; 0 stays 0.

    Parameters
    ----------
    labels : ndarray of uint64, shape (Z, Y, X)
        Ids of any order.

    Returns
    -------
    numbered : ndarray of uint64, shape (Z, Y, X)
    names : ndarray of uint64, shape (n + 1,)
        The id of every number.
    """
    ids, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.where(ids == 0, -1, first), kind="stable")
    names = ids[order] if ids[0] == 0 else np.concatenate([np.zeros(1, np.uint64), ids[order]])
    number = np.empty(len(ids), dtype=np.uint64)
    number[order] = np.arange(len(names) - len(ids), len(names))
    return number[inverse].reshape(labels.shape), names


def _named(columns: dict[str, np.ndarray], names: np.ndarray | None) -> dict[str, np.ndarray]:
    """Give pairs their ids back, the smaller one first, sorted by both."""
    if names is None:
        return columns
    one, other = names[columns["u"]], names[columns["v"]]
    columns = {**columns, "u": np.minimum(one, other), "v": np.maximum(one, other)}
    order = np.lexsort((columns["v"], columns["u"]))
    return {key: values[order] for key, values in columns.items()}


def decisions_of(agglomerator: Agglomerator, model: str) -> dict[str, np.ndarray]:
    """List what a finished run decided about every action.

    Parameters
    ----------
    agglomerator : Agglomerator
        After its last step.
    model : str
        Checksum of the model.

    Returns
    -------
    columns : dict
        Ids `u` and `v`, whether they are `merged`, the `score`, the `area` of the contact in the window, and
        `model`. The score of a merged pair is that of the step which joined their segments, that of another
        pair the score of the contact between their segments, or what it is not below where a lazy run did
        not have to know it.
    """
    actions, ids = agglomerator.actions, agglomerator.supervoxels.ids
    segment = agglomerator.segment_ids()
    is_merged = segment[actions.u] == segment[actions.v]
    scores = agglomerator.scoring.lowest_scores()
    scores[is_merged] = _joining_scores(agglomerator, actions.u[is_merged], actions.v[is_merged])
    return {
        "u": ids[actions.u],
        "v": ids[actions.v],
        "merged": is_merged,
        "score": scores,
        "area": actions.area,
        "model": np.full(len(actions), model),
    }


def _joining_scores(agglomerator: Agglomerator, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Find the score of the step that joined the segments of each pair, float64 (n,)."""
    ids, joins = agglomerator.supervoxels.ids, agglomerator.merges.joins()
    parent = np.arange(len(ids))
    time, score = np.full(len(ids), len(joins)), np.zeros(len(ids))
    vanished = np.searchsorted(ids, np.array([join[0] for join in joins], dtype=np.uint64))
    parent[vanished] = np.searchsorted(ids, np.array([join[1] for join in joins], dtype=np.uint64))
    time[vanished], score[vanished] = np.arange(len(joins)), [join[2] for join in joins]
    u, v, found = u.astype(np.int64), v.astype(np.int64), np.zeros(len(u))
    # Climb from the end that was joined earlier: the last step of the climb is the one that made them one.
    while len(apart := np.flatnonzero(u != v)):
        a, b = u[apart], v[apart]
        is_a = time[a] < time[b]
        found[apart] = np.where(is_a, score[a], score[b])
        u[apart], v[apart] = np.where(is_a, parent[a], a), np.where(is_a, b, parent[b])
    return found


def _nothing() -> dict[str, np.ndarray]:
    none = np.empty(0)
    return {
        "u": none.astype(np.uint64),
        "v": none.astype(np.uint64),
        "merged": none.astype(bool),
        "score": none,
        "area": none.astype(np.int64),
        "model": np.empty(0, dtype="U64"),
    }


def _has_contacts(labels: np.ndarray) -> bool:
    """Tell whether two supervoxels touch."""
    for axis in range(3):
        here, before = (np.moveaxis(labels, axis, 0)[part] for part in (slice(1, None), slice(None, -1)))
        if ((here != before) & (here != 0) & (before != 0)).any():
            return True
    return False


def _write(run: BlockRun, block: Block, columns: dict[str, np.ndarray]) -> Figures:
    name = f"{DECISIONS}/{block.name}.parquet"
    run.store.write_table(name, columns)
    digest = hashlib.sha256()
    for key in ("u", "v", "merged", "score", "area"):
        digest.update(np.ascontiguousarray(columns[key]).tobytes())
    return {
        "pairs": len(columns["u"]),
        "merged": int(columns["merged"].sum()),
        "content": digest.hexdigest(),
    }


DECIDE = Stage("decisions", "agglomeration", 0.2, own_grid, _work, needs=("supervoxels", "affinities"))
