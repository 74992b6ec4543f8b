"""Answers applied to segments: as the slow twin does it, and nothing else changes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from napari_celis.core.segments import join_all
from napari_celis.scale.honour import Answer, honour
from reference.honour import honoured

N = 9


@st.composite
def worlds(draw):
    """Draw pairs that touch, segments that are connected, and answers about some pairs."""
    every = [(u, v) for u in range(1, N + 1) for v in range(u + 1, N + 1)]
    touching = sorted(draw(st.lists(st.sampled_from(every), unique=True)))
    merged = [pair for pair in touching if draw(st.booleans())]
    segment = join_all(N, *np.array(merged, dtype=np.int64).reshape(-1, 2).T)
    segment[0] = 0
    scores = draw(st.lists(st.integers(-3, 3), min_size=len(touching), max_size=len(touching)))
    asked = draw(st.lists(st.sampled_from(every), unique=True, max_size=6))
    kinds = draw(st.lists(st.sampled_from(["merge", "keep-apart"]), min_size=len(asked), max_size=len(asked)))
    return segment, touching, scores, [Answer(kind, *pair) for kind, pair in zip(kinds, asked, strict=True)]


@given(worlds())
def test_it_equals_the_slow_twin(world):
    segment, touching, scores, answers = world
    u, v = np.array(touching, dtype=np.int64).reshape(-1, 2).T
    component, order = honour(segment, u, v, np.array(scores, dtype=float), answers)
    expected = honoured(segment, [(s, *pair) for s, pair in zip(scores, touching, strict=True)], answers)
    assert {frozenset(np.flatnonzero(component == one).tolist()) for one in component} == expected
    # The order alone, joined pair by pair, makes the same of all that touch.
    assert len(set(order.tolist())) == len(order)
    by_hand = {(one.u, one.v) for one in answers if one.kind == "merge"}
    is_one = component[u] == component[v]
    allowed = [segment[a] == segment[b] or (a, b) in by_hand for a, b in touching]
    assert set(order.tolist()) == set(np.flatnonzero(is_one & np.array(allowed, dtype=bool)).tolist())


@given(worlds())
def test_segments_without_answers_stay_as_they_are(world):
    segment, touching, scores, answers = world
    u, v = np.array(touching, dtype=np.int64).reshape(-1, 2).T
    component, _ = honour(segment, u, v, np.array(scores, dtype=float), answers)
    asked = {int(segment[end]) for one in answers for end in (one.u, one.v)}
    for name in set(segment[1:].tolist()) - asked:
        members = np.flatnonzero(segment == name)
        assert set(np.flatnonzero(component == component[members[0]]).tolist()) == set(members.tolist())
