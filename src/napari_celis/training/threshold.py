"""Choose where greedy agglomeration stops: at the lowest error on slabs that nobody learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.evaluation.overlaps import Overlaps, RunningOverlaps

TOLERANCE = 0.02
"""Bits by which errors must differ to count; far less than the noise of small volumes."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Error along one greedy run."""

    score: np.ndarray
    """Highest score taken so far, after each step, float64 (n + 1,); the first is minus infinity."""
    vi: np.ndarray
    """Change of the variation of information against no merging, in bits, float64 (n + 1,)."""

    def change_at(self, thresholds: np.ndarray) -> np.ndarray:
        """Change of the error where a run stops: before the first score that is not below a threshold."""
        changes: np.ndarray = self.vi[np.searchsorted(self.score, thresholds, side="left") - 1]
        return changes


def run_curve(agglomerator: Agglomerator, overlaps: Overlaps, highest_score: float) -> Curve:
    """Run greedy up to a generous threshold and note the error after each step.

    Parameters
    ----------
    agglomerator : Agglomerator
        As it was made, no step taken.
    overlaps : Overlaps
        What its supervoxels share with the truth.
    highest_score : float
        The run stops here.
    """
    segments = RunningOverlaps(overlaps)
    index = {int(supervoxel_id): i for i, supervoxel_id in enumerate(agglomerator.supervoxels.ids)}
    score, vi = [-np.inf], [0.0]
    before = agglomerator.segment_ids()
    for step in agglomerator.steps(highest_score):
        change = 0.0
        if step.joins_segments:
            u, v = index[step.u_id], index[step.v_id]
            a, b = index[int(before[u])], index[int(before[v])]
            change = segments.change(a, b)
            before = agglomerator.segment_ids()
            kept = index[int(before[u])]
            segments.join(kept, b if kept == a else a)
        score.append(max(score[-1], step.score))
        vi.append(vi[-1] + change)
    return Curve(np.array(score), np.array(vi))


def best_threshold(curves: Sequence[Curve]) -> tuple[float, np.ndarray, np.ndarray]:
    """Find where to stop: the threshold next to 0 whose mean error over several runs is as low as any.

    Errors that differ by less than `TOLERANCE` count as equally good. Of those the one nearest to 0 is taken,
    where the energy stops falling: further off, the threshold follows single merges of these runs.

    Returns
    -------
    threshold : float
        Where to stop.
    thresholds, vi : ndarray of float
        The whole curve: candidate thresholds, and the mean change of the variation of information at each.
    """
    scores = np.unique(np.concatenate([curve.score[1:] for curve in curves] + [np.zeros(1)]))
    candidates = np.append(scores, np.nextafter(scores[-1], np.inf))
    vi = np.mean([curve.change_at(candidates) for curve in curves], axis=0)
    good = candidates[vi <= vi.min() + TOLERANCE]
    return float(good[np.abs(good).argmin()]), candidates, vi
