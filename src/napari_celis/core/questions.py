"""What a person should be asked next: the decision where a look is expected to gain most.

There are two kinds of doubt. Two segments that touch and are apart may be one: "same neuron?". Two sides that
a merge joined may be two: "still right?". The present state is wrong with some probability, and putting it
right changes the variation of information by what the sizes of both sides allow; the product is the gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.decisions import ActionState, Candidates
from napari_celis.core.journal import Step, StepKind
from napari_celis.core.kernels import decisions as of_decisions
from napari_celis.core.kernels import questions as kernels
from napari_celis.core.seams import N_PLACES, JudgedMerges, independence
from napari_celis.core.supervoxels import Supervoxels

CLOSE = 0.1
"""Questions whose gain is at most this share below the best may be asked in any order: the nearest first."""
ORDERED = 1_000
"""How far the queue minds where questions lie; those after come by gain alone."""
APART_ANSWERS: frozenset[StepKind] = frozenset({"not-here"})
"""A contact with one of these on any of its actions has been looked at, and stays apart."""
MADE_ANSWERS: frozenset[StepKind] = frozenset({"manual", "confirm", "not-here"})
"""A merge with one of these as the newest decision has been looked at, and those beside it count less."""
SLIPS = 0.05
"""Share of answers that are slips of the hand. A merge by hand or a cut changes the segmentation, so one that
is hard to believe is asked about once more; a second answer settles it."""


class QuestionKind(IntEnum):
    """What is asked."""

    MERGE = 0
    """Are these two segments one neuron?"""
    MADE = 1
    """Is this merge still right?"""


@dataclass(frozen=True)
class Question:
    """One question, as it is shown, written and answered."""

    kind: QuestionKind
    action: int
    u_id: int
    """Ids of the two supervoxels of the action."""
    v_id: int
    score: float
    """What the policy says of a merge of the two sides; lower is better."""
    probability: float
    """That the present state is wrong, from 0 to 1."""
    gain: float
    """Expected fall of the variation of information, in bits."""
    smaller: int
    """Voxels of the smaller side."""
    larger: int
    position_zyx: tuple[float, float, float]
    """Where the two supervoxels touch, in voxels."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions as arrays, one entry each."""

    kind: np.ndarray
    """A `QuestionKind` each, uint8 (n,)."""
    action: np.ndarray
    """int64 (n,)"""
    score: np.ndarray
    """float64 (n,)"""
    probability: np.ndarray
    """float64 (n,)"""
    gain: np.ndarray
    """float64 (n,), in bits"""
    smaller: np.ndarray
    """int64 (n,)"""
    larger: np.ndarray
    """int64 (n,)"""
    places: np.ndarray
    """Where a merge that was made is in its merge tree, see `JudgedMerges.places`, int64 (n, 5); 0 for open
    ones."""

    def __len__(self) -> int:
        return len(self.action)

    def take(self, rows: np.ndarray) -> Questions:
        """Pick some, in this order."""
        return Questions(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @classmethod
    def join(cls, parts: Iterable[Questions]) -> Questions:
        """Put several lists together."""
        lists = list(parts)
        return cls(
            *(np.concatenate([getattr(one, name) for one in lists]) for name in cls.__dataclass_fields__)
        )

    def row(self, index: int, supervoxels: Supervoxels, actions: ActionTable) -> Question:
        """Describe one of them.

        Parameters
        ----------
        index : int
            Which one.
        supervoxels, actions : Supervoxels, ActionTable
            The volume that they are about.
        """
        action = int(self.action[index])
        z, y, x = actions.centroid[action].tolist()
        return Question(
            QuestionKind(int(self.kind[index])),
            action,
            int(supervoxels.ids[actions.u[action]]),
            int(supervoxels.ids[actions.v[action]]),
            float(self.score[index]),
            float(self.probability[index]),
            float(self.gain[index]),
            int(self.smaller[index]),
            int(self.larger[index]),
            (z, y, x),
        )


def vi_change(a: np.ndarray, b: np.ndarray, n_voxels: float) -> np.ndarray:
    """Bits by which the variation of information changes when two sides are put right, float64 (n,).

    With n voxels in all, [(a + b) log₂(a + b) − a log₂ a − b log₂ b] / n: so much falls when two sides of one
    object are joined, and when two sides of different objects are parted.

    Parameters
    ----------
    a, b : ndarray of int
        Voxels of the two sides.
    n_voxels : float
        Voxels of all segments.
    """
    change: np.ndarray = (_n_log_n(a + b) - _n_log_n(a) - _n_log_n(b)) / n_voxels
    return change


def _n_log_n(n: np.ndarray) -> np.ndarray:
    product: np.ndarray = n * np.log2(np.maximum(n, 1.0))
    return product


def after_answer(wrong: np.ndarray) -> np.ndarray:
    """Probability that a state is wrong after a person said that it is right, float64 (n,).

    Parameters
    ----------
    wrong : ndarray of float64
        The same before the answer.
    """
    slip = SLIPS * wrong
    after: np.ndarray = slip / (slip + (1 - SLIPS) * (1 - wrong))
    return after


def looked_at(answers: Mapping[int, StepKind]) -> list[int]:
    """List the merges that a person made or confirmed."""
    return [action for action, kind in answers.items() if kind in MADE_ANSWERS]


def standing_answers(steps: Iterable[Step]) -> dict[int, StepKind]:
    """Return the kind of the newest decision about every action that there is one about."""
    return {step.action_index: step.kind for step in steps if step.action_index >= 0}


def open_questions(
    actions: ActionTable,
    candidates: Candidates,
    scores: np.ndarray,
    wrong_merge: np.ndarray,
    answers: Mapping[int, StepKind],
) -> Questions:
    """Ask "same neuron?" about every contact of two segments that nobody has decided about.

    A contact is named by its best action, of equals by the one with the largest area. One that a cut opened
    is asked about with what the cut says.

    Parameters
    ----------
    actions : ActionTable
        All actions.
    candidates : Candidates
        What has become of them.
    scores : ndarray of float64, shape (A,)
        What the policy says of each.
    wrong_merge : ndarray of float64, shape (A,)
        Probability that a merge of its segments is wrong.
    answers : mapping
        From `standing_answers`.
    """
    best = np.full(len(actions), -1, dtype=np.int32)
    of_decisions.stand_for_contacts(candidates.contact, candidates.state, scores, actions.area, best)
    said = [action for action, kind in answers.items() if kind in APART_ANSWERS]
    best[candidates.contact[said]] = -1
    rows = best[best >= 0].astype(np.int64)
    assert (candidates.state[rows] == ActionState.OPEN).all()
    smaller, larger = candidates.smaller[rows], candidates.larger[rows]
    cuts = [action for action, kind in answers.items() if kind == "cut"]
    is_cut = np.isin(candidates.contact[rows], candidates.contact[cuts])
    probability = np.where(is_cut, after_answer(1.0 - wrong_merge[rows]), 1.0 - wrong_merge[rows])
    gain = probability * vi_change(smaller, larger, _all_voxels(candidates))
    kind = np.full(len(rows), QuestionKind.MERGE, dtype=np.uint8)
    places = np.zeros((len(rows), N_PLACES), dtype=np.int64)
    return Questions(kind, rows, scores[rows], probability, gain, smaller, larger, places)


def made_questions(
    merges: JudgedMerges, wrong_merge: np.ndarray, n_voxels: float, answers: Mapping[int, StepKind]
) -> Questions:
    """Ask "still right?" about every merge that holds a segment together and that nobody has confirmed.

    Those made by hand are asked about with what the hand says.

    Parameters
    ----------
    merges : JudgedMerges
        The merges, with what a cut of each would leave.
    wrong_merge : ndarray of float64, shape (S,)
        Probability that each is wrong.
    n_voxels : float
        Voxels of all segments.
    answers : mapping
        From `standing_answers`.
    """
    is_known = np.isin(merges.merge, looked_at(answers))
    by_hand = [action for action, kind in answers.items() if kind == "manual"]
    is_by_hand = np.isin(merges.merge, by_hand)
    left = independence(merges.places, np.flatnonzero(is_known))
    left[is_by_hand] = 1.0
    wrong_merge = np.where(is_by_hand, after_answer(wrong_merge), wrong_merge)
    rows = np.flatnonzero((~is_known | is_by_hand) & np.isfinite(merges.score))
    smaller, larger = merges.voxels.min(axis=1)[rows], merges.voxels.max(axis=1)[rows]
    probability = wrong_merge[rows] * left[rows]
    gain = probability * vi_change(smaller, larger, n_voxels)
    kind = np.full(len(rows), QuestionKind.MADE, dtype=np.uint8)
    merge, score, places = merges.merge[rows], merges.score[rows], merges.places[rows]
    return Questions(kind, merge, score, probability, gain, smaller, larger, places)


def _all_voxels(candidates: Candidates) -> float:
    return float(candidates.voxels[1:].sum())


def question_order(
    questions: Questions,
    positions: np.ndarray,
    skipped: np.ndarray | None = None,
    near: np.ndarray | None = None,
) -> np.ndarray:
    """Order questions by gain; among those whose gains are close, the nearest to the one before comes next.

    Parameters
    ----------
    questions : Questions
        In any order.
    positions : ndarray of float64, shape (n, 3)
        Where each lies, in a unit of length.
    skipped : ndarray of int, optional
        Actions that were passed over: they come last, in this order.
    near : ndarray of float64, shape (3,), optional
        Where one looked last.

    Returns
    -------
    order : ndarray of int64
        Rows.
    """
    late = np.empty(0, dtype=np.int64) if skipped is None else skipped
    is_late = np.isin(questions.action, late)
    rows = np.flatnonzero(~is_late)
    # Of equal gains the lower action comes first, so that the order depends on nothing else.
    rows = rows[np.lexsort((questions.action[rows], -questions.gain[rows]))]
    start = np.full(3, np.nan) if near is None else np.asarray(near, dtype=np.float64)
    first = rows[: 2 * ORDERED].copy()
    kernels.nearest_of_close(questions.gain[first], positions[first], start, CLOSE, ORDERED, first)
    last = np.flatnonzero(is_late)
    rank = {int(action): place for place, action in enumerate(late)}
    last = np.array(sorted(last.tolist(), key=lambda row: rank[int(questions.action[row])]), dtype=np.int64)
    return np.concatenate([first, rows[2 * ORDERED :], last])
