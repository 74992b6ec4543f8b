"""What seeds show is what they do: the weakest cut of the parts, exact, and taken back at once."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from core.states import chain, of_labels, operate, segments_of, snapshot
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.seeded_cut import FACE
from napari_celis.core.seeded_split import (
    Seeds,
    carry_out_seeded_split,
    plan_seeded_split,
    require_same_segment,
)
from napari_celis.core.splitting import begin_split
from napari_celis.core.supervoxels import Supervoxels
from reference.seeded_cut import weakest_first_side

OPERATIONS = ("step", "step", "merge", "merge", "cut")
Drawn = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=12)


def divided(agglomerator, plan, specs, energy):
    """Build the agglomerator of the parts, one split after the other."""
    for split in plan.splits:
        start = begin_split(agglomerator, split)
        agglomerator = Agglomerator(
            start.volume.supervoxels, specs, energy, actions=start.volume.actions, past=start.past, threads=1
        )
    return agglomerator


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), Drawn, st.data())
def test_it_leaves_the_weakest_sides_that_it_showed_and_one_undo_takes_it_back(problem, operations, data):
    labels, specs, energy = problem
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        for operation, choice in operations:
            if len(agglomerator.actions):
                operate(agglomerator, operation, choice)
        volume = agglomerator.labels()
        inside = np.argwhere(volume == data.draw(st.sampled_from(sorted(set(volume[volume > 0].tolist())))))
        if len(inside) < 2:
            return
        order = data.draw(st.permutations([tuple(one) for one in inside.tolist()]))[:5]
        n_first = data.draw(st.integers(1, len(order) - 1))
        seeds = Seeds(tuple(order[:n_first]), tuple(order[n_first:]))
        before = snapshot(agglomerator)
        try:
            plan = plan_seeded_split(agglomerator, seeds)
        except ActionError as error:
            assert "do not touch" in str(error)  # noqa: PT017
            return
        assert snapshot(agglomerator) == before
        check_sides(plan)
        parts = divided(agglomerator, plan, specs, energy)
        np.testing.assert_array_equal(parts.labels() > 0, labels > 0)
        glued, others = snapshot(parts, journal=False), segments_of(parts)
        steps = carry_out_seeded_split(parts, plan)
        after = parts.labels()
        on = np.zeros(labels.shape, dtype=int)
        for value, side in enumerate((plan.first_side, plan.second_side), start=1):
            on[np.isin(plan.volume.supervoxels.dense, side)] = value
        found = [set(after[on == value].tolist()) for value in (1, 2)]
        assert not found[0] & found[1]
        assert [len(one) for one in found] == [plan.n_first_pieces, plan.n_second_pieces]
        assert all(on[seed] == 1 for seed in seeds.first)
        assert all(on[seed] == 2 for seed in seeds.second)
        np.testing.assert_array_equal(on > 0, volume == volume[order[0]])
        own = next(group for group in others if int(parts.supervoxels.ids[plan.first_side[0]]) in group)
        assert others - {own} <= segments_of(parts)
        assert [step.kind for step in steps[: len(plan.splits)]] == ["split"] * len(plan.splits)
        assert parts.journal.n_last() == len(steps)
        for _ in steps:
            parts.undo()
        assert snapshot(parts, journal=False) == glued
        # Whatever a run does, the two sides stay apart.
        for _ in steps:
            parts.redo()
        while parts.step(np.inf) is not None:
            pass
        after = parts.labels()
        assert not {after[one] for one in seeds.first} & {after[one] for one in seeds.second}
        parts.close()


def check_sides(plan):
    """Compare with the slow twin, on contacts that are counted from scratch."""
    supervoxels = Supervoxels.from_labels(plan.volume.supervoxels.dense)
    members = np.union1d(plan.first_side, plan.second_side)
    if len(members) > 9:
        return
    place = {int(member): index for index, member in enumerate(members)}
    table = ActionTable.from_supervoxels(supervoxels)
    edges = [
        (place[int(u)], place[int(v)], 1 + FACE * int(area))
        for u, v, area in zip(table.u, table.v, table.area, strict=True)
        if int(u) in place and int(v) in place
    ]
    sides = [
        [place[one] for one in sorted({int(plan.volume.supervoxels.dense[seed]) for seed in side})]
        for side in (plan.seeds.first, plan.seeds.second)
    ]
    _, expected = weakest_first_side(len(members), edges, *sides)
    assert {place[int(one)] for one in plan.first_side} == expected


def bar():
    """Two supervoxels in a row, merged, and one that is not."""
    labels = np.zeros((3, 3, 16), dtype=np.uint64)
    labels[..., :6], labels[..., 6:12], labels[..., 12:] = 5, 6, 7
    agglomerator = of_labels(labels)
    agglomerator.merge(5, 6)
    return agglomerator


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([(0, 1, 1)], [], "All seeds are on side A. Set at least one on side B too."),
        ([], [(0, 1, 1)], "All seeds are on side B."),
        ([(0, 1, 1)], [(0, 1, 14)], "are in different segments"),
        ([(0, 1, 1)], [(0, 1, 1)], "is a seed of both sides"),
        ([(0, 1, 1)], [(0, 1, 16)], "lies outside of the volume"),
        ([(0, -1, 1)], [(0, 1, 5)], "lies outside of the volume"),
    ],
)
def test_seeds_that_part_nothing_are_refused(first, second, words):
    with bar() as agglomerator:
        before = snapshot(agglomerator)
        with pytest.raises(ActionError, match=words):
            plan_seeded_split(agglomerator, Seeds(tuple(first), tuple(second)))
        assert snapshot(agglomerator) == before


def test_the_background_and_supervoxels_of_one_voxel_are_refused():
    labels = np.ones((3, 3, 4), dtype=np.uint64)
    labels[..., 2:], labels[0, 0, 3] = 0, 2
    with of_labels(labels) as agglomerator:
        for second, words in [((0, 0, 2), "in the background"), ((0, 0, 3), "different segments")]:
            with pytest.raises(ActionError, match=words):
                plan_seeded_split(agglomerator, Seeds(((0, 0, 0),), (second,)))
        with pytest.raises(ActionError, match="has only 1 voxel"):
            plan_seeded_split(agglomerator, Seeds(((0, 0, 3),), ((0, 0, 3),)))


def test_a_segment_that_changed_since_is_refused():
    with bar() as agglomerator:
        plan = plan_seeded_split(agglomerator, Seeds(((0, 1, 1),), ((0, 1, 9),)))
        require_same_segment(agglomerator, plan)
        agglomerator.merge(6, 7)
        with pytest.raises(ActionError, match="has changed since"):
            require_same_segment(agglomerator, plan)
        agglomerator.undo()
        require_same_segment(agglomerator, plan)


def test_low_affinities_and_long_voxels_count():
    # One supervoxel with a membrane at x = 4, off its middle.
    with of_labels(np.ones((3, 5, 12), dtype=np.uint64)) as agglomerator:
        affinities = np.ones((3, 3, 5, 12), dtype=np.float32)
        affinities[2, :, :, 4] = 0.1
        seeds = Seeds(((1, 2, 0),), ((1, 2, 11),))
        plan = plan_seeded_split(agglomerator, seeds, affinities, (40.0, 4.0, 4.0))
        side = plan.volume.supervoxels.dense == plan.volume.supervoxels.dense[1, 2, 0]
        np.testing.assert_array_equal(side, np.broadcast_to(np.arange(12) < 4, side.shape))


def test_a_cut_between_supervoxels_divides_nothing():
    with chain(4) as agglomerator:
        for pair in [(1, 2), (2, 3), (3, 4)]:
            agglomerator.merge(*pair)
        dense = agglomerator.supervoxels.dense
        seeds = Seeds(*((tuple(np.argwhere(dense == one)[0].tolist()),) for one in (1, 4)))
        plan = plan_seeded_split(agglomerator, seeds)
        assert plan.splits == ()
        assert plan.volume.supervoxels is agglomerator.supervoxels
        assert plan.volume.actions is agglomerator.actions
