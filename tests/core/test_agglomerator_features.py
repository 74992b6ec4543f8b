"""What an agglomerator can do besides exact scores: undo, cut, keep apart, history, threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.problems import ToyEnergy, random_labels
from core.states import (
    FastEnergy,
    agglomerate,
    assert_exact,
    chain,
    of_labels,
    operate,
    pair_of,
    reference_of,
    segments_of,
    snapshot,
)
from napari_celis.core import buffers
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import sample_spec
from napari_celis.core.errors import ActionError
from napari_celis.core.supervoxels import Supervoxels

KINDS = ["step", "merge", "keep apart", "cut", "confirm", "not here"]
DECISIONS = st.tuples(st.sampled_from(KINDS), st.integers(0, 10**6))
OPERATIONS = st.tuples(st.sampled_from([*KINDS, "undo", "redo"]), st.integers(0, 10**6))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 5), st.lists(DECISIONS, min_size=3, max_size=10))
def test_undo_gives_every_earlier_state_back_to_the_bit_and_redo_every_later_one(seed, decisions):
    with agglomerate(seed, energy=FastEnergy) as agglomerator:
        states = [snapshot(agglomerator, journal=False)]
        for decision in decisions:
            n_before = len(agglomerator.history)
            operate(agglomerator, *decision)
            if len(agglomerator.history) > n_before:
                states.append(snapshot(agglomerator, journal=False))
        steps = agglomerator.history
        assert len(steps) == len(states) - 1
        for step, state in zip(steps[::-1], states[-2::-1], strict=True):
            assert agglomerator.undo() == step
            assert snapshot(agglomerator, journal=False) == state
        for step, state in zip(steps, states[1:], strict=True):
            assert agglomerator.redo() == step
            assert snapshot(agglomerator, journal=False) == state
        assert agglomerator.history == steps


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 5), st.lists(OPERATIONS, min_size=4, max_size=14))
def test_the_state_depends_on_the_decisions_that_stand_and_not_on_the_way(seed, operations):
    with agglomerate(seed, energy=FastEnergy) as wandered, agglomerate(seed, energy=FastEnergy) as straight:
        for operation in operations:
            operate(wandered, *operation)
        for step in wandered.history:
            if step.kind == "greedy":
                straight.step(np.inf)
            else:
                straight.repeat(step)
        assert straight.history == wandered.history
        assert snapshot(straight, journal=False) == snapshot(wandered, journal=False)


def test_a_new_decision_makes_what_was_undone_unreachable():
    with chain(4) as agglomerator:
        agglomerator.merge(1, 2)
        agglomerator.merge(2, 3)
        agglomerator.undo()
        with pytest.raises(ActionError):
            agglomerator.merge(1, 2)
        assert agglomerator.redo().v_id == 3
        agglomerator.undo()
        agglomerator.merge(3, 4)
        with pytest.raises(ActionError, match="nothing to redo"):
            agglomerator.redo()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.lists(st.integers(0, 10**6), max_size=8))
def test_starting_from_merges_equals_taking_them_by_hand(seed, choices):
    with agglomerate(seed) as by_hand:
        pairs = [pair_of(by_hand, choice % len(by_hand.actions)) for choice in choices]
        with agglomerate(seed, merges=[pair[::-1] for pair in pairs]) as started:
            for u, v in dict.fromkeys(pairs):
                by_hand.merge(u, v)
            np.testing.assert_array_equal(started.taken(), by_hand.taken())
            np.testing.assert_allclose(started.scores(), by_hand.scores(), rtol=1e-9, atol=1e-9)
            assert started.energy == pytest.approx(by_hand.energy, rel=1e-9)
            assert segments_of(started) == segments_of(by_hand)
            assert started.n_segments == by_hand.n_segments
            assert started.history == ()
            np.testing.assert_array_equal(started.available(), by_hand.available())
            with pytest.raises(ActionError, match="nothing to undo"):
                started.undo()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.lists(DECISIONS, min_size=1, max_size=9))
def test_the_segmentation_at_any_earlier_step_is_the_one_seen_then(seed, decisions):
    with agglomerate(seed) as agglomerator:
        seen = [agglomerator.labels()]
        for decision in decisions:
            n_before = len(agglomerator.history)
            operate(agglomerator, *decision)
            if len(agglomerator.history) > n_before:
                seen.append(agglomerator.labels())
        for n, labels in enumerate(seen):
            np.testing.assert_array_equal(agglomerator.labels(n), labels)
            np.testing.assert_array_equal(agglomerator.segment_ids(n)[agglomerator.supervoxels.dense], labels)


def test_labels_have_the_ids_of_supervoxels_and_background_stays():
    with agglomerate(n_supervoxels=12, background=0.3) as agglomerator:
        list(agglomerator.steps(0.0))
        labels, supervoxels = agglomerator.labels(), agglomerator.supervoxels
        original = supervoxels.ids[supervoxels.dense]
        assert labels.dtype == agglomerator.segment_ids().dtype == np.uint64
        assert labels.shape == original.shape
        np.testing.assert_array_equal(labels == 0, original == 0)
        assert set(np.unique(labels)) <= set(np.unique(original))
        assert len(np.unique(labels[labels > 0])) == agglomerator.n_segments
        assert all(
            labels[original == name].tolist() == [name] * (original == name).sum()
            for name in np.unique(labels)
        )
        np.testing.assert_array_equal(agglomerator.labels(0), original)


def test_a_lower_threshold_is_the_beginning_of_a_run_with_a_higher_one():
    with agglomerate(seed=4, n_supervoxels=14) as agglomerator:
        steps = list(agglomerator.steps(np.inf))
        scores = sorted(step.score for step in steps)
        assert len(steps) > 5
        for threshold in (-np.inf, scores[0], scores[2], 0.0, np.mean(scores), scores[-1], np.inf):
            n = agglomerator.steps_below(threshold)
            with agglomerate(seed=4, n_supervoxels=14) as other:
                assert list(other.steps(threshold)) == steps[:n]
                np.testing.assert_array_equal(other.labels(), agglomerator.labels(n))


def test_steps_say_what_happened():
    with agglomerate(seed=4, n_supervoxels=14) as agglomerator:
        energy, n_segments = agglomerator.energy, agglomerator.n_segments
        for n, step in enumerate(agglomerator.steps(np.inf)):
            assert (step.index, step.kind) == (n, "greedy")
            assert (step.u_id, step.v_id) == pair_of(agglomerator, step.action_index)
            assert step.energy == agglomerator.energy == pytest.approx(energy + step.score, rel=1e-9)
            assert step.n_segments == agglomerator.n_segments == n_segments - step.joins_segments
            energy, n_segments = step.energy, step.n_segments
        assert not agglomerator.available().any()


def test_greedy_takes_the_lowest_score_and_the_first_of_equals():
    with agglomerate(seed=4, n_supervoxels=14) as agglomerator:
        while (best := agglomerator.best_action()) >= 0:
            scores = np.where(agglomerator.available(), agglomerator.scores(), np.inf)
            assert best == int(np.flatnonzero(scores == scores.min())[0])
            score = agglomerator.scores()[best]
            assert agglomerator.step(threshold=score) is None
            assert agglomerator.step(threshold=np.nextafter(score, np.inf)).action_index == best


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.lists(DECISIONS, min_size=1, max_size=12))
def test_the_merge_tree_rebuilds_the_segments(seed, decisions):
    with agglomerate(seed) as agglomerator:
        for operation, choice in decisions:
            operate(agglomerator, "step" if operation == "cut" else operation, choice)
        name = {int(i): int(i) for i in agglomerator.supervoxels.ids}
        tree = agglomerator.merges.joins()
        for vanished, into, _ in tree:
            assert vanished in name.values()
            assert into in name.values()
            name = {i: into if n == vanished else n for i, n in name.items()}
        assert [name[int(i)] for i in agglomerator.supervoxels.ids] == agglomerator.segment_ids().tolist()
        joining = [step for step in agglomerator.history if step.joins_segments]
        assert [score for _, _, score in tree] == [step.score for step in joining]


def test_the_merge_tree_after_a_cut_names_the_parts_that_were_joined():
    with chain(3) as agglomerator:
        agglomerator.merge(1, 2)
        agglomerator.merge(2, 3)
        agglomerator.cut(1, 2)
        agglomerator.merge(1, 2)
        tree = [(vanished, into) for vanished, into, _ in agglomerator.merges.joins()]
        assert tree[:2] == [(2, 1), (3, 1)]
        assert len(tree) == 3
        assert set(tree[2]) == {1, 2}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.lists(DECISIONS, max_size=6))
def test_scores_by_centre_and_by_spec_add_up(seed, decisions):
    with agglomerate(seed) as agglomerator:
        for decision in decisions:
            operate(agglomerator, *decision)
        for action, score in enumerate(agglomerator.scores()):
            by_spec = agglomerator.scoring.by_spec(action)
            by_centre = agglomerator.scoring.by_centre(action)
            assert list(by_spec) == [part.spec_name for part in by_centre] == ["pairs", "rays"]
            assert sum(by_spec.values()) == pytest.approx(score, rel=1e-12, abs=1e-12)
            for part, scores in zip(by_centre, agglomerator.specs, strict=True):
                assert part.changes.sum() == pytest.approx(by_spec[part.spec_name], rel=1e-9, abs=1e-9)
                assert len(part.centres) == scores.action_sums(np.array([action]))[0, 1]
                assert len(np.unique(part.centres, axis=0)) == len(part.centres)
                assert ((part.before & part.after) == part.before).all()
                assert (part.before != part.after).any(axis=1).all()


def test_one_and_two_threads_give_the_same_bits():
    rng = np.random.default_rng(8)
    labels = random_labels(rng, (18, 18, 18), 60, 0.05)
    specs = tuple(
        sample_spec(kind, kind, (5, 5, 5), rng=rng, k=64, region_zyx=(7, 8, 9))
        for kind in ("pairwise", "center")
    )
    supervoxels = Supervoxels.from_labels(labels)
    energy = FastEnergy(labels.shape, specs)
    with (
        Agglomerator(supervoxels, specs, energy, threads=1) as one,
        Agglomerator(supervoxels, specs, energy, threads=2) as two,
    ):
        assert len(one.specs[0].tasks()) > 1
        assert snapshot(one) == snapshot(two)
        for agglomerator in (one, two):
            for n, step in enumerate(agglomerator.steps(np.inf)):
                if n == 20:
                    agglomerator.cut(step.u_id, step.v_id)
                if n == 40:
                    break
        assert one.history == two.history
        assert len(one.history) > 40
        assert snapshot(one) == snapshot(two)
        np.testing.assert_array_equal(one.scores(), two.scores())


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(2))
def test_small_batches_change_nothing(seed, monkeypatch):
    with agglomerate(seed) as whole:
        monkeypatch.setattr(buffers, "ROWS", 1)
        with agglomerate(seed) as parts:
            assert len(parts.specs[0].buffers.terms.row) < 300
            reference = reference_of(parts)
            for a, b in zip(whole.steps(np.inf), parts.steps(np.inf), strict=True):
                assert a.action_index == b.action_index
                np.testing.assert_allclose(parts.scores(), whole.scores(), rtol=1e-9, atol=1e-9)
            parts.cut(b.u_id, b.v_id)
            assert_exact(parts, reference)


def test_many_specs_agree_on_the_score_of_the_step():
    rng = np.random.default_rng(2)
    labels = random_labels(rng, (5, 6, 7), 9, 0.0)
    specs = tuple(sample_spec(f"s{i}", "pairwise", (3, 3, 3), rng=rng, k=20) for i in range(11))
    energy = ToyEnergy(labels.shape, specs)
    with Agglomerator(Supervoxels.from_labels(labels), specs, energy, threads=1) as many:
        while (best := many.best_action()) >= 0:
            score = many.scores()[best]
            assert many.step(np.inf).score == score


def test_progress_rises_to_one():
    shares = []
    with agglomerate(progress=shares.append, threads=2):
        assert shares == sorted(shares)
        assert shares[-1] == 1.0


def test_one_supervoxel_alone_has_nothing_to_decide():
    labels = np.full((4, 4, 4), 9, dtype=np.uint64)
    with of_labels(labels, region=(4, 4, 4), threads=2) as agglomerator:
        assert len(agglomerator.actions) == 0
        assert list(agglomerator.steps(np.inf)) == []
        assert agglomerator.step(np.inf) is None
        assert agglomerator.best_action() == -1
        assert (
            agglomerator.scores().shape
            == agglomerator.taken().shape
            == agglomerator.available().shape
            == (0,)
        )
        assert (agglomerator.n_segments, agglomerator.merges.joins(), agglomerator.history) == (1, [], ())
        np.testing.assert_array_equal(agglomerator.labels(), labels)
        assert agglomerator.energy == pytest.approx(reference_of(agglomerator).energy(set()))
        with pytest.raises(ActionError, match="two different"):
            agglomerator.merge(9, 9)


def test_supervoxels_with_ids_beyond_63_bits():
    labels = np.full((3, 3, 6), 2**63 + 11, dtype=np.uint64)
    labels[:, :, 3:] = 2**64 - 1
    with of_labels(labels) as agglomerator:
        step = agglomerator.merge(2**64 - 1, 2**63 + 11)
        assert {step.u_id, step.v_id} == {2**63 + 11, 2**64 - 1}
        assert len(np.unique(agglomerator.labels())) == 1


def test_a_run_may_go_on_with_another_number_of_threads():
    with agglomerate(threads=2) as changed, agglomerate(threads=2) as plain:
        for n_threads in (1, 3, 2):
            changed.use_threads(n_threads)
            assert changed.step(np.inf) == plain.step(np.inf)
        np.testing.assert_array_equal(changed.scores(), plain.scores())
