"""Sections and bodies of a contact: where things lie, what stays free, and what a past merge joined."""

from __future__ import annotations

import numpy as np
import pytest

from napari_celis.core.actions import ActionTable
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session.evidence.evidence import Scene, look_at
from napari_celis.gui.session.evidence.sections import BARE, contact_distance
from napari_celis.gui.session.evidence.sides import sides_of

COLOURS = np.array([[0.9, 0.6, 0.0], [0.3, 0.7, 0.9]])


def halves():
    """Two halves that touch in the middle of x."""
    dense = np.ones((30, 40, 50), dtype=np.int32)
    dense[..., 25:] = 2
    return dense


@pytest.mark.parametrize("voxel_nm", [(1.0, 1.0, 1.0), (4.0, 1.0, 1.0), (40.0, 4.0, 4.0)])
def test_the_contact_lies_in_the_middle_and_stays_free(voxel_nm):
    dense = halves()
    image = np.random.default_rng(0).integers(0, 255, dense.shape).astype(np.uint8)
    scene = Scene(dense, voxel_nm, lambda box: image[box], COLOURS)
    evidence = look_at(scene, np.array([15.0, 20.0, 24.5]), np.array([0, 1, 2], dtype=np.int8))
    assert [section.axis for section in evidence.sections] == [0, 1, 2]
    section = evidence.sections[0]
    row, column = (int(value) for value in section.middle)
    assert section.plain[row, column, 0] == image[15, 20, 24]
    # Nothing coloured at the contact, colours further away, nothing outside the volume.
    np.testing.assert_array_equal(section.filled[row, column, :3], section.plain[row, column, :3])
    far = section.filled[row, column + int(3 * BARE), :3].astype(int)
    assert far[2] > far[0]
    assert section.plain[0, 0, 3] == 0
    assert evidence.body.picture[..., 3].max() == 255


def test_distances_from_a_contact_know_the_size_of_voxels():
    side = np.ones((5, 9), dtype=np.int8)
    side[:, 5:] = 2
    distance = contact_distance(side, (4.0, 2.0))
    assert distance[2, 4] == distance[2, 5] == 0
    assert distance[2, 8] == 6.0
    assert np.isinf(contact_distance(np.ones((3, 3), dtype=np.int8), (1.0, 1.0))).all()


def test_a_past_merge_has_the_sides_that_other_merges_hold_together():
    supervoxels = Supervoxels.from_labels(np.repeat([[[1, 2, 3, 4]]], 2, axis=1))
    actions = ActionTable.from_supervoxels(supervoxels)
    apart = np.arange(5, dtype=np.uint64)
    assert sides_of(actions, apart, np.zeros(3, bool), 1).tolist() == [0, 0, 1, 2, 0]
    joined = np.array([0, 1, 1, 1, 1], dtype=np.uint64)
    assert sides_of(actions, joined, np.ones(3, bool), 1).tolist() == [0, 1, 1, 2, 2]
