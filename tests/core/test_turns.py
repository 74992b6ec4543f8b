"""Symmetries of a block of voxels, and what they do to affinities."""

import numpy as np
import pytest

from napari_celis.core.turns import Turn, all_turns, choose_turns
from reference import affinity as reference


@pytest.mark.parametrize(
    ("voxel_size_nm", "n"), [((10, 10, 10), 48), ((40, 4, 4), 16), ((40, 4, 8), 8), ((10, 10.5, 9.8), 48)]
)
def test_only_axes_of_the_same_voxel_size_change_places(voxel_size_nm, n):
    turns = all_turns(voxel_size_nm)
    assert len(set(turns)) == len(turns) == n
    assert turns[0] == Turn()
    size = np.array(voxel_size_nm)
    for turn in turns:
        assert np.all(np.abs(np.log(size[list(turn.axes)] / size)) < np.log(1.1))


def test_turns_are_all_different_views_of_the_volume():
    volume = np.arange(27).reshape(3, 3, 3)
    views = {turn.apply(volume).tobytes() for turn in all_turns((1, 1, 1))}
    assert len(views) == 48
    np.testing.assert_array_equal(Turn().apply(volume), volume)


def test_chosen_turns_begin_with_the_identity():
    turns = choose_turns((10, 10, 10), 4, np.random.default_rng(0))
    assert turns[0] == Turn()
    assert len(set(turns)) == 4
    assert len(choose_turns((40, 4, 8), 99, np.random.default_rng(0))) == 8


def test_exchanging_and_mirroring_can_be_left_out():
    assert len(all_turns((1, 1, 1), exchange=False)) == 8
    assert all_turns((1, 1, 1), exchange=False, mirror=False) == [Turn()]


@pytest.mark.parametrize("turn", all_turns((1, 1, 1)))
def test_affinities_of_a_turned_volume_turn_back(turn):
    labels = np.random.default_rng(5).integers(1, 4, (3, 4, 5)).astype(np.int32)
    neighbours = ((-1, 0, 0), (0, -1, 0), (0, 0, -1))
    turned = reference.affinity_targets(turn.apply(labels), neighbours)[0]
    expected = reference.affinity_targets(labels, neighbours)[0]
    np.testing.assert_array_equal(turn.undo_affinities(turned), expected)
    np.testing.assert_array_equal(turn.undo(turn.apply(labels)), labels)
