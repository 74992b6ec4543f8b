"""Segments of the whole volume, against a plain flood over the merges."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.segments import join_all, named_by_largest, spanning_forest


def flood(n, edges):
    """Groups of 0 to n that the edges connect."""
    groups = [{i} for i in range(n + 1)]
    for a, b in edges:
        mine = next(group for group in groups if a in group)
        other = next(group for group in groups if b in group)
        if mine is not other:
            groups.remove(other)
            mine |= other
    return {frozenset(group) for group in groups}


def as_groups(component):
    return {frozenset(np.flatnonzero(component == name).tolist()) for name in np.unique(component)}


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 9))
    ends = st.integers(1, n)
    edges = draw(st.lists(st.tuples(ends, ends).filter(lambda edge: edge[0] != edge[1]), max_size=14))
    return n, edges


def columns(edges):
    return np.array(edges, dtype=np.int32).reshape(-1, 2).T


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 2**32))
def test_segments_are_what_the_merges_connect_and_have_the_name_of_their_largest(graph, seed):
    n, edges = graph
    component = join_all(n, *columns(edges))
    assert as_groups(component) == flood(n, edges)
    sizes = np.random.default_rng(seed).integers(1, 4, n + 1)
    named = named_by_largest(component, sizes)
    assert named.dtype == np.int32
    assert as_groups(named) == flood(n, edges)
    for group in flood(n, edges):
        largest = max(group, key=lambda i: (sizes[i], -i))
        assert all(named[i] == largest for i in group)


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_the_forest_holds_the_merges_that_joined_two_segments(graph):
    n, edges = graph
    u, v = columns(edges)
    taken = list(range(len(edges)))[::-1]
    expected = {
        action for place, action in enumerate(taken)
        if flood(n, [edges[i] for i in taken[:place]]) != flood(n, [edges[i] for i in taken[: place + 1]])
    }  # fmt: skip
    assert spanning_forest(u, v, taken, n) == expected
