"""A cut between seeds is the weakest one, leaves what it showed, and is taken back at once."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from core.states import chain, operate, segments_of, snapshot
from core.test_cuts import GRID
from core.test_cuts import grid as grid_fixture
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import carry_out
from napari_celis.core.errors import ActionError
from napari_celis.core.seeded_cut import contact_strength, plan_seeded_cut, weakest_cut
from napari_celis.core.supervoxels import Supervoxels
from reference.seeded_cut import weakest_first_side

grid = grid_fixture


@st.composite
def graphs(draw):
    """A connected graph with seeds of both sides."""
    n = draw(st.integers(2, 8))
    strength = st.sampled_from([1, 2, 3, 7, 10**9])
    edges = [(draw(st.integers(0, node - 1)), node, draw(strength)) for node in range(1, n)]
    more = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), strength)
    edges += [(min(u, v), max(u, v), s) for u, v, s in draw(st.lists(more, max_size=10)) if u != v]
    nodes = draw(st.permutations(range(n)))
    n_first = draw(st.integers(1, n - 1))
    n_second = draw(st.integers(1, n - n_first))
    return n, edges, sorted(nodes[:n_first]), sorted(nodes[n_first : n_first + n_second])


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_the_cut_is_the_weakest_of_all(graph):
    n, edges, first, second = graph
    # A sum that fits into 31 bits, so that nothing is rounded; what does not is tested below.
    edges = [(u, v, min(s, 10**6)) for u, v, s in edges]
    u, v, strength = (np.array(column, dtype=np.int64) for column in zip(*edges, strict=True))
    on_first = weakest_cut(n, u, v, strength, np.array(first), np.array(second))
    _, expected = weakest_first_side(n, edges, first, second)
    assert set(np.flatnonzero(on_first).tolist()) == expected


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_strengths_beyond_32_bits_are_divided_and_still_part_the_seeds(graph):
    n, edges, first, second = graph
    u, v, strength = (np.array(column, dtype=np.int64) for column in zip(*edges, strict=True))
    on_first = weakest_cut(n, u, v, strength * 2**20, np.array(first), np.array(second))
    assert on_first[first].all()
    assert not on_first[second].any()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    problems(),
    st.lists(
        st.tuples(st.sampled_from(["step", "step", "merge", "cut"]), st.integers(0, 10**6)), max_size=14
    ),
    st.data(),
)
def test_it_leaves_the_sides_that_it_showed_and_one_undo_takes_it_all_back(problem, operations, data):
    labels, specs, energy = problem
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as agglomerator:
        if not len(agglomerator.actions):
            return
        for operation, choice in operations:
            operate(agglomerator, operation, choice)
        largest = max(segments_of(agglomerator), key=lambda one: (len(one), sorted(one)))
        if len(largest) < 2:
            return
        members = data.draw(st.permutations([agglomerator.supervoxels.index_of(i) for i in sorted(largest)]))
        n_first = data.draw(st.integers(1, len(members) - 1))
        n_second = data.draw(st.integers(1, len(members) - n_first))
        first, second = members[:n_first], members[n_first : n_first + n_second]
        is_kept_apart = data.draw(st.booleans())
        before, n_before = snapshot(agglomerator), len(agglomerator.history)
        others = segments_of(agglomerator) - {largest}
        plan = plan_seeded_cut(agglomerator, first, second, is_kept_apart=is_kept_apart)
        assert snapshot(agglomerator) == before
        steps = carry_out(agglomerator, plan)
        assert len(steps) == plan.n_steps == len(agglomerator.history) - n_before
        assert [step.follows for step in steps] == [False] + [True] * (len(steps) - 1)
        ids = agglomerator.segment_ids()
        sides = [set(ids[side].tolist()) for side in (plan.first_side, plan.second_side)]
        assert not sides[0] & sides[1]
        assert [len(side) for side in sides] == [plan.n_first_pieces, plan.n_pieces]
        assert {int(ids[s]) for s in first} == sides[0]
        assert {int(ids[s]) for s in second} == sides[1]
        assert others <= segments_of(agglomerator)
        if is_kept_apart:
            while agglomerator.step(np.inf) is not None:
                pass
            ids = agglomerator.segment_ids()
            assert not {int(ids[s]) for s in first} & {int(ids[s]) for s in second}
            while len(agglomerator.history) > n_before + len(steps):
                agglomerator.undo()
        after = snapshot(agglomerator, journal=False)
        assert agglomerator.journal.n_last() == len(steps)
        for _ in range(agglomerator.journal.n_last()):
            agglomerator.undo()
        assert snapshot(agglomerator, journal=False) == {
            key: value for key, value in before.items() if key not in ("done", "undone")
        }
        assert agglomerator.journal.n_next() == len(steps)
        again = [agglomerator.redo() for _ in range(agglomerator.journal.n_next())]
        assert [(s.kind, s.u_id, s.v_id, s.follows) for s in again] == [
            (s.kind, s.u_id, s.v_id, s.follows) for s in steps
        ]
        assert snapshot(agglomerator, journal=False) == after


def test_all_contacts_of_the_segment_count_merged_or_not(grid):
    # A snake through the grid: 10-20-30-60-50-40-70-80-90.
    for pair in [(10, 20), (20, 30), (30, 60), (60, 50), (50, 40), (40, 70), (70, 80), (80, 90)]:
        grid.merge(*pair)
    strength = np.ones(len(grid.actions), dtype=np.int64)
    plan = plan_seeded_cut(grid, [1, 2, 3], [7, 8, 9], strength)
    assert sorted(plan.first_side.tolist()) == [1, 2, 3]
    # The row 40-50-60 hangs on 30 and on 70; three contacts part it from either, and the first side is small.
    assert plan.cuts == ((30, 60),)
    assert plan.apart == ((10, 70),)


def test_a_side_that_a_cut_would_leave_in_pieces_is_merged_where_it_touches(grid):
    # 20 and 40 hold together only over 10, which goes to the other side; 50 touches both.
    for pair in [(10, 20), (10, 40), (20, 50)]:
        grid.merge(*pair)
    plan = plan_seeded_cut(grid, [1], [2, 4])
    assert plan.merges == ((40, 50),)
    assert (plan.n_first_pieces, plan.n_pieces) == (1, 1)
    before = snapshot(grid)
    carry_out(grid, plan)
    assert segments_of(grid) >= {frozenset({10}), frozenset({20, 40, 50})}
    for _ in range(grid.journal.n_last()):
        grid.undo()
    assert snapshot(grid, journal=False).items() <= before.items()


def test_seeds_that_a_side_cannot_join_leave_it_in_pieces_all_kept_apart(grid):
    with chain(3) as three:
        three.merge(1, 2)
        three.merge(2, 3)
        plan = plan_seeded_cut(three, [1, 3], [2])
        assert (plan.n_first_pieces, plan.n_pieces) == (2, 1)
        assert plan.apart == ((1, 2), (3, 2))


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ([1], [], "All seeds are on side A. Set at least one on side B too"),
        ([], [1], "All seeds are on side B. Set at least one on side A too"),
        ([1], [0], "background"),
        ([1, 2], [2], "Supervoxel 20 has seeds of both sides"),
        ([1], [2, 9], "Supervoxels 10 and 90 are in different segments"),
    ],
)
def test_seeds_that_no_cut_can_part_are_refused_in_one_sentence(grid, first, second, sentence):
    grid.merge(10, 20)
    with pytest.raises(ActionError, match=sentence):
        plan_seeded_cut(grid, first, second)


def test_strong_faces_hold_together_and_long_membranes_do_not(grid):
    affinities = np.full((3, *GRID.shape), 0.1, dtype=np.float32)
    affinities[2, :, :3, 3] = 0.95
    strength = contact_strength(grid.supervoxels, grid.actions, affinities)
    strong = grid.actions.find(1, 2)
    assert strength[strong] > 80 * grid.actions.area[strong]
    assert (np.delete(strength, strong) == 1).all()
    assert (contact_strength(grid.supervoxels, grid.actions, None) > grid.actions.area).all()


def test_decisions_together_stand_together_or_not_at_all(grid):
    with pytest.raises(ActionError), grid.together():  # noqa: PT012
        grid.merge(10, 20)
        grid.merge(10, 20)
    assert grid.history == ()
    grid.merge(10, 20)
    with grid.together():
        grid.merge(20, 30)
        grid.merge(30, 60)
    grid.merge(60, 90)
    assert [step.follows for step in grid.history] == [False, False, True, False]
    with grid.together():
        pass
    assert grid.journal.n_last() == 1
    for step in [grid.undo() for _ in range(4)][::-1]:
        grid.repeat(step)
    assert [step.follows for step in grid.history] == [False, False, True, False]
