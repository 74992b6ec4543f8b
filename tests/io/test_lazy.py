import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from napari_celis.core.errors import CorruptFileError
from napari_celis.core.volume import Volume
from napari_celis.io import blocks
from napari_celis.io.lazy import LazyArray

DATA = np.arange(5 * 6 * 7, dtype=">u4").reshape(5, 6, 7)
KEYS = [
    slice(None),
    slice(1, 4),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(4, 0, -3),
    slice(9, 9),
    2,
    -1,
]


@pytest.fixture
def lazy():
    def read_box(box):
        assert all(0 <= part.start < part.stop <= size for part, size in zip(box, DATA.shape, strict=True))
        return DATA[box]

    return LazyArray(read_box, shape=DATA.shape, dtype=DATA.dtype, name="lazy")


def test_slicing_equals_numpy(lazy):
    for key in itertools.product(KEYS, KEYS, KEYS):
        part = lazy[key]
        assert_array_equal(part, DATA[key])
        assert part.dtype.isnative


def test_short_keys(lazy):
    assert_array_equal(lazy[1], DATA[1])
    assert_array_equal(lazy[..., 3], DATA[..., 3])
    assert_array_equal(lazy[1, ..., 3], DATA[1, ..., 3])
    assert_array_equal(lazy[np.int64(2), 1:3], DATA[2, 1:3])
    assert_array_equal(np.asarray(lazy), DATA)
    assert len(lazy) == 5
    assert lazy.nbytes == DATA.nbytes
    assert [section.shape for section in lazy] == [(6, 7)] * 5


@pytest.mark.parametrize("key", [5, (0, 0, 7), (0, 0, 0, 0)])
def test_indices_outside(lazy, key):
    with pytest.raises(IndexError):
        lazy[key]


def test_failures_become_one_sentence():
    def read_box(box):
        raise OSError("line one\nline two")

    broken = LazyArray(read_box, shape=(1, 1, 1), dtype=np.dtype("u1"), name="x.h5:raw")
    with pytest.raises(CorruptFileError, match=r"x\.h5:raw cannot be read \(line one line two\)"):
        broken[:]


@pytest.mark.parametrize("chunks", [(1, 6, 7), (2, 3, 7), (5, 6, 7), (2, 4, 3)])
@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 2, 2), (1, 1, 7)])
def test_large_chunks_are_unpacked_once(chunks, grid, monkeypatch):
    """A section above the size of a block used to be decoded again for every block."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 5 * 4)
    read = []

    def read_box(box):
        read.append(box)
        return DATA[box]

    lazy = LazyArray(read_box, shape=DATA.shape, dtype=DATA.dtype, name="lazy", chunks=chunks)
    result = np.zeros(DATA.shape, np.uint32)
    for box, voxels in blocks.read_blocks(Volume(lazy), "labels", grid):
        result[box] = voxels
    assert_array_equal(result, DATA)
    if chunks[1:] == DATA.shape[1:] and grid[0] == 1:
        assert len(read) == -(-5 // chunks[0])
    n_read = len(read)
    monkeypatch.setattr(blocks, "MAX_HELD_BYTES", 1)
    for box, voxels in blocks.read_blocks(Volume(lazy), "labels", grid):
        assert_array_equal(voxels, DATA[box])
    assert len(read) - n_read >= n_read
