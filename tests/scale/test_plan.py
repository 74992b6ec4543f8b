"""What a plan counts, against counting every window; the rates themselves are measured, not tested."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.small import small_model
from napari_celis.scale.grid import BlockGrid, shape_of
from napari_celis.scale.plan import Rates, _sum_of_windows, looks, make_plan
from napari_celis.scale.settings import BlockwiseError

RATES = Rates({"affinities": 1e-6, "decisions": 2e-6, "labels": 3e-6}, {"affinities": 10.0}, 0.001)
TRIPLE = st.tuples(*(st.integers(1, 40) for _ in range(3)))


@given(shape=TRIPLE, block=TRIPLE, halo=st.tuples(*(st.integers(0, 12) for _ in range(3))))
@settings(max_examples=60, deadline=None)
def test_windows_are_added_up_as_if_one_by_one(shape, block, halo):
    grid = BlockGrid(shape, block, halo)
    assert _sum_of_windows(grid) == sum(prod(shape_of(one.window)) for one in grid)


def test_hours_and_storage_follow_from_the_rates():
    model, shape = small_model(), (200, 300, 400)
    plan = make_plan(shape, model, RATES, block_zyx=(64, 64, 64), workers=4)
    seen = looks(BlockGrid(shape, (64, 64, 64), plan.halo_zyx), model)
    voxels = prod(shape)
    assert plan.n_blocks == 4 * 5 * 7
    expected = (1e-6 * seen["affinities"] + 2e-6 * seen["decisions"] + 3e-6 * voxels) / 3600
    assert plan.cpu_hours == pytest.approx(expected)
    assert plan.hours == pytest.approx(plan.cpu_hours / 4)
    assert plan.storage_gb["affinities"] == pytest.approx(10 * voxels / 1e9)
    assert plan.join_gb > 250 * 0.001 * voxels / 1e9


def test_larger_blocks_do_less_twice_and_need_more_memory():
    model, shape = small_model(), (1000, 1000, 1000)
    small, large = (make_plan(shape, model, RATES, block_zyx=(edge,) * 3) for edge in (64, 192))
    assert large.cpu_hours < small.cpu_hours
    assert large.worker_gb > small.worker_gb


def test_a_narrow_halo_is_refused():
    with pytest.raises(BlockwiseError, match="halo"):
        make_plan((100, 100, 100), small_model(), RATES, halo_zyx=(1, 1, 1))
