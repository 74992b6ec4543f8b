"""What is blamed for a wrong merge is what helps most when it is cut or split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.states import agglomerate, chain, operate
from napari_celis.evaluation.blame import Blame, blame
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.metrics import score
from napari_celis.evaluation.overlaps import overlaps_of

OPERATIONS = ("step", "step", "merge", "merge", "cut")
Drawn = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=14)


def overlaps_with(supervoxels, truth):
    return overlaps_of(contingency_table(supervoxels.dense, truth), supervoxels.n)


def vi(labels, truth):
    found = score(contingency_table(labels, truth))
    return found.vi_split + found.vi_merge


def joined(n, truth_of):
    """Make a chain of blocks that is one segment, and the truth of each block or voxel."""
    agglomerator = chain(n)
    for first in range(1, n):
        agglomerator.merge(first, first + 1)
    dense = agglomerator.supervoxels.dense
    return agglomerator, np.asarray(truth_of, dtype=np.uint64)[dense - 1]


def test_the_merge_of_two_large_objects_is_blamed_not_that_of_a_sliver():
    # The sliver at the end is an object of its own, and touches the largest one.
    agglomerator, truth = joined(7, [4, 1, 1, 1, 2, 2, 2])
    truth[..., 0:2] = 1
    found = blame(overlaps_with(agglomerator.supervoxels, truth), agglomerator.merges.trees(), [1])
    assert found == [Blame(action=agglomerator.actions.find(4, 5))]


def test_a_supervoxel_with_two_objects_is_blamed():
    agglomerator, truth = joined(4, [1, 1, 1, 1])
    truth[:, :2, 10:] = 2
    found = blame(overlaps_with(agglomerator.supervoxels, truth), agglomerator.merges.trees(), [1])
    assert found == [Blame(supervoxel=4)]


def test_where_two_cuts_are_needed_the_first_is_named():
    agglomerator, truth = joined(9, [1, 1, 1, 1, 2, 1, 1, 1, 1])
    (found,) = blame(overlaps_with(agglomerator.supervoxels, truth), agglomerator.merges.trees(), [1])
    assert found.action in (agglomerator.actions.find(4, 5), agglomerator.actions.find(5, 6))


@given(st.integers(0, 20), Drawn)
def test_no_other_cut_helps_more(seed, operations):
    with agglomerate(seed) as agglomerator:
        for operation, choice in operations:
            operate(agglomerator, operation, choice)
        supervoxels, trees = agglomerator.supervoxels, agglomerator.merges.trees()
        truth = np.random.default_rng(seed).integers(0, 4, supervoxels.dense.shape).astype(np.uint64)
        ids, segment = supervoxels.ids, trees.segment
        before = vi(agglomerator.labels(), truth)
        helped = {}
        for node in trees.below:
            action = int(trees.merge[node])
            u, v = agglomerator.actions.u[action], agglomerator.actions.v[action]
            agglomerator.cut(int(ids[u]), int(ids[v]))
            helped[action] = before - vi(agglomerator.labels(), truth)
            agglomerator.undo()
        segments = np.unique(segment[1:]).tolist()
        blamed = blame(overlaps_with(supervoxels, truth), trees, segments)
        for name, found in zip(segments, blamed, strict=True):
            own = [gain for action, gain in helped.items() if segment[agglomerator.actions.u[action]] == name]
            best = max(own, default=0.0)
            if found.supervoxel >= 0:
                labels, share = agglomerator.labels().copy(), []
                for one in (1, 2, 3):
                    is_leaving = (supervoxels.dense == found.supervoxel) & (truth == one)
                    share.append(before - vi(np.where(is_leaving, np.uint64(10**6), labels), truth))
                assert max(share) > best - 1e-9
            elif found.action >= 0 and best > 1e-9:
                assert helped[found.action] == pytest.approx(best)
