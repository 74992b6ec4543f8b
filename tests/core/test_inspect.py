"""What the view of one centre says equals what the agglomeration computes with."""

from __future__ import annotations

import numpy as np
import pytest

from core.problems import ToyEnergy, random_labels
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec, sample_spec, shape_descriptors, unpack_bits
from napari_celis.core.errors import ActionError, SpecError
from napari_celis.core.explain import region_components
from napari_celis.core.inspect import (
    current_region,
    initial_region,
    merge_between,
    most_changed_centre,
    view_centre,
)
from napari_celis.core.lattice import Lattice
from napari_celis.core.regions import tile
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.zones import cut_zones

SHAPE = (9, 12, 13)


def make_specs():
    rng = np.random.default_rng(1)
    return (
        sample_spec("pairs", "pairwise", (3, 5, 5), rng=rng, k=70, stride_zyx=(1, 2, 3)),
        sample_spec("centre", "center", (5, 5, 4), rng=rng, k=30, region_zyx=(6, 8, 7)),
    )


@pytest.fixture
def agglomerator():
    labels = random_labels(np.random.default_rng(3), SHAPE, 14, 0.05)
    specs = make_specs()
    with Agglomerator(Supervoxels.from_labels(labels), specs, ToyEnergy(SHAPE, specs), threads=1) as made:
        for _ in range(4):
            made.step(np.inf)
        yield made


@pytest.mark.parametrize("spec", make_specs(), ids=lambda spec: spec.name)
def test_lattice_names_every_centre_and_region_as_the_tiling_does(spec):
    tiling, lattice = tile(SHAPE, spec), Lattice.of(SHAPE, spec)
    for region in range(tiling.n_regions):
        owned = tiling.centres[tiling.centre_start[region] : tiling.centre_start[region + 1]]
        found = lattice.region_of(tuple(owned[-1]))
        assert found.index == region
        np.testing.assert_array_equal(found.low, tiling.low[region])
        np.testing.assert_array_equal(found.high, tiling.high[region])
        np.testing.assert_array_equal(found.centres(), owned)
        boxes = lattice.neighbours(found)
        assert any((low == found.low).all() and (high == found.high).all() for low, high in boxes)
    assert set(lattice.edges(1)) == {*tiling.low[:, 1], *tiling.high[:, 1]}


def test_positions_snap_to_the_nearest_centre():
    spec = make_specs()[0]
    lattice = Lattice.of(SHAPE, spec)
    centres = tile(SHAPE, spec).centres
    for position in np.random.default_rng(0).uniform(-2, 14, size=(50, 3)):
        nearest = np.linalg.norm(centres - position, axis=1).min()
        snapped = np.array(lattice.snap(position))
        assert np.linalg.norm(snapped - position) == pytest.approx(nearest)
        assert (centres == snapped).all(axis=1).any()
    assert lattice.contains((0, 11.4, 0))
    assert not lattice.contains((0, 11.6, 0))
    assert not lattice.contains((-0.6, 0, 0))


def test_line_goes_from_centre_to_centre_without_repeats():
    lattice = Lattice.of(SHAPE, make_specs()[0])
    line = lattice.centres_between((0, 0, 0), (20, 20, 20))
    assert line[0] == lattice.snap((0, 0, 0))
    assert line[-1] == lattice.snap((20, 20, 20))
    assert len(set(line)) == len(line) > 3
    assert lattice.centres_between((4, 4, 4), (4, 4, 4)) == [lattice.snap((4, 4, 4))]


def test_box_that_does_not_fit_is_refused_with_the_axis():
    with pytest.raises(SpecError, match="along x"):
        Lattice.of((9, 12, 3), make_specs()[0])


def test_before_and_after_equal_what_the_score_is_made_of(agglomerator):
    n_checked = 0
    for action in range(len(agglomerator.actions)):
        merge = int(agglomerator.actions.u[action]), int(agglomerator.actions.v[action])
        for changes in agglomerator.scoring.by_centre(action):
            spec = next(s for s in make_specs() if s.name == changes.spec_name)
            lattice = Lattice.of(SHAPE, spec)
            for centre, before, after in zip(changes.centres, changes.before, changes.after, strict=True):
                state = current_region(agglomerator, spec.name, lattice.region_of(centre))
                view = view_centre(state, tuple(int(c) for c in centre), merge)
                np.testing.assert_array_equal(view.before, unpack_bits(before[None], spec.n_bits)[0])
                np.testing.assert_array_equal(view.after, unpack_bits(after[None], spec.n_bits)[0])
                assert view.changed.any()
                n_checked += 1
    assert n_checked > 100


def test_a_pair_is_connected_when_its_ends_have_one_component(agglomerator):
    for spec in make_specs():
        lattice = Lattice.of(SHAPE, spec)
        region = lattice.region_of(lattice.snap((4, 6, 6)))
        view = view_centre(current_region(agglomerator, spec.name, region), lattice.snap((4, 6, 6)))
        local = view.ends - region.low
        first, second = (view.components[tuple(local[:, end].T)] for end in (0, 1))
        np.testing.assert_array_equal(view.before, (first == second) & (first > 0))
        np.testing.assert_array_equal(view.after, view.before)
        assert (view.ends >= view.box[0]).all()
        assert (view.ends < view.box[1]).all()
        assert (view.box[1] - view.box[0]).tolist() == list(spec.box_zyx)


def test_without_an_agglomeration_the_initial_state_is_shown():
    labels = random_labels(np.random.default_rng(3), SHAPE, 14, 0.05)
    for spec in make_specs():
        lattice = Lattice.of(SHAPE, spec)
        centre = lattice.snap((5, 5, 8))
        region = lattice.region_of(centre)
        block = Supervoxels.from_labels(labels[region.slices])
        view = view_centre(initial_region(block, region, spec), centre)
        bits = shape_descriptors(labels[region.slices], np.array([centre]) - region.low, spec)
        np.testing.assert_array_equal(view.before, unpack_bits(bits, spec.n_bits)[0])
        assert np.isnan(view.active.score).all()
        assert len(view.active) == len(ActionTable.from_supervoxels(block))


def test_initial_state_equals_an_agglomeration_that_has_not_begun():
    labels, specs = random_labels(np.random.default_rng(5), SHAPE, 10, 0.1), make_specs()
    whole = Supervoxels.from_labels(labels)
    with Agglomerator(whole, specs, ToyEnergy(SHAPE, specs), threads=1) as agglomerator:
        for spec in specs:
            lattice = Lattice.of(SHAPE, spec)
            centre = lattice.snap((6, 7, 3))
            region = lattice.region_of(centre)
            state = current_region(agglomerator, spec.name, region)
            block = Supervoxels(np.ascontiguousarray(whole.dense[region.slices]), whole.ids, whole.sizes)
            alone = initial_region(block, region, spec, with_zones=True)
            merge = int(state.actions.u[5]), int(state.actions.v[5])
            ours = view_centre(alone, centre, merge, with_zones=True)
            theirs = view_centre(state, centre, merge, with_zones=True)
            np.testing.assert_array_equal(ours.before, theirs.before)
            np.testing.assert_array_equal(ours.after, theirs.after)
            np.testing.assert_array_equal(ours.components, theirs.components)
            np.testing.assert_array_equal(ours.zones, theirs.zones)
            pairs = [set(zip(view.active.u, view.active.v, strict=True)) for view in (ours, theirs)]
            assert pairs[0] == pairs[1]


def test_zones_of_one_region_equal_those_of_all(agglomerator):
    for scores in agglomerator.specs:
        table = scores.table
        expected = cut_zones(table).zones
        lattice = Lattice.of(SHAPE, table.tiling.spec)
        for index in range(table.tiling.n_regions):
            owned = slice(table.tiling.centre_start[index], table.tiling.centre_start[index + 1])
            centre = tuple(int(c) for c in table.tiling.centres[owned][0])
            state = current_region(agglomerator, table.tiling.spec.name, lattice.region_of(centre))
            zones = view_centre(state, centre, with_zones=True).zones
            np.testing.assert_array_equal(zones.ravel() - 1, expected[owned])


def test_active_actions_join_components_and_come_lowest_first(agglomerator):
    scores = agglomerator.scores()
    [spec, _] = make_specs()
    lattice = Lattice.of(SHAPE, spec)
    region = lattice.region_of(lattice.snap((4, 6, 6)))
    active = view_centre(current_region(agglomerator, spec.name, region), lattice.snap((4, 6, 6))).active
    rows = [agglomerator.actions.find(u, v) for u, v in zip(active.u, active.v, strict=True)]
    assert rows
    np.testing.assert_array_equal(active.score, scores[rows])
    assert (np.diff(active.score) >= 0).all()
    assert not agglomerator.taken()[rows].any()
    joins = agglomerator.specs[0].find_join(rows[0])
    assert region.index in joins.regions


def test_local_scores_add_up_over_the_regions(agglomerator):
    action = int(np.flatnonzero(agglomerator.available())[0])
    pair = int(agglomerator.actions.u[action]), int(agglomerator.actions.v[action])
    for scores in agglomerator.specs:
        tiling, total = scores.table.tiling, 0.0
        lattice = Lattice.of(SHAPE, tiling.spec)
        for index in scores.table.regions_of(action):
            centre = tuple(int(c) for c in tiling.centres[tiling.centre_start[index]])
            active = view_centre(
                current_region(agglomerator, tiling.spec.name, lattice.region_of(centre)), centre
            ).active
            total += active.local_score[(active.u == pair[0]) & (active.v == pair[1])].sum()
        assert total == pytest.approx(agglomerator.scoring.by_spec(action)[tiling.spec.name])


def test_section_shows_the_components_around_the_centre(agglomerator):
    spec = make_specs()[0]
    lattice = Lattice.of(SHAPE, spec)
    action = int(np.flatnonzero(agglomerator.available())[0])
    merge = int(agglomerator.actions.u[action]), int(agglomerator.actions.v[action])
    centre = lattice.snap(agglomerator.actions.centroid[action])
    state = current_region(agglomerator, spec.name, lattice.region_of(centre))
    view = view_centre(state, centre, merge)
    low = view.box[0] - view.region.low
    block = region_components(state.scores, state.index)
    z, _, x = np.array(centre) - view.region.low
    np.testing.assert_array_equal(
        view.section(0, is_merged=False), block[z, low[1] : low[1] + 5, low[2] : low[2] + 5]
    )
    np.testing.assert_array_equal(
        view.section(2, is_merged=False), block[low[0] : low[0] + 3, low[1] : low[1] + 5, x]
    )
    assert view.joined is not None
    merged = view.merged_components()
    assert np.isin(view.joined, view.components).all()
    assert np.isin(view.joined, merged).sum() == 1
    np.testing.assert_array_equal(np.isin(merged, view.joined), np.isin(view.components, view.joined))


def test_box_in_which_only_one_of_the_joined_parts_lies_looks_the_same_after_the_merge(agglomerator):
    spec = make_specs()[0]
    lattice = Lattice.of(SHAPE, spec)
    n_seen = [0, 0]
    for centre in tile(SHAPE, spec).centres:
        centre = tuple(int(c) for c in centre)
        state = current_region(agglomerator, spec.name, lattice.region_of(centre))
        active = view_centre(state, centre).active
        for merge in zip(active.u.tolist(), active.v.tolist(), strict=True):
            view = view_centre(state, centre, merge)
            low, high = (edge - view.region.low for edge in view.box)
            box = view.components[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
            is_there = [(box == name).any() for name in view.joined]
            if sum(is_there) == 1:
                n_seen[is_there.index(True)] += 1
                assert not view.changed.any()
                for axis in range(3):
                    before, after = (view.section(axis, is_merged=is_merged) for is_merged in (False, True))
                    np.testing.assert_array_equal(before, after)
    assert min(n_seen) > 5, "either of the two"


def test_unknown_spec_is_named(agglomerator):
    lattice = Lattice.of(SHAPE, make_specs()[0])
    with pytest.raises(SpecError, match="no spec `other`"):
        current_region(agglomerator, "other", lattice.region_of(lattice.snap((4, 4, 4))))


def test_two_supervoxels_stand_for_the_best_merge_of_their_segments():
    # Four slabs in a row, the first two merged: 1 2 | 3 | 4.
    labels = np.repeat(np.arange(1, 5), 3)[None, None, :].repeat(5, axis=1).repeat(3, axis=0)
    spec = sample_spec("pairs", "pairwise", (3, 3, 3), rng=np.random.default_rng(0), k=40)
    with Agglomerator(
        Supervoxels.from_labels(labels), [spec], ToyEnergy(labels.shape, [spec]), threads=1
    ) as made:
        made.merge(1, 2)
        assert merge_between(made, 3, 2) == (2, 3)
        assert merge_between(made, 1, 3) == (2, 3)
        with pytest.raises(ActionError, match="one segment"):
            merge_between(made, 1, 2)
        with pytest.raises(ActionError, match="do not touch"):
            merge_between(made, 1, 4)


def test_most_changed_centre_is_where_the_energy_changes_most(agglomerator):
    action = int(np.flatnonzero(agglomerator.available())[0])
    merge = int(agglomerator.actions.u[action]), int(agglomerator.actions.v[action])
    changes = agglomerator.scoring.by_centre(action)[0]
    expected = changes.centres[np.abs(changes.changes).argmax()]
    assert most_changed_centre(agglomerator, changes.spec_name, merge) == tuple(expected)


def test_merge_that_no_centre_sees_is_explained():
    # The contact lies in a corner that no sampled pair reaches.
    labels = np.ones((5, 5, 9), dtype=int)
    labels[0, 0, 0] = 2
    spec = DescriptorSpec("few", "pairwise", (5, 5, 9), np.array([[[0, 0, 0], [1, 1, 1]]]), (5, 5, 9))
    with (
        Agglomerator(
            Supervoxels.from_labels(labels), [spec], ToyEnergy(labels.shape, [spec]), threads=1
        ) as made,
        pytest.raises(ActionError, match="changes no descriptor"),
    ):
        most_changed_centre(made, "few", (1, 2))
