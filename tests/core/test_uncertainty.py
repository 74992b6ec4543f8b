"""The queue asks first about what is near the threshold and large."""

from dataclasses import replace

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.decisions import ActionState, Candidates
from napari_celis.core.uncertainty import ORDERED, uncertainty, uncertainty_order


def a_chain(n_actions, *, smaller=None, state=None, contact=None):
    """Supervoxels 1 to n + 1 in a row."""
    u = np.arange(1, n_actions + 1, dtype=np.int32)
    actions = ActionTable(u, u + 1, np.ones(n_actions, int), np.zeros((n_actions, 3)), n_actions + 1)
    smaller = np.full(n_actions, 100) if smaller is None else np.array(smaller)
    root = np.arange(n_actions + 2)
    state = np.zeros(n_actions, np.uint8) if state is None else np.array(state, np.uint8)
    contact = np.arange(n_actions) if contact is None else np.array(contact)
    return actions, Candidates(root, np.ones(len(root)), smaller, smaller, state, contact)


def test_nearer_and_larger_is_more_uncertain():
    near_small, near_large, far_small = uncertainty(np.array([0.1, 0.1, 3.0]), np.array([10, 1000, 10]))
    assert near_large > near_small > far_small


def test_it_does_not_matter_in_which_unit_scores_come_or_on_which_side_they_lie():
    distance, voxels = np.array([0.5, -1.0, 2.0]), np.array([5, 50, 500])
    np.testing.assert_allclose(uncertainty(distance, voxels), uncertainty(-1000 * distance, voxels))


def test_all_at_the_threshold_are_ordered_by_size():
    assert uncertainty(np.zeros(2), np.array([1, 3])).tolist() == [1.0, 2.0]
    assert len(uncertainty(np.empty(0), np.empty(0))) == 0


def test_the_order_is_by_distance_from_the_threshold_where_sizes_are_equal():
    order = uncertainty_order(*a_chain(4), np.array([-5.0, -1.4, 0.0, -1.0]), -1.5)
    assert order.tolist() == [1, 3, 2, 0]


def test_only_open_actions_are_asked_about():
    problem = a_chain(3, state=[ActionState.MERGED, ActionState.OPEN, ActionState.REJECTED])
    assert uncertainty_order(*problem, np.zeros(3), 0.0).tolist() == [1]


def test_two_segments_are_asked_about_once_by_their_best_action():
    # The first two actions lie between the same two segments.
    problem = a_chain(3, contact=[0, 0, 2])
    assert sorted(uncertainty_order(*problem, np.array([-1.0, -2.0, 5.0]), 0.0)) == [1, 2]


def test_of_equally_good_actions_the_one_with_the_largest_contact_stands_for_the_pair():
    actions, candidates = a_chain(3, contact=[0, 0, 2])
    actions = replace(actions, area=np.array([5, 20, 1]))
    assert sorted(uncertainty_order(actions, candidates, np.array([-1.0, -1.0, 5.0]), 0.0)) == [1, 2]


def test_what_was_skipped_comes_last_in_the_order_of_skipping():
    scores = np.array([0.1, 0.2, 0.3, 0.4])
    assert uncertainty_order(*a_chain(4), scores, 0.0, np.array([1, 0])).tolist() == [2, 3, 1, 0]


def test_a_hundred_thousand_are_ordered_and_nothing_is_lost():
    rng = np.random.default_rng(0)
    n = 100_000
    order = uncertainty_order(*a_chain(n, smaller=rng.integers(1, 10**6, n)), rng.normal(size=n), 0.0)
    assert sorted(order) == list(range(n))


def test_of_very_many_the_first_are_in_order_and_what_was_skipped_is_last():
    rng = np.random.default_rng(0)
    n, scores = 3 * ORDERED, rng.normal(size=3 * ORDERED)
    problem = a_chain(n, smaller=rng.integers(1, 10**6, n))
    worth = uncertainty(scores, problem[1].smaller)
    worth[[5, 9]] = -1
    order = uncertainty_order(*problem, scores, 0.0, np.array([9, 5]))
    assert order[:ORDERED].tolist() == np.argsort(-worth, kind="stable")[:ORDERED].tolist()
    assert order[-2:].tolist() == [9, 5]
    assert sorted(order) == list(range(n))
