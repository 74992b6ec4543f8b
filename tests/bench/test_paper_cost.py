"""Counts of the paper's pipeline equal its literal execution."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from core.test_pruning import taken_pairs
from napari_celis.bench.paper_cost import CURVES, RULE_SETS, PaperCosts, StandInEnergy
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import paper_specs, sample_spec, unpack_bits
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.zones import ZoneSettings
from reference.pruning import Pipeline


def literal_costs(agglomerator, labels, costs, taken, action):
    """Run the pipeline of the paper for every spec and rule set."""
    rows = []
    for scores in agglomerator.specs:
        tiling = scores.table.tiling
        zones = costs.zones_of(scores)
        zone_of = {tuple(c): z for c, z in zip(tiling.centres.tolist(), zones.tolist(), strict=True)}
        pipeline = Pipeline(labels, tiling.spec, taken, zone_of)
        n_computed, changed = [], []
        for visibility, zone, graph in RULE_SETS.values():
            n, emitted = pipeline.run(action, visibility=visibility, zone=zone, graph=graph)
            n_computed.append(n)
            changed.append(emitted)
        assert all(set(emitted) == set(changed[0]) for emitted in changed), "pruning lost a change"
        rows.append([*n_computed, len(set(changed[0])), len(changed[0])])
    return rows


@pytest.mark.kernels
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.sampled_from([1, 4, 9]), st.sampled_from([0.0, 2.0]))
def test_counts_equal_the_literal_pipeline(problem, max_zones, alpha):
    labels, specs, energy = problem
    with (
        Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator,
        PaperCosts(agglomerator, zones=ZoneSettings(max_zones, alpha), threads=1) as costs,
    ):
        expected = [literal_costs(agglomerator, labels, costs, set(), None)]
        ids, table = agglomerator.supervoxels.ids, agglomerator.actions
        for _ in range(2):
            taken = taken_pairs(agglomerator)
            step = costs.step()
            if step is None:
                break
            action = step.action_index
            pair = frozenset((int(ids[table.u[action]]), int(ids[table.v[action]])))
            expected.append(literal_costs(agglomerator, labels, costs, taken, pair))
        first = CURVES.index("cr")
        np.testing.assert_array_equal(costs.counts[:, :, first : first + len(RULE_SETS) + 2], expected)


@pytest.mark.kernels
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems())
def test_every_rule_saves_and_none_beats_the_lower_bound(problem):
    labels, specs, energy = problem
    with (
        Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator,
        PaperCosts(agglomerator, threads=1) as costs,
    ):
        list(costs.run(4))
        total = {name: np.array(values) for name, values in costs.cumulative().items()}
        for name in ("cr_visibility", "cr_zone", "cr_graph"):
            assert (total["all"] <= total[name]).all()
            assert (total[name] <= total["cr"]).all()
        assert (total["lower_bound"] <= total["paper_evaluations"]).all()
        assert (total["lower_bound"] <= total["all"]).all()
        for scores in agglomerator.specs:
            n_centres = costs.counts[0, scores.index, CURVES.index("ours")]
            assert n_centres == scores.table.tiling.n_centres == scores.initial.sampled_centres
            ours = costs.counts[1:, scores.index, CURVES.index("ours_evaluations")].sum()
            assert ours == scores.incremental.evaluations


def cubes(n):
    """A cube of 12³ voxels cut into n³ supervoxels."""
    index = np.indices((12, 12, 12)) * n // 12
    return (1 + np.ravel_multi_index(tuple(index), (n, n, n))).astype(np.uint64)


def small_specs():
    rng = np.random.default_rng(1)
    return tuple(sample_spec(kind, kind, (5, 5, 5), rng=rng, k=40) for kind in ("pairwise", "center"))


def test_figures_hold_totals_and_both_ratios():
    specs = small_specs()
    with (
        Agglomerator(
            Supervoxels.from_labels(cubes(3)), specs, StandInEnergy(specs), threads=1
        ) as agglomerator,
        PaperCosts(agglomerator, threads=1) as costs,
    ):
        assert costs.figures()["evaluations_vs_lower_bound"] is None
        assert len(list(costs.run(6))) == 6
        figures, updates = costs.figures(), costs.counts[1:].sum(axis=(0, 1))
    by_name = dict(zip(CURVES, updates.tolist(), strict=True))
    assert figures["updates"] == by_name
    assert figures["steps"] == 6
    assert figures["evaluations_vs_lower_bound"] == by_name["ours_evaluations"] / by_name["lower_bound"]
    assert figures["lookups_vs_paper"] == by_name["ours"] / by_name["all"]
    assert 0 < figures["lookups_vs_paper"] < 1
    assert figures["rules"]["ours"]["kept"] == by_name["ours"]
    naive = sum(s.table.tiling.n_centres for s in agglomerator.specs) * (1 + len(agglomerator.actions))
    assert figures["first_scores"]["non_incremental"] == naive


def test_threshold_ends_the_run_and_counts_nothing():
    specs = small_specs()
    with (
        Agglomerator(
            Supervoxels.from_labels(cubes(2)), specs, StandInEnergy(specs), threads=1
        ) as agglomerator,
        PaperCosts(agglomerator, threads=1) as costs,
    ):
        assert costs.step(threshold=-1e9) is None
        assert len(costs.counts) == 1
        n_merges = len(list(costs.run(10**6)))
        assert len(costs.counts) == 1 + n_merges
        assert agglomerator.n_segments == 1


def test_stand_in_energy_is_lowest_at_its_target():
    spec = paper_specs(k=64)[0]
    bits = np.array([[0], [2**16 - 1], [2**64 - 1]], dtype=np.uint64)
    energies = StandInEnergy((spec,), target=0.25).energies(0, np.zeros(3, np.int32), bits)
    share = unpack_bits(bits, 64).mean(axis=1)
    np.testing.assert_allclose(energies, (share - 0.25) ** 2)
    assert energies.argmin() == 1
