"""Keep-apart constraints speak of segments, whatever these have become."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.constraints import Constraints


@st.composite
def situations(draw):
    """Segments of a few supervoxels, and pairs that lie in different ones."""
    n = draw(st.integers(2, 8))
    segment = np.array([0, *(draw(st.integers(1, 4)) for _ in range(n))], dtype=np.int32)
    ends = st.integers(1, n)
    pairs = draw(st.lists(st.tuples(ends, ends).filter(lambda p: segment[p[0]] != segment[p[1]]), max_size=4))
    return segment, pairs


@settings(max_examples=80, deadline=None)
@given(situations())
def test_a_pair_is_forbidden_when_its_segments_hold_a_constraint(situation):
    segment, pairs = situation
    constraints = Constraints()
    for u, v in pairs:
        constraints = constraints.with_pair(u, v)
    n = len(segment) - 1
    u, v = (axis.ravel() for axis in np.meshgrid(np.arange(1, n + 1), np.arange(1, n + 1), indexing="ij"))
    expected = [
        any({segment[a], segment[b]} == {segment[i], segment[j]} for a, b in pairs)
        for i, j in zip(u, v, strict=True)
    ]
    assert constraints.among(segment).forbid(np.stack([segment[u], segment[v]], axis=1)).tolist() == expected
    for i, j, is_kept in zip(u, v, expected, strict=True):
        found = constraints.between(segment, i, j)
        assert (found is not None) == is_kept
        if found is not None:
            assert found in constraints.pairs
            assert {segment[found[0]], segment[found[1]]} == {segment[i], segment[j]}


def test_adding_a_pair_leaves_the_old_constraints_as_they_were():
    none = Constraints()
    one = none.with_pair(5, 2)
    two = one.with_pair(1, 2)
    assert (none.pairs, one.pairs, two.pairs) == ((), ((2, 5),), ((2, 5), (1, 2)))
