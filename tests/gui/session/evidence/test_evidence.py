"""Sections and bodies of a contact: where things lie, what stays free, and what a past merge joined."""

from __future__ import annotations

import numpy as np
import pytest

from napari_celis.core.actions import ActionTable
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session.evidence.bodies import CUT, shaded, turned_axes
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


@pytest.mark.parametrize("voxel_nm", [(1.0, 1.0, 1.0), (40.0, 4.0, 4.0)])
@pytest.mark.parametrize("n_voxels", [1, 5])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_segment_of_few_voxels_is_seen_wherever_it_lies(voxel_nm, n_voxels, axis, is_first):
    for shift in range(4):
        dense, position = np.ones((90, 90, 90), dtype=np.int32), np.full(3, 40.0 + shift)
        place = [slice(40 + shift, 41 + shift)] * 3
        place[axis - 1] = slice(40 + shift, 40 + shift + n_voxels)
        dense[tuple(place)] = 2
        position[axis] += -0.5 if is_first else 0.5
        scene = Scene(dense, voxel_nm, None, COLOURS)
        evidence = look_at(scene, position, np.array([0, 1, 2], dtype=np.int8))
        seen = evidence.body.side == 2
        assert seen.any()
        # As large as a blur leaves visible.
        assert all(len(set(found)) >= 3 for found in np.nonzero(seen))
        for section in evidence.sections:
            rings = [points for side, points in section.outlines if side == 2]
            assert len(rings) == 1
            low, high = rings[0].min(axis=0), rings[0].max(axis=0)
            assert (low < section.middle).all()
            assert (high > section.middle).all()
            # The contact itself stays free.
            assert np.abs(rings[0] - section.middle).max(axis=1).min() > 0.9


def test_a_voxel_at_the_end_of_a_body_has_its_colour_in_the_picture():
    dense = np.zeros((90, 90, 90), dtype=np.int32)
    dense[40:50, 40:50, :45] = 1
    dense[45, 45, 45] = 2
    scene, position = Scene(dense, (1.0, 1.0, 1.0), None, COLOURS), np.array([45.0, 45.0, 44.5])
    picture = look_at(scene, position, np.array([0, 1, 2], dtype=np.int8)).body.picture.astype(int)
    is_blue = (picture[..., 3] > 128) & (picture[..., 2] > picture[..., 0] + 30)
    assert is_blue.sum() > 5


def test_a_body_that_lies_elsewhere_is_not_waited_for():
    dense = np.ones((9, 9, 300), dtype=np.int32)
    dense[4, 4, 299] = 2
    scene, sides = Scene(dense, (1.0, 1.0, 1.0), None, COLOURS), np.array([0, 1, 2], dtype=np.int8)
    position = np.array([4.0, 4.0, 20.0])
    evidence = look_at(scene, position, sides)
    assert (evidence.body, evidence.is_complete) == (None, True)
    assert not look_at(scene, position, sides, with_body=False).is_complete


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


def picture_of_halves(z, axes):
    """Draw two halves of a large volume around a contact in section z."""
    dense = np.broadcast_to(np.repeat(np.array([1, 2], dtype=np.int32), 150), (300, 300, 300))
    scene = Scene(dense, (1.0, 1.0, 1.0), None, COLOURS)
    body = look_at(scene, np.array([z, 150.0, 149.5]), np.array([0, 1, 2], dtype=np.int8)).body
    return shaded(body.side, axes, COLOURS).astype(int)


def test_faces_where_the_volume_ends_are_evenly_lit():
    picture = picture_of_halves(8.0, turned_axes(np.eye(3), 0.5, 0.3))[55:95, 35:55]
    assert (picture[..., 3] == 255).all()
    # Only depth changes along the face.
    for axis in (0, 1):
        assert np.abs(np.diff(picture[..., 0], n=2, axis=axis)).max() <= 2


def test_bodies_that_reach_beyond_the_picture_on_all_sides_are_seen():
    picture = picture_of_halves(150.0, np.eye(3))
    assert picture[75, 75, 3] == 255
    assert picture[0, 0, 3] == 0
    left, right = picture[40:110, 40:70, :3], picture[40:110, 80:110, :3]
    for part, colour in ((left, COLOURS[0]), (right, COLOURS[1])):
        np.testing.assert_array_equal(
            np.unique(part.reshape(-1, 3), axis=0), [(255 * CUT * colour).astype(int)]
        )
