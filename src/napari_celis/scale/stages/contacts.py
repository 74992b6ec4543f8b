"""Contacts of a block: a voxel face belongs to the block of its upper voxel, so blocks add up exactly."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.contacts import ContactStatistics, measure_contacts
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.pipeline.stages import Report
from napari_celis.scale.grid import Block, grown, inside
from napari_celis.scale.run import HOME, BlockRun
from napari_celis.scale.stages.stage import Figures, Stage, own_grid

CONTACTS, SIZES = f"{HOME}/contacts", f"{HOME}/sizes"


def _work(run: BlockRun, block: Block, report: Report) -> Figures:
    around = grown(block.core, 1, 0, run.settings.shape)
    labels = run.read_supervoxels(around)
    own = inside(block.core, around)
    begin = own[0].start, own[1].start, own[2].start
    if not labels.any():
        none = {"id": np.empty(0, np.uint64), "voxels": np.empty(0, np.int64)}
        return _write(run, block, _no_contacts(), none)
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels, begin)
    statistics = measure_contacts(supervoxels, actions, run.read_affinities(around), begin)
    voxels = np.bincount(supervoxels.dense[own].reshape(-1), minlength=supervoxels.n + 1)
    # Those of the layer before the block are counted by the block that holds them.
    is_own = voxels > 0
    is_own[0] = False
    sizes = {
        "id": supervoxels.ids[is_own],
        "voxels": voxels[is_own],
        "inside": statistics.inside[is_own],
    }
    first = np.array([part.start for part in around])
    return _write(run, block, _columns(supervoxels, actions, statistics, first), sizes)


def _columns(
    supervoxels: Supervoxels, actions: ActionTable, statistics: ContactStatistics, first: np.ndarray
) -> dict[str, Any]:
    """List everything that is known about contacts, in sums that add up."""
    # Positions are multiples of one half, so their sums are exact.
    positions = actions.centroid * actions.area[:, None]
    return {
        "u": supervoxels.ids[actions.u],
        "v": supervoxels.ids[actions.v],
        "area": actions.area,
        "position": np.rint(2 * positions) / 2 + first * actions.area[:, None],
        "affinities": statistics.contact,
        "low": statistics.low,
        "high": statistics.high,
    }


def _no_contacts() -> dict[str, Any]:
    """List no contacts."""
    none = np.empty(0, np.uint64)
    return {"u": none, "v": none, "area": none.astype(np.int64)}


def _write(run: BlockRun, block: Block, contacts: dict[str, Any], sizes: dict[str, Any]) -> Figures:
    run.store.write_table(f"{CONTACTS}/{block.name}.parquet", contacts)
    run.store.write_table(f"{SIZES}/{block.name}.parquet", sizes)
    digest = hashlib.sha256()
    for values in (*(contacts[key] for key in ("u", "v", "area")), sizes["id"], sizes["voxels"]):
        digest.update(np.ascontiguousarray(values).tobytes())
    return {
        "supervoxels": len(sizes["id"]),
        "contacts": len(contacts["u"]),
        "content": digest.hexdigest(),
    }


MEASURE = Stage("contacts", "contacts", 0.03, own_grid, _work, needs=("supervoxels", "affinities"))
