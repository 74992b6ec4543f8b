"""What is left falls to nothing, counts neighbours once, and equals its plain twin after any operations."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from core.problems import problems
from core.states import operate
from core.test_policy import make
from core.test_questions import QUIET, Drawn, ends_of, open_ones
from napari_celis.core.question_list import list_questions
from napari_celis.core.questions import QuestionKind
from napari_celis.core.remaining_error import remaining_error
from reference import questions as reference

pytestmark = pytest.mark.kernels


def test_what_is_left_falls_from_the_sum_of_gains_to_nothing():
    found = remaining_error(open_ones(np.array([1.0, 4.0, 2.0])))
    assert found.left.tolist() == [7.0, 3.0, 1.0, 0.0]
    assert (found.bits, found.n_questions) == (7.0, 3)
    assert [found.questions_until(bits) for bits in (8.0, 7.0, 3.5, 1.0, 0.0, -1.0)] == [0, 0, 1, 2, 3, 3]


def test_without_questions_nothing_is_left():
    found = remaining_error(open_ones(np.empty(0)))
    assert (found.bits, found.n_questions, found.questions_until(0.0)) == (0.0, 0, 0)


@QUIET
@given(problems(), Drawn)
def test_neighbouring_merges_count_by_what_others_leave(problem, operations):
    agglomerator, _ = make(*problem)
    with agglomerator:
        if not len(agglomerator.actions):
            return
        for operation in [("step", 0)] * 6 + operations:
            operate(agglomerator, *operation)
        questions, ends = list_questions(agglomerator, 0.0), ends_of(agglomerator)
        tree = reference.tree_merges(agglomerator._state.order, ends)
        sizes, asked, gains = agglomerator.supervoxels.sizes, [], []
        for row in sorted(range(len(questions)), key=lambda i: (-questions.gain[i], questions.action[i])):
            gain = float(questions.gain[row])
            if questions.kind[row] == QuestionKind.MADE:
                cut = reference.sides(tree, ends, int(questions.action[row]))
                gain *= min([1.0, *(reference.share_between(cut, other, sizes) for other in asked)])
                asked.append(cut)
            gains.append(gain)
        gains.sort(reverse=True)
        expected = [sum(gains[n:]) for n in range(len(gains) + 1)]
        assert_allclose(remaining_error(questions).left, expected, atol=1e-12)
