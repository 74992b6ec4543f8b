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
        """Index supervoxels and find what they share with the truth.

        Parameters
        ----------
        labels : ndarray of int, shape (Z, Y, X)
            Supervoxel ids.
        truth : ndarray of int, shape (Z, Y, X)
            Object ids, 0 where nothing is known.
        interior : ndarray of float, shape (Z, Y, X)
            From `interior_probability`.
        """
        supervoxels = Supervoxels.from_labels(labels)
        actions = ActionTable.from_supervoxels(supervoxels)
        return cls(supervoxels, actions, overlap(supervoxels, truth), interior)

    def expert_order(self) -> list[int]:
        """Follow the expert and return the actions that it takes."""
        graph = SegmentGraph(self.actions, self.supervoxels.sizes)
        return [step.action_index for step in expert_steps(graph, self.overlaps)]

    def expert_states(self, shares: Sequence[float]) -> list[np.ndarray]:
        """Return the actions taken after these shares of the expert's way, bool (A,) each."""
        return self.states_along(self.expert_order(), shares)

    def states_along(self, order: Sequence[int], shares: Sequence[float]) -> list[np.ndarray]:
        """Return the actions taken after these shares of a sequence of actions, bool (A,) each.

        Parameters
        ----------
        order : sequence of int
            Actions, in the order in which they are taken.
        shares : sequence of float
            Parts of that sequence, each 0 to 1.
        """
        states = []
        for share in shares:
            taken = np.zeros(len(self.actions), dtype=bool)
            taken[list(order[: round(share * len(order))])] = True
            states.append(taken)
        return states

    def table(self, spec: DescriptorSpec, pool: Pool) -> RegionTable:
        """Fill the regions of one spec.

        Parameters
        ----------
        spec : DescriptorSpec
            Lays out the regions.
        pool : Pool
            The threads that fill them.
        """
        return fill(tile(self.supervoxels.dense.shape, spec), self.supervoxels, self.actions, pool)

    def features(self, spec: DescriptorSpec, grid: int) -> CentreFeatures:
        """Image features of every centre of a spec.

        Parameters
        ----------
        spec : DescriptorSpec
            Lays out the centres.
        grid : int
            Points per axis at which the box is read.
        """
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

    def window(self, share: float, smallest: int) -> Slab:
        """Cut out the middle of the slab, with this share of its sections' area.

        Parameters
        ----------
        share : float
            1 and more keeps all of it.
        smallest : int
            Least extent in voxels along y and x, where there is as much.
        """
        if share >= 1:
            return self
        parts = []
        for size in self.labels.shape[1:]:
            wanted = min(size, max(smallest, round(size * share**0.5)))
            parts.append(slice((size - wanted) // 2, (size - wanted) // 2 + wanted))
        return self._cut(parts[0], parts[1])

    def quarters(self) -> list[Slab]:
        """Cut the slab along y and x: pieces of large bodies are many decisions where the body is one."""
        halves = [slab_bounds(size) for size in self.labels.shape[1:]]
        return [self._cut(y, x) for y, x in product(*halves)]

    def _cut(self, y: slice, x: slice) -> Slab:
        """Cut a part out of every section."""
        return Slab(*(np.ascontiguousarray(a[..., y, x]) for a in (self.labels, self.truth, self.affinities)))

    def transformed(self, symmetry: Symmetry) -> Scene:
        """The slab in another orientation."""
        interior = interior_probability(self.affinities)
        return Scene.make(symmetry.apply(self.labels), symmetry.apply(self.truth), symmetry.apply(interior))


def slab_bounds(n_sections: int, n_slabs: int = 2) -> list[slice]:
    """Cut the sections of a volume into slabs of about equal thickness.

    Parameters
    ----------
    n_sections : int
        Sections of the volume.
    n_slabs : int
        Slabs to cut it into.
    """
    cuts = np.linspace(0, n_sections, n_slabs + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]
