"""Connected in the volume is not connected in a region: the two are kept apart on purpose."""

import numpy as np
import pytest

from core.states import assert_exact, of_labels, reference_of, segments_of, snapshot
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.explain import region_components
from napari_celis.core.supervoxels import Supervoxels


def u_shape():
    """Arms 1 (left) and 2 (right) that touch above, lie apart below, and end in the bend 3."""
    labels = np.zeros((1, 9, 6), dtype=np.uint64)
    labels[0, :7, 0:3], labels[0, :7, 3:6] = 1, 2
    labels[0, 4:7, 2:4] = 0
    labels[0, 7:, :] = 3
    return labels


def components_at(agglomerator, y):
    """Components of the regions that begin in row y, as label blocks."""
    scores = agglomerator.specs[0]
    rows = np.flatnonzero(scores.table.tiling.low[:, 1] == y)
    return [region_components(scores, region) for region in rows]


def names_at(agglomerator, y):
    """How many components the regions that begin in row y hold together."""
    return max(len(np.unique(block[block > 0])) for block in components_at(agglomerator, y))


@pytest.fixture
def touching_arms():
    with of_labels(u_shape(), box=(1, 3, 3), region=(1, 3, 6)) as agglomerator:
        yield agglomerator


def test_an_object_that_touches_itself_is_one_segment_and_two_local_pieces(touching_arms):
    bend_left, bend_right = touching_arms.merge(1, 3), touching_arms.merge(2, 3)
    assert bend_left.joins_segments
    assert bend_right.joins_segments
    assert segments_of(touching_arms) == {frozenset({1, 2, 3})}
    assert names_at(touching_arms, 0) == 2
    assert names_at(touching_arms, 6) == 1
    assert_exact(touching_arms, reference_of(touching_arms))


def test_a_redundant_action_matters_where_it_is_not_redundant(touching_arms):
    touching_arms.merge(1, 3)
    touching_arms.merge(2, 3)
    contact = touching_arms.actions.find(1, 2)
    promised = touching_arms.scores()[contact]
    assert promised != 0.0
    assert touching_arms.available()[contact]
    energy = touching_arms.energy
    step = touching_arms.step(threshold=np.inf)
    assert (step.action_index, step.joins_segments, step.n_segments) == (contact, False, 1)
    assert step.score == promised
    assert touching_arms.energy == pytest.approx(energy + promised, rel=1e-12)
    assert names_at(touching_arms, 0) == 1
    # The arms lie apart between contact and bend: nothing ever joins them there.
    assert names_at(touching_arms, 4) == 2
    assert touching_arms.scores()[contact] == 0.0
    assert_exact(touching_arms, reference_of(touching_arms))


def test_a_merge_in_one_region_leaves_the_other_apart(touching_arms):
    touching_arms.merge(1, 2)
    assert segments_of(touching_arms) == {frozenset({1, 2}), frozenset({3})}
    assert names_at(touching_arms, 0) == 1
    assert names_at(touching_arms, 4) == 2
    assert names_at(touching_arms, 6) == 3
    assert_exact(touching_arms, reference_of(touching_arms))


def test_an_action_that_no_centre_samples_scores_nothing_and_is_never_taken():
    # Two supervoxels above each other, and a spec whose only pair looks along x.
    labels = np.ones((1, 6, 6), dtype=np.uint64)
    labels[:, 3:] = 2
    pairs = np.array([[[0, 0, 0], [0, 0, 1]]])
    spec = DescriptorSpec("along x", "center", (1, 3, 3), pairs, (1, 5, 5))

    class One:
        def energies(self, spec_index, centres, bits):
            return np.ones(len(centres))

    with Agglomerator(Supervoxels.from_labels(labels), (spec,), One(), threads=1) as agglomerator:
        assert agglomerator.scores().tolist() == [0.0]
        assert not agglomerator.available().any()
        assert agglomerator.best_action() == -1
        assert list(agglomerator.steps(threshold=10.0)) == []
        (changes,) = agglomerator.scoring.by_centre(0)
        assert len(changes.centres) == len(changes.changes) == 0


def test_an_action_outside_all_regions_can_be_taken_by_hand_only():
    labels = np.ones((3, 3, 12), dtype=np.uint64)
    labels[:, :, 6:] = 2
    pairs = np.array([[[0, 0, 0], [0, 0, 1]], [[0, 0, -1], [0, 1, 0]]])
    spec = DescriptorSpec("far apart", "pairwise", (3, 3, 3), pairs, (3, 3, 3), (1, 1, 8))

    class One:
        def energies(self, spec_index, centres, bits):
            return np.ones(len(centres))

    with Agglomerator(Supervoxels.from_labels(labels), (spec,), One(), threads=1) as agglomerator:
        assert agglomerator.specs[0].table.tiling.low[:, 2].tolist() == [0, 8]
        assert list(agglomerator.steps(threshold=10.0)) == []
        before = snapshot(agglomerator)
        step = agglomerator.merge(1, 2)
        assert (step.score, step.joins_segments, step.n_segments) == (0.0, True, 1)
        assert agglomerator.energy == 2 * 8
        agglomerator.cut(1, 2)
        assert agglomerator.n_segments == 2
        agglomerator.undo()
        agglomerator.undo()
        agglomerator.journal.undone.clear()
        assert snapshot(agglomerator) == before
