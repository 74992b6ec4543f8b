"""Outcomes that cannot be right are remarked on, and those that can are not."""

from __future__ import annotations

import numpy as np

from napari_celis.core.supervoxels import Supervoxels
from napari_celis.pipeline.result_remark import result_remark


def supervoxels(n, voxels_each):
    labels = np.repeat(np.arange(1, n + 1, dtype=np.uint64), voxels_each)
    return Supervoxels.from_labels(labels.reshape(1, 1, -1))


def test_everything_in_one_segment():
    atoms = supervoxels(616, 5)
    ids = np.full(617, 7, dtype=np.uint64)
    ids[0] = 0
    assert result_remark(atoms, ids).startswith("All 616 supervoxels became one segment.")
    ids[-3:] = 9
    assert result_remark(atoms, ids).startswith("One segment holds 100% of the volume.")


def test_more_segments_than_anybody_can_look_at():
    remark = result_remark(supervoxels(3000, 4), np.arange(3001, dtype=np.uint64))
    assert remark.startswith("3,000 segments are left, 4 voxels each on average")
    assert "Raise the threshold" in remark
    assert result_remark(supervoxels(1500, 4), np.arange(1501, dtype=np.uint64)) == ""
    assert result_remark(supervoxels(2100, 1001), np.arange(2101, dtype=np.uint64)) == ""


def test_a_plausible_outcome_needs_no_word():
    ids = np.array([0, 1, 1, 1, 1, 1, 6, 6, 6, 6, 6], dtype=np.uint64)
    assert result_remark(supervoxels(10, 3), ids) == ""
    assert result_remark(supervoxels(2, 3), np.array([0, 1, 1], dtype=np.uint64)) == ""
