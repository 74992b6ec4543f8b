"""Slabs of a training volume, each ready to learn from or to be judged on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.contacts import ContactStatistics, measure_contacts
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.parallel import Pool
from napari_celis.core.regions import RegionTable, fill, tile
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.symmetry import Symmetry
from napari_celis.evaluation.expert import expert_steps
from napari_celis.evaluation.overlaps import Overlaps, overlap
from napari_celis.models.features import CentreFeatures, centre_features, interior_probability


@dataclass(frozen=True, eq=False)
class Scene:
    """Supervoxels with a truth and an image, in one orientation."""

    supervoxels: Supervoxels
    actions: ActionTable
    overlaps: Overlaps
    interior: np.ndarray
    """Interior probability from a network that never saw this place, float32 (Z, Y, X)."""

    @classmethod
    def make(cls, labels: np.ndarray, truth: np.ndarray, interior: np.ndarray) -> Scene:
        """Index supervoxels and find what they share with the truth."""
        supervoxels = Supervoxels.from_labels(labels)
        actions = ActionTable.from_supervoxels(supervoxels)
        return cls(supervoxels, actions, overlap(supervoxels, truth), interior)

    def expert_states(self, shares: Sequence[float]) -> list[np.ndarray]:
        """Follow the expert and return the actions taken after these shares of its way, bool (A,) each."""
        graph = SegmentGraph(self.actions, self.supervoxels.sizes)
        order = [step.action_index for step in expert_steps(graph, self.overlaps)]
        return self.states_along(order, shares)

    def states_along(self, order: Sequence[int], shares: Sequence[float]) -> list[np.ndarray]:
        """Return the actions taken after these shares of a sequence of actions, bool (A,) each."""
        states = []
        for share in shares:
            taken = np.zeros(len(self.actions), dtype=bool)
            taken[list(order[: round(share * len(order))])] = True
            states.append(taken)
        return states

    def table(self, spec: DescriptorSpec, pool: Pool) -> RegionTable:
        """Fill the regions of one spec."""
        return fill(tile(self.supervoxels.dense.shape, spec), self.supervoxels, self.actions, pool)

    def features(self, spec: DescriptorSpec, grid: int) -> CentreFeatures:
        """Image features of every centre of a spec."""
        centres = tile(self.interior.shape, spec).centres
        return centre_features(self.interior, centres, spec, grid)


@dataclass(frozen=True, eq=False)
class Slab:
    """One part of the training volume."""

    labels: np.ndarray
    truth: np.ndarray
    affinities: np.ndarray
    """From a network that never saw this slab, float32 (3, Z, Y, X)."""

    @property
    def is_labelled(self) -> bool:
        """Whether the truth knows any voxel of a supervoxel."""
        return bool(((self.labels > 0) & (self.truth > 0)).any())

    @cached_property
    def upright(self) -> Scene:
        """The slab as it is."""
        return self.transformed(Symmetry())

    @cached_property
    def contacts(self) -> ContactStatistics:
        """Affinities across the contacts of the upright scene."""
        scene = self.upright
        return measure_contacts(scene.supervoxels, scene.actions, np.ascontiguousarray(self.affinities))

    def quarters(self) -> list[Slab]:
        """Cut the slab along y and x: pieces of large bodies are many decisions where the body is one."""
        halves = [slab_bounds(size) for size in self.labels.shape[1:]]
        return [
            Slab(*(np.ascontiguousarray(a[..., y, x]) for a in (self.labels, self.truth, self.affinities)))
            for y, x in product(*halves)
        ]

    def transformed(self, symmetry: Symmetry) -> Scene:
        """The slab in another orientation."""
        interior = interior_probability(self.affinities)
        return Scene.make(symmetry.apply(self.labels), symmetry.apply(self.truth), symmetry.apply(interior))


def slab_bounds(n_sections: int, n_slabs: int = 2) -> list[slice]:
    """Cut the sections of a volume into slabs of about equal thickness."""
    cuts = np.linspace(0, n_sections, n_slabs + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]
