"""What lies around seeds is counted once, in nm, inside of their segment; a side far below it is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.states import of_labels
from napari_celis.core.seed_surroundings import FURTHEST, voxels_around
from napari_celis.core.seeded_split import Seeds, plan_seeded_split

SHAPE = (14, 20, 30)
Voxel = st.tuples(*(st.integers(0, size - 1) for size in SHAPE))
Voxels = st.lists(Voxel, min_size=1, max_size=3)


@given(Voxels, Voxels, st.sampled_from([(1.0, 1.0, 1.0), (40.0, 4.0, 4.0)]))
def test_voxels_around_are_those_that_lie_half_the_way_to_the_other_side(seeds, others, voxel_nm):
    dense = np.random.default_rng(0).integers(0, 4, SHAPE).astype(np.int32)
    places = np.stack(np.indices(SHAPE), axis=-1)
    is_near = np.zeros(SHAPE, dtype=bool)
    for seed in seeds:
        squared = (((places - seed) * voxel_nm) ** 2).sum(axis=-1)
        to_others = min(squared[other] for other in others)
        is_near |= (4 * squared <= to_others) & (squared <= (FURTHEST * min(voxel_nm)) ** 2)
    expected = (is_near & np.isin(dense, (1, 3))).sum()
    assert voxels_around(dense, np.array([1, 3]), seeds, others, voxel_nm) == expected


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_side_that_hardly_grows_from_its_seeds_is_named(is_swapped):
    labels = np.ones(SHAPE, dtype=np.uint64)
    labels[..., 28:] = 2
    affinities = np.ones((3, *SHAPE), dtype=np.float32)
    # A thread of boundary: the seed that lies further from it takes nearly everything.
    affinities[0, 7, 5] = 0.1
    sides = [((7, 10, 14),), ((7, 10, 2),)][:: -1 if is_swapped else 1]
    with of_labels(labels) as agglomerator:
        plan = plan_seeded_split(agglomerator, Seeds(*sides), affinities)
        voxels = plan.volume.supervoxels.sizes
        sizes = [int(voxels[side].sum()) for side in (plan.first_side, plan.second_side)]
        assert min(sizes) < 10
        assert plan.has_hardly_grown == (sizes[0] < 10, sizes[1] < 10)
        # A whole wall parts the supervoxel in the middle, and nothing is said.
        affinities[2, :, :, 12:16] = 0.1
        seeds = Seeds(((7, 10, 4),), ((7, 10, 24),))
        assert plan_seeded_split(agglomerator, seeds, affinities).has_hardly_grown == (False, False)
