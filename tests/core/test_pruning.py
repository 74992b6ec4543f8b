"""Rules change what is looked at and never a score."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import ToyEnergy, problems
from core.test_visibility import joins_of, kept_centres
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.pruning import CountedRule, paper_rules, touchable_centres
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.zones import ZoneSettings
from reference.energy import Reference

NAMES = ("graph", "visibility", "zone", "ours")
SUBSETS = [names for n in range(len(NAMES) + 1) for names in itertools.combinations(NAMES, n)]


def rules_by_name(zones=None):
    rules = (*paper_rules(zones), CountedRule("ours", touchable_centres))
    return {rule.name: rule for rule in rules}


def taken_pairs(agglomerator):
    ids, table = agglomerator.supervoxels.ids, agglomerator.actions
    return {
        frozenset((int(ids[table.u[action]]), int(ids[table.v[action]])))
        for action in np.flatnonzero(agglomerator.taken())
    }


@pytest.mark.kernels
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.sampled_from(SUBSETS), st.lists(st.integers(0, 10**6), min_size=1, max_size=3))
def test_no_set_of_rules_changes_a_score(problem, names, choices):
    labels, specs, energy = problem
    supervoxels = Supervoxels.from_labels(labels)
    available = rules_by_name(ZoneSettings(max_zones=5))
    rules = [available[name] for name in names]
    reference = Reference(labels, specs, energy.local)
    with (
        Agglomerator(supervoxels, specs, energy, threads=1, rules=rules) as pruned,
        Agglomerator(supervoxels, specs, energy, threads=1) as usual,
    ):
        for choice in choices:
            open_actions = np.flatnonzero(~usual.taken())
            if not len(open_actions):
                return
            action = open_actions[choice % len(open_actions)]
            pair = supervoxels.ids[usual.actions.u[action]], supervoxels.ids[usual.actions.v[action]]
            for agglomerator in (pruned, usual):
                agglomerator.merge(*(int(end) for end in pair))
            np.testing.assert_allclose(pruned.scores(), usual.scores(), rtol=1e-12, atol=1e-12)
        expected = reference.scores(taken_pairs(pruned))
        np.testing.assert_allclose(pruned.scores(), expected, rtol=1e-9, atol=1e-9)
        sampled = [sum(s.incremental.sampled_centres for s in a.specs) for a in (pruned, usual)]
        assert sampled[0] <= min((rule.kept for rule in rules), default=10**9)
        if "ours" in names:
            assert sampled[0] <= sampled[1]


@pytest.mark.kernels
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.sampled_from(NAMES))
def test_counters_add_up_what_a_rule_saw_and_kept(problem, name):
    labels, specs, energy = problem
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        for scores, join in itertools.islice(joins_of(agglomerator, 1), 8):
            rule = rules_by_name()[name]
            kept = [mask for _, mask in kept_centres(rule, scores, join)]
            assert rule.examined == sum(len(mask) for mask in kept)
            assert rule.kept == sum(int(mask.sum()) for mask in kept)


def test_every_rule_of_the_paper_keeps_fewer_centres_than_there_are():
    labels = np.repeat(np.arange(1, 13, dtype=np.uint64), 144).reshape(12, 12, 12)
    spec = sample_spec("s", "center", (3, 3, 3), rng=np.random.default_rng(0), k=9, region_zyx=(12, 12, 12))
    rules = paper_rules()
    energy = ToyEnergy(labels.shape, (spec,))
    with Agglomerator(
        Supervoxels.from_labels(labels), (spec,), energy, threads=1, rules=rules
    ) as agglomerator:
        agglomerator.merge(1, 2)
        assert agglomerator.specs[0].incremental.sampled_centres <= min(rule.kept for rule in rules)
    for rule in rules:
        assert 0 < rule.kept < rule.examined == 1000
