"""The error along a run is that of the segmentation at every step, counted from its voxels."""

import numpy as np
import pytest

from core.states import SHAPE, agglomerate
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.evaluation.overlaps import overlap
from napari_celis.training.threshold import best_threshold, run_curve


def truth_of(seed):
    """Objects that cross supervoxels, with unknown voxels between them."""
    rng = np.random.default_rng(seed)
    truth = np.indices(SHAPE).sum(axis=0) // 5 + 1
    truth[rng.random(SHAPE) < 0.2] = 0
    return truth.astype(np.uint64)


def error(labels, truth):
    """Variation of information over the voxels of supervoxels."""
    return score(contingency_table(labels, np.where(labels > 0, truth, 0))).vi


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_curve_equals_scoring_every_step_from_scratch(seed):
    truth = truth_of(seed)
    with agglomerate(seed, n_supervoxels=20) as agglomerator:
        overlaps = overlap(agglomerator.supervoxels, truth)
        curve = run_curve(agglomerator, overlaps, np.inf)
        steps = agglomerator.history
        assert len(curve.vi) == len(curve.score) == len(steps) + 1
        # The last steps take actions between supervoxels that are together already.
        assert 5 < sum(step.joins_segments for step in steps) < len(steps)
        errors = np.array([error(agglomerator.labels(n), truth) for n in range(len(steps) + 1)])
    np.testing.assert_allclose(curve.vi, errors - errors[0], atol=1e-9)
    assert np.ptp(curve.vi) > 0.1
    highest = np.maximum.accumulate([step.score for step in steps])
    assert curve.score.tolist() == [-np.inf, *highest.tolist()]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_run_with_the_chosen_threshold_ends_where_the_curve_said(seed):
    truth = truth_of(seed)
    with agglomerate(seed, n_supervoxels=20) as agglomerator:
        overlaps = overlap(agglomerator.supervoxels, truth)
        threshold, candidates, vi = best_threshold([run_curve(agglomerator, overlaps, np.inf)])
        begin = error(agglomerator.labels(0), truth)
    with agglomerate(seed, n_supervoxels=20) as agglomerator:
        list(agglomerator.steps(threshold))
        found = error(agglomerator.labels(), truth)
    assert found - begin == pytest.approx(float(vi[candidates == threshold][0]), abs=1e-9)


def test_the_run_ends_at_the_highest_score():
    truth = truth_of(0)
    with agglomerate(0, n_supervoxels=20) as agglomerator:
        curve = run_curve(agglomerator, overlap(agglomerator.supervoxels, truth), 0.0)
        assert len(curve.vi) > 1
        assert curve.score.max() < 0
        assert agglomerator.best_action() < 0 or agglomerator.scores()[agglomerator.best_action()] >= 0
