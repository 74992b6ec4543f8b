"""A planned cut shows exactly the two sides that the real one leaves."""

import numpy as np
import pytest

from core.problems import ToyEnergy
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import (
    allow_between,
    keeping_apart,
    plan_cut_between,
    plan_cut_of_merge,
    plan_taking_out,
)
from napari_celis.core.cuts import carry_out as carry_out_plan
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import ActionError
from napari_celis.core.supervoxels import Supervoxels

GRID = np.kron(np.arange(1, 10, dtype=np.uint64).reshape(1, 3, 3) * 10, np.ones((4, 3, 3), dtype=np.uint64))
"""Nine supervoxels, 10 to 90, in three rows."""


@pytest.fixture
def grid():
    spec = sample_spec("toy", "pairwise", (3, 3, 3), rng=np.random.default_rng(0), k=20)
    with Agglomerator(
        Supervoxels.from_labels(GRID), (spec,), ToyEnergy(GRID.shape, (spec,)), threads=1
    ) as agglomerator:
        yield agglomerator


def carry_out(agglomerator, plan):
    for pair in plan.cuts:
        agglomerator.cut(*pair)
    for pair in plan.merges:
        agglomerator.merge(*pair)


def sides_after(agglomerator, plan):
    """Segments that hold the supervoxels of the two sides."""
    ids = agglomerator.segment_ids()
    return [set(ids[side].tolist()) for side in (plan.first_side, plan.second_side)]


def test_cutting_a_merge_leaves_the_sides_that_were_shown(grid):
    for pair in [(10, 20), (20, 30), (30, 60)]:
        grid.merge(*pair)
    plan = plan_cut_of_merge(grid, grid.actions.find(2, 3))
    assert (plan.cuts, plan.first_side.tolist(), plan.second_side.tolist()) == (((20, 30),), [1, 2], [3, 6])
    carry_out(grid, plan)
    first, second = sides_after(grid, plan)
    assert len(first) == len(second) == 1
    assert first != second


def test_a_merge_that_joined_nothing_moves_nothing(grid):
    for pair in [(10, 20), (20, 50), (50, 40), (40, 10)]:
        grid.merge(*pair)
    plan = plan_cut_of_merge(grid, grid.actions.find(1, 4))
    assert len(plan.first_side) == len(plan.second_side) == 0


def test_between_two_the_least_certain_merge_goes(grid):
    steps = [grid.merge(*pair) for pair in [(10, 20), (20, 30), (30, 60), (60, 90)]]
    worst = max(steps, key=lambda step: step.score)
    plan = plan_cut_between(grid, 1, 9)
    assert plan.cuts == ((worst.u_id, worst.v_id),)
    carry_out(grid, plan)
    ids = grid.segment_ids()
    assert ids[1] != ids[9]
    assert sides_after(grid, plan) == [{int(ids[1])}, {int(ids[9])}]


def test_a_supervoxel_taken_out_is_alone_and_the_rest_keeps_what_did_not_concern_it(grid):
    # 50 is the hub of a cross; 20 and 60 are also joined around the corner, over 30.
    for pair in [(50, 20), (50, 60), (50, 80), (20, 30), (30, 60)]:
        grid.merge(*pair)
    plan = plan_taking_out(grid, 5)
    assert plan.first_side.tolist() == [5]
    assert plan.second_side.tolist() == [2, 3, 6, 8]
    assert plan.n_steps == len(plan.cuts) + len(plan.merges) == 4
    assert plan.n_pieces == 2
    carry_out(grid, plan)
    ids = grid.segment_ids()
    assert len({int(ids[i]) for i in plan.second_side}) == plan.n_pieces
    assert list(ids).count(ids[5]) == 1
    assert ids[2] == ids[3] == ids[6] != ids[8]


def test_cut_again_after_a_cut_and_a_new_merge(grid):
    grid.merge(10, 20)
    grid.cut(10, 20)
    grid.merge(20, 30)
    grid.merge(10, 20)
    assert plan_cut_of_merge(grid, grid.actions.find(1, 2)).first_side.tolist() == [1]


def test_what_cannot_be_cut_is_said(grid):
    with pytest.raises(ActionError, match="never merged directly"):
        plan_cut_of_merge(grid, 0)
    with pytest.raises(ActionError, match="different segments"):
        plan_cut_between(grid, 1, 2)
    with pytest.raises(ActionError, match="a segment of its own"):
        plan_taking_out(grid, 1)


def test_preview_and_cut_go_by_the_same_merges_also_for_merges_from_the_start():
    labels = np.zeros((3, 4, 4), dtype=np.uint64)
    labels[:, :2], labels[:, 2:, :2], labels[:, 2:, 2:] = 1, 2, 3
    spec = sample_spec("toy", "pairwise", (3, 3, 3), rng=np.random.default_rng(0), k=20)
    for pair in [(1, 2), (1, 3), (2, 3)]:
        with Agglomerator(
            Supervoxels.from_labels(labels),
            (spec,),
            ToyEnergy(labels.shape, (spec,)),
            merges=[(2, 3), (1, 3), (1, 2)],
            threads=1,
        ) as agglomerator:
            plan = plan_cut_of_merge(agglomerator, agglomerator.actions.find(*pair))
            agglomerator.cut(*pair)
            sides = sides_after(agglomerator, plan)
            assert (sides[0] != sides[1]) == (len(plan.first_side) > 0) == (agglomerator.n_segments == 2)
            assert all(len(side) <= 1 for side in sides)


def test_sides_that_are_kept_apart_stay_so_in_a_run_and_one_undo_is_enough(grid):
    for pair in [(10, 20), (20, 30), (30, 60)]:
        grid.merge(*pair)
    before = grid.segment_ids()
    plan = keeping_apart(plan_cut_of_merge(grid, grid.actions.find(2, 3)))
    assert plan.apart == ((20, 30),)
    carry_out_plan(grid, plan)
    assert grid.journal.n_last() == 2
    while grid.step(np.inf) is not None:
        pass
    first, second = sides_after(grid, plan)
    assert first != second
    while len(grid.history) > 5:
        grid.undo()
    for _ in range(grid.journal.n_last()):
        grid.undo()
    np.testing.assert_array_equal(grid.segment_ids(), before)
    assert grid.constraints == ()


def test_a_supervoxel_taken_out_stays_out(grid):
    for pair in [(10, 20), (20, 30), (20, 50), (50, 80)]:
        grid.merge(*pair)
    plan = keeping_apart(plan_taking_out(grid, 2))
    carry_out_plan(grid, plan)
    assert set(plan.apart) == set(plan.cuts) == set(grid.constraints)
    # A merge that joined nothing has no sides to keep apart.
    for pair in [(40, 70), (70, 80), (80, 50), (50, 40)]:
        if not grid.taken()[grid.actions.find(*(grid.supervoxels.index_of(end) for end in pair))]:
            grid.merge(*pair)
    loop = keeping_apart(plan_cut_of_merge(grid, grid.actions.find(4, 5)))
    assert loop.apart == ()


def test_all_that_keeps_two_segments_apart_is_taken_out_together(grid):
    grid.keep_apart(10, 20)
    grid.keep_apart(40, 50)
    grid.keep_apart(10, 90)
    grid.merge(10, 40)
    grid.merge(20, 50)
    scores, taken = grid.scores(), grid.taken()
    steps = allow_between(grid, 40, 20)
    assert [(step.kind, step.follows) for step in steps] == [("allow", False), ("allow", True)]
    assert grid.constraints == ((10, 90),)
    grid.merge(10, 20)
    grid.undo()
    with pytest.raises(ActionError, match="Nothing keeps the segments of supervoxels 40 and 20 apart"):
        allow_between(grid, 40, 20)
    for _ in range(grid.journal.n_last()):
        grid.undo()
    assert grid.constraints == ((10, 20), (40, 50), (10, 90))
    np.testing.assert_array_equal(grid.scores(), scores)
    np.testing.assert_array_equal(grid.taken(), taken)
    with pytest.raises(ActionError, match="kept apart by the constraint"):
        grid.merge(10, 20)
