"""The policy learns from what comes up along a run."""

from dataclasses import replace

import numpy as np
import pytest

from core.problems import ToyEnergy, random_labels
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contact_features import DECISIVE
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import TrainingError
from napari_celis.core.policy import LearnedPolicy
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.overlaps import overlap
from napari_celis.training.policy import (
    PolicyExamples,
    TruthAlong,
    fit_classifier,
    state_examples,
    visit,
)


class Constant:
    def __init__(self, value):
        self.value = value

    def contact_odds(self, contacts):
        return np.zeros(len(contacts))

    def scores(self, features, odds):
        return np.full(len(features), self.value)

    def lowest_scores(self, low, high, odds):
        return self.scores(low, odds)


def problem(scorer, n=14):
    rng = np.random.default_rng(3)
    labels = random_labels(rng, (9, 10, 11), n, 0.0)
    truth = np.where(labels < labels.max() // 2, 1, 2).astype(np.uint64)
    supervoxels = Supervoxels.from_labels(labels)
    affinities = rng.random((3, *labels.shape)).astype(np.float32)
    contacts = measure_contacts(supervoxels, ActionTable.from_supervoxels(supervoxels), affinities)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=rng, k=16)
    energy = ToyEnergy(labels.shape, (spec,))
    agglomerator = Agglomerator(
        supervoxels, (spec,), energy, policy=LearnedPolicy(scorer, contacts), threads=1
    )
    return agglomerator, overlap(supervoxels, truth)


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
        assert len(examples.features) == len(examples.contacts) == len(examples.change)


def made_up(rng, n, coefficients, n_specs=2):
    """Contacts whose merges are wrong by chance, with log-odds that are a weighted sum."""
    features = rng.normal(size=(n, len(DECISIVE) + n_specs)).astype(np.float32)
    odds = features @ np.asarray(coefficients)
    change = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), 1.0, -1.0)
    return PolicyExamples(features, features[:, :8], change), odds


def scores(classifier, examples):
    return classifier.scores(examples.features, classifier.contact_odds(examples.contacts))


def test_a_classifier_finds_the_odds():
    rng = np.random.default_rng(0)
    coefficients = [-2.0, 0, 0, -1.0, 0, 0, 0.7, -0.5, 1.5, 0]
    examples, _ = made_up(rng, 20_000, coefficients)
    classifier = fit_classifier(examples, 0.5, seed=0)
    assert np.corrcoef(classifier.weights, coefficients)[0, 1] > 0.99
    fresh, odds = made_up(rng, 2_000, coefficients)
    found = scores(classifier, fresh)
    assert np.corrcoef(found, odds)[0, 1] > 0.9
    assert np.mean((found > 0) == (odds > 0)) > 0.9


def test_the_forest_finds_what_no_sum_can_tell():
    rng = np.random.default_rng(2)
    features = rng.normal(size=(4_000, len(DECISIVE) + 1)).astype(np.float32)
    contacts = rng.normal(size=(4_000, 5)).astype(np.float32)
    is_wrong = (contacts[:, 0] > 0) ^ (contacts[:, -1] > 0)
    known, fresh = (
        PolicyExamples(features[part], contacts[part], np.where(is_wrong[part], 1.0, -1.0))
        for part in (slice(0, 3_000), slice(3_000, None))
    )
    classifier = fit_classifier(known, 0.5, seed=0)
    assert np.mean((classifier.contact_odds(fresh.contacts) > 0) == is_wrong[3_000:]) > 0.9
    assert np.mean((scores(classifier, fresh) > 0) == is_wrong[3_000:]) > 0.9


def test_coefficients_keep_the_sign_that_makes_sense():
    rng = np.random.default_rng(1)
    examples, _ = made_up(rng, 5_000, [2.0, 0, 0, 0, 0, 0, 1.0, 1.0, -1.0, 1.0])
    weights = fit_classifier(examples, 0.5, seed=0).weights
    assert weights[0] == weights[7] == weights[8] == 0.0
    assert weights[6] > 0.3
    assert weights[9] > 0.3


def test_examples_weigh_by_their_change():
    features = np.zeros((300, len(DECISIVE) + 1), np.float32)
    change = np.concatenate([np.full(200, 0.01), np.full(100, -0.04)])
    for power, odds in ((0.0, np.log(2)), (0.5, 0.0), (1.0, -np.log(2))):
        examples = PolicyExamples(features, features, change)
        classifier = fit_classifier(examples, power, seed=0)
        np.testing.assert_allclose(classifier.constant, odds, atol=1e-3)
        # Every tree draws its own examples.
        np.testing.assert_allclose(scores(classifier, examples), odds, atol=0.05)


def test_a_second_forest_puts_energy_and_contact_together():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(6_000, len(DECISIVE) + 1)).astype(np.float32)
    contacts = rng.normal(size=(6_000, 3)).astype(np.float32)
    # Where the contact is unsure, the energy decides; elsewhere it says nothing.
    is_sure = np.abs(contacts[:, 0]) > 0.7
    is_wrong = np.where(is_sure, contacts[:, 0] > 0, features[:, -1] > 0)
    known, fresh = (
        PolicyExamples(features[part], contacts[part], np.where(is_wrong[part], 1.0, -1.0))
        for part in (slice(0, 4_000), slice(4_000, None))
    )
    plain, second = (fit_classifier(known, 0.5, seed=0, second=second) for second in (False, True))
    rights = [np.mean((scores(one, fresh) > 0) == is_wrong[4_000:]) for one in (plain, second)]
    assert rights[1] > 0.93
    assert rights[1] > rights[0] + 0.03


def test_no_score_between_two_rows_is_below_the_lowest():
    rng = np.random.default_rng(4)
    examples, _ = made_up(rng, 2_000, [-2.0, 0, 0, -1.0, 0, 0, 0.7, -0.5, 1.5, 0.5])
    alone = fit_classifier(examples, 0.5, seed=0, second=True)
    odds = alone.contact_odds(examples.contacts)
    low, high = examples.features.copy(), examples.features.copy()
    low[:, -2:] -= 1
    high[:, -2:] += 1
    for one in (alone, replace(alone, shares=np.array([0.7, 0.4]))):
        found = one.scores(examples.features, odds)
        np.testing.assert_array_equal(one.lowest_scores(examples.features, examples.features, odds), found)
        assert (one.lowest_scores(low, high, odds) <= found).all()
    low[:, -2:], high[:, -2:] = -np.inf, np.inf
    assert np.isfinite(alone.lowest_scores(low, high, odds)).all()


def test_nothing_to_tell_apart_is_an_error():
    features = np.zeros((10, len(DECISIVE)), np.float32)
    for sign, word in ((1.0, "wrong"), (-1.0, "right")):
        with pytest.raises(TrainingError, match=f"10 merges that came up are {word}"):
            fit_classifier(PolicyExamples(features, features, np.full(10, sign)), 0.5, seed=0)
