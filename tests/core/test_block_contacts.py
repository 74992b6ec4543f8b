"""Contacts of blocks add up to those of the whole volume: every face belongs to one block."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from napari_celis.core.actions import ActionTable
from napari_celis.core.contacts import COUNT, HISTOGRAM, SQUARES, SUM, measure_contacts
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.scale.grid import BlockGrid, grown, inside
from reference import block_contacts as reference

labels = hnp.arrays(
    np.uint64,
    st.tuples(*[st.integers(1, 6)] * 3),
    elements=st.sampled_from([0, 3, 5, 2**32 + 1, 2**40, 2**63 + 7]),
)
bytes_or_floats = st.sampled_from([np.uint8, np.float32])


def draw_affinities(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 256, (3, *shape))
    return levels.astype(np.uint8) if dtype == np.uint8 else (levels / 255).astype(np.float32)


def add_blocks(labels, affinities, block_zyx):
    """Measure every block with the layer before it, and add up by id."""
    pairs, within = {}, {}
    for block in BlockGrid(labels.shape, block_zyx):
        around = grown(block.core, 1, 0, labels.shape)
        if not labels[around].any():
            continue
        begin = tuple(part.start for part in inside(block.core, around))
        supervoxels = Supervoxels.from_labels(labels[around])
        actions = ActionTable.from_supervoxels(supervoxels, begin)
        found = measure_contacts(supervoxels, actions, affinities[(slice(None), *around)], begin)
        ids = supervoxels.ids.tolist()
        first = np.array([part.start for part in around])
        for i, (u, v, area) in enumerate(zip(actions.u, actions.v, actions.area, strict=True)):
            position = actions.centroid[i] * area + first * area
            row = found.contact[i]
            assert row[COUNT] == area
            one = pairs.setdefault((ids[u], ids[v]), [0, np.zeros(3), 0, 0, 0, np.inf, -np.inf])
            one[0] += int(area)
            one[1] = one[1] + position
            one[2] += int(row[SUM])
            one[3] += int(row[SQUARES])
            one[4] = one[4] + row[HISTOGRAM]
            one[5], one[6] = min(one[5], found.low[i]), max(one[6], found.high[i])
        for index, row in enumerate(found.inside):
            if row[COUNT]:
                one = within.setdefault(ids[index], [0, 0])
                one[0] += int(row[COUNT])
                one[1] += int(row[SUM])
    return pairs, within


@pytest.mark.kernels
@settings(max_examples=80, deadline=None)
@given(labels, st.tuples(*[st.integers(1, 6)] * 3), bytes_or_floats, st.integers(0, 2**32))
def test_blocks_add_up_to_the_whole_volume(labels, block_zyx, dtype, seed):
    affinities = draw_affinities(labels.shape, dtype, seed)
    wanted = reference.contacts(labels, affinities)
    pairs, within = add_blocks(labels, affinities, block_zyx)
    assert pairs.keys() == wanted.keys()
    for pair, (area, position, total, squares, histogram, low, high) in wanted.items():
        found = pairs[pair]
        assert (found[0], found[2], found[3], found[5], found[6]) == (area, total, squares, low, high)
        # Centroids are rounded, their sums to halves are not.
        assert_array_equal(np.rint(2 * found[1]) / 2, position)
        assert_array_equal(found[4], histogram)
    assert within == reference.inside(labels, affinities)
