"""Supervoxels of our own: the settings that suit volumes, by affinities of networks that never saw them.

Fewer supervoxels are less work and mix more objects; more of them leave more to decide. What counts is what
comes out at the end, so each choice is judged by a whole agglomeration. Mean affinity does it: it is as good
as anything at this stage, and costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import product

import numpy as np

from napari_celis.core.affinity_sums import AffinitySums
from napari_celis.core.contraction import Contraction
from napari_celis.core.seeded_watershed import SeededSettings, cut_from_seeds
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.evaluation.overlaps import RunningOverlaps
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.folds import Slab
from napari_celis.training.records import Records, TrainRecord
from napari_celis.training.threshold import Curve, best_threshold

FOREGROUNDS = (0.6, 0.7, 0.8)
SMOOTHINGS_NM = (5.0, 10.0, 15.0)
TUNED_VOXELS = 2_000_000
"""Voxels of each piece that settings are tried on."""
CLEAR_GAIN = 0.01
"""Bits by which other settings must be better than the defaults."""


class MeanAffinityScorer:
    """Scores contacts by 1 minus their mean affinity."""

    needs_segments = False

    def __init__(self, sums: AffinitySums) -> None:
        self.graph, self.follow, self._sums = sums.graph, sums.follow, sums

    def scores(self, contacts: np.ndarray) -> np.ndarray:
        """Return the scores, float64 (n,)."""
        return 1.0 - self._sums.mean_affinity(contacts)


def mean_affinity_curve(slab: Slab) -> Curve:
    """Agglomerate a slab by mean affinity until nothing touches, and note the error after each merge."""
    scene = slab.upright
    graph = SegmentGraph(scene.actions, scene.supervoxels.sizes)
    contraction = Contraction(MeanAffinityScorer(AffinitySums(graph, slab.contacts)))
    segments = RunningOverlaps(scene.overlaps)
    scores, errors = [-np.inf], [0.0]
    while (best := contraction.pop()) is not None:
        value, contact = best
        joined = contraction.join(contact)
        errors.append(errors[-1] + segments.change(joined.kept, joined.absorbed))
        segments.join(joined.kept, joined.absorbed)
        scores.append(max(scores[-1], value))
    return Curve(np.array(scores), np.array(errors))


def error_of(slabs: Sequence[Slab]) -> float:
    """Error of slabs after mean affinity, at the best threshold for all of them together, in bits."""
    curves = [mean_affinity_curve(slab) for slab in slabs]
    threshold, _, _ = best_threshold(curves)
    before = [score(contingency_table(slab.labels, slab.truth)).vi for slab in slabs]
    after = [
        vi + float(curve.change_at(np.array([threshold]))[0])
        for vi, curve in zip(before, curves, strict=True)
    ]
    return float(np.average(after, weights=[np.count_nonzero(slab.truth) for slab in slabs]))


def candidates(start: SeededSettings) -> list[SeededSettings]:
    """List the settings to try, the present ones first."""
    others = [
        replace(start, foreground=foreground, smoothing_nm=smoothing)
        for foreground, smoothing in product(FOREGROUNDS, SMOOTHINGS_NM)
    ]
    return [start, *(one for one in others if one != start)]


def tune_supervoxels(
    slabs: Sequence[Slab], voxel_size_nm: Sequence[float], start: SeededSettings, checkpoint: Checkpoint
) -> Records[SeededSettings]:
    """Find the settings whose supervoxels end with the lowest error.

    Parameters
    ----------
    slabs : sequence of Slab
        Affinities and truth of both folds; their labels do not matter.
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    start : SeededSettings
        What stays unless others are clearly better.
    checkpoint : Checkpoint
        Keeps the choice.
    """
    yield TrainRecord("supervoxels", 0.0)
    kept = checkpoint.load("supervoxels")
    if kept is not None:
        return SeededSettings(**kept[1])
    parts = [slab.window(TUNED_VOXELS / slab.labels.size, 1) for slab in slabs]
    best, lowest = start, np.inf
    for index, settings in enumerate(choices := candidates(start)):
        yield TrainRecord("supervoxels", index / len(choices))
        own = [cut_again(part, voxel_size_nm, settings) for part in parts]
        if all(part.labels.any() for part in own):
            error = error_of(own)
            if error < lowest - (CLEAR_GAIN if best is start else 0.0):
                best, lowest = settings, error
    checkpoint.keep("supervoxels", {}, asdict(best))
    return best


def cut_again(slab: Slab, voxel_size_nm: Sequence[float], settings: SeededSettings) -> Slab:
    """Give a slab supervoxels of our own.

    Parameters
    ----------
    slab : Slab
        Affinities and truth.
    voxel_size_nm : sequence of float
        Voxel size along z, y, x.
    settings : SeededSettings
        How they are made.
    """
    cut = cut_from_seeds(slab.affinities, voxel_size_nm, settings)
    return replace(slab, labels=cut.labels.astype(np.uint64))
