"""How much of the reachable error a few answers take away, on the last third of a volume."""

from __future__ import annotations

import numpy as np

from napari_celis.bench.agglomeration import Figures
from napari_celis.bench.peers import JUDGED_SHARE, PeerData
from napari_celis.bench.proofreading import SimulatedPerson, gap_closed, oracle_vi
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.overlaps import overlap
from napari_celis.evaluation.running_errors import RunningErrors
from napari_celis.models.apply import affinities_of
from napari_celis.pipeline.agglomeration import agglomerator_of

TOLD_AFTER = (20, 50, 100)


def measure_gap_closed(data: PeerData) -> Figures:
    """Run greedily, then answer the queue truthfully, while the policy learns.

    Returns
    -------
    figures : dict
        `gap_closed_after_20_answers` and so on: the share of the error after the run, above that of the
        greedy run that sees the truth, which is gone. `bits_after_run`, `bits_reachable`: the two errors.
        `bits_expected_left`: what `remaining_error` says of their difference, without looking at the truth.
    """
    part = slice(round(len(data.image) * (1 - JUDGED_SHARE)), None)
    image, truth, labels = (
        np.ascontiguousarray(array[part]) for array in (data.image, data.truth, data.supervoxels)
    )
    supervoxels = Supervoxels.from_labels(labels)
    overlaps = overlap(supervoxels, truth)
    threshold = data.model.thresholds.get("learned", 0.0)
    affinities = affinities_of(data.model, image)
    with agglomerator_of(data.model, supervoxels, affinities, policy="learned") as agglomerator:
        oracle = oracle_vi(agglomerator, overlaps)
        for _ in agglomerator.steps(threshold):
            pass
        errors = RunningErrors(overlaps, agglomerator.segment_ids())
        before = errors.split + errors.merge
        agglomerator.learn(data.model.learner())
        person = SimulatedPerson(overlaps)
        answered = list(person.work(agglomerator, threshold, "gain", max(TOLD_AFTER)))
    vi = [before, *(one.vi for one in answered)]
    closed = {
        f"gap_closed_after_{n}_answers": gap_closed(before, vi[min(n, len(vi) - 1)], oracle)
        for n in TOLD_AFTER
    }
    left = answered[0].expected_left if answered else 0.0
    return {**closed, "bits_after_run": before, "bits_reachable": oracle, "bits_expected_left": left}
