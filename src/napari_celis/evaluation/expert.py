"""The expert: greedy on the variation of information against the truth; a model learns to imitate it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from napari_celis.core.contraction import Contraction
from napari_celis.core.segment_graph import Joined, SegmentGraph
from napari_celis.evaluation.overlaps import Overlaps, RunningOverlaps


@dataclass(frozen=True)
class ExpertStep:
    """One merge of the expert."""

    action_index: int
    change: float
    """Change of the variation of information in bits, below 0."""


class ExpertScorer:
    """Scores a contact by how much joining its segments changes the variation of information, in bits."""

    needs_segments = True

    def __init__(self, graph: SegmentGraph, overlaps: Overlaps) -> None:
        self.graph, self.segments = graph, RunningOverlaps(overlaps)

    def scores(self, contacts: np.ndarray) -> np.ndarray:
        """Return the changes, float64 (n,)."""
        ends = self.graph.arrays.ends[contacts].tolist()
        return np.array([self.segments.change(u, v) for u, v in ends])

    def follow(self, joined: Joined) -> None:
        """Add up what both segments share with the truth."""
        self.segments.join(joined.kept, joined.absorbed)


def expert_steps(graph: SegmentGraph, overlaps: Overlaps) -> Iterator[ExpertStep]:
    """Take the action that lowers the variation of information most, again and again, while one does.

    Of equal actions the first is taken. Actions inside one segment change nothing and are never taken.

    Parameters
    ----------
    graph : SegmentGraph
        The segments to begin with; they are joined.
    overlaps : Overlaps
        What the supervoxels share with the truth.
    """
    contraction = Contraction(ExpertScorer(graph, overlaps))
    while (best := contraction.pop()) is not None and best[0] < 0:
        change, contact = best
        action = int(graph.arrays.lowest_action[contact])
        contraction.join(contact)
        yield ExpertStep(action, change)
