"""Positions of contacts and what lies under a click, against plain definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.actions import ActionTable
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.gui.session.geometry import (
    RunGeometry,
    contact_positions,
    outline,
    repeat_along,
    supervoxel_along,
    supervoxel_at,
)


def faces_of(dense):
    """All faces between two supervoxels: pair and middle."""
    for axis in range(3):
        for low in np.ndindex(*(size - (a == axis) for a, size in enumerate(dense.shape))):
            high = tuple(p + (a == axis) for a, p in enumerate(low))
            pair = dense[low], dense[high]
            if 0 not in pair and pair[0] != pair[1]:
                yield (min(pair), max(pair)), (np.array(low) + high) / 2


@pytest.mark.kernels
@settings(max_examples=30, deadline=None)
@given(st.tuples(*[st.integers(1, 5)] * 3), st.integers(1, 6), st.integers(0, 2**32))
def test_contact_positions_are_the_faces_nearest_to_the_mean(shape, n_labels, seed):
    labels = np.random.default_rng(seed).integers(0, n_labels + 1, shape)
    labels[0, 0, 0] = 1
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    positions = contact_positions(supervoxels, actions)
    faces = list(faces_of(supervoxels.dense))
    for row in range(len(actions)):
        own = np.array([middle for pair, middle in faces if pair == (actions.u[row], actions.v[row])])
        distances = np.linalg.norm(own - own.mean(axis=0), axis=1)
        assert (own == positions[row]).all(axis=1).any()
        assert np.linalg.norm(positions[row] - own.mean(axis=0)) == pytest.approx(distances.min(), abs=1e-9)


@pytest.mark.kernels
def test_boxes_hold_exactly_their_supervoxels():
    labels = np.zeros((4, 5, 6), dtype=int)
    labels[1:3, 2:4, 1] = 7
    labels[3, 4, 5] = 9
    supervoxels = Supervoxels.from_labels(labels)
    geometry = RunGeometry.of(supervoxels, ActionTable.from_supervoxels(supervoxels))
    assert geometry.box_of(np.array([1])) == (slice(1, 3), slice(2, 4), slice(1, 2))
    assert geometry.box_of(np.array([1, 2])) == (slice(1, 4), slice(2, 5), slice(1, 6))


def test_a_position_belongs_to_the_voxel_whose_middle_is_nearest():
    dense = np.arange(1, 9, dtype=np.int32).reshape(2, 2, 2)
    assert supervoxel_at(dense, (0.49, -0.49, 1.4)) == 2
    assert supervoxel_at(dense, (0.51, 0, 0)) == 5
    assert supervoxel_at(dense, (0, 0, 1.51)) == 0
    assert supervoxel_at(dense, (-0.51, 0, 0)) == 0


def test_a_ray_meets_the_first_supervoxel_that_is_shown():
    dense = np.zeros((1, 1, 8), dtype=np.int32)
    dense[0, 0, 2:4], dense[0, 0, 5:] = 1, 2
    start, end = np.array([0.0, 0.0, -0.5]), np.array([0.0, 0.0, 7.5])
    assert supervoxel_along(dense, start, end)[0] == 1
    assert supervoxel_along(dense, end, start)[0] == 2
    supervoxel, voxel = supervoxel_along(dense, start, end, np.array([False, False, True]))
    assert (supervoxel, voxel.tolist()) == (2, [0, 0, 5])
    assert supervoxel_along(dense, start, start + 0.1)[0] == 0


def test_a_slanted_ray_misses_no_voxel_on_its_way():
    dense = np.zeros((9, 9, 9), dtype=np.int32)
    dense[4, 4, 4] = 3
    assert supervoxel_along(dense, np.zeros(3), np.full(3, 8.0))[0] == 3
    assert supervoxel_along(dense, np.zeros(3), np.array([8.0, 8.0, 0.0]))[0] == 0


def test_a_lattice_point_is_in_every_section_it_stands_for():
    repeated = repeat_along(np.array([[1, 5, 9], [5, 5, 9]]), 0, 4)
    assert repeated[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert (repeated[:, 1:] == [5, 9]).all()
    np.testing.assert_array_equal(repeat_along(np.array([[1, 5, 9]]), 2, 1), [[1, 5, 9]])


@pytest.mark.parametrize("width", [1, 2])
def test_an_outline_keeps_what_lies_near_another_value(width):
    values = np.random.default_rng(0).integers(0, 3, (4, 3)).repeat(3, axis=0).repeat(4, axis=1)
    drawn = outline(values, width)
    for y, x in np.ndindex(values.shape):
        column = values[max(0, y - width) : y + width + 1, x]
        line = values[y, max(0, x - width) : x + width + 1]
        is_near = (column != values[y, x]).any() or (line != values[y, x]).any()
        assert drawn[y, x] == (values[y, x] if is_near else 0)


def test_an_outline_of_one_line_and_of_nothing_is_no_error():
    assert outline(np.ones((1, 1), int), 2).tolist() == [[0]]
    assert outline(np.ones((0, 5), int)).shape == (0, 5)
