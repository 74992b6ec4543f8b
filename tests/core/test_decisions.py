"""The states of actions, and which action stands for two segments."""

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.decisions import ActionState, actions_between, best_between, list_candidates
from napari_celis.core.supervoxels import Supervoxels

ROW = [[[10, 20, 30, 40, 50]], [[10, 20, 30, 40, 50]]]
"""Five supervoxels in a row; the actions are 10-20, 20-30, 30-40, 40-50."""


def described(*, ids=(0, 10, 20, 30, 40, 50), taken=(), unseen=(), kept_apart=()):
    supervoxels = Supervoxels.from_labels(np.array(ROW))
    actions = ActionTable.from_supervoxels(supervoxels)
    is_taken = np.isin(np.arange(len(actions)), taken)
    available = ~is_taken & ~np.isin(np.arange(len(actions)), unseen)
    return actions, list_candidates(
        supervoxels,
        actions,
        np.array(ids, dtype=np.uint64),
        is_taken,
        available,
        np.arange(len(actions)),
        kept_apart,
    )


def test_every_state_has_its_reason():
    _, candidates = described(
        ids=(0, 20, 20, 30, 40, 50), taken=[0], unseen=[3], kept_apart=[(30, 40), (10, 30)]
    )
    names = [ActionState(state).name for state in candidates.state]
    assert names == ["MERGED", "KEPT_APART", "REJECTED", "UNSEEN"]


def test_ends_that_came_into_one_segment_otherwise_are_merged_too():
    _, candidates = described(ids=(0, 20, 20, 20, 40, 50), taken=[0])
    assert candidates.state[1] == ActionState.MERGED
    assert candidates.state[2] == ActionState.OPEN


def test_sizes_are_those_of_segments():
    _, candidates = described(ids=(0, 20, 20, 30, 40, 50), taken=[0])
    assert (candidates.smaller[1], candidates.larger[1]) == (2, 4)


def test_the_best_of_several_contacts_wins_and_the_nearest_of_equals():
    labels = np.array([[[1, 2], [1, 2], [3, 4], [3, 4]]])
    supervoxels = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(supervoxels)
    root = np.array([0, 1, 2, 1, 2])
    top, bottom = actions.find(1, 2), actions.find(3, 4)
    assert set(actions_between(actions, root, 1, 4)) == {top, bottom}
    scores = np.zeros(len(actions))
    scores[bottom] = -1.0
    assert best_between(actions, root, scores, 1, 4) == bottom
    equal = np.zeros(len(actions))
    assert best_between(actions, root, equal, 1, 4, near=np.array([0.0, 3.0, 0.5])) == bottom
    assert best_between(actions, root, equal, 4, 1, near=np.array([0.0, 0.0, 0.5])) == top


def test_segments_that_do_not_touch_have_no_action():
    actions, candidates = described()
    assert best_between(actions, candidates.root, np.zeros(4), 1, 5) == -1
    assert best_between(actions, candidates.root, np.zeros(4), 2, 2) == -1
