"""Zones are a partition, their bit vectors are exact, and merging them follows the cost of the paper."""

import gc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from core.test_visibility import joins_of, kept_centres
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.parallel import Pool
from napari_celis.core.regions import fill, tile
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.zones import ZoneRule, ZoneSettings, cut_zones, grid_cells, grid_zones
from reference import pruning as reference

SETTINGS = st.builds(
    ZoneSettings,
    st.sampled_from([1, 4, 7]),
    st.sampled_from([0.0, 0.5, 3.0, 100.0]),
    st.sampled_from([0.0, 2.5, 1000.0]),
)


def region_parts(table, region):
    """Centres, places and slots of one region, as slices."""
    layout = table.layout
    return tuple(
        slice(start[region], start[region + 1])
        for start in (layout.centre_start, layout.local_start, layout.slot_start)
    )


def zones_that_see(table, region, zones):
    """Per place: the zones with a centre that samples its supervoxel, from the exact visibility."""
    centres, places, _ = region_parts(table, region)
    n_centres, n_places = centres.stop - centres.start, places.stop - places.start
    n_words = (n_centres + 63) // 64
    begin = table.layout.seen_start[region]
    rows = table.layout.seen[begin : begin + n_places * n_words].reshape(n_places, n_words).astype("<u8")
    seen = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little", count=n_centres).astype(bool)
    return [set(zones[centres][row].tolist()) for row in seen]


@pytest.mark.kernels
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), SETTINGS)
def test_zones_are_those_of_the_plain_greedy(problem, zone_settings):
    labels, specs, energy = problem
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        tables = [scores.table for scores in agglomerator.specs]
    for table in tables:
        zone_table = cut_zones(table, zone_settings)
        grid = grid_zones(table.tiling, zone_settings.max_zones)
        for region in range(0, table.tiling.n_regions, 4):
            centres, places, slots = region_parts(table, region)
            sizes = dict(
                zip(*(a.tolist() for a in np.unique(grid[centres], return_counts=True)), strict=True)
            )
            actions = list(zip(table.layout.slot_u[slots], table.layout.slot_v[slots], strict=True))
            seen_from = zones_that_see(table, region, grid)
            name = reference.merge_zones(sizes, seen_from, actions, zone_settings.alpha, zone_settings.beta)
            assert zone_table.zones[centres].tolist() == [name[zone] for zone in grid[centres].tolist()]
            assert zone_table.n_zones[region] == len(set(name.values()))
            bits = [
                sum(1 << zone for zone in zones) for zones in zones_that_see(table, region, zone_table.zones)
            ]
            assert zone_table.seen[places].tolist() == bits


@pytest.mark.kernels
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), SETTINGS, st.integers(0, 2))
def test_rule_keeps_the_zones_that_see_the_merge(problem, zone_settings, n_steps):
    labels, specs, energy = problem
    rule = ZoneRule(zone_settings)
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        for scores, join in list(joins_of(agglomerator, n_steps))[:12]:
            zones = rule.zones_of(scores.table).zones
            for place, (region, kept) in enumerate(kept_centres(rule, scores, join)):
                centres, places, _ = region_parts(scores.table, region)
                merged = np.isin(scores.components[places], [join.k1[place], join.k2[place]])
                seen_from = zones_that_see(scores.table, region, zones)
                wanted = set().union(*(seen_from[i] for i in np.flatnonzero(merged)))
                assert kept.tolist() == [zone in wanted for zone in zones[centres].tolist()]


@pytest.mark.parametrize(
    ("size", "stride", "most", "cells"),
    [
        ((17, 17, 17), (1, 1, 1), 64, (4, 4, 4)),
        ((3, 17, 17), (1, 1, 1), 64, (1, 8, 8)),
        ((1, 1, 1), (1, 1, 1), 64, (1, 1, 1)),
        ((2, 8, 8), (10, 1, 1), 8, (2, 2, 2)),
        ((17, 17, 17), (1, 1, 1), 63, (4, 4, 2)),
    ],
)
def test_grid_cuts_the_longest_cells_first(size, stride, most, cells):
    found = grid_cells(np.array(size), np.array(stride), most)
    assert sorted(found.tolist()) == sorted(cells)
    assert found.prod() <= most


def test_grid_has_at_most_64_zones_in_every_region():
    spec = sample_spec("s", "pairwise", (3, 5, 5), rng=np.random.default_rng(0), k=20, region_zyx=(9, 24, 24))
    tiling = tile((11, 30, 29), spec)
    zones = grid_zones(tiling, 64)
    for region in range(tiling.n_regions):
        found = np.unique(zones[tiling.centre_start[region] : tiling.centre_start[region + 1]])
        assert found.tolist() == list(range(len(found)))
        assert len(found) <= 64


def test_zones_are_cut_once_and_go_with_their_table(problem_table):
    rule = ZoneRule()
    table = problem_table()
    assert rule.zones_of(table) is rule.zones_of(table)
    assert len(rule._tables) == 1
    del table
    gc.collect()
    assert len(rule._tables) == 0


@pytest.fixture
def problem_table():
    """Make the region table of a small volume."""

    def make():
        supervoxels = Supervoxels.from_labels(np.arange(1, 217, dtype=np.uint64).reshape(6, 6, 6))
        spec = sample_spec("s", "center", (3, 3, 3), rng=np.random.default_rng(0), k=9)
        return fill(tile((6, 6, 6), spec), supervoxels, ActionTable.from_supervoxels(supervoxels), Pool(1))

    return make


@pytest.mark.parametrize("wrong", [{"max_zones": 65}, {"max_zones": 0}, {"alpha": -1.0}, {"beta": -0.5}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="1 to 64"):
        ZoneSettings(**wrong)
