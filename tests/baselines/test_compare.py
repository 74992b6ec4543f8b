import importlib.util
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from touching_cells import affinities_like, make_problem

from napari_celis.baselines import compare as module
from napari_celis.baselines.compare import baseline_methods, compare, pareto_front
from napari_celis.baselines.forest import ForestSettings
from napari_celis.baselines.judge import Errors
from napari_celis.baselines.problem import Problem
from napari_celis.core.errors import CelisError, TrainingError
from napari_celis.core.watershed import WatershedSettings, watershed
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

FAST = ForestSettings(n_trees=10, n_epochs=1, n_slabs=2)
FIGURES = {"vi", "vi_split", "vi_merge", "vi_nats", "rand_f1", "adapted_rand"}


@pytest.fixture(scope="module")
def phantoms():
    """Two pieces of neuropil with affinities that know the truth, blurred by noise."""
    problems = []
    for seed in (0, 1):
        phantom = make_phantom(PhantomSettings((24, 40, 40), seed=seed))
        rng = np.random.default_rng(seed)
        affinities = affinities_like(phantom.truth, rng, noise=0.25)
        supervoxels = watershed(affinities, WatershedSettings(low=0.0, high=0.999, size=30))
        problems.append(Problem.from_labels(supervoxels, affinities, truth=phantom.truth))
    return problems


@pytest.fixture(scope="module")
def results(phantoms):
    pytest.importorskip("bioimage_cpp")
    methods, notes = baseline_methods(FAST)
    assert notes == []
    return compare(*phantoms, methods, boundary=1)


def test_every_method_has_every_figure(results):
    assert list(results) == ["none", "mean_affinity", "watershed", "forest", "forest_multicut", "oracle"]
    for name, result in results.items():
        assert set(result) >= FIGURES | {"threshold", "tuned_on", "seconds", "fit_seconds", "segments"}
        assert set(result["ignore_boundary"]) == FIGURES | {"n"}
        assert result["vi"] == pytest.approx(result["vi_split"] + result["vi_merge"])
        assert result["segments"] >= 1
        assert result["tuned_on"] == {"none": None, "oracle": "test"}.get(name, "train")


def test_methods_rank_as_they_should(results):
    vi = {name: result["vi"] for name, result in results.items()}
    assert vi["oracle"] <= min(vi["none"], vi["mean_affinity"], vi["forest"], vi["forest_multicut"])
    assert vi["mean_affinity"] < vi["none"]
    assert vi["forest"] < vi["none"]


def test_curves_hold_the_chosen_segmentation_of_no_merging(results):
    curve = results["none"]["curve"]
    assert curve["all"]["split"] == [pytest.approx(results["none"]["vi_split"])]
    for result in results.values():
        for voxels in ("all", "ignore_boundary"):
            part = result["curve"][voxels]
            assert len(part["split"]) == len(part["merge"]) == len(result["curve"]["threshold"])
            front = part["front"]
            assert np.all(np.diff(np.array(part["split"])[front]) < 0)
            assert np.all(np.diff(np.array(part["merge"])[front]) > 0)


def test_test_truth_decides_nothing_but_the_figures(phantoms, results):
    train, test = phantoms
    swapped = replace(test, truth=np.roll(test.truth, 7, axis=1))
    methods, _ = baseline_methods(FAST)
    del methods["oracle"]
    again = compare(train, swapped, methods, boundary=1)
    for name, result in again.items():
        assert result["threshold"] == results[name]["threshold"]
        assert result["segments"] == results[name]["segments"]
        assert result["vi"] != results[name]["vi"]


def test_pareto_front_keeps_what_nothing_beats():
    errors = Errors(np.array([3.0, 2.0, 2.0, 1.0, 1.5, 0.5]), np.array([0.0, 1.0, 0.5, 2.0, 2.5, 2.0]))
    assert_array_equal(pareto_front(errors), [0, 2, 5])


def test_the_multicut_is_left_out_with_a_note_where_its_library_is_missing(monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "bioimage_cpp" else find_spec(name))
    methods, (note,) = baseline_methods()
    assert set(methods) == {"none", "mean_affinity", "watershed", "forest", "oracle"}
    for word in ("forest_multicut", "bioimage-cpp", "pip install"):
        assert word in note


def with_truth(problem, truth):
    return Problem.from_labels(problem.supervoxels.dense, problem.affinities, truth=truth)


def test_bad_training_truth_is_explained():
    problem = make_problem(n=20)
    methods, _ = baseline_methods(FAST)
    with pytest.raises(TrainingError, match="holds a single object"):
        compare(with_truth(problem, np.ones_like(problem.truth)), problem, methods)
    with pytest.raises(TrainingError, match="labels no voxel that belongs to a supervoxel"):
        compare(with_truth(problem, np.zeros_like(problem.truth)), problem, methods)
    with pytest.raises(TrainingError, match="has no truth"):
        compare(with_truth(problem, None), problem, methods)
    with pytest.raises(TrainingError, match="has no truth"):
        compare(problem, with_truth(problem, None), methods)


def test_supervoxels_that_do_not_touch_are_explained():
    labels = np.zeros((16, 6, 6), dtype=np.uint8)
    labels[:4], labels[8:] = 1, 2
    problem = Problem.from_labels(labels, np.ones((3, *labels.shape)), truth=labels)
    with pytest.raises(TrainingError, match="no two touch"):
        compare(problem, problem, {})


def test_boundary_that_swallows_everything_is_explained():
    problem = make_problem(n=20)
    with pytest.raises(CelisError, match="thinner boundary"):
        compare(problem, problem, baseline_methods(FAST)[0], boundary=50)
