"""The state in which affinities have nothing more to say: every merge that they are sure of is made.

What is left there are the merges that shape has to decide. In the first state they are few beside thousands
that any affinity tells, and networks learn those.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contraction import Contraction
from napari_celis.core.segment_graph import Joined, SegmentGraph
from napari_celis.core.symmetry import Symmetry
from napari_celis.training.energy_stage import View
from napari_celis.training.folds import Slab

SURE = 0.5
"""Mean affinity of a contact above which it is merged without asking further."""


class _ByMeanAffinity:
    """Scores contacts by 1 minus their mean affinity."""

    needs_segments = False

    def __init__(self, sums: AffinitySums) -> None:
        self.sums, self.graph = sums, sums.graph

    def scores(self, contacts: np.ndarray) -> np.ndarray:
        """Return 1 minus the mean affinity over all faces between two segments."""
        scores: np.ndarray = 1.0 - self.sums.mean_affinity(contacts)
        return scores

    def follow(self, joined: Joined) -> object:
        """Add up the affinities of contacts that became one."""
        return self.sums.follow(joined)


def sure_merges(slab: Slab) -> list[int]:
    """Merge across the contact with the highest mean affinity while it is above `SURE`.

    Parameters
    ----------
    slab : Slab
        With affinities.

    Returns
    -------
    order : list of int
        The actions taken, best first; the same in every orientation of the slab.
    """
    scene = slab.upright
    graph = SegmentGraph(scene.actions, scene.supervoxels.sizes)
    contraction = Contraction(_ByMeanAffinity(AffinitySums(graph, slab.contacts)))
    order: list[int] = []
    while (best := contraction.pop()) is not None and best[0] < 1.0 - SURE:
        order.append(best[1])
        contraction.join(best[1])
    return order


def unsure_views(slab: Slab, symmetries: Sequence[Symmetry]) -> list[View]:
    """Look at that state of a slab from several sides.

    Parameters
    ----------
    slab : Slab
        With affinities.
    symmetries : sequence of Symmetry
        From which.
    """
    order = sure_merges(slab)
    scenes = (slab.transformed(symmetry) for symmetry in symmetries)
    return [View(scene, scene.states_along(order, (1.0,))) for scene in scenes]
