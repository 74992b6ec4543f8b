"""What is left to put right, as far as probabilities tell: a curve that falls with every answer.

Every question is expected to gain some bits. Added up in the order of asking they say how much error is left
after so many answers. Neighbouring merges of one segment gain the same bits, so each counts only by what
those before it leave. What no answer can put right, as in a supervoxel that spans two neurons, is not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.questions import ORDERED, QuestionKind, Questions
from napari_celis.core.seams import independence_in_order


@dataclass(frozen=True, eq=False)
class RemainingError:
    """How the error is expected to fall while questions are answered, the best first."""

    left: np.ndarray
    """Bits of variation of information left after n answers, float64 (questions + 1,), falling to 0."""

    @property
    def bits(self) -> float:
        """What is left now."""
        return float(self.left[0])

    @property
    def n_questions(self) -> int:
        """Questions until nothing is left to ask."""
        return len(self.left) - 1

    def questions_until(self, bits: float) -> int:
        """Count the questions after which no more than so much is expected to be left.

        Parameters
        ----------
        bits : float
            The error to reach; below 0 there is no way, which counts as all questions.
        """
        reached = np.flatnonzero(self.left <= bits)
        return int(reached[0]) if len(reached) else self.n_questions


def remaining_error(questions: Questions) -> RemainingError:
    """Estimate how much error is left, and how fast answers would bring it down.

    Parameters
    ----------
    questions : Questions
        All of them, in any order.
    """
    order = np.lexsort((questions.action, -questions.gain))
    gain = questions.gain[order]
    first = order[:ORDERED]
    made = np.flatnonzero(questions.kind[first] == QuestionKind.MADE)
    gain[made] *= independence_in_order(questions.places[first[made]])
    gain = np.sort(gain)[::-1]
    # Summed from the end, so that it ends at 0 to the bit.
    left = np.append(np.cumsum(gain[::-1])[::-1], 0.0)
    return RemainingError(left)
