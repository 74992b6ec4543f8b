"""Every centre has one region, its box lies inside, and the region knows what it holds."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.problems import random_labels
from napari_celis.core.actions import ActionTable
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import SpecError
from napari_celis.core.kernels import regions as kernels
from napari_celis.core.parallel import Pool
from napari_celis.core.regions import fill, tile
from napari_celis.core.supervoxels import Supervoxels
from reference.energy import centres_of, region_of
from reference.regions import actions_in, centres_by_region, seen_by, supervoxels_in


def spec_of(box, extra=(0, 0, 0), stride=(1, 1, 1), *, kind="pairwise", k=12, seed=0):
    region = [size + more for size, more in zip(box, extra, strict=True)]
    rng = np.random.default_rng(seed)
    return sample_spec("s", kind, box, rng=rng, k=k, region_zyx=region, stride_zyx=stride)


@st.composite
def tilings(draw, largest=12):
    """A shape and a spec that fits."""
    shape = tuple(draw(st.integers(1, largest)) for _ in range(3))
    box = [draw(st.integers(1, min(size, 5))) for size in shape]
    if np.prod(box) == 1:
        shape, box[2] = (*shape[:2], max(2, shape[2])), 2
    extra = [draw(st.integers(0, 6)) for _ in range(3)]
    stride = [draw(st.integers(1, 5)) for _ in range(3)]
    return shape, spec_of(box, extra, stride, kind=draw(st.sampled_from(["pairwise", "center"])))


@settings(max_examples=150, deadline=None)
@given(tilings())
@example(((9, 11, 7), spec_of((3, 3, 3), (2, 2, 2))))
@example(((5, 5, 5), spec_of((5, 5, 5), (6, 0, 1), (5, 5, 5))))
@example(((12, 2, 1), spec_of((2, 2, 1), (0, 3, 0), (4, 1, 1))))
def test_every_centre_belongs_to_the_one_region_of_the_definition(problem):
    shape, spec = problem
    tiling = tile(shape, spec)
    centres = [tuple(centre) for centre in tiling.centres.tolist()]
    assert sorted(centres) == centres_of(shape, spec)
    assert tiling.centre_start[0] == 0
    assert tiling.centre_start[-1] == tiling.n_centres
    assert (np.diff(tiling.centre_start) > 0).all()
    boxes = list(zip(map(tuple, tiling.low.tolist()), map(tuple, tiling.high.tolist()), strict=True))
    assert len(set(boxes)) == tiling.n_regions
    for index, centre in enumerate(centres):
        low, high = boxes[tiling.region_of(index)]
        assert (low, high) == region_of(centre, shape, spec)
        assert (np.array(centre) - spec.low_zyx >= low).all()
        assert (np.array(centre) + spec.high_zyx < high).all()
        assert all(0 <= a < b <= size for a, b, size in zip(low, high, shape, strict=True))


def test_regions_overlap_so_that_no_centre_is_lost():
    tiling = tile((3, 3, 12), spec_of((3, 3, 3), (0, 0, 2)))
    assert list(zip(tiling.low[:, 2].tolist(), tiling.high[:, 2].tolist(), strict=True)) == [
        (0, 5),
        (3, 8),
        (6, 11),
        (9, 12),
    ]
    assert np.diff(tiling.centre_start).tolist() == [3, 3, 3, 1]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_box_larger_than_the_volume_is_refused_with_both_sizes(axis):
    shape = [6, 6, 6]
    shape[axis] = 2
    with pytest.raises(SpecError, match=rf"\(3, 3, 3\).*`s`.*2 voxels along {'zyx'[axis]}"):
        tile(shape, spec_of((3, 3, 3)))


@pytest.mark.kernels
@settings(max_examples=25, deadline=None)
@given(tilings(largest=7), st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([0.0, 0.3, 0.9]))
def test_regions_hold_what_the_definition_says(problem, seed, n_supervoxels, background):
    shape, spec = problem
    labels = random_labels(np.random.default_rng(seed), shape, n_supervoxels, background)
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    table = fill(tile(shape, spec), supervoxels, actions, Pool(1))
    layout, tiling, ids = table.layout, table.tiling, supervoxels.ids.astype(int)
    centres = centres_by_region(shape, spec)
    for r in range(tiling.n_regions):
        box = tuple(tiling.low[r].tolist()), tuple(tiling.high[r].tolist())
        own = slice(tiling.centre_start[r], tiling.centre_start[r + 1])
        assert list(map(tuple, tiling.centres[own].tolist())) == centres[box]
        local = layout.local_sv[layout.local_start[r] : layout.local_start[r + 1]]
        assert ids[local].tolist() == supervoxels_in(labels, box)
        slots = slice(layout.slot_start[r], layout.slot_start[r + 1])
        rows = layout.slot_action[slots]
        pairs = list(zip(ids[actions.u[rows]].tolist(), ids[actions.v[rows]].tolist(), strict=True))
        assert pairs == actions_in(labels, box)
        assert local[layout.slot_u[slots]].tolist() == actions.u[rows].tolist()
        assert local[layout.slot_v[slots]].tolist() == actions.v[rows].tolist()
        n_words = (len(centres[box]) + 63) // 64
        seen = layout.seen[layout.seen_start[r] :][: len(local) * n_words].reshape(len(local), n_words)
        for c, centre in enumerate(centres[box]):
            is_seen = (seen[:, c >> 6] >> np.uint64(c & 63)) & np.uint64(1)
            assert set(ids[local[is_seen == 1]].tolist()) == seen_by(labels, centre, spec)
        assert np.bitwise_count(seen).sum() == sum(len(seen_by(labels, c, spec)) for c in centres[box])
    for action in range(len(actions)):
        start, slots = table.slots_of_action
        own = slots[start[action] : start[action + 1]]
        assert (layout.slot_action[own] == action).all()
        assert own.tolist() == np.flatnonzero(layout.slot_action == action).tolist()


def test_two_threads_fill_regions_like_one():
    labels = random_labels(np.random.default_rng(3), (12, 13, 14), 60, 0.1)
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    tiling = tile(labels.shape, spec_of((3, 3, 3)))
    assert tiling.n_regions > 1000
    one, two = Pool(1), Pool(2)
    for a, b in zip(
        fill(tiling, supervoxels, actions, one).layout,
        fill(tiling, supervoxels, actions, two).layout,
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)
    two.close()


@pytest.mark.kernels
def test_small_buffers_only_mean_more_turns():
    labels = random_labels(np.random.default_rng(0), (4, 5, 6), 12, 0.1)
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    tiling = tile(labels.shape, spec_of((2, 2, 2), (1, 1, 1)))
    layout = fill(tiling, supervoxels, actions, Pool(1)).layout
    local, slot = np.empty(supervoxels.n + 1, np.int32), np.empty(len(actions), np.int32)
    stamps = np.full(supervoxels.n + 1, -1, np.int64), np.full(len(actions), -1, np.int64)
    n_local, n_slot = np.zeros((2, tiling.n_regions), np.int64)
    locals_, slots, done, turns = [], [], 0, 0
    while done < tiling.n_regions:
        done, used_local, used_slot = kernels.fill_regions(
            supervoxels.dense, tiling.low, tiling.high, done, actions.first, actions.v, *stamps,
            n_local, local, n_slot, slot,
        )  # fmt: skip
        locals_.extend(local[:used_local].tolist())
        slots.extend(slot[:used_slot].tolist())
        turns += 1
    assert turns > 1
    assert locals_ == layout.local_sv.tolist()
    assert slots == layout.slot_action.tolist()
    np.testing.assert_array_equal(n_local, np.diff(layout.local_start))
    np.testing.assert_array_equal(n_slot, np.diff(layout.slot_start))
