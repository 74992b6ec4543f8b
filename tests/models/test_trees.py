"""A forest that a damaged file holds is refused: the kernel that walks it checks nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from models.small import small_forest
from napari_celis.core.errors import ModelError
from napari_celis.models.trees import FlatForest, grow_forest


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        ("root", 0, 3),
        ("root", 0, -1),
        ("nodes", (0, 1), 0),
        ("nodes", (0, 2), 3),
        ("nodes", (0, 2), -1),
        ("number", 1, np.nan),
    ],
)
def test_nodes_that_lead_astray_are_refused(part, place, value):
    sound = small_forest(4)
    arrays = {name: getattr(sound, name).copy() for name in ("root", "nodes", "number")}
    FlatForest(**arrays)
    arrays[part][place] = value
    with pytest.raises(ModelError, match="damaged"):
        FlatForest(**arrays)


def test_arrays_of_other_lengths_are_refused():
    sound = small_forest(4)
    for arrays in (
        (sound.root[:0], sound.nodes, sound.number),
        (sound.root, sound.nodes[:2], sound.number),
        (sound.root, sound.nodes, sound.number[:, None]),
    ):
        with pytest.raises(ModelError, match="damaged"):
            FlatForest(*arrays)


def test_heavy_examples_decide():
    features = np.zeros((400, 2), np.float32)
    features[200:, 1] = 1.0
    is_one = np.arange(400) % 2 == 0
    weights = np.where(is_one == (features[:, 1] > 0), 9.0, 1.0)
    forest = grow_forest(features, is_one, n_trees=20, min_leaf=10, seed=0, weights=weights)
    low, high = forest.probabilities(np.array([[0, 0], [0, 1]], np.float32))
    assert low < 0.2 < 0.8 < high
    assert forest.n_features == 2


def test_the_same_seed_grows_the_same_forest():
    rng = np.random.default_rng(0)
    features, is_one = rng.normal(size=(200, 3)).astype(np.float32), rng.random(200) < 0.5
    first, again, other = (
        grow_forest(features, is_one, n_trees=5, min_leaf=5, seed=seed) for seed in (1, 1, 2)
    )
    for name in ("root", "nodes", "number"):
        assert_array_equal(getattr(first, name), getattr(again, name))
    assert first.number.shape != other.number.shape or (first.number != other.number).any()
