"""Symmetries of a slab: the same supervoxels, actions and errors, seen from another side."""

import numpy as np
import pytest

from core.problems import random_labels
from napari_celis.training.folds import Slab, Turn, all_turns, choose_turns


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


def test_a_turned_slab_has_the_same_actions_and_errors():
    rng = np.random.default_rng(4)
    labels = random_labels(rng, (8, 9, 10), 12, 0.05)
    truth = (labels % 5 + 1).astype(np.uint64)
    slab = Slab(labels, truth, rng.random((3, *labels.shape)).astype(np.float32))
    upright = slab.upright
    turned = slab.turned(Turn((2, 0, 1), (True, False, True)))
    assert turned.supervoxels.dense.shape == turned.interior.shape == (10, 8, 9)
    ids = {
        tuple(sorted((int(s.supervoxels.ids[u]), int(s.supervoxels.ids[v])))): int(area)
        for s in (upright,)
        for u, v, area in zip(s.actions.u, s.actions.v, s.actions.area, strict=True)
    }
    again = {
        tuple(sorted((int(turned.supervoxels.ids[u]), int(turned.supervoxels.ids[v])))): int(area)
        for u, v, area in zip(turned.actions.u, turned.actions.v, turned.actions.area, strict=True)
    }
    assert ids == again
    n_steps = [int(scene.expert_states((1.0,))[0].sum()) for scene in (upright, turned)]
    assert n_steps[0] == n_steps[1] > 0
    np.testing.assert_allclose(np.sort(upright.interior, axis=None), np.sort(turned.interior, axis=None))


def test_states_lie_along_the_way():
    labels = random_labels(np.random.default_rng(4), (8, 9, 10), 12, 0.0)
    slab = Slab(labels, np.ones_like(labels), np.ones((3, *labels.shape), np.float32))
    states = slab.upright.expert_states((0.0, 0.5, 1.0))
    counts = [int(taken.sum()) for taken in states]
    assert counts[0] == 0
    assert counts[1] == round(counts[2] / 2)
    assert counts[2] == len(np.unique(labels)) - 1
