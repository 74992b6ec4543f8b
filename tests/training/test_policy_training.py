"""The policy learns from what comes up along a run."""

import numpy as np
import pytest
import torch

from core.problems import ToyEnergy, random_labels
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import TrainingError
from napari_celis.core.expert import overlap
from napari_celis.core.policy import Policy
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.models.policy import SPREAD, NetworkScorer, PolicyNetwork, PolicySettings, spread
from napari_celis.training.policy import (
    PolicyExamples,
    PolicyTraining,
    TruthAlong,
    state_examples,
    train_policy,
    visit,
)


class Constant:
    def __init__(self, value):
        self.value = value

    def scores(self, features):
        return np.full(len(features), self.value)


def problem(scorer, n=14):
    rng = np.random.default_rng(3)
    labels = random_labels(rng, (9, 10, 11), n, 0.0)
    truth = np.where(labels < labels.max() // 2, 1, 2).astype(np.uint64)
    supervoxels = Supervoxels.from_labels(labels)
    affinities = rng.random((3, *labels.shape)).astype(np.float32)
    contacts = measure_contacts(supervoxels, ActionTable.from_supervoxels(supervoxels), affinities)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=rng, k=16)
    energy = ToyEnergy(labels.shape, (spec,))
    agglomerator = Agglomerator(supervoxels, (spec,), energy, policy=Policy(scorer, contacts), threads=1)
    return agglomerator, overlap(supervoxels, truth)


def result(records):
    while True:
        try:
            next(records)
        except StopIteration as stop:
            return stop.value


def test_the_truth_forbids_wrong_merges_or_lets_them_happen():
    agglomerator, overlaps = problem(Constant(-1.0))
    with agglomerator:
        examples = visit(agglomerator, TruthAlong(agglomerator, overlaps), own_mistakes=False)
        assert (examples.change > 0).any()
        assert agglomerator.n_segments == 2
    agglomerator, overlaps = problem(Constant(-1.0))
    with agglomerator:
        visit(agglomerator, TruthAlong(agglomerator, overlaps), own_mistakes=True)
        assert agglomerator.n_segments == 1
    agglomerator, overlaps = problem(Constant(1.0))
    with agglomerator:
        visit(agglomerator, TruthAlong(agglomerator, overlaps), own_mistakes=True)
        assert agglomerator.n_segments == 2


def test_a_run_ends_after_so_many_decisions():
    agglomerator, overlaps = problem(Constant(-1.0))
    with agglomerator:
        visit(agglomerator, TruthAlong(agglomerator, overlaps), own_mistakes=True, most=3)
        assert len(agglomerator.history) == 3


def test_changes_are_those_of_the_error():
    agglomerator, overlaps = problem(Constant(0.0))
    with agglomerator:
        along = TruthAlong(agglomerator, overlaps)
        examples = state_examples(agglomerator, along)
        single = overlaps.of_segments(np.arange(agglomerator.supervoxels.n + 1))
        wanted = single.changes(agglomerator.actions.u, agglomerator.actions.v)
        np.testing.assert_allclose(examples.change, wanted[wanted != 0], atol=1e-12)
        assert len(examples.features) == len(examples.change)


def test_a_classifier_learns_what_can_be_learned():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4000, 6)).astype(np.float32)
    change = np.sign(features[:, 0] * features[:, 1] + 0.1 * rng.normal(size=4000))
    network = result(train_policy(PolicyExamples(features, change), PolicyTraining(epochs=20)))
    fresh = rng.normal(size=(1000, 6)).astype(np.float32)
    odds = NetworkScorer(network).scores(fresh)
    assert np.mean((odds > 0) == (fresh[:, 0] * fresh[:, 1] > 0)) > 0.9


def test_nothing_to_tell_apart_is_an_error():
    features = np.zeros((10, 3), np.float32)
    for sign, word in ((1.0, "wrong"), (-1.0, "right")):
        with pytest.raises(TrainingError, match=f"10 merges that came up are {word}"):
            result(train_policy(PolicyExamples(features, np.full(10, sign))))


def test_the_scorer_equals_the_network():
    torch.manual_seed(0)
    network = PolicyNetwork(PolicySettings(5, hidden=7, members=3)).eval()
    features = np.random.default_rng(1).normal(size=(40, 5)).astype(np.float32) * 4
    network.set_knots(features)
    rows = torch.from_numpy(spread(features, network.knots.numpy()).astype(np.float32))
    with torch.inference_mode():
        wanted = network(rows).mean(dim=0).numpy()
    np.testing.assert_allclose(NetworkScorer(network).scores(features), wanted, rtol=1e-4, atol=1e-4)


def test_features_are_spread_by_their_place_among_those_of_training():
    rng = np.random.default_rng(2)
    features = np.stack([rng.exponential(size=5000), np.ones(5000), rng.integers(0, 3, 5000)], axis=1)
    network = PolicyNetwork(PolicySettings(3))
    network.set_knots(features)
    knots = network.knots.numpy()
    rows = spread(features, knots)
    order = np.argsort(features[:, 0])
    np.testing.assert_allclose(rows[order, 0], np.linspace(-SPREAD, SPREAD, 5000), atol=0.1)
    assert len(np.unique(rows[:, 1])) == 1
    assert np.all(np.diff([rows[features[:, 2] == value, 2].mean() for value in range(3)]) > 0)
    far = spread(np.array([[1e9, 1e9, 1e9], [-1e9, -1e9, -1e9]]), knots)
    np.testing.assert_allclose(far[0], rows.max(axis=0))
    np.testing.assert_allclose(far[1], rows.min(axis=0))
