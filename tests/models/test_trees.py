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


def lowest_leaf(forest, node, low, high):
    """The lowest leaf below a node that a row between two rows can arrive at, from the definition."""
    column, left, right = forest.nodes[node]
    if column < 0:
        return forest.number[node]
    number = forest.number[node]
    ways = ((left, low[column] <= number), (right, high[column] > number))
    return min(lowest_leaf(forest, side, low, high) for side, is_open in ways if is_open)


@pytest.mark.kernels
def test_the_lowest_probability_between_two_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4)).astype(np.float32)
    forest = grow_forest(rows, rows[:, 0] + rows[:, 2] ** 2 > 1, n_trees=7, min_leaf=5, seed=0)
    # Equal rows: to the bit what the forest says.
    assert_array_equal(forest.lowest_probabilities(rows, rows), forest.probabilities(rows))
    low, high = rows - rng.random(rows.shape, np.float32), rows + rng.random(rows.shape, np.float32)
    low[:50, 0], high[:50, 0] = -np.inf, np.inf
    found = forest.lowest_probabilities(low, high)
    bounds = zip(low, high, strict=True)
    twin = [[lowest_leaf(forest, root, *pair) for root in forest.root] for pair in bounds]
    np.testing.assert_allclose(found, np.mean(twin, axis=1, dtype=np.float64), rtol=1e-6)
    assert (found <= forest.probabilities(rows)).all()
    assert (found < forest.probabilities(rows)).any()


def expected(forest, node):
    """What is expected below a node where both answers to each question are as likely."""
    column, left, right = forest.nodes[node]
    return (
        float(forest.number[node]) if column < 0 else (expected(forest, left) + expected(forest, right)) / 2
    )


@pytest.mark.kernels
def test_what_each_column_adds_to_a_probability():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3)).astype(np.float32)
    forest = grow_forest(rows, rows[:, 0] + rows[:, 2] ** 2 > 1, n_trees=5, min_leaf=3, seed=0)
    twin = np.zeros((40, 4))
    for row, root in ((row, root) for row in range(40) for root in forest.root):
        node = root
        twin[row, 3] += expected(forest, root) / 5
        while (column := forest.nodes[node, 0]) >= 0:
            below = forest.nodes[node, 1 if rows[row, column] <= forest.number[node] else 2]
            twin[row, column] += (expected(forest, below) - expected(forest, node)) / 5
            node = below
    found = forest.contributions(rows)
    np.testing.assert_allclose(found, twin, atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), forest.probabilities(rows), atol=1e-12)
    # Most is told by what the truth was made of.
    assert np.abs(found[:, [0, 2]]).mean() > 3 * np.abs(found[:, 1]).mean()


def test_the_same_seed_grows_the_same_forest():
    rng = np.random.default_rng(0)
    features, is_one = rng.normal(size=(200, 3)).astype(np.float32), rng.random(200) < 0.5
    first, again, other = (
        grow_forest(features, is_one, n_trees=5, min_leaf=5, seed=seed) for seed in (1, 1, 2)
    )
    for name in ("root", "nodes", "number"):
        assert_array_equal(getattr(first, name), getattr(again, name))
    assert first.number.shape != other.number.shape or (first.number != other.number).any()
