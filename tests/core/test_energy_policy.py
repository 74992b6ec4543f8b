"""Greedy by whole contacts: scores equal the definition after any operations."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import ToyEnergy, problems, random_labels
from core.test_agglomerator import OPERATIONS, ids_of, operate, taken_pairs
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec, sample_spec
from napari_celis.core.policy import EnergyPolicy
from napari_celis.core.supervoxels import Supervoxels
from reference.energy import Reference


def start(labels, specs, energy, **options):
    return Agglomerator(
        Supervoxels.from_labels(labels), specs, energy, policy=EnergyPolicy(), threads=1, **options
    )


@pytest.mark.kernels
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=8))
def test_scores_equal_the_definition_after_any_operations(problem, operations):
    labels, specs, energy = problem
    reference = Reference(labels, specs, energy.local)
    with start(labels, specs, energy) as agglomerator:
        if not len(agglomerator.actions):
            return
        for operation, choice in operations:
            operate(agglomerator, operation, choice)
        taken, scores = taken_pairs(agglomerator), agglomerator.scores()
        np.testing.assert_allclose(scores, reference.contact_scores(taken), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            agglomerator.scoring.energy_changes(), reference.scores(taken), rtol=1e-9, atol=1e-9
        )
        owner, actions = agglomerator.segment_ids(), agglomerator.actions
        is_inside = owner[actions.u] == owner[actions.v]
        assert not agglomerator.available()[is_inside].any()
        for action in range(len(actions)):
            by_spec = agglomerator.scoring.by_spec(action)
            assert sum(by_spec.values()) == pytest.approx(scores[action], abs=1e-12)
            assert agglomerator.scoring.parts(action) == ({} if is_inside[action] else by_spec)
            if not is_inside[action]:
                for changes in agglomerator.scoring.by_centre(action):
                    assert changes.changes.sum() == pytest.approx(by_spec[changes.spec_name], abs=1e-9)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.lists(st.integers(0, 10**6), max_size=4))
def test_undo_brings_every_score_back(problem, choices):
    labels, specs, energy = problem
    with start(labels, specs, energy) as agglomerator:
        if not len(agglomerator.actions):
            return
        for choice in choices:
            operate(agglomerator, "merge", choice)
        wanted = agglomerator.scores()
        n_steps = 0
        while agglomerator.step(threshold=np.inf):
            n_steps += 1
        for _ in range(n_steps):
            agglomerator.undo()
        np.testing.assert_allclose(agglomerator.scores(), wanted, rtol=0, atol=1e-14)


def test_while_segments_are_single_supervoxels_it_is_the_change_of_the_action():
    labels = random_labels(np.random.default_rng(1), (8, 9, 10), 12, 0.05)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=np.random.default_rng(2), k=20, region_zyx=(5, 5, 5))
    with start(labels, (spec,), ToyEnergy(labels.shape, (spec,))) as agglomerator:
        np.testing.assert_array_equal(agglomerator.scores(), agglomerator.scoring.energy_changes())


class FacesAlong:
    """Every pair that is connected changes the energy by a number that depends on where it is."""

    def __init__(self, by_column):
        self.by_column = by_column

    def energies(self, spec_index, centres, bits):
        return self.by_column[centres] * (bits[:, 0] & np.uint64(1)).astype(np.float64)


def side_by_side(upper, lower):
    """Two rows of supervoxels, three voxels each, and one pair across the contact at every column."""
    labels = np.zeros((1, 3, 3 * len(upper)), dtype=np.uint64)
    labels[0, :2], labels[0, 2] = np.repeat(upper, 3), np.repeat(lower, 3)
    return labels, (DescriptorSpec("across", "pairwise", (1, 3, 1), [[[0, 0, 0], [0, 1, 0]]], (1, 3, 1)),)


def test_membrane_elsewhere_speaks_against_a_merge():
    problem = side_by_side([1, 2, 3, 4], [5, 6, 7, 8])
    energy = FacesAlong(np.array([-1.0] * 3 + [0.5] * 9))
    merges = [(1, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8)]
    with start(*problem, energy, merges=merges) as agglomerator:
        hole = agglomerator.actions.find(*(agglomerator.supervoxels.index_of(one) for one in (1, 5)))
        assert agglomerator.scoring.energy_changes()[hole] == pytest.approx(-3.0)
        assert agglomerator.scores()[hole] == pytest.approx(-3.0 + 9 * 0.5)
        assert agglomerator.step(threshold=0.0) is None


def test_of_equal_scores_the_action_that_lowers_the_energy_most_is_taken():
    energy = FacesAlong(np.array([-0.25] * 3 + [-1.0] * 3))
    with start(*side_by_side([1, 2], [5, 6]), energy, merges=[(1, 2), (5, 6)]) as agglomerator:
        scores = agglomerator.scores()
        step = agglomerator.step()
        assert {step.u_id, step.v_id} == {2, 6}
        assert step.score == scores[scores < 0].max() == pytest.approx(-3.75)
        assert step.joins_segments
        assert not agglomerator.available().any()


def test_a_merge_that_no_centre_sees_is_never_taken():
    labels = np.array([[[1, 1, 1, 2]]], dtype=np.uint64)
    spec = DescriptorSpec("left", "pairwise", (1, 1, 3), [[[0, 0, -1], [0, 0, 0]]], (1, 1, 4))
    with start(labels, (spec,), FacesAlong(np.full(2, -1.0))) as agglomerator:
        assert len(agglomerator.actions) == 1
        assert agglomerator.step(threshold=np.inf) is None
        assert ids_of(agglomerator, 0) == (1, 2)
