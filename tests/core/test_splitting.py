"""After a split every score is that of the parts from scratch, and every decision is at its place."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.problems import problems
from core.states import assert_exact, chain, of_labels, operate, reference_of, segments_of, snapshot
from core.test_lazy_energies import POLICIES, policy_named
from core.test_recorded import same
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.seeded_cut import plan_seeded_cut
from napari_celis.core.split_parts import SplitGround
from napari_celis.core.splits import DividedVolume, SupervoxelSplit, divided_history, next_id
from napari_celis.core.splitting import begin_split, carry_out_split
from napari_celis.core.supervoxels import Supervoxels

OPERATIONS = (
    "step",
    "step",
    "merge",
    "merge",
    "keep apart",
    "cut",
    "undo",
    "redo",
    "done",
    "in work",
    "not here",
    "confirm",
    "allow",
)
Drawn = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=12)


def draw_split(data, supervoxels):
    """A split between two voxels of one supervoxel; None if that has one voxel."""
    supervoxel = data.draw(st.integers(1, supervoxels.n))
    voxels = np.argwhere(supervoxels.dense == supervoxel)
    if len(voxels) < 2:
        return None
    pair = data.draw(st.permutations(range(len(voxels))))[:2]
    ground = SplitGround.of(supervoxels, supervoxel, None)
    return ground.split(ground.sides(*([voxels[one].tolist()] for one in pair)))


def plan_between_parts(parts, split):
    """A cut that has the two parts of a supervoxel on different sides."""
    index_of = parts.supervoxels.index_of
    return plan_seeded_cut(parts, [index_of(split.supervoxel_id)], [index_of(split.new_id)])


def as_before(segments, split):
    """Segments with the part that left called as before."""
    return {
        frozenset(split.supervoxel_id if one == split.new_id else one for one in group) for group in segments
    }


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(problems(), st.sampled_from(POLICIES), Drawn, Drawn, st.booleans(), st.data())
def test_a_split_is_exact_keeps_every_decision_and_can_be_undone(
    problem, policy, before, after, is_lazy, data
):
    labels, specs, energy = problem
    base = Supervoxels.from_labels(labels)
    actions = ActionTable.from_supervoxels(base)
    if not len(actions):
        return

    def build(volume, **options):
        chosen = policy_named(policy, volume.supervoxels, volume.actions, labels.shape)
        options |= {"policy": chosen, "actions": volume.actions, "threads": 1, "is_lazy": is_lazy}
        return Agglomerator(volume.supervoxels, specs, energy, **options)

    events, splits = [], {}
    agglomerator = build(DividedVolume(base, actions))
    units = agglomerator.energy_units()
    agglomerator.journal.listener = events.append
    for _ in range(2):
        for operation, choice in before:
            operate(agglomerator, operation, choice)
        split = draw_split(data, agglomerator.supervoxels)
        if split is None:
            return
        if agglomerator.is_done()[agglomerator.supervoxels.index_of(split.supervoxel_id)]:
            agglomerator.mark_in_work(split.supervoxel_id)
        try:
            start = begin_split(agglomerator, split)
        except ActionError as error:
            assert "do not touch" in str(error)  # noqa: PT017
            return
        volume = start.volume
        fresh = ActionTable.from_supervoxels(volume.supervoxels)
        for name in ("u", "v", "area", "centroid"):
            np.testing.assert_array_equal(getattr(volume.actions, name), getattr(fresh, name), name)
        parts = build(volume, past=start.past, kept=start.earlier)
        check_places(agglomerator, parts, split)
        check_scores(parts, build(volume, past=start.past))
        merged = snapshot(parts, journal=False)
        parts.journal.listener = events.append
        splits[split.new_id] = split
        others = {group for group in segments_of(parts) if split.supervoxel_id not in group}
        steps = carry_out_split(parts, [split], plan_between_parts(parts, split))
        assert (steps[0].kind, steps[0].u_id, steps[0].v_id) == ("split", split.supervoxel_id, split.new_id)
        assert not any({split.supervoxel_id, split.new_id} <= group for group in segments_of(parts))
        assert others <= segments_of(parts)
        if policy == "paper" and not is_lazy:
            assert_exact(parts, reference_of(parts))
        parted = snapshot(parts, journal=False)
        for _ in range(parts.journal.n_last()):
            parts.undo()
        assert snapshot(parts, journal=False) == merged or is_lazy
        assert as_before(segments_of(parts), split) == segments_of(agglomerator)
        for _ in range(parts.journal.n_next()):
            parts.redo()
        assert snapshot(parts, journal=False) == parted or is_lazy
        agglomerator.close()
        agglomerator = parts
    for operation, choice in after:
        operate(agglomerator, operation, choice)
    volume, past = divided_history(DividedVolume(base, actions), events, splits, units)
    with build(volume, past=past) as again, agglomerator:
        assert again.glued == agglomerator.glued
        assert again.energy == agglomerator.energy
        np.testing.assert_array_equal(again.scores(), agglomerator.scores())
        np.testing.assert_array_equal(again.segment_ids(), agglomerator.segment_ids())
        np.testing.assert_array_equal(again.is_done(), agglomerator.is_done())
        if not is_lazy:
            same(again, agglomerator)


def check_places(before, after, split):
    """Compare the history of the parts with that of the whole."""
    assert [(step.kind, step.follows, step.n_segments) for step in after.history] == [
        (step.kind, step.follows, step.n_segments) for step in before.history
    ]
    for n_steps in range(len(before.history) + 1):
        assert as_before(segments_of(after, n_steps), split) == segments_of(before, n_steps)
    assert len(after.constraints) == len(before.constraints)


def check_scores(one, fresh):
    """Compare with scores that were computed from scratch."""
    with fresh:
        np.testing.assert_array_equal(one.scores(), fresh.scores())
        np.testing.assert_array_equal(one.scoring.energy_changes(), fresh.scoring.energy_changes())
        assert one.energy == fresh.energy
        for mine, theirs in zip(one.specs, fresh.specs, strict=True):
            np.testing.assert_array_equal(mine.region_energy, theirs.region_energy)


def test_a_decision_goes_to_the_part_with_more_faces():
    # 2 lies between 1 and 3 along x; the split leaves its left part two voxels wide at 1 and none at 3.
    with chain(3) as three:
        three.merge(1, 2)
        three.merge(2, 3)
        voxels = np.flatnonzero((three.supervoxels.dense == 2) & (np.indices((3, 3, 9))[2] == 3))
        split = SupervoxelSplit(2, next_id(three.supervoxels), voxels)
        start = begin_split(three, split)
        assert [(e.step.u_id, e.step.v_id) for e in start.past.done] == [(1, 4), (2, 3)]
        assert start.volume.glued == ((2, 4),)


def test_of_equal_contacts_and_of_none_the_part_that_keeps_the_id_inherits():
    labels = np.ones((3, 3, 9), dtype=np.uint64)
    labels[:, :, 3:6], labels[:, :, 6:] = 5, 9
    labels[0] = 20
    with of_labels(labels) as agglomerator:
        agglomerator.keep_apart(1, 9)
        agglomerator.keep_apart(1, 20)
        # The far half of 1 along y touches 9 as little as the near one, which is not at all.
        voxels = np.flatnonzero((labels == 1) & (np.indices(labels.shape)[0] == 2))
        split = SupervoxelSplit(1, 21, voxels)
        past = begin_split(agglomerator, split).past
        assert [(e.step.u_id, e.step.v_id) for e in past.done] == [(1, 9), (1, 20)]


@pytest.mark.parametrize(
    ("split", "sentence"),
    [
        (SupervoxelSplit(2, 4, np.arange(0)), "leave one of its sides empty"),
        (SupervoxelSplit(2, 3, np.array([3])), "not above all others"),
        (SupervoxelSplit(2, 4, np.array([0])), "not about this volume"),
        (SupervoxelSplit(2, 4, np.array([10**9])), "not about this volume"),
        (SupervoxelSplit(8, 9, np.array([3])), "There is no supervoxel 8"),
    ],
)
def test_splits_that_cannot_be_are_refused_in_one_sentence(split, sentence):
    with chain(3) as three, pytest.raises(ActionError, match=sentence):
        begin_split(three, split)


def test_a_split_that_leaves_nothing_behind_is_refused():
    with chain(2) as two:
        everything = np.flatnonzero(two.supervoxels.dense == 2)
        with pytest.raises(ActionError, match="sides empty"):
            begin_split(two, SupervoxelSplit(2, 3, everything))


def test_parts_that_do_not_touch_are_refused():
    labels = np.zeros((3, 3, 9), dtype=np.uint64)
    labels[:, :, :2], labels[:, :, 3:5], labels[:, :, 5:] = 1, 1, 2
    with of_labels(labels) as agglomerator:
        voxels = np.flatnonzero((labels == 1) & (np.indices(labels.shape)[2] >= 3))
        with pytest.raises(ActionError, match="do not touch"):
            begin_split(agglomerator, SupervoxelSplit(1, 3, voxels))


def test_the_last_id_leaves_none_for_a_part():
    labels = np.ones((3, 3, 6), dtype=np.uint64)
    labels[:, :, 3:] = 2**64 - 1
    with pytest.raises(ActionError, match="none left"):
        next_id(Supervoxels.from_labels(labels))


def test_only_parts_of_one_supervoxel_can_be_split():
    with chain(2) as two:
        two.merge(1, 2)
        with pytest.raises(ActionError, match="no parts of one"):
            two.split(1, 2)


def test_a_record_that_does_not_say_where_is_refused():
    with chain(3) as three:
        three.merge(1, 2)
        volume = DividedVolume(three.supervoxels, three.actions)
        voxels = np.flatnonzero((three.supervoxels.dense == 2) & (np.indices((3, 3, 9))[2] == 3))
        start = begin_split(three, SupervoxelSplit(2, 4, voxels))
    events = []
    with of_labels(np.ones((3, 3, 3), dtype=np.uint64)) as other:
        assert other.glued == ()
    spec = three.specs[0]
    with Agglomerator(
        start.volume.supervoxels, (spec.table.tiling.spec,), spec.energy, actions=start.volume.actions,
        past=start.past, threads=1,
    ) as parts:  # fmt: skip
        parts.journal.listener = events.append
        parts.split(2, 4)
    with pytest.raises(ActionError, match="does not say where"):
        divided_history(volume, events, {})
