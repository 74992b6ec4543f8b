"""Blocks cover a volume once, windows lie in it, chunks fit into blocks, and seeds are named alike."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from napari_celis.scale.grid import Block, BlockGrid, grown, inside, shape_of
from napari_celis.scale.settings import CHUNK, BlockwiseError, chunks_of, default_block, default_halo
from napari_celis.scale.stages.supervoxels import seed_ids
from scale.worlds import make_model

sizes = st.tuples(*[st.integers(1, 20)] * 3)
edges = st.tuples(*[st.integers(1, 9)] * 3)
halos = st.tuples(*[st.integers(0, 6)] * 3)
grids = st.builds(BlockGrid, sizes, edges, halos, st.tuples(*[st.integers(1, 4)] * 3))


@st.composite
def boxes(draw, shape):
    """A part of a volume, with at least one voxel."""
    parts = []
    for size in shape:
        start = draw(st.integers(0, size - 1))
        parts.append(slice(start, draw(st.integers(start + 1, size))))
    return tuple(parts)


@given(grids)
def test_every_voxel_is_in_one_core(grid):
    covered = np.zeros(grid.shape, dtype=int)
    for index, block in enumerate(grid):
        assert block.index == index
        assert block == grid.block(index)
        covered[block.core] += 1
    assert (covered == 1).all()
    assert len(grid) == np.prod(grid.counts)


@given(grids)
def test_windows_hold_the_halo_and_begin_on_the_lattice(grid):
    for block in grid:
        for axis in range(3):
            core, window = block.core[axis], block.window[axis]
            assert 0 <= window.start <= max(0, core.start - grid.halo_zyx[axis])
            assert window.start % grid.align_zyx[axis] == 0
            assert max(0, core.start - grid.halo_zyx[axis]) - window.start < grid.align_zyx[axis]
            assert window.stop == min(core.stop + grid.halo_zyx[axis], grid.shape[axis])


@given(grids, st.data())
def test_touching_finds_the_blocks_that_share_voxels(grid, data):
    box = data.draw(boxes(grid.shape))
    marked = np.zeros(grid.shape, dtype=bool)
    marked[box] = True
    assert grid.touching(box) == [block.index for block in grid if marked[block.core].any()]


@given(sizes, st.data(), st.integers(0, 5), st.integers(0, 5))
def test_boxes_in_boxes(shape, data, before, behind):
    voxels = np.arange(np.prod(shape)).reshape(shape)
    box = data.draw(boxes(shape))
    around = grown(box, before, behind, shape)
    assert (voxels[around][inside(box, around)] == voxels[box]).all()
    assert voxels[box].shape == shape_of(box)


@given(st.tuples(*[st.integers(1, 300)] * 3), st.tuples(*[st.integers(1, 600)] * 3))
def test_blocks_hold_whole_chunks_or_are_refused(block_zyx, shape):
    fits = [
        block >= size or any(block % n == 0 for n in range(min(CHUNK // 4, block), CHUNK + 1))
        for block, size in zip(block_zyx, shape, strict=True)
    ]
    if not all(fits):
        with pytest.raises(BlockwiseError, match=f"along {'zyx'[fits.index(False)]} .* multiple of 32"):
            chunks_of(block_zyx, shape)
        return
    chunks = chunks_of(block_zyx, shape)
    for chunk, block, size in zip(chunks, block_zyx, shape, strict=True):
        assert 1 <= chunk <= min(CHUNK, size)
        # A block that spans the axis holds all chunks.
        assert block >= size or block % chunk == 0


@given(st.tuples(*[st.sampled_from([4.0, 8.0, 10.0, 40.0, 50.0])] * 3))
def test_what_is_chosen_for_the_user_fits(voxel_size_nm):
    model = make_model()
    block = default_block(voxel_size_nm)
    chunks_of(block, (10_000, 10_000, 10_000))
    halo = default_halo(voxel_size_nm, model.specs, model.supervoxels)
    assert all(own >= 4 for own in halo)


@given(sizes, edges, halos, halos, st.data())
def test_blocks_that_see_a_seed_name_it_alike(shape, block_zyx, halo_zyx, other_halo, data):
    # Any two windows of one grid; the names do not depend on the halo either.
    grid = BlockGrid(shape, block_zyx, halo_zyx)
    seed = data.draw(st.tuples(*(st.integers(0, n - 1) for n in shape)))
    holder = grid.touching(tuple(slice(at, at + 1) for at in seed))
    assert len(holder) == 1
    named = set()
    for one in (grid, BlockGrid(shape, block_zyx, other_halo)):
        for block in one:
            where = [at - part.start for at, part in zip(seed, block.window, strict=True)]
            if all(0 <= at < n for at, n in zip(where, shape_of(block.window), strict=True)):
                flat = np.ravel_multi_index(where, shape_of(block.window))
                named.add(int(seed_ids(np.array([0, flat]), block, one)[1]))
    assert len(named) == 1
    assert named.pop() >> 32 == holder[0] + 1


@given(sizes, edges)
def test_every_voxel_would_have_a_name_of_its_own(shape, block_zyx):
    assume(np.prod(shape) < 2000)
    grid = BlockGrid(shape, block_zyx, shape)
    block = grid.block(len(grid) - 1)
    ids = seed_ids(np.concatenate([[0], np.arange(np.prod(shape))]), block, grid)
    assert ids.dtype == np.uint64
    assert ids[0] == 0
    assert len(np.unique(ids)) == len(ids)


def test_a_block_says_where_it_lies():
    block = BlockGrid((20, 20, 20), (10, 10, 10)).block(5)
    assert isinstance(block, Block)
    assert block.place == "z 10–19, y 0–9, x 10–19"
    assert block.name == "00000005"


@pytest.mark.parametrize("block", [(97, 128, 128), (128, 128, 131)])
def test_an_odd_block_is_told_which_length_to_take(block):
    with pytest.raises(BlockwiseError, match=r"multiple of 32, for example (96|128)\."):
        chunks_of(block, (500, 500, 500))
