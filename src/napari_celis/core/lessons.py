"""What an answer teaches: what the policy saw of a contact when a person judged it, and the judgement.

Which classifier orders merges is a function of the answers that stand. So an undo takes the lesson back, a
redo gives it again, and a session that is opened again has the same scores, to the bit.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from napari_celis.core.policy import ContactClassifier
    from napari_celis.core.ranking import Ranking

N_REMEMBERED = 64
"""Classifiers that are kept, so that a step back and forth need not learn again."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """One contact that a person judged."""

    features: np.ndarray
    """The row of `LearnedScorer.features`, float32 (F,)."""
    contact: np.ndarray
    """The row of `contact_features`, float32 (C,)."""
    is_wrong: bool
    """Whether a merge across this contact is wrong."""


class Learner(Protocol):
    """Makes classifiers from answers."""

    def classifier(self, lessons: tuple[Lesson, ...]) -> ContactClassifier:
        """Learn from some answers, oldest first; the same answers always give the same classifier."""
        ...


class Learning:
    """Keeps the classifier of an agglomeration what its standing answers make of it.

    Answers are learned from when a score is asked for, so that many undos cost one refit.

    Parameters
    ----------
    ranking : Ranking
        Whose policy learns.
    """

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self._own = ranking.scorer.classifier
        self._learner: Learner | None = None
        self._lessons: list[Lesson] = []
        self._known: OrderedDict[tuple[Lesson, ...], ContactClassifier] = OrderedDict()
        self._is_stale = False

    @property
    def is_possible(self) -> bool:
        """Whether there is a classifier that could learn."""
        return self._own is not None

    @property
    def is_on(self) -> bool:
        """Whether answers are learned from."""
        return self._learner is not None

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """What the standing answers teach, oldest first."""
        return tuple(self._lessons)

    @property
    def classifier(self) -> ContactClassifier | None:
        """What orders merges now; None where the energy does."""
        self.bring_up_to_date()
        return self._ranking.scorer.classifier

    def switch(self, learner: Learner | None) -> None:
        """Learn by `learner` from now on, from all answers that stand; None goes back to what there was."""
        self._learner, self._is_stale = learner, True
        self._known.clear()

    def add(self, lesson: Lesson | None) -> None:
        """Follow an answer."""
        if lesson is not None:
            self._lessons.append(lesson)
            self._is_stale = True

    def take_back(self, lesson: Lesson | None) -> None:
        """Follow the undoing of the newest answer."""
        if lesson is not None:
            assert self._lessons[-1] is lesson
            self._lessons.pop()
            self._is_stale = True

    def bring_up_to_date(self) -> None:
        """Learn from answers that came or went, and score everything anew."""
        if not self._is_stale:
            return
        wanted = self._own
        if self._learner is not None and self._own is not None:
            wanted = self._learned(self._learner, tuple(self._lessons))
        self._is_stale = False
        if wanted is not None and wanted is not self._ranking.scorer.classifier:
            self._ranking.use_classifier(wanted)

    def _learned(self, learner: Learner, lessons: tuple[Lesson, ...]) -> ContactClassifier:
        """Learn, or remember what was learned from the same answers."""
        if lessons in self._known:
            self._known.move_to_end(lessons)
            return self._known[lessons]
        found = self._known[lessons] = learner.classifier(lessons)
        while len(self._known) > N_REMEMBERED:
            self._known.popitem(last=False)
        return found
