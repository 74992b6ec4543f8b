"""Where a second forest speaks for the policy, its score is explained by what it was asked about."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from napari_celis.models.policy import FOREST_ALONE, HALF_EACH, PolicyClassifier
from napari_celis.models.trees import grow_forest

N = 300


@pytest.fixture
def rows():
    """Three features of the sum and two of the contact; the second tells most, the third nothing."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)).astype(np.float32), rng.normal(size=(N, 2)).astype(np.float32)


@pytest.fixture
def classifier(rows):
    features, contacts = rows
    is_wrong = features[:, 1] + 0.5 * contacts[:, 0] > 0
    forest = grow_forest(contacts, is_wrong, n_trees=5, min_leaf=5, seed=0)
    alone = PolicyClassifier(np.zeros(3), np.ones(3), np.array([0.5, 2.0, 0.0]), np.array([0.25]), forest)
    seen = np.column_stack([features, alone.contact_odds(contacts)]).astype(np.float32)
    second = grow_forest(seen, is_wrong, n_trees=9, min_leaf=5, seed=1)
    return replace(alone, shares=np.array(FOREST_ALONE), second=second)


@pytest.mark.parametrize("shares", [FOREST_ALONE, HALF_EACH])
def test_parts_and_what_holds_for_every_merge_add_up_to_the_score(classifier, rows, shares):
    features, contacts = rows
    classifier = replace(classifier, shares=np.array(shares))
    odds = classifier.contact_odds(contacts)
    rest = classifier.scores(features, odds) - classifier.parts(features, odds).sum(axis=1)
    assert_allclose(rest, rest[0], atol=1e-9)


def test_what_tells_most_has_the_largest_part(classifier, rows):
    features, contacts = rows
    parts = classifier.parts(features, classifier.contact_odds(contacts))
    size = np.abs(parts).mean(axis=0)
    assert size.argmax() == 1
    assert size[1] > 5 * size[2]
    is_far = np.abs(features[:, 1]) > 1.5
    assert_array_equal(np.sign(parts[is_far, 1]), np.sign(features[is_far, 1]))


def test_without_a_second_forest_parts_are_what_is_added_up(classifier, rows):
    features, contacts = rows
    plain = replace(classifier, shares=np.array(HALF_EACH), second=None)
    odds = plain.contact_odds(contacts)
    parts = plain.parts(features, odds)
    assert_allclose(parts[:, :3], 0.5 * features * [0.5, 2.0, 0.0], rtol=1e-6)
    assert_allclose(parts[:, 3], 0.5 * odds)
