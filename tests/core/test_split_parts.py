"""A supervoxel falls apart between seeds as the definition says, at narrows and at boundaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.problems import random_labels
from napari_celis.core.errors import ActionError
from napari_celis.core.split_parts import FIRST, SECOND, WALL, SplitGround
from napari_celis.core.supervoxels import Supervoxels
from reference.split_parts import depths, parts

pytestmark = pytest.mark.kernels


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.booleans(), st.sampled_from([(1.0, 1.0, 1.0), (4.0, 1.0, 1.0)]), st.data())
def test_sides_equal_the_plain_definition(seed, with_affinities, size_nm, data):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 7, 3).tolist())
    labels = random_labels(rng, shape, int(rng.integers(1, 4)), 0.2)
    affinities = (
        rng.choice([0.1, 0.9], (3, *shape), p=[0.2, 0.8]).astype(np.float32) if with_affinities else None
    )
    supervoxels = Supervoxels.from_labels(labels)
    supervoxel = data.draw(st.integers(1, supervoxels.n))
    voxels = [tuple(p) for p in np.argwhere(supervoxels.dense == supervoxel).tolist()]
    if len(voxels) < 2:
        with pytest.raises(ActionError, match="only 1 voxel"):
            SplitGround.of(supervoxels, supervoxel, affinities, size_nm)
        return
    chosen = data.draw(st.permutations(voxels))[:4]
    n_first = data.draw(st.integers(1, len(chosen) - 1))
    first, second = chosen[:n_first], chosen[n_first:]
    levels = depths(supervoxels.dense, supervoxel, affinities, size_nm)
    ground = SplitGround.of(supervoxels, supervoxel, affinities, size_nm)
    sides = ground.sides(first, second)
    found = [{tuple((p + ground.low).tolist()) for p in np.argwhere(sides == one)} for one in (FIRST, SECOND)]
    assert found == parts(levels, first, second)
    split = ground.split(sides)
    leaving = found[1] if len(found[0]) >= len(found[1]) else found[0]
    assert {tuple(int(i) for i in np.unravel_index(v, shape)) for v in split.voxels} == leaving
    assert split.new_id == int(supervoxels.ids[-1]) + 1
    assert (np.diff(split.voxels) > 0).all()


def dumbbell():
    """Two balls with a thin neck between them, nearer to the second: supervoxel 7 in background."""
    z, y, x = np.mgrid[:9, :9, :24]
    is_ball = ((z - 4) ** 2 + (y - 4) ** 2 + (x - 5) ** 2 <= 16) | (
        (z - 4) ** 2 + (y - 4) ** 2 + (x - 18) ** 2 <= 16
    )
    is_neck = (abs(z - 4) <= 0) & (abs(y - 4) <= 0) & (x > 5) & (x < 18)
    return np.where(is_ball | is_neck, 7, 0).astype(np.uint64)


def test_without_affinities_it_falls_apart_at_the_narrows():
    supervoxels = Supervoxels.from_labels(dumbbell())
    ground = SplitGround.of(supervoxels, 1, None)
    # The seeds lie unevenly: halfway between them is in the first ball.
    sides = ground.sides([(4, 4, 3)], [(4, 4, 15)])
    at = [np.argwhere(sides == one)[:, 2] + ground.low[2] for one in (FIRST, SECOND)]
    assert 8 <= at[0].max() <= 14
    assert at[1].min() >= 9


def test_low_affinities_are_a_boundary():
    labels = np.full((4, 6, 20), 3, dtype=np.uint64)
    affinities = np.ones((3, *labels.shape), dtype=np.float32)
    affinities[2, :, :, 13] = 0.1
    for kind in (affinities, np.round(affinities * 255).astype(np.uint8)):
        ground = SplitGround.of(Supervoxels.from_labels(labels), 1, kind)
        sides = ground.sides([(2, 3, 1)], [(2, 3, 14)])
        assert np.argwhere(sides == FIRST)[:, 2].max() in (12, 13)
        assert np.argwhere(sides == SECOND)[:, 2].min() in (12, 13, 14)


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ([], [(4, 4, 3)], "has no seed of side A"),
        ([(4, 4, 3)], [], "has no seed of side B"),
        ([(4, 4, 3)], [(0, 0, 0)], "does not lie in supervoxel 7"),
        ([(4, 4, 3)], [(4, 4, 99)], "does not lie in supervoxel 7"),
        ([(4, 4, 3)], [(4, 4, 3)], "is a seed of both sides"),
    ],
)
def test_seeds_that_make_no_sense_are_refused_in_one_sentence(first, second, sentence):
    ground = SplitGround.of(Supervoxels.from_labels(dumbbell()), 1, None)
    with pytest.raises(ActionError, match=sentence):
        ground.sides(first, second)


def test_background_is_refused():
    with pytest.raises(ActionError, match="background"):
        SplitGround.of(Supervoxels.from_labels(dumbbell()), 0, None)


def test_outside_stays_a_wall():
    ground = SplitGround.of(Supervoxels.from_labels(dumbbell()), 1, None)
    sides = ground.sides([(4, 4, 3)], [(4, 4, 18)])
    assert ((sides == WALL) == ~ground.is_inside).all()
