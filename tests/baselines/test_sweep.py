import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from touching_cells import cells, make_problem

from napari_celis.baselines.judge import ALL, INSIDE, Errors, Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.simple import MeanAffinity, NoMerging, Oracle
from napari_celis.baselines.sweep import Hierarchy, ThresholdGrid, tune
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from reference.agglomeration import mean_affinity_steps


def same_partition(a, b):
    return score(contingency_table(a + 1, b + 1)).vi == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_mean_affinity_equals_recomputing_every_mean(seed):
    rng = np.random.default_rng(seed)
    labels = cells(rng, (5, 6, 7), 9)
    labels[rng.random(labels.shape) < 0.05] = 0
    problem = Problem.from_labels(labels, rng.random((3, *labels.shape)).astype(np.float32))
    hierarchy = MeanAffinity().sweep(problem)
    steps = mean_affinity_steps(problem.supervoxels.dense.astype(int), problem.affinities.astype(float))
    assert_allclose(hierarchy.scores, [score for score, _ in steps], rtol=1e-9)
    for n, (_, wanted) in enumerate(steps, start=1):
        part = Hierarchy(problem, hierarchy.actions[:n], hierarchy.scores[:n])
        assert same_partition(part.labels(np.inf), wanted)


def test_any_threshold_keeps_a_prefix():
    problem = make_problem(n=10)
    hierarchy = Hierarchy(problem, np.arange(4), np.array([0.1, 0.4, 0.2, 0.5]))
    assert [hierarchy.n_merges(t) for t in (0.1, 0.2, 0.4, 0.41, 0.5, 1.0)] == [0, 1, 1, 3, 3, 4]
    assert sorted({hierarchy.n_merges(t) for t in hierarchy.candidates}) == [0, 1, 3, 4]
    empty = NoMerging().sweep(problem)
    assert len(empty.candidates) == 1
    assert_array_equal(empty.labels(-np.inf), problem.supervoxels.dense)


@pytest.mark.parametrize("method", [MeanAffinity(), Oracle(), NoMerging()])
def test_errors_along_the_merges_equal_judging_each_segmentation(method):
    problem = make_problem(seed=1, n=30)
    judge, sweep = Judge(problem.truth, 1), method.sweep(problem)
    errors = sweep.errors(sweep.candidates, judge)
    assert set(errors) == {ALL, INSIDE}
    for index, threshold in enumerate(sweep.candidates):
        for name, (split, merge) in judge.errors(sweep.labels(threshold)).items():
            assert errors[name].split[index] == pytest.approx(split, abs=1e-9)
            assert errors[name].merge[index] == pytest.approx(merge, abs=1e-9)


def test_background_counts_as_one_segment_in_both_ways():
    problem = make_problem(seed=2, n=12)
    labels = problem.supervoxels.dense.copy()
    labels[:, :3] = 0
    with_background = Problem.from_labels(labels, problem.affinities, truth=problem.truth)
    sweep, judge = MeanAffinity().sweep(with_background), Judge(problem.truth)
    wanted = judge.errors(sweep.labels(0.5))[ALL]
    assert_allclose([e[0] for e in sweep.errors(np.array([0.5]), judge)[ALL]], wanted)


def test_oracle_beats_every_threshold_of_mean_affinity():
    problem = make_problem(seed=3)
    judge = Judge(problem.truth)
    best = MeanAffinity().sweep(problem)
    lowest = best.errors(best.candidates, judge)[ALL].vi.min()
    assert judge.figures(Oracle().sweep(problem).labels(0.0))["vi"] <= lowest + 1e-9


def test_tuning_weighs_volumes_by_their_voxels():
    large, small = np.ones((4, 4, 4)), np.ones((1, 1, 2))
    curves = {0: [0.0, 1.0, 2.0], 1: [9.0, 1.0, 0.0]}

    class Fixed:
        candidates = np.array([1.0, 2.0, 3.0])

        def __init__(self, index):
            self.index = index

        def errors(self, thresholds, judge):
            return {ALL: Errors(np.array(curves[self.index]), np.zeros(3))}

    assert tune([(Fixed(0), Judge(large)), (Fixed(1), Judge(small))]) == 1.0
    assert tune([(Fixed(0), Judge(small)), (Fixed(1), Judge(large))]) == 3.0
    assert tune([(Fixed(0), Judge(large)), (Fixed(1), Judge(large))]) == 2.0


def test_equally_good_thresholds_give_the_middle_one():
    problem = make_problem(n=10)
    sweep = ThresholdGrid(np.arange(5.0), lambda threshold: problem.supervoxels.dense)
    assert tune([(sweep, Judge(problem.truth))]) == 2.0
