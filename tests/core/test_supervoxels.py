"""Label volumes become dense indices, and back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.errors import ActionError, VolumeError
from napari_celis.core.supervoxels import Supervoxels

DTYPES = (np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(DTYPES), st.integers(0, 2**32), st.integers(0, 1), st.sampled_from("CF"))
def test_dense_indices_and_ids_give_the_labels_back(dtype, seed, lowest, order):
    labels = np.asarray(np.random.default_rng(seed).integers(lowest, 9, (3, 4, 5)) * 14, dtype, order=order)
    labels[0, 0, 0] = 14
    supervoxels = Supervoxels.from_labels(labels)
    assert supervoxels.dense.dtype == np.int32
    assert supervoxels.dense.flags.c_contiguous
    assert supervoxels.ids.dtype == np.uint64
    assert supervoxels.ids[0] == 0
    assert (np.diff(supervoxels.ids.astype(int)) > 0).all()
    assert supervoxels.n == len(set(labels.ravel().tolist()) - {0})
    np.testing.assert_array_equal(supervoxels.ids[supervoxels.dense], labels)
    np.testing.assert_array_equal(supervoxels.sizes, [(labels == i).sum() for i in supervoxels.ids])
    for index, supervoxel_id in enumerate(supervoxels.ids[1:].tolist(), start=1):
        assert supervoxels.index_of(supervoxel_id) == index


@pytest.mark.parametrize("has_background", [False, True])
def test_ids_keep_all_their_64_bits(has_background):
    labels = np.array([2**53, 2**53 + 1, 2**63 + 1, 2**64 - 1], dtype=np.uint64).reshape(1, 2, 2)
    if has_background:
        labels = np.concatenate([labels, np.zeros_like(labels)])
    supervoxels = Supervoxels.from_labels(labels)
    np.testing.assert_array_equal(supervoxels.ids[supervoxels.dense], labels)
    assert supervoxels.index_of(2**53 + 1) == 2
    assert supervoxels.index_of(2**64 - 1) == 4


@pytest.mark.parametrize("unknown", [0, -1, 3, 2**31, 2**63, 2**63 + 5, 2**64, 2**80, -(2**70)])
def test_unknown_ids_are_refused_by_name(unknown):
    supervoxels = Supervoxels.from_labels(np.array([[[0, 2, 4]]]))
    with pytest.raises(ActionError, match=f"no supervoxel {unknown} .* 2 to 4"):
        supervoxels.index_of(unknown)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.ones((3, 3, 3)), "float64"),
        (np.ones((3, 3, 3), dtype=np.float32), "float32"),
        (np.array([[[1, -2]]]), "negative"),
        (np.zeros((3, 3, 3), dtype=int), "background"),
        (np.ones((3, 3), dtype=int), "z, y, x"),
        (np.ones((1, 3, 3, 3), dtype=int), "z, y, x"),
        (np.ones((0, 3, 3), dtype=int), "empty"),
    ],
)
def test_arrays_that_are_no_supervoxels_are_refused(labels, message):
    with pytest.raises(VolumeError, match=message):
        Supervoxels.from_labels(labels)
