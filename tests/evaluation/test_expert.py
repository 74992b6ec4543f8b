"""The expert against the variation of information recomputed from voxels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.problems import random_labels
from napari_celis.core.actions import ActionTable
from napari_celis.core.errors import LabelsError
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.core.segments import join_all
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.expert import expert_steps
from napari_celis.evaluation.overlaps import RunningOverlaps, overlap
from reference.metrics import conditional_entropy, pair_counts


def vi_by_definition(labels, truth):
    counts = pair_counts(labels, truth)
    return sum(sum(conditional_entropy(counts, given).values()) for given in (0, 1))


@st.composite
def annotated(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    shape = (5, 6, 7)
    labels = random_labels(rng, shape, draw(st.integers(3, 12)), 0.1)
    truth = random_labels(rng, shape, draw(st.integers(1, 5)), draw(st.sampled_from([0.0, 0.3])))
    return Supervoxels.from_labels(labels), truth


@pytest.mark.kernels
@settings(max_examples=30, deadline=None)
@given(annotated(), st.integers(0, 2**31))
def test_changes_equal_the_definition_in_any_state(problem, seed):
    supervoxels, truth = problem
    actions, overlaps = ActionTable.from_supervoxels(supervoxels), overlap(supervoxels, truth)
    taken = np.random.default_rng(seed).random(len(actions)) < 0.3
    segment = join_all(supervoxels.n, actions.u[taken], actions.v[taken])
    changes = overlaps.of_segments(segment).changes(segment[actions.u], segment[actions.v])
    # Background is no segment of its own to the expert, so it is taken out of the truth.
    known = np.where(supervoxels.dense > 0, truth, 0)
    before = vi_by_definition(segment[supervoxels.dense], known)
    for change, u, v in zip(changes, actions.u, actions.v, strict=True):
        merged = np.where(segment == segment[v], segment[u], segment)
        assert change == pytest.approx(vi_by_definition(merged[supervoxels.dense], known) - before, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(annotated())
def test_every_step_is_the_best_and_the_last_leaves_none(problem):
    supervoxels, truth = problem
    actions, overlaps = ActionTable.from_supervoxels(supervoxels), overlap(supervoxels, truth)
    taken = []
    for step in [*expert_steps(SegmentGraph(actions, supervoxels.sizes), overlaps), None]:
        segment = join_all(supervoxels.n, actions.u[taken], actions.v[taken])
        changes = overlaps.of_segments(segment).changes(segment[actions.u], segment[actions.v])
        lowest = changes.min() if len(changes) else 0.0
        if step is None:
            assert lowest >= -1e-12
        else:
            assert step.change == pytest.approx(lowest, abs=1e-9)
            assert changes[step.action_index] == pytest.approx(lowest, abs=1e-9)
            taken.append(step.action_index)


def test_running_overlaps_follow_joins():
    supervoxels = Supervoxels.from_labels(np.array([[[1, 1, 2, 2, 3, 3]]]))
    overlaps = overlap(supervoxels, np.array([[[1, 1, 1, 1, 2, 2]]]))
    running = RunningOverlaps(overlaps)
    assert running.change(1, 2) < 0 < running.change(2, 3)
    running.join(1, 2)
    assert running.size[1:] == [4.0, 0.0, 2.0]
    assert running.rows[1] == {0: 4.0}


def test_truth_that_meets_no_supervoxel_is_refused():
    supervoxels = Supervoxels.from_labels(np.array([[[1, 0, 2, 0]]]))
    with pytest.raises(LabelsError, match="nothing to learn"):
        overlap(supervoxels, np.array([[[0, 5, 0, 5]]]))
