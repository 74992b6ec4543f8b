import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble
from touching_cells import make_problem

from napari_celis.baselines import forest as module
from napari_celis.baselines.forest import (
    ForestAgglomeration,
    ForestSettings,
    examples_along,
    flat_examples,
    learn,
)
from napari_celis.baselines.judge import Judge
from napari_celis.baselines.multicut import ForestMulticut, partition
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.simple import NoMerging
from napari_celis.core.contact_features import contact_features
from napari_celis.core.errors import TrainingError
from napari_celis.models.trees import FlatForest

FAST = ForestSettings(n_trees=12, n_epochs=1)


@pytest.mark.kernels
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_flat_trees_predict_what_scikit_learn_predicts(weight):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(300, 5)).astype(np.float32)
    features[:, 4] = rng.integers(0, 3, 300)
    labels = features[:, 0] + features[:, 4] + rng.normal(size=300) > 1
    forest = ensemble.RandomForestClassifier(15, class_weight=weight, random_state=0).fit(features, labels)
    others = rng.normal(size=(200, 5)).astype(np.float32)
    for rows in (features, others, others[:1], others[:0]):
        wanted = forest.predict_proba(rows)[:, 1] if len(rows) else []
        assert_allclose(FlatForest.from_sklearn(forest).probabilities(rows), wanted, rtol=0, atol=1e-6)


def test_features_do_not_depend_on_the_order_of_the_ends():
    problem = make_problem()
    sums = problem.affinity_sums()
    rows = np.arange(len(problem.actions))
    wanted = contact_features(sums, rows)
    sums.graph.arrays.ends[:] = sums.graph.arrays.ends[:, ::-1].copy()
    assert_array_equal(contact_features(sums, rows), wanted)
    assert np.isfinite(wanted).all()
    assert_array_equal(contact_features(sums, rows[3:5]), wanted[3:5])


def test_quantiles_are_near_those_of_the_faces():
    from napari_celis.core.contact_features import QUANTILES
    from napari_celis.core.contacts import BIN_EDGES
    from napari_celis.core.kernels.contact_features import quantiles_of

    values = np.random.default_rng(0).beta(2, 1, 20_000)
    row = np.concatenate([np.zeros(3), np.histogram(values, BIN_EDGES)[0]])
    found = np.empty(len(QUANTILES))
    quantiles_of(row, BIN_EDGES, QUANTILES, found)
    assert_allclose(found, np.quantile(values, QUANTILES), atol=0.01)


def test_examples_are_labelled_by_the_truth():
    problem = make_problem()
    features, is_right = flat_examples(problem)
    assert len(features) == len(is_right) == len(problem.actions)
    sv = problem.supervoxels
    owner = np.array([0, *(problem.truth[sv.dense == i][0] for i in range(1, sv.n + 1))])
    assert_array_equal(is_right, owner[problem.actions.u] == owner[problem.actions.v])
    along, along_right = examples_along(problem, learn([problem], FAST))
    assert along.shape[1] == features.shape[1]
    n_objects = len(np.unique(problem.truth))
    assert along_right.sum() <= sv.n - n_objects
    assert along_right.any()
    assert not along_right.all()


def test_unlabelled_supervoxels_are_no_examples():
    problem = make_problem()
    truth = problem.truth.copy()
    truth[problem.supervoxels.dense == 5] = 0
    partly = Problem.from_labels(problem.supervoxels.dense, problem.affinities, truth=truth)
    touching = (problem.actions.u == 5) | (problem.actions.v == 5)
    assert len(flat_examples(partly)[0]) == len(problem.actions) - touching.sum()
    assert len(examples_along(partly, learn([partly], FAST))[0]) > 0


def test_forest_is_better_than_nothing_on_another_volume():
    train, test = make_problem(0), make_problem(1)
    forest, judge = ForestAgglomeration(FAST), Judge(test.truth)
    threshold = forest.fit(train)
    labels = forest.sweep(test).labels(threshold)
    nothing = judge.figures(NoMerging().sweep(test).labels(0))["vi"]
    assert judge.figures(labels)["vi"] < 0.5 * nothing


def test_same_seed_same_forest():
    problem = make_problem()
    first, second = (ForestAgglomeration(FAST) for _ in range(2))
    assert first.fit(problem) == second.fit(problem)
    assert_array_equal(first.sweep(problem).scores, second.sweep(problem).scores)


def test_thresholds_are_tuned_on_slabs_that_the_forest_did_not_see(monkeypatch):
    learned, tuned = [], []
    real_learn, real_tune = module.learn, module.tune

    def spy_learn(problems, settings):
        scorer = real_learn(problems, settings)
        learned.append(([id(problem) for problem in problems], scorer))
        return scorer

    def spy_tune(folds):
        tuned.extend(folds)
        return real_tune(folds)

    monkeypatch.setattr(module, "learn", spy_learn)
    monkeypatch.setattr(module, "tune", spy_tune)
    train = make_problem()
    forest = ForestAgglomeration(FAST)
    forest.fit(train)
    slabs = [sweep.problem for sweep, _ in tuned]
    assert [len(slab.supervoxels.dense) for slab in slabs] == [8, 8, 8]
    assert len(learned) == len(slabs) + 1
    for slab, (seen, scorer) in zip(slabs, learned, strict=False):
        assert id(slab) not in seen
        assert len(seen) == len(slabs) - 1
        assert any(scorer is used for part, used in forest.cross_fit(train).held_out if part is slab)
    assert learned[-1][0] == [id(train)]


def test_multicut_joins_what_is_worth_joining():
    pytest.importorskip("bioimage_cpp")
    problem = make_problem(n=20)
    actions = problem.actions
    assert len(np.unique(partition(problem, np.ones(len(actions))))) == 2
    alone = partition(problem, -np.ones(len(actions)))
    assert_array_equal(alone, np.arange(problem.supervoxels.n + 1))
    owner = np.array(
        [0, *(problem.truth[problem.supervoxels.dense == i][0] for i in range(1, problem.supervoxels.n + 1))]
    )
    gains = np.where(owner[actions.u] == owner[actions.v], 1.0, -1.0)
    found = partition(problem, gains)
    assert_array_equal(found[actions.u] == found[actions.v], gains > 0)


def test_multicut_uses_the_same_forests(monkeypatch):
    pytest.importorskip("bioimage_cpp")
    train, test = make_problem(0), make_problem(1)
    forest = ForestAgglomeration(FAST)
    forest.fit(train)
    monkeypatch.setattr(module, "learn", None)
    multicut = ForestMulticut(forest)
    threshold = multicut.fit(train)
    judge = Judge(test.truth)
    nothing = judge.figures(test.supervoxels.dense)["vi"]
    assert judge.figures(multicut.sweep(test).labels(threshold))["vi"] < 0.5 * nothing


def test_nothing_but_right_merges_is_explained():
    problem = make_problem(n_objects=2)
    one = Problem.from_labels(
        problem.supervoxels.dense, problem.affinities, truth=np.ones_like(problem.truth)
    )
    with pytest.raises(TrainingError, match="merges in the training volume are right"):
        learn([one], FAST)


def test_shallow_volumes_are_explained():
    with pytest.raises(TrainingError, match=r"has 12 sections.* at least 16"):
        ForestAgglomeration(FAST).fit(make_problem(shape=(12, 20, 20)))


def test_slabs_without_truth_are_left_out():
    problem = make_problem()
    truth = problem.truth.copy()
    truth[8:16] = 0
    partly = Problem.from_labels(problem.supervoxels.dense, problem.affinities, truth=truth)
    assert [len(slab.supervoxels.dense) for slab in partly.slabs(3)] == [8, 8]
    truth[:16] = 0
    with pytest.raises(TrainingError, match="8 of them labelled"):
        Problem.from_labels(problem.supervoxels.dense, problem.affinities, truth=truth).slabs(3)


def test_unfitted_forest_is_explained():
    with pytest.raises(TrainingError, match="Call `fit` first"):
        ForestAgglomeration(FAST).sweep(make_problem())
