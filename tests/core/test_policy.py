"""What a policy sees, and so its scores, equals recomputation after any sequence of operations."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from core.problems import ToyEnergy, problems, random_labels
from core.test_agglomerator import OPERATIONS, operate
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contact_features import N_CONTACT_FEATURES
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import ActionError
from napari_celis.core.policy import LearnedPolicy
from napari_celis.core.supervoxels import Supervoxels
from reference.policy import policy_features


class ToyScorer:
    """A nonlinear function of all features."""

    def contact_odds(self, contacts):
        return np.tanh((contacts.astype(np.float64) * np.cos(np.arange(contacts.shape[1]))).mean(axis=1))

    def scores(self, features, odds):
        weights = np.sin(1.0 + np.arange(features.shape[1]))
        return np.tanh((features.astype(np.float64) * weights).mean(axis=1)) + odds

    def lowest_scores(self, low, high, odds):
        is_exact = (low == high).all(axis=1)
        return np.where(is_exact, self.scores(low, odds), -np.inf)

    def parts(self, features, odds):
        return np.empty((len(features), 0))


class ToySum(ToyScorer):
    """A constant and a weighted sum, with what the contact as a whole says."""

    def parts(self, features, odds):
        summed = features.astype(np.float64) * np.cos(1.0 + np.arange(features.shape[1]))
        return np.concatenate([summed, 0.5 * odds[:, None]], axis=1)

    def scores(self, features, odds):
        return self.parts(features, odds).sum(axis=1) + 0.25


def make(labels, specs, energy, seed=0, scorer=None):
    supervoxels = Supervoxels.from_labels(labels)
    affinities = np.random.default_rng(seed).random((3, *labels.shape)).astype(np.float32)
    contacts = measure_contacts(supervoxels, ActionTable.from_supervoxels(supervoxels), affinities)
    agglomerator = Agglomerator(
        supervoxels, specs, energy, policy=LearnedPolicy(scorer or ToyScorer(), contacts), threads=1
    )
    return agglomerator, affinities


def small(scorer=None):
    labels = random_labels(np.random.default_rng(1), (8, 9, 10), 12, 0.05)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=np.random.default_rng(2), k=20, region_zyx=(5, 5, 5))
    return make(labels, (spec,), ToyEnergy(labels.shape, (spec,)), scorer=scorer)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 99)), max_size=8))
def test_features_and_scores_equal_the_definition_after_any_operations(problem, operations):
    agglomerator, affinities = make(*problem)
    with agglomerator:
        if not len(agglomerator.actions):
            return
        for operation, choice in operations:
            operate(agglomerator, operation, choice)
        owner, actions = agglomerator.segment_ids(), agglomerator.actions
        between = np.flatnonzero(owner[actions.u] != owner[actions.v])
        inside = np.flatnonzero(owner[actions.u] == owner[actions.v])
        seen = agglomerator.scoring.features(between), agglomerator.scoring.contact_features(between)
        for row, *found in zip(between, *seen, strict=True):
            for features, wanted in zip(found, policy_features(agglomerator, affinities, row), strict=True):
                assert_allclose(features, wanted, rtol=1e-5, atol=1e-5)
        assert seen[1].shape == (len(between), N_CONTACT_FEATURES)
        scores = agglomerator.scores()
        if len(between):
            wanted = ToyScorer().scores(seen[0], ToyScorer().contact_odds(seen[1]))
            assert_allclose(scores[between], wanted, rtol=0, atol=1e-12)
        assert not scores[inside].any()
        assert not agglomerator.available()[inside].any()


def test_undo_brings_every_score_back():
    agglomerator, _ = small()
    with agglomerator:
        states = [agglomerator.scores()]
        while agglomerator.step(threshold=np.inf):
            states.append(agglomerator.scores())
        assert agglomerator.n_segments < agglomerator.supervoxels.n
        assert len(states) > 5
        for wanted in reversed(states[:-1]):
            agglomerator.undo()
            assert_allclose(agglomerator.scores(), wanted, rtol=0, atol=1e-14)


def test_greedy_goes_by_the_policy_and_not_by_energy():
    agglomerator, _ = small()
    with agglomerator:
        scores, changes = agglomerator.scores(), agglomerator.scoring.energy_changes()
        assert scores.argmin() != changes.argmin()
        step = agglomerator.step(threshold=np.inf)
        assert step.action_index == scores.argmin()
        assert step.score == scores.min()


def test_a_wrong_state_is_not_hidden():
    """The comparison above would notice sums that were not brought up to date."""
    agglomerator, affinities = small()
    with agglomerator:
        rows = np.arange(len(agglomerator.actions))
        before = agglomerator.scoring.features(rows), agglomerator.scoring.contact_features(rows)
        step = agglomerator.step(threshold=np.inf)
        owner, actions = agglomerator.segment_ids(), agglomerator.actions
        merged = owner[actions.u[step.action_index]]
        ends = np.stack([owner[actions.u], owner[actions.v]])
        near = np.flatnonzero((ends == merged).any(axis=0) & (ends[0] != ends[1]))
        wanted = zip(*(policy_features(agglomerator, affinities, row) for row in near), strict=True)
        for old, new in zip(before, wanted, strict=True):
            assert (np.abs(old[near] - np.array(new)) > 1e-3).any(axis=1).any()


def test_the_parts_of_a_score_add_up_to_it():
    agglomerator, _ = small(ToySum())
    with agglomerator:
        for _ in range(3):
            agglomerator.step(threshold=np.inf)
        between = np.flatnonzero(agglomerator.available())
        inside = np.setdiff1d(np.arange(len(agglomerator.actions)), between)
        seen_of_all = agglomerator.scoring.features(between), agglomerator.scoring.contact_features(between)
        for row, seen, contact in zip(between, *seen_of_all, strict=True):
            parts = agglomerator.scoring.parts(int(row))
            assert list(parts) == [
                "membrane",
                "contact size",
                "shared surface",
                "shape one",
                "whole contact",
                "base rate",
            ]
            assert_allclose(sum(parts.values()), agglomerator.scores()[row], atol=1e-12)
            assert_allclose(parts["contact size"], seen[6] * np.cos(7.0), rtol=1e-6)
            assert_allclose(parts["whole contact"], 0.5 * ToySum().contact_odds(contact[None])[0], atol=1e-12)
            assert_allclose(parts["base rate"], 0.25, atol=1e-9)
        assert agglomerator.scoring.parts(int(inside[0])) == {}


def test_a_score_that_is_no_sum_has_one_part():
    agglomerator, _ = small()
    with agglomerator:
        row = int(np.flatnonzero(agglomerator.available())[0])
        assert agglomerator.scoring.parts(row) == {"base rate": pytest.approx(agglomerator.scores()[row])}


def test_without_a_policy_there_is_nothing_to_see():
    labels = random_labels(np.random.default_rng(1), (6, 6, 6), 4, 0.0)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=np.random.default_rng(2), k=8)
    energy = ToyEnergy(labels.shape, (spec,))
    with Agglomerator(Supervoxels.from_labels(labels), (spec,), energy) as agglomerator:
        for ask in (agglomerator.scoring.features, agglomerator.scoring.contact_features):
            with pytest.raises(ActionError, match="energy alone"):
                ask(np.array([0]))
        assert_array_equal(agglomerator.scores(), agglomerator.scoring.energy_changes())
