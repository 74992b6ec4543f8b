"""The merges that hold segments together: in which order they came, what hangs on each, how good they are."""

from __future__ import annotations

from threading import RLock

import numpy as np

from napari_celis.core.journal import Journal
from napari_celis.core.merge_forest import MergeForest
from napari_celis.core.policy import LearnedScorer
from napari_celis.core.seams import JudgedMerges, MergeTrees, find_seams
from napari_celis.core.state import AgglomerationState


class Merges:
    """The merges of an agglomeration; every method may be called from any thread.

    Parameters
    ----------
    state : AgglomerationState
        As it is asked about.
    journal : Journal
        How it came to be so.
    lock : RLock
        Held while the two are read.
    """

    def __init__(self, state: AgglomerationState, journal: Journal, lock: RLock) -> None:
        self._state, self._journal, self._lock = state, journal, lock

    def joins(self) -> list[tuple[int, int, float]]:
        """List the joins, oldest first: segment that vanished, segment that took it in, score."""
        with self._lock:
            ids, joins = self._state.supervoxels.ids, self._journal.joins(self._state.segment)
            return [(int(ids[vanished]), int(ids[kept]), score) for vanished, kept, score in joins]

    def forest_of(self, supervoxel: int) -> MergeForest:
        """Return the merges that hold the segment of a supervoxel, given by dense index, together."""
        with self._lock:
            return self._state.merge_forest(int(self._state.segment[supervoxel]))

    def trees(self) -> MergeTrees:
        """Return the merges that hold all segments together, hung from the supervoxels that name them."""
        with self._lock:
            order = np.array(self._state.order, dtype=np.int64)
            return MergeTrees(self._state.actions, self._state.segment.copy(), order)

    def judge(self) -> JudgedMerges:
        """Judge every merge that holds a segment together again, by what a cut of it would leave.

        A learned policy looks at both sides as they are now; for others the score at the time of the merge
        counts, which is not a number for merges that the agglomeration began with.
        """
        with self._lock:
            state, trees = self._state, self.trees()
            state.learning.bring_up_to_date()
            seams, scorer = find_seams(state.graph, trees), state.ranking.scorer
            if isinstance(scorer, LearnedScorer):
                scores = scorer.judge_seams(trees, seams)
            else:
                scores = self._journal.merge_scores(len(state.actions))[seams.merge]
            places = trees.places(state.supervoxels.sizes)
            return JudgedMerges(seams.merge, seams.voxels, seams.area, scores, places)
