"""Cutting merges and keeping segments apart: exactly what was asked for, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.states import (
    agglomerate,
    assert_exact,
    block_of_four,
    chain,
    of_labels,
    operate,
    pair_of,
    reference_of,
    segments_of,
    snapshot,
    taken_pairs,
)
from napari_celis.core.errors import ActionError


def test_a_merge_given_at_the_start_can_be_cut():
    with chain(4, merges=[(1, 2), (2, 3), (3, 4)]) as agglomerator:
        assert agglomerator.n_segments == 1
        before = snapshot(agglomerator)
        step = agglomerator.cut(3, 2)
        assert (step.kind, step.joins_segments, step.n_segments) == ("cut", False, 2)
        assert segments_of(agglomerator) == {frozenset({1, 2}), frozenset({3, 4})}
        assert_exact(agglomerator, reference_of(agglomerator))
        agglomerator.undo()
        agglomerator.journal.undone.clear()
        assert snapshot(agglomerator) == before


def test_a_cut_takes_the_merges_between_the_two_sides_and_no_others():
    with block_of_four() as agglomerator:
        for pair in [(1, 2), (2, 4), (3, 4), (1, 3)]:
            agglomerator.merge(*pair)
        energy = agglomerator.energy
        step = agglomerator.cut(2, 4)
        assert segments_of(agglomerator) == {frozenset({1, 2}), frozenset({3, 4})}
        assert taken_pairs(agglomerator) == {frozenset({1, 2}), frozenset({3, 4})}
        assert step.score == pytest.approx(agglomerator.energy - energy, abs=1e-12)
        assert_exact(agglomerator, reference_of(agglomerator))


def test_cutting_a_redundant_merge_changes_no_segment():
    with block_of_four() as agglomerator:
        for pair in [(1, 2), (2, 4), (3, 4), (1, 3)]:
            agglomerator.merge(*pair)
        assert not agglomerator.history[-1].joins_segments
        step = agglomerator.cut(1, 3)
        assert step.n_segments == 1
        assert taken_pairs(agglomerator) == {frozenset({1, 2}), frozenset({2, 4}), frozenset({3, 4})}
        assert_exact(agglomerator, reference_of(agglomerator))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 5), st.lists(st.integers(0, 10**6), min_size=2, max_size=9), st.integers(0, 10**6))
def test_a_cut_leaves_exactly_two_sides_and_equals_starting_without_the_merge(seed, choices, cut):
    with agglomerate(seed) as agglomerator:
        for choice in choices:
            operate(agglomerator, "merge", choice)
        action = np.flatnonzero(agglomerator.taken())[cut % agglomerator.taken().sum()]
        u, v = pair_of(agglomerator, action)
        before, taken_before = segments_of(agglomerator), taken_pairs(agglomerator)
        agglomerator.cut(u, v)
        after, taken = segments_of(agglomerator), taken_pairs(agglomerator)
        (whole,) = (segment for segment in before if u in segment)
        sides = {segment for segment in after if segment <= whole}
        assert len(sides) in (1, 2)
        assert after - sides == before - {whole}
        gone = taken_before - taken
        assert frozenset({u, v}) in gone
        if len(sides) == 2:
            assert gone == {pair for pair in taken_before if all(pair & side for side in sides)}
        else:
            assert len(gone) == 1
        with agglomerate(seed, merges=[tuple(pair) for pair in taken]) as started:
            np.testing.assert_allclose(started.scores(), agglomerator.scores(), rtol=1e-9, atol=1e-9)
            assert segments_of(started) == after


def test_keep_apart_survives_merges_on_either_side():
    with chain(6) as agglomerator:
        agglomerator.keep_apart(6, 1)
        for pair in [(1, 2), (5, 6), (4, 5), (2, 3)]:
            agglomerator.merge(*pair)
        middle = agglomerator.actions.find(3, 4)
        assert not agglomerator.available()[middle]
        with pytest.raises(ActionError, match="between 1 and 6"):
            agglomerator.merge(3, 4)
        assert list(agglomerator.steps(np.inf)) == []
        assert agglomerator.n_segments == 2
        assert agglomerator.constraints == ((1, 6),)
        for _ in range(5):
            agglomerator.undo()
        assert agglomerator.constraints == ()
        assert len(list(agglomerator.steps(np.inf))) == 5


def test_keep_apart_of_supervoxels_that_do_not_touch_has_no_action():
    with chain(3) as agglomerator:
        step = agglomerator.keep_apart(np.uint64(1), np.uint64(3))
        assert (step.kind, step.u_id, step.v_id, step.action_index) == ("keep-apart", 1, 3, -1)
        assert type(step.u_id) is type(step.v_id) is int
        agglomerator.merge(1, 2)
        assert not agglomerator.available().any()


def test_a_constraint_that_seems_redundant_still_holds_after_a_cut():
    labels = np.ones((3, 6, 9), dtype=np.uint64)
    labels[:, 3:, :4], labels[:, 3:, 4:] = 2, 3
    with of_labels(labels) as agglomerator:
        agglomerator.keep_apart(1, 2)
        agglomerator.merge(2, 3)
        agglomerator.keep_apart(1, 3)
        agglomerator.cut(2, 3)
        with pytest.raises(ActionError, match="kept apart"):
            agglomerator.merge(1, 3)
