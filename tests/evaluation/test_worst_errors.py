"""The worst errors of a run are those of its volume, and each names a contact that puts it right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.states import agglomerate, operate
from napari_celis.evaluation.contingency import contingency_table
from napari_celis.evaluation.error_curve import PastErrors
from napari_celis.evaluation.metrics import score, worst_merges, worst_splits
from napari_celis.evaluation.overlaps import overlaps_of
from napari_celis.evaluation.worst_errors import worst_errors

OPERATIONS = ("step", "step", "merge", "keep apart", "cut", "undo", "redo")
Drawn = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=12)


def random_truth(shape, seed):
    return np.random.default_rng(seed).integers(0, 4, shape).astype(np.uint64)


@given(st.integers(0, 20), Drawn)
def test_bits_pieces_and_sizes_are_those_of_the_volume(seed, operations):
    with agglomerate(seed) as agglomerator:
        supervoxels = agglomerator.supervoxels
        truth = random_truth(supervoxels.dense.shape, seed)
        overlaps = overlaps_of(contingency_table(supervoxels.dense, truth), supervoxels.n)
        for operation, choice in operations:
            operate(agglomerator, operation, choice)
        table = contingency_table(agglomerator.labels(), truth)
        found = worst_errors(overlaps, agglomerator.merges.trees(), limit=100)
        for kind, expected in (("split", worst_splits(table, 100)), ("merge", worst_merges(table, 100))):
            own = [error for error in found if error.kind == kind]
            wanted = [fault for fault in expected if kind == "split" or fault.object_id != 0]
            assert [error.bits for error in own] == pytest.approx([fault.bits for fault in wanted])
            assert sorted((e.n_pieces, e.n_voxels) for e in own) == sorted(
                (f.n_pieces, f.n_voxels) for f in wanted
            )
        assert [error.bits for error in found] == sorted((error.bits for error in found), reverse=True)


def test_the_contact_lies_between_two_pieces_and_deciding_there_helps():
    with agglomerate(3, background=0.0) as agglomerator:
        supervoxels, actions = agglomerator.supervoxels, agglomerator.actions
        truth = np.ones(supervoxels.dense.shape, dtype=np.uint64)
        overlaps = overlaps_of(contingency_table(supervoxels.dense, truth), supervoxels.n)

        def worst():
            return worst_errors(overlaps, agglomerator.merges.trees())

        for n_left in range(agglomerator.n_segments, 1, -1):
            (error,) = worst()
            assert (error.kind, error.n_pieces) == ("split", n_left)
            ids = supervoxels.ids
            agglomerator.merge(int(ids[actions.u[error.action]]), int(ids[actions.v[error.action]]))
        assert worst() == []
        # The other way round: every supervoxel is an object of its own, and all are one segment.
        overlaps = overlaps_of(contingency_table(supervoxels.dense, supervoxels.dense), supervoxels.n)
        (error,) = worst()
        assert (error.kind, error.n_pieces) == ("merge", supervoxels.n)
        assert agglomerator.taken()[error.action]


@given(st.integers(0, 20), Drawn, st.integers(2, 9))
def test_the_curve_is_what_each_state_scores(seed, operations, n_points):
    with agglomerate(seed) as agglomerator:
        supervoxels = agglomerator.supervoxels
        truth = random_truth(supervoxels.dense.shape, seed)
        past = PastErrors(overlaps_of(contingency_table(supervoxels.dense, truth), supervoxels.n))
        for operation, choice in operations:
            operate(agglomerator, operation, choice)
        curve = past.curve(agglomerator, n_points)
        assert curve.n_steps[0] == 0
        assert curve.n_steps[-1] == len(agglomerator.history)
        for n_steps, split, merge in zip(curve.n_steps, curve.split, curve.merge, strict=True):
            expected = score(contingency_table(agglomerator.labels(int(n_steps)), truth))
            assert (split, merge) == pytest.approx((expected.vi_split, expected.vi_merge), abs=1e-9)
