"""Evaluating energies only where a decision depends on them changes no answer, to the bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import ToyEnergy, problems, random_labels
from core.states import operate, snapshot
from core.test_agglomerator import OPERATIONS
from core.test_policy import ToyScorer
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import EnergyError
from napari_celis.core.policy import EnergyPolicy, LearnedPolicy, PaperPolicy
from napari_celis.core.supervoxels import Supervoxels


class ToySum:
    """A weighted sum with weights of both signs, and the bounds that follow from them."""

    def __init__(self, weight):
        self.weight = weight

    def contact_odds(self, contacts):
        return contacts[:, 0].astype(np.float64) * 0.1

    def _weights(self, features):
        return self.weight * np.cos(np.arange(features.shape[1]))

    def parts(self, features, odds):
        summed = features.astype(np.float64) * self._weights(features)
        return np.concatenate([summed, odds[:, None]], axis=1)

    def scores(self, features, odds):
        return self.parts(features, odds).sum(axis=1)

    def lowest_scores(self, low, high, odds):
        return self.scores(np.where(self._weights(low) > 0, low, high), odds)


def policy_named(name, supervoxels, actions, shape):
    if name == "paper":
        return PaperPolicy()
    if name == "energy":
        return EnergyPolicy()
    affinities = np.random.default_rng(0).random((3, *shape)).astype(np.float32)
    scorer = ToyScorer() if name == "no bounds" else ToySum(0.3)
    return LearnedPolicy(scorer, measure_contacts(supervoxels, actions, affinities))


def n_evaluations(agglomerator):
    return sum(s.initial.evaluations + s.incremental.evaluations for s in agglomerator.specs)


def without_energy(steps):
    """Steps, whose energy a lazy run does not know."""
    return [replace(step, energy=0.0) for step in steps]


POLICIES = ("paper", "energy", "learned", "no bounds")


def both(problem, policy, **options):
    """Two agglomerators of the same problem: with all scores current, and lazy."""
    labels, specs, energy = problem
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    chosen = policy_named(policy, supervoxels, actions, labels.shape)
    return [
        Agglomerator(supervoxels, specs, energy, policy=chosen, threads=1, is_lazy=is_lazy, **options)
        for is_lazy in (False, True)
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.sampled_from(POLICIES), st.sampled_from([-np.inf, -1.0, 0.0, 0.3, np.inf]))
def test_a_run_takes_the_same_steps(problem, policy, threshold):
    full, lazy = both(problem, policy)
    with full, lazy:
        assert without_energy(lazy.steps(threshold)) == without_energy(full.steps(threshold))
        assert n_evaluations(lazy) <= n_evaluations(full)
        assert lazy.energy_change == full.energy_change
        assert lazy.energy == full.energy
        np.testing.assert_array_equal(lazy.scores(), full.scores())
        np.testing.assert_array_equal(lazy.scoring.energy_changes(), full.scoring.energy_changes())
        np.testing.assert_array_equal(lazy.scoring.sums_by_spec(), full.scoring.sums_by_spec())


@pytest.mark.kernels
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problems(),
    st.sampled_from(POLICIES),
    st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=10),
)
def test_any_operations_lead_to_the_same_state(problem, policy, operations):
    full, lazy = both(problem, policy)
    with full, lazy:
        if not len(full.actions):
            return
        for operation, choice in operations:
            for agglomerator in (full, lazy):
                operate(agglomerator, operation, choice)
        assert without_energy(lazy.history) == without_energy(full.history)
        # Asked for all scores, it evaluates what is missing, and all is as if it had been there always.
        lazy.scores()
        for action in range(len(full.actions)):
            assert lazy.scoring.parts(action) == full.scoring.parts(action)
        lazy.scoring.energy_changes()
        wanted, found = (snapshot(agglomerator, journal=False) for agglomerator in (full, lazy))
        # Lazy, what regions hold is counted from the start.
        for name in ("totals", *(("region_energy", scores.index) for scores in full.specs)):
            del wanted[name], found[name]
        assert found == wanted


def test_contacts_that_are_clear_are_never_evaluated():
    labels = random_labels(np.random.default_rng(4), (10, 12, 14), 40, 0.0)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=np.random.default_rng(2), k=20, region_zyx=(5, 5, 5))
    full, lazy = both((labels, (spec,), ToyEnergy(labels.shape, (spec,))), "learned")
    with full, lazy:
        threshold = float(np.quantile(full.scores(), 0.1))
        assert without_energy(lazy.steps(threshold)) == without_energy(full.steps(threshold))
        assert n_evaluations(lazy) < 0.5 * n_evaluations(full)


def test_energies_outside_of_their_bounds_are_refused():
    labels = random_labels(np.random.default_rng(1), (6, 6, 6), 5, 0.0)
    spec = sample_spec("one", "pairwise", (3, 3, 3), rng=np.random.default_rng(2), k=20)

    class Unbounded(ToyEnergy):
        def local(self, spec_index, position, bits):
            return 1.0 + super().local(spec_index, position, bits)

    energy = Unbounded(labels.shape, (spec,))
    supervoxels = Supervoxels.from_labels(labels)
    Agglomerator(supervoxels, (spec,), energy, threads=1).close()
    with (
        Agglomerator(supervoxels, (spec,), energy, threads=1, is_lazy=True) as agglomerator,
        pytest.raises(EnergyError, match="between 0 and 1"),
    ):
        agglomerator.step(np.inf)
