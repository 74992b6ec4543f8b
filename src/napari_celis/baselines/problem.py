"""What every method starts from: supervoxels, the actions between them, affinities, and perhaps the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contacts import ContactStatistics, measure_contacts
from napari_celis.core.errors import TrainingError
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import as_labels, require_same_shape
from napari_celis.pipeline.checks import checked_affinities
from napari_celis.pipeline.recipe import Inputs

SMALLEST_SLAB = 8
"""Sections that a part of the training volume must have to say anything about agglomeration."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One volume to agglomerate."""

    supervoxels: Supervoxels
    actions: ActionTable
    affinities: np.ndarray
    """Affinity of every voxel with its neighbour at −z, −y, −x: (3, Z, Y, X), float32 or uint8."""
    truth: np.ndarray | None = None
    """True labels (Z, Y, X); 0 is unlabelled."""

    @classmethod
    def from_labels(
        cls, supervoxels: np.ndarray, affinities: np.ndarray, *, truth: np.ndarray | None = None
    ) -> Problem:
        """Index supervoxels and check that everything shows the same voxels.

        Parameters
        ----------
        supervoxels : ndarray of integers, shape (Z, Y, X)
            Labels; 0 is background.
        affinities : ndarray of float or uint8, shape (3, Z, Y, X)
            From 0 to 1, or from 0 to 255 as uint8.
        truth : ndarray of integers, shape (Z, Y, X), optional
            True labels.
        """
        if truth is not None:
            require_same_shape(supervoxels=supervoxels, truth=truth)
        indexed = Supervoxels.from_labels(supervoxels)
        return cls(
            indexed,
            ActionTable.from_supervoxels(indexed),
            checked_affinities(affinities, supervoxels.shape, "`affinities`"),
            None if truth is None else as_labels(truth, "`truth`"),
        )

    @classmethod
    def from_inputs(cls, inputs: Inputs, truth: np.ndarray | None = None) -> Problem:
        """Take what the recipe prepared, and the truth of the same voxels.

        Parameters
        ----------
        inputs : Inputs
            What the recipe prepared.
        truth : ndarray, optional
            True labels; 0 is unknown.
        """
        return cls(inputs.atoms.supervoxels, inputs.atoms.actions, inputs.affinities, truth)

    @cached_property
    def contacts(self) -> ContactStatistics:
        """Affinity statistics of every action and every supervoxel."""
        return measure_contacts(self.supervoxels, self.actions, self.affinities)

    def graph(self) -> SegmentGraph:
        """Make the graph of segments in which nothing is merged."""
        return SegmentGraph(self.actions, self.supervoxels.sizes)

    def affinity_sums(self) -> AffinitySums:
        """Make that graph with the affinities of its contacts."""
        return AffinitySums(self.graph(), self.contacts)

    def known_truth(self) -> np.ndarray:
        """Return the truth, or say that there is none."""
        if self.truth is None:
            raise TrainingError("This volume has no truth to learn from or to be judged by. Give one.")
        return self.truth

    def slabs(self, n: int) -> list[Problem]:
        """Cut the volume along z into up to `n` problems of nearly equal depth, to learn from some of them.

        Fewer where it is shallow, and none where nothing is labelled; fewer than two are an error.
        """
        is_labelled = (self.supervoxels.dense > 0) & (self.known_truth() > 0)
        is_known: np.ndarray = np.any(is_labelled, axis=(1, 2))
        depth = len(is_known)
        bounds = np.linspace(0, depth, min(n, depth // SMALLEST_SLAB) + 1).round().astype(int)
        slabs = [slice(low, high) for low, high in pairwise(bounds.tolist()) if is_known[low:high].any()]
        if len(slabs) < 2:
            raise TrainingError(
                f"The training volume has {depth} sections, {int(is_known.sum())} of them labelled, but "
                "thresholds are tuned on a part that was not learned from, which takes at least "
                f"{2 * SMALLEST_SLAB}. Give a deeper one."
            )
        return [self._slab(slab) for slab in slabs]

    def _slab(self, z: slice) -> Problem:
        """Cut out some sections; supervoxels are indexed again."""
        return Problem.from_labels(
            self.supervoxels.dense[z],
            self.affinities[:, z],
            truth=None if self.truth is None else self.truth[z],
        )


def require_separable(problem: Problem, name: str) -> None:
    """Refuse a truth in which nothing can be merged wrongly, or that lies beside the supervoxels.

    Parameters
    ----------
    problem : Problem
        What is agglomerated.
    name : str
        What messages call it.
    """
    truth = problem.known_truth()
    labelled = truth[problem.supervoxels.dense > 0]
    objects = np.unique(labelled[labelled > 0])
    if not len(objects):
        raise TrainingError(
            f"{name} labels no voxel that belongs to a supervoxel, so there is nothing to learn from. "
            "Check that both volumes cover the same part of the sample."
        )
    if len(objects) == 1:
        raise TrainingError(
            f"{name} holds a single object ({objects[0]}), so every merge is right and no threshold can be "
            "found. Give a volume with several objects."
        )
    if not len(problem.actions):
        raise TrainingError(
            f"{name} belongs to supervoxels of which no two touch, so nothing can be merged. "
            "Check that background does not separate all of them."
        )
