"""What a block says about pairs of supervoxels."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from napari_celis.scale.stages.decisions import _has_contacts, _joining_scores, in_scan_order
from reference import merge_tree as reference


@st.composite
def merge_trees(draw):
    """Supervoxels with ids of any size, joined two segments at a time; each is named after one of them."""
    ids = sorted(draw(st.sets(st.integers(1, 2**63), min_size=2, max_size=9)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alive, joins = list(ids), []
    for _ in range(draw(st.integers(1, len(ids) - 1))):
        vanished, kept = rng.choice(len(alive), 2, replace=False)
        joins.append((alive[vanished], alive[kept], float(rng.normal())))
        alive.pop(vanished)
    return ids, joins


@given(merge_trees())
def test_a_merged_pair_has_the_score_of_the_step_that_joined_it(tree):
    ids, joins = tree
    root = {one: one for one in ids}
    for vanished, kept, _ in joins:
        root = {one: kept if top == vanished else top for one, top in root.items()}
    pairs = [(u, v) for u in ids for v in ids if u < v and root[u] == root[v]]
    dense = np.array([0, *ids], dtype=np.uint64)
    agglomerator = SimpleNamespace(
        supervoxels=SimpleNamespace(ids=dense), merges=SimpleNamespace(joins=lambda: joins)
    )
    u, v = (np.array([ids.index(pair[end]) + 1 for pair in pairs], dtype=np.int32) for end in (0, 1))
    assert _joining_scores(agglomerator, u, v).tolist() == reference.joining_scores(ids, joins, pairs)


labels = hnp.arrays(
    np.uint64, st.tuples(*[st.integers(1, 4)] * 3), elements=st.sampled_from([0, 2, 9, 2**40])
)


@given(labels)
def test_supervoxels_are_numbered_in_the_order_of_their_first_voxels(labels):
    numbered, names = in_scan_order(labels)
    assert_array_equal(names[numbered], labels)
    order = list(dict.fromkeys(labels[labels > 0].tolist()))
    assert names.tolist() == [0, *order]


@given(labels)
def test_contacts_are_seen(labels):
    touches = any(
        labels[p] and labels[q] and labels[p] != labels[q]
        for p in np.ndindex(labels.shape)
        for q in np.ndindex(labels.shape)
        if sum(abs(a - b) for a, b in zip(p, q, strict=True)) == 1
    )
    assert _has_contacts(labels) == touches
