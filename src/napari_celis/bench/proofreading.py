"""A person who knows the truth answers questions: how fast the error falls, by the order in which they come.

The person is asked one question at a time, after a greedy run. An answer is right if it lowers the variation
of information: two segments are merged or kept apart, a merge is cut or confirmed. Some may be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.calibration import Calibration
from napari_celis.core.question_list import candidates_of, list_questions
from napari_celis.core.questions import QuestionKind, Questions, question_order
from napari_celis.core.remaining_error import remaining_error
from napari_celis.core.segment_graph import SegmentGraph
from napari_celis.core.uncertainty import uncertainty_order
from napari_celis.evaluation.expert import expert_steps
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.evaluation.running_errors import RunningErrors

Order = Literal["gain", "uncertainty", "random", "best"]
ORDERS: tuple[Order, ...] = ("gain", "uncertainty", "random", "best")
COUNTS = (0, 5, 10, 20, 50, 100)
"""Answers after which the error is told."""


@dataclass(frozen=True)
class Answered:
    """One answer of the simulated person."""

    number: int
    """Answers so far, this one counted."""
    kind: QuestionKind
    action: int
    is_correction: bool
    """Whether it changed the segmentation."""
    vi: float
    """Variation of information afterwards, in bits."""
    expected_left: float
    """What `remaining_error` said before this answer, in bits."""


class Truth:
    """What is right: by how much a merge or a cut would change the variation of information.

    Parameters
    ----------
    overlaps : Overlaps
        Voxels that supervoxels share with true objects.
    """

    def __init__(self, overlaps: Overlaps) -> None:
        self.overlaps = overlaps
        n_objects = int(overlaps.column.max()) + 1
        self._shared = np.zeros((len(overlaps.row_start) - 1, n_objects), dtype=np.int64)
        rows = np.repeat(np.arange(len(self._shared)), np.diff(overlaps.row_start))
        self._shared[rows, overlaps.column] = overlaps.count.astype(np.int64)

    def changes(self, agglomerator: Agglomerator, questions: Questions) -> np.ndarray:
        """Change of the variation of information in bits if the state that is asked about is reversed.

        Parameters
        ----------
        agglomerator : Agglomerator
            As it is asked about.
        questions : Questions
            About it.
        """
        changes = np.zeros(len(questions))
        is_made = questions.kind == QuestionKind.MADE
        actions = agglomerator.actions
        # Segments are named after one of their supervoxels; its dense index names them here.
        segment = np.searchsorted(agglomerator.supervoxels.ids, agglomerator.segment_ids())
        merges = questions.action[~is_made]
        joined = self.overlaps.of_segments(segment)
        changes[~is_made] = joined.changes(segment[actions.u[merges]], segment[actions.v[merges]])
        if is_made.any():
            changes[is_made] = self._cut_changes(agglomerator, questions.action[is_made])
        return changes

    def _cut_changes(self, agglomerator: Agglomerator, merges: np.ndarray) -> np.ndarray:
        trees = agglomerator.merges.trees()
        below = trees.below[np.searchsorted(trees.merge[trees.below], merges)]
        shared = trees.below_each(self._shared)
        leaving = shared[below].astype(np.float64)
        staying = shared[trees.segment[below]] - leaving
        sizes = (side.sum(axis=1) for side in (leaving, staying))
        change: np.ndarray = 2 * _gain(leaving, staying).sum(axis=1) - _gain(*sizes)
        return change / self.overlaps.n_voxels


def oracle_vi(agglomerator: Agglomerator, overlaps: Overlaps) -> float:
    """Variation of information of the greedy run that sees the truth, in bits: what is reachable.

    Parameters
    ----------
    agglomerator : Agglomerator
        Names the supervoxels; what is merged in it does not matter.
    overlaps : Overlaps
        Voxels that supervoxels share with true objects.
    """
    graph = SegmentGraph(agglomerator.actions, agglomerator.supervoxels.sizes)
    for _ in expert_steps(graph, overlaps):
        pass
    errors = RunningErrors(overlaps, graph.segment.astype(np.uint64))
    return errors.split + errors.merge


class SimulatedPerson:
    """Answers by the truth, but for a share of mistakes.

    Parameters
    ----------
    overlaps : Overlaps
        The truth.
    mistakes : float
        Share of the answers that are wrong.
    seed : int
        Of the mistakes, and of the order `random`.
    """

    def __init__(self, overlaps: Overlaps, mistakes: float = 0.0, seed: int = 0) -> None:
        self.truth = Truth(overlaps)
        self._mistakes, self._rng = mistakes, np.random.default_rng(seed)

    def work(
        self,
        agglomerator: Agglomerator,
        threshold: float,
        order: Order,
        most: int,
        calibration: Calibration | None = None,
        learn: Callable[[Agglomerator], None] | None = None,
    ) -> Iterator[Answered]:
        """Answer one question after the other.

        Parameters
        ----------
        agglomerator : Agglomerator
            After a greedy run; changed by the answers.
        threshold : float
            Where the run stopped.
        order : Order
            Which question comes next.
        most : int
            Answers at most.
        calibration : Calibration, optional
            How scores become probabilities; the policy's own by default.
        learn : callable, optional
            Called after every answer, to let the policy learn from it.
        """
        errors = RunningErrors(self.truth.overlaps, agglomerator.segment_ids())
        near: np.ndarray | None = None
        for number in range(1, most + 1):
            questions = list_questions(agglomerator, threshold, calibration)
            row = self._choose(agglomerator, questions, order, threshold, near)
            if row < 0:
                return
            one = questions.take(np.array([row]))
            near = agglomerator.actions.centroid[one.action[0]]
            is_correction = bool(self.truth.changes(agglomerator, one)[0] < 0)
            if self._rng.random() < self._mistakes:
                is_correction = not is_correction
            answer(agglomerator, one, is_correction=is_correction)
            if learn is not None:
                learn(agglomerator)
            errors.update(agglomerator.segment_ids())
            yield Answered(
                number,
                QuestionKind(int(one.kind[0])),
                int(one.action[0]),
                is_correction,
                errors.split + errors.merge,
                remaining_error(questions).bits,
            )

    def _choose(
        self,
        agglomerator: Agglomerator,
        questions: Questions,
        order: Order,
        threshold: float,
        near: np.ndarray | None,
    ) -> int:
        if not len(questions):
            return -1
        if order == "random":
            return int(self._rng.integers(len(questions)))
        if order == "best":
            changes = self.truth.changes(agglomerator, questions)
            return int(changes.argmin()) if changes.min() < 0 else -1
        if order == "uncertainty":
            return _most_uncertain(agglomerator, questions, threshold)
        positions = agglomerator.actions.centroid[questions.action]
        return int(question_order(questions, positions, near=near)[0])


def _most_uncertain(agglomerator: Agglomerator, questions: Questions, threshold: float) -> int:
    """Ask what the queue asked before it knew of gains: open merges near the threshold, large ones first."""
    first = uncertainty_order(
        agglomerator.actions, candidates_of(agglomerator), agglomerator.scores(), threshold
    )
    asked = first[np.isin(first, questions.action[questions.kind == QuestionKind.MERGE])]
    return int(np.flatnonzero(questions.action == asked[0])[0]) if len(asked) else -1


def answer(agglomerator: Agglomerator, question: Questions, *, is_correction: bool) -> None:
    """Give the answer to one question.

    Parameters
    ----------
    agglomerator : Agglomerator
        Changed.
    question : Questions
        One.
    is_correction : bool
        Whether the present state is said to be wrong.
    """
    action = int(question.action[0])
    ids, actions = agglomerator.supervoxels.ids, agglomerator.actions
    pair = int(ids[actions.u[action]]), int(ids[actions.v[action]])
    if question.kind[0] == QuestionKind.MERGE:
        (agglomerator.merge if is_correction else agglomerator.keep_apart)(*pair)
    else:
        (agglomerator.cut if is_correction else agglomerator.confirm)(*pair)


def gap_closed(before: float, now: float, oracle: float) -> float:
    """Share of what is reachable that the answers so far have brought.

    Parameters
    ----------
    before, now, oracle : float
        Variation of information after the run, now, and of the greedy run that sees the truth.
    """
    return (before - now) / (before - oracle) if before > oracle else 0.0


def _gain(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (a + b) log(a + b) - a log a - b log b, in bits."""
    gain: np.ndarray = sum(
        sign * n * np.log2(np.maximum(n, 1.0)) for sign, n in ((1, a + b), (-1, a), (-1, b))
    )
    return gain
