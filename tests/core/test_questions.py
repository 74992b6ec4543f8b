"""Questions equal their plain twins after any operations, and what is answered is not asked again."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from core.problems import problems
from core.states import chain, operate, pair_of
from core.test_policy import make
from napari_celis.core.calibration import Calibration, spread_out
from napari_celis.core.question_list import LEARNED, candidates_of, list_questions, stakes_of
from napari_celis.core.questions import CLOSE, SLIPS, QuestionKind, Questions, question_order, vi_change
from napari_celis.core.seams import find_seams, independence, seam_features
from reference import questions as reference

pytestmark = pytest.mark.kernels
OPERATIONS = ("step", "step", "merge", "keep apart", "cut", "confirm", "not here", "undo", "redo")
Drawn = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 10**6)), max_size=12)
QUIET = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def ends_of(agglomerator):
    return list(zip(agglomerator.actions.u.tolist(), agglomerator.actions.v.tolist(), strict=True))


@QUIET
@given(problems(), Drawn)
def test_seams_equal_what_a_cut_leaves(problem, operations):
    agglomerator, _ = make(*problem)
    with agglomerator:
        if not len(agglomerator.actions):
            return
        for operation in operations:
            operate(agglomerator, *operation)
        state, trees = agglomerator._state, agglomerator.merges.trees()
        seams = find_seams(state.graph, trees)
        seen = seam_features(trees, seams, state.ranking.scorer._affinities.statistics)
        ends, sizes = ends_of(agglomerator), agglomerator.supervoxels.sizes
        tree = reference.tree_merges(state.order, ends)
        assert seams.merge.tolist() == sorted(tree)
        for row, merge in enumerate(seams.merge.tolist()):
            one, two = reference.sides(tree, ends, merge)
            assert sorted(seams.voxels[row].tolist()) == sorted(int(sizes[list(s)].sum()) for s in (one, two))
            assert seams.area[row] == reference.seam_area(ends, agglomerator.actions.area, one, two)
            # What the policy sees after the cut, to the bit.
            agglomerator.cut(*pair_of(agglomerator, merge))
            assert_array_equal(agglomerator.scoring.contact_features(np.array([merge]))[0], seen.contact[row])
            decisive = agglomerator.scoring.features(np.array([merge]))[0][: seen.decisive.shape[1]]
            assert_array_equal(decisive, seen.decisive[row])
            agglomerator.undo()


@QUIET
@given(problems(), Drawn)
def test_seams_near_to_a_known_one_are_worth_less(problem, operations):
    agglomerator, _ = make(*problem)
    with agglomerator:
        if not len(agglomerator.actions):
            return
        for operation in [("step", 0)] * 6 + operations:
            operate(agglomerator, *operation)
        merges, ends = agglomerator.merges.judge(), ends_of(agglomerator)
        tree = reference.tree_merges(agglomerator._state.order, ends)
        cuts = [reference.sides(tree, ends, merge) for merge in merges.merge.tolist()]
        sizes = agglomerator.supervoxels.sizes
        for known in range(len(merges.merge)):
            factor = independence(merges.places, np.array([known]))
            for row in range(len(merges.merge)):
                assert factor[row] == pytest.approx(reference.share_between(cuts[row], cuts[known], sizes))


@QUIET
@given(problems(), Drawn)
def test_what_is_asked_is_open_or_made_and_not_answered(problem, operations):
    agglomerator, _ = make(*problem)
    with agglomerator:
        if not len(agglomerator.actions):
            return
        for operation in operations:
            operate(agglomerator, *operation)
        questions = list_questions(agglomerator, 0.0)
        segment, actions = agglomerator.segment_ids(), agglomerator.actions
        newest = {}
        for step in agglomerator.history:
            newest[step.action_index] = step.kind
        contacts = agglomerator.contacts()
        said = {int(contacts[a]) for a, kind in newest.items() if kind == "not-here"}
        candidates = candidates_of(agglomerator)
        wanted = {
            ("MERGE", int(contacts[a]))
            for a in np.flatnonzero(candidates.state == 0)
            if int(contacts[a]) not in said
        }
        tree = reference.tree_merges(agglomerator._state.order, ends_of(agglomerator))
        wanted |= {("MADE", a) for a in tree if newest.get(a) not in ("confirm", "not-here")}
        names = [QuestionKind(kind).name for kind in questions.kind.tolist()]
        found = [
            (name, int(contacts[a]) if name == "MERGE" else a)
            for name, a in zip(names, questions.action.tolist(), strict=True)
        ]
        assert len(found) == len(set(found))
        assert set(found) == wanted
        assert (questions.gain >= 0).all()
        assert ((questions.probability >= 0) & (questions.probability <= 1)).all()
        for name, action in zip(names, questions.action.tolist(), strict=True):
            is_one = segment[actions.u[action]] == segment[actions.v[action]]
            assert is_one == (name == "MADE")


def test_questions_without_odds_spread_around_the_threshold():
    with chain(5) as agglomerator:
        agglomerator.merge(1, 2)
        agglomerator.step(np.inf)
        questions = list_questions(agglomerator, 0.0)
        assert (questions.kind == QuestionKind.MADE).sum() == 2
        scores = np.array([-2.0, -1.0, 0.5, 1.0])
        found = spread_out(scores, 0.5).wrong_merge(scores, np.ones(4))
        assert found[2] == 0.5
        assert (np.diff(found) > 0).all()


@QUIET
@given(problems(), Drawn)
def test_corrections_are_doubted_and_settled_by_a_second_answer(problem, operations):
    agglomerator, _ = make(*problem)
    with agglomerator:
        if not len(agglomerator.actions):
            return
        for operation in operations:
            operate(agglomerator, *operation)
        before = list_questions(agglomerator, 0.0, LEARNED)
        rows = np.flatnonzero(before.kind == QuestionKind.MERGE)
        if not len(rows) or any(step.kind == "cut" for step in agglomerator.history):
            return
        action = int(before.action[rows[0]])
        agglomerator.merge(*pair_of(agglomerator, action))
        seen = list_questions(agglomerator, 0.0, LEARNED)
        own = np.flatnonzero(seen.action == action)
        assert seen.kind[own].tolist() == [QuestionKind.MADE]
        stake = stakes_of(seen.smaller[own], seen.larger[own], agglomerator.supervoxels)
        wrong = LEARNED.wrong_merge(seen.score[own], stake)[0]
        assert seen.probability[own[0]] == pytest.approx(reference.still_wrong(wrong, SLIPS))
        agglomerator.confirm(*pair_of(agglomerator, action))
        assert action not in list_questions(agglomerator, 0.0, LEARNED).action
        agglomerator.undo()
        agglomerator.cut(*pair_of(agglomerator, action))
        again = list_questions(agglomerator, 0.0, LEARNED)
        # It was apart before, so it is the question of before, with an answer.
        own = np.flatnonzero(again.action == action)
        if len(own):
            one = before.probability[rows[0]]
            assert again.probability[own[0]] == pytest.approx(reference.still_wrong(one, SLIPS))
            agglomerator.keep_apart(*pair_of(agglomerator, action))
            assert action not in list_questions(agglomerator, 0.0, LEARNED).action


@given(st.integers(1, 10**9), st.integers(1, 10**9), st.integers(2 * 10**9, 10**12))
def test_the_gain_is_the_entropy_of_the_two_sides(a, b, n):
    found = vi_change(np.array([a]), np.array([b]), float(n))[0]
    assert found == pytest.approx(reference.vi_change(a, b, n), rel=1e-4, abs=1e-12)


def open_ones(gain):
    """Questions about open merges, of which only the gain matters."""
    n = len(gain)
    zeros, places = np.zeros(n, dtype=np.int64), np.zeros((n, 5), dtype=np.int64)
    return Questions(zeros.astype(np.uint8), np.arange(n), gain, gain, gain, zeros, zeros, places)


GAINS = st.lists(st.integers(1, 40), min_size=1, max_size=12)


@given(GAINS, st.integers(0, 10**6), st.booleans())
def test_the_nearest_of_close_gains_comes_next(gains, seed, has_start):
    places = np.random.default_rng(seed).integers(0, 50, (len(gains), 3)).astype(float)
    n = len(gains)
    gain = np.array(gains, dtype=float)
    questions = open_ones(gain)
    start = np.array([25.0, 25.0, 25.0]) if has_start else None
    order = question_order(questions, places, near=start)
    assert sorted(order.tolist()) == list(range(n))
    assert order.tolist() == reference.order_of(gains, places.tolist(), start, CLOSE)


def test_skipped_questions_come_last_in_the_order_of_skipping():
    gain = np.array([5.0, 4.0, 3.0, 2.0])
    questions = open_ones(gain)
    order = question_order(questions, np.zeros((4, 3)), skipped=np.array([1, 0]))
    assert order.tolist() == [2, 3, 1, 0]


def test_probabilities_follow_score_and_size():
    scores, bits = np.array([-1.0, 0.0, 1.0]), np.array([0.1, 0.1, 0.1])
    assert_allclose(Calibration().wrong_merge(scores, bits), 1 / (1 + np.exp(-scores)))
    larger = Calibration(1.0, 0.0, 0.5).wrong_merge(scores, 10 * bits)
    assert (larger > Calibration(1.0, 0.0, 0.5).wrong_merge(scores, bits)).all()
