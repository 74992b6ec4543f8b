"""Joining the decisions of blocks against its definition, and what no rule may ever do."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.scale.reconcile import Answer, combine, reconcile, votes_of
from reference import reconciliation as reference

N = 8


@st.composite
def some_votes(draw):
    """Rows of several blocks on some pairs; no two scores are alike, so that there is one best merge."""
    pairs = draw(
        st.lists(
            st.tuples(st.integers(1, N), st.integers(1, N)).filter(lambda p: p[0] < p[1]),
            max_size=14,
            unique=True,
        )
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = []
    for u, v in pairs:
        said = draw(st.lists(st.booleans(), min_size=1, max_size=3))
        owned = [draw(st.integers(0, 3)) for _ in said]
        for merged, faces in zip(said, owned, strict=True):
            # What is merged was below the threshold in its block, what is not was above.
            score = -rng.uniform(0.01, 1) if merged else rng.uniform(0.01, 1)
            rows.append((u, v, merged, score, faces))
    return rows


answers = st.lists(
    st.tuples(st.sampled_from(["merge", "keep-apart"]), st.integers(1, N), st.integers(1, N)).filter(
        lambda a: a[1] < a[2]
    ),
    max_size=4,
    unique_by=lambda a: a[1:],
)
rules = st.sampled_from(["all", "owner", "any"])


def as_votes(rows):
    """Every row as the vote of a block of its own."""
    types = np.int64, np.int64, bool, float, np.int64
    blocks = [
        votes_of(*(np.array([value], kind) for value, kind in zip(row, types, strict=True))) for row in rows
    ]
    return combine([votes_of(*(np.empty(0, kind) for kind in types)), *blocks])


def sets_of(segment):
    return {frozenset(np.flatnonzero(segment[1:] == name) + 1) for name in np.unique(segment[1:])}


@settings(max_examples=300, deadline=None)
@given(some_votes(), rules, answers)
def test_it_follows_the_definition(rows, rule, answers):
    sizes = np.array([0, *range(1, N + 1)])
    done = reconcile(as_votes(rows), sizes, rule, 0.0, [Answer(*one) for one in answers])
    assert sets_of(done.segment) == reference.reconcile(N, rows, rule, 0.0, answers)
    assert done.n_disputed == sum(one[1] for one in reference.tally(rows, rule).values())
    for one in sets_of(done.segment):
        assert {int(done.segment[i]) for i in one} == {max(one)}


@settings(max_examples=200, deadline=None)
@given(some_votes(), rules, answers, st.floats(-1, 1))
def test_what_people_keep_apart_stays_apart(rows, rule, answers, threshold):
    done = reconcile(
        as_votes(rows), np.ones(N + 1, dtype=int), rule, threshold, [Answer(*one) for one in answers]
    )
    for kind, u, v in answers:
        if kind == "keep-apart":
            assert done.segment[u] != done.segment[v]


@settings(max_examples=200, deadline=None)
@given(some_votes(), rules, answers)
def test_what_people_merge_is_one_segment(rows, rule, answers):
    merges = [one for one in answers if one[0] == "merge"]
    done = reconcile(as_votes(rows), np.ones(N + 1, dtype=int), rule, 0.0, [Answer(*one) for one in merges])
    for _, u, v in merges:
        assert done.segment[u] == done.segment[v]


@settings(max_examples=100, deadline=None)
@given(some_votes(), rules)
def test_pairs_are_counted_as_defined(rows, rule):
    pairs = as_votes(rows)
    wanted = reference.tally(rows, rule)
    found = {
        (int(u), int(v)): (bool(m), bool(d), int(a))
        for u, v, m, d, a in zip(
            pairs.u, pairs.v, pairs.is_merged(rule), pairs.is_disputed, pairs.area, strict=True
        )
    }
    assert found == {pair: one[:3] for pair, one in wanted.items()}
    totals = [wanted[pair][3] for pair in found]
    np.testing.assert_allclose(pairs.total, totals, atol=1e-12)


def test_blocks_that_agree_need_no_second_pass():
    rows = [(1, 2, True, -1.0, 2), (1, 2, True, -1.0, 1), (2, 3, False, 1.0, 4)]
    done = reconcile(as_votes(rows), np.array([0, 5, 6, 7]), "all", 0.0)
    assert done.segment.tolist() == [0, 2, 2, 3]
    assert (done.n_disputed, done.n_joined) == (0, 0)


@pytest.mark.parametrize(("faces", "is_one"), [(9, True), (1, False)])
def test_a_disputed_pair_goes_by_the_block_that_holds_its_faces(faces, is_one):
    rows = [(1, 2, True, -1.0, faces), (1, 2, False, 2.0, 2)]
    done = reconcile(as_votes(rows), np.array([0, 1, 1]), "all", 0.0)
    assert (done.segment[1] == done.segment[2]) == is_one
    assert (done.n_disputed, done.n_joined) == (1, int(is_one))


def test_a_chain_through_blocks_does_not_join_what_one_saw_a_membrane_between():
    chain = [(1, 2, True, -0.1, 1), (2, 3, True, -0.2, 1), (1, 3, False, 5.0, 9)]
    done = reconcile(as_votes(chain), np.ones(4, dtype=int), "all", 0.0)
    assert done.segment[1] != done.segment[3]
    assert done.segment[2] == done.segment[3]


def test_a_disputed_pair_whose_faces_nobody_counted_stays_apart():
    rows = [(1, 2, True, -1.0, 0), (1, 2, False, 2.0, 0)]
    for threshold in (0.0, 1.0):
        done = reconcile(as_votes(rows), np.array([0, 1, 1]), "all", threshold)
        assert done.segment[1] != done.segment[2]


@settings(max_examples=100, deadline=None)
@given(some_votes(), st.integers(0, 20))
def test_groups_of_blocks_may_be_put_together_first(rows, cut):
    at_once, in_groups = as_votes(rows), combine([as_votes(rows[:cut]), as_votes(rows[cut:])])
    for field in fields(at_once):
        np.testing.assert_allclose(getattr(in_groups, field.name), getattr(at_once, field.name), atol=1e-12)
