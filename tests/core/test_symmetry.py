"""Symmetries of a block of voxels, and what they do to affinities."""

import numpy as np
import pytest

from napari_celis.core.symmetry import Symmetry, all_symmetries, choose_symmetries, spread_symmetries
from reference import affinity as reference


@pytest.mark.parametrize(
    ("voxel_size_nm", "n"), [((10, 10, 10), 48), ((40, 4, 4), 16), ((40, 4, 8), 8), ((10, 10.5, 9.8), 48)]
)
def test_only_axes_of_the_same_voxel_size_change_places(voxel_size_nm, n):
    symmetries = all_symmetries(voxel_size_nm)
    assert len(set(symmetries)) == len(symmetries) == n
    assert symmetries[0] == Symmetry()
    size = np.array(voxel_size_nm)
    for symmetry in symmetries:
        assert np.all(np.abs(np.log(size[list(symmetry.axes)] / size)) < np.log(1.1))


def test_symmetries_are_all_different_views_of_the_volume():
    volume = np.arange(27).reshape(3, 3, 3)
    views = {symmetry.apply(volume).tobytes() for symmetry in all_symmetries((1, 1, 1))}
    assert len(views) == 48
    np.testing.assert_array_equal(Symmetry().apply(volume), volume)


def test_chosen_symmetries_begin_with_the_identity():
    symmetries = choose_symmetries((10, 10, 10), 4, np.random.default_rng(0))
    assert symmetries[0] == Symmetry()
    assert len(set(symmetries)) == 4
    assert len(choose_symmetries((40, 4, 8), 99, np.random.default_rng(0))) == 8


@pytest.mark.parametrize(("voxel_size_nm", "n_orders"), [((10, 10, 10), 6), ((40, 4, 4), 2), ((40, 4, 8), 1)])
def test_spread_symmetries_take_every_order_of_the_axes_before_any_comes_again(voxel_size_nm, n_orders):
    every = spread_symmetries(voxel_size_nm, 99)
    assert every[0] == Symmetry()
    assert len(every) == 8 * n_orders
    assert set(every) == set(all_symmetries(voxel_size_nm))
    for begin in range(0, len(every), n_orders):
        assert len({symmetry.axes for symmetry in every[begin : begin + n_orders]}) == n_orders
    assert spread_symmetries(voxel_size_nm, 5) == every[:5]


def test_the_first_spread_symmetries_turn_the_volume_and_then_mirror_it():
    axes = [symmetry.axes for symmetry in spread_symmetries((1, 1, 1), 6)]
    assert axes[:3] == [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    mirrored = [symmetry.mirrored for symmetry in spread_symmetries((1, 1, 1), 6)]
    assert mirrored == [(False,) * 3] * 3 + [(True,) * 3] * 3


def test_exchanging_and_mirroring_can_be_left_out():
    assert len(all_symmetries((1, 1, 1), exchange=False)) == 8
    assert all_symmetries((1, 1, 1), exchange=False, mirror=False) == [Symmetry()]


@pytest.mark.parametrize("symmetry", all_symmetries((1, 1, 1)))
def test_affinities_of_a_turned_volume_turn_back(symmetry):
    labels = np.random.default_rng(5).integers(1, 4, (3, 4, 5)).astype(np.int32)
    neighbours = ((-1, 0, 0), (0, -1, 0), (0, 0, -1))
    turned = reference.affinity_targets(symmetry.apply(labels), neighbours)[0]
    expected = reference.affinity_targets(labels, neighbours)[0]
    np.testing.assert_array_equal(symmetry.undo_affinities(turned), expected)
    np.testing.assert_array_equal(symmetry.undo(symmetry.apply(labels)), labels)
