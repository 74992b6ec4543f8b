"""What the blocks of one neighbourhood say about pairs of supervoxels: one row per pair.

Several blocks see the same pair. Putting their decisions together first for groups of blocks leaves about one
row per pair for the one process that joins all of them.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields

import numpy as np

from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, BlockGrid
from napari_celis.scale.reconcile import Pairs, combine, votes_of
from napari_celis.scale.run import HOME, BlockRun
from napari_celis.scale.stages.contacts import CONTACTS, MEASURE
from napari_celis.scale.stages.decisions import DECIDE, DECISIONS
from napari_celis.scale.stages.stage import Figures, Stage

PAIRS = f"{HOME}/pairs"
GROUP = 4
"""Blocks along each axis that are put together."""


def _grid(run: BlockRun) -> BlockGrid:
    z, y, x = (GROUP * edge for edge in run.settings.block_zyx)
    return BlockGrid(run.settings.shape, (z, y, x))


def _members(run: BlockRun, group: Block) -> list[str]:
    """Name the blocks of a group."""
    return [run.grid.block(index).name for index in run.grid.touching(group.core)]


def _digest(run: BlockRun, group: Block) -> str:
    """Follow the contacts and decisions of its blocks."""
    digest = hashlib.sha256()
    for name in _members(run, group):
        for stage in (MEASURE, DECIDE):
            digest.update(f"{name} {(run.flag(stage.name, name) or {}).get('content')}".encode())
    return digest.hexdigest()


def _work(run: BlockRun, group: Block, report: Report) -> Figures:
    parts = [pairs for pairs in (read_votes(run, name) for name in _members(run, group)) if pairs is not None]
    columns = {}
    if parts:
        pairs = combine(parts)
        columns = {field.name: getattr(pairs, field.name) for field in fields(Pairs)}
        run.store.write_table(f"{PAIRS}/{group.name}.parquet", columns)
    return {"pairs": len(columns.get("u", ()))}


def read_votes(run: BlockRun, name: str) -> Pairs | None:
    """Read the decisions of one block, and which part of each contact it holds; None if it has none.

    Parameters
    ----------
    run : BlockRun
        The run.
    name : str
        The block.
    """
    if run.flag(MEASURE.name, name) is None or run.flag(DECIDE.name, name) is None:
        return None
    table = run.store.read_table(f"{DECISIONS}/{name}.parquet", ["u", "v", "merged", "score"])
    held = run.store.read_table(f"{CONTACTS}/{name}.parquet", ["u", "v", "area"])
    if table is None or held is None:
        return None
    owned = np.zeros(len(table["u"]), dtype=np.int64)
    # Both are sorted by their ends, and a block decides all contacts that it holds.
    ids = np.unique(np.concatenate([table["u"], table["v"]]))
    owned[np.searchsorted(_keys(table, ids), _keys(held, ids))] = held["area"]
    return votes_of(table["u"], table["v"], table["merged"].astype(bool), table["score"], owned)


def _keys(table: dict[str, np.ndarray], ids: np.ndarray) -> np.ndarray:
    """Number pairs in their order."""
    keys: np.ndarray = np.searchsorted(ids, table["u"]) * len(ids) + np.searchsorted(ids, table["v"])
    return keys


GATHER = Stage("pairs", "gathering decisions", 0.005, _grid, _work, digest=_digest)
