"""Actions are the 6-connected contacts between supervoxels, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from napari_celis.core.actions import ActionTable
from napari_celis.core.supervoxels import Supervoxels
from reference.energy import all_actions


def actions_of(labels):
    supervoxels = Supervoxels.from_labels(np.asarray(labels))
    return supervoxels, ActionTable.from_supervoxels(supervoxels)


@pytest.mark.kernels
@settings(max_examples=40, deadline=None)
@given(st.tuples(*[st.integers(1, 5)] * 3), st.integers(1, 8), st.integers(0, 2**32))
def test_contacts_equal_the_definition(shape, n_labels, seed):
    labels = np.random.default_rng(seed).integers(0, n_labels + 1, shape) * 10
    labels[0, 0, 0] = 10
    supervoxels, actions = actions_of(labels)
    expected = {tuple(sorted(pair)): value for pair, value in all_actions(labels).items()}
    ids = supervoxels.ids.astype(int)
    pairs = list(zip(ids[actions.u].tolist(), ids[actions.v].tolist(), strict=True))
    assert pairs == sorted(expected)
    assert actions.area.tolist() == [expected[pair][0] for pair in pairs]
    centroids = np.array([expected[pair][1] / expected[pair][0] for pair in pairs]).reshape(-1, 3)
    np.testing.assert_allclose(actions.centroid, centroids, rtol=1e-12)
    rows = {pair: row for row, pair in enumerate(pairs)}
    for u in range(1, supervoxels.n + 1):
        for v in range(1, supervoxels.n + 1):
            assert actions.find(u, v) == rows.get((ids[min(u, v)], ids[max(u, v)]), -1)


def test_background_takes_no_part_and_edges_are_no_contact():
    _, across_background = actions_of([[[1, 0, 2]]])
    _, across_edge = actions_of([[[1, 0], [0, 2]], [[0, 0], [0, 0]]])
    _, across_corner = actions_of([[[1, 0], [0, 0]], [[0, 0], [0, 2]]])
    assert len(across_background) == len(across_edge) == len(across_corner) == 0
    assert across_edge.centroid.shape == (0, 3)
    assert across_edge.find(1, 2) == -1


def test_area_and_centroid_of_a_known_contact():
    labels = np.ones((2, 3, 4), dtype=int)
    labels[:, :, 2:] = 7
    _, actions = actions_of(labels)
    assert (actions.u.tolist(), actions.v.tolist(), actions.area.tolist()) == ([1], [2], [6])
    assert actions.centroid.tolist() == [[0.5, 1.0, 1.5]]


def test_the_nearest_candidates_lie_between_the_two():
    _, actions = actions_of([[[1, 2, 3, 4, 5, 6]]])
    pairs = [(int(actions.u[row]), int(actions.v[row])) for row in actions.nearest(2, 5)]
    assert set(pairs[:2]) == {(2, 3), (4, 5)}
    assert len(pairs) == len(set(pairs)) == 3


def test_candidates_are_offered_once_and_of_the_end_that_has_some():
    _, shared = actions_of([[[1, 2, 3]]])
    rows = shared.nearest(1, 3)
    assert sorted(rows.tolist()) == [0, 1]
    _, lonely = actions_of([[[1, 2, 0, 3]]])
    assert lonely.nearest(1, 3).tolist() == [0]
    assert lonely.nearest(3, 3).tolist() == []


def test_a_supervoxel_with_itself_has_its_own_contacts_as_candidates():
    _, actions = actions_of([[[1, 2, 3]]])
    assert sorted(actions.nearest(2, 2).tolist()) == [0, 1]
