"""Why a merge scores what it scores: its energy change, centre by centre."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from napari_celis.core.descriptors import shape_descriptors
from napari_celis.core.energy import evaluate
from napari_celis.core.scores import SpecScores


@dataclass(frozen=True, eq=False)
class CentreChanges:
    """The centres of one spec that a merge changes."""

    spec_name: str
    centres: np.ndarray
    """Positions in voxels, int32 (n, 3)."""
    before: np.ndarray
    """Packed descriptors before the merge, uint64 (n, W)."""
    after: np.ndarray
    """Packed descriptors after the merge, uint64 (n, W)."""
    changes: np.ndarray
    """Energy change at each centre times the voxels it stands for, float64 (n,); they add up to the score."""


def region_components(scores: SpecScores, region: int) -> np.ndarray:
    """Label the voxels of one region by component, int32; 0 is background.

    Parameters
    ----------
    scores : SpecScores
        The scores of one spec.
    region : int
        Number of the region.
    """
    tiling, layout = scores.table.tiling, scores.table.layout
    places = slice(layout.local_start[region], layout.local_start[region + 1])
    table = np.zeros(scores.supervoxels.n + 1, dtype=np.int32)
    table[layout.local_sv[places]] = scores.components[places]
    low, high = tiling.low[region], tiling.high[region]
    block = scores.supervoxels.dense[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    components: np.ndarray = table[block]
    return components


def explain(scores: SpecScores, actions: Iterable[int]) -> CentreChanges:
    """Split the energy change of actions by centre, computed from scratch; each pair of components once.

    Parameters
    ----------
    scores : SpecScores
        The scores of one spec.
    actions : sequence of int
        Rows of the table of actions.
    """
    tiling = scores.table.tiling
    joins = [scores.find_join(int(action)) for action in actions]
    pairs = sorted({pair for join in joins for pair in zip(join.regions, join.k1, join.k2, strict=True)})
    found, before, after = [], [], []
    for region, k1, k2 in pairs:
        components = region_components(scores, region)
        centres = np.arange(tiling.centre_start[region], tiling.centre_start[region + 1], dtype=np.int32)
        local = tiling.centres[centres] - tiling.low[region]
        old = shape_descriptors(components, local, tiling.spec)
        new = shape_descriptors(np.where(components == k2, k1, components), local, tiling.spec)
        is_changed = (old != new).any(axis=1)
        found.append(centres[is_changed])
        before.append(old[is_changed])
        after.append(new[is_changed])
    index = np.concatenate(found) if found else np.empty(0, np.int32)
    empty = np.empty((0, tiling.spec.n_words), np.uint64)
    bits = np.concatenate([*before, empty]), np.concatenate([*after, empty])
    energies = [evaluate(scores.energy, scores.index, index, rows) for rows in bits]
    return CentreChanges(
        tiling.spec.name, tiling.centres[index], *bits, scores.scale * (energies[1] - energies[0])
    )
