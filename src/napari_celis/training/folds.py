"""Slabs of a training volume, each ready to learn from or to be judged on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.expert import Overlaps, expert_steps, overlap
from napari_celis.core.parallel import Pool
from napari_celis.core.regions import RegionTable, fill, tile
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.models.features import layout_features

STATE_SHARES = (0.0, 0.5, 0.9, 1.0)
"""How far along the expert's trajectory the states lie from which examples are drawn."""


@dataclass(frozen=True, eq=False)
class Slab:
    """One part of the training volume."""

    supervoxels: Supervoxels
    actions: ActionTable
    overlaps: Overlaps
    interior: np.ndarray
    """Interior probability from a network that never saw this slab, float32 (Z, Y, X)."""

    @classmethod
    def cut(cls, labels: np.ndarray, truth: np.ndarray, interior: np.ndarray) -> Slab:
        """Index the supervoxels of a slab and find what they share with the truth."""
        supervoxels = Supervoxels.from_labels(labels)
        actions = ActionTable.from_supervoxels(supervoxels)
        return cls(supervoxels, actions, overlap(supervoxels, truth), interior)

    def states(self) -> list[np.ndarray]:
        """Follow the expert and return the actions taken in a few states on its way, bool (A,) each."""
        order = [step.action_index for step in expert_steps(self.actions, self.overlaps)]
        states = []
        for share in STATE_SHARES:
            taken = np.zeros(len(self.actions), dtype=bool)
            taken[order[: round(share * len(order))]] = True
            states.append(taken)
        return states

    def table(self, spec: DescriptorSpec, pool: Pool) -> RegionTable:
        """Fill the regions of one spec."""
        return fill(tile(self.supervoxels.dense.shape, spec), self.supervoxels, self.actions, pool)

    def features(self, table: RegionTable, grid: int) -> np.ndarray:
        """Image features of every centre of a spec."""
        return layout_features(self.interior, table.tiling.centres, table.tiling.spec, grid)


def slab_bounds(n_sections: int, n_slabs: int = 2) -> list[slice]:
    """Cut the sections of a volume into slabs of about equal thickness."""
    cuts = np.linspace(0, n_sections, n_slabs + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]
