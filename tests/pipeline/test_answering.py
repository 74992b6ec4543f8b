"""Answers become decisions by what is merged; one that cannot be followed takes the others back."""

import pytest

from core.states import chain
from napari_celis.core.errors import ActionError
from napari_celis.io.answer_table import Answer, Answers
from napari_celis.pipeline.answering import newest_only, require_answers, take_answers


def answers(*rows):
    return Answers("a.csv", tuple(Answer(line, *row) for line, row in enumerate(rows, start=2)), 0)


@pytest.fixture
def agglomerator():
    """1 and 2 are merged, 3 and 4 are, 5 is alone."""
    with chain(5) as agglomerator:
        agglomerator.merge(1, 2)
        agglomerator.merge(3, 4)
        yield agglomerator


def kinds(agglomerator, n_before=2):
    return [step.kind for step in agglomerator.history[n_before:]]


@pytest.mark.parametrize(
    ("row", "made"),
    [
        ((4, 5, "same"), ["manual"]),
        ((2, 1, "same"), []),
        ((4, 5, "apart"), ["keep-apart"]),
        ((3, 4, "apart"), ["cut", "keep-apart"]),
        ((3, 4, "cut"), ["cut"]),
        ((4, 5, "cut"), []),
        ((4, 5, "not-here"), ["not-here"]),
    ],
)
def test_what_an_answer_does_depends_on_what_is_merged(agglomerator, row, made):
    given = answers(row)
    require_answers(given, agglomerator.supervoxels, agglomerator.actions)
    taken = take_answers(agglomerator, given)
    assert kinds(agglomerator) == made
    assert (taken.n_decided, taken.n_so_already) == (int(bool(made)), int(not made))
    assert take_answers(agglomerator, given).n_decided == 0


def test_one_that_cannot_be_followed_takes_the_others_back(agglomerator):
    given = answers((1, 4, "apart"), (4, 5, "not-here"), (2, 3, "same"))
    require_answers(given, agglomerator.supervoxels, agglomerator.actions)
    with pytest.raises(ActionError, match=r"a.csv, line 4, cannot be followed: .* between 1 and 4"):
        take_answers(agglomerator, given)
    assert kinds(agglomerator) == []
    assert agglomerator.constraints == ()


def test_the_newest_answer_about_a_pair_may_count():
    given = newest_only(answers((1, 2, "same"), (2, 3, "same"), (2, 1, "apart")))
    assert [(one.line, one.verdict) for one in given.rows] == [(3, "same"), (4, "apart")]
