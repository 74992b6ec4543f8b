"""What a person decided in a box of a block-wise result, as answers that the next pass over it honours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.journal import MARK_KINDS
from napari_celis.scale.answers import add_answers
from napari_celis.scale.boxes import OpenedBox
from napari_celis.scale.honour import Answer, AnswerKind

Standing = Mapping[tuple[int, int], AnswerKind]
"""What people say about pairs of supervoxels in a box, the lower id first."""


class BoxAnswers:
    """Compares what stands in a box with what is written, and writes the difference.

    What is undone before it was written leaves no trace; what is undone afterwards is withdrawn.

    Parameters
    ----------
    opened : OpenedBox
        Whose run keeps the answers.
    """

    def __init__(self, opened: OpenedBox) -> None:
        self._opened = opened
        self._written: dict[tuple[int, int], AnswerKind] = {
            (answer.u, answer.v): answer.kind for answer in opened.answers
        }

    def standing(self, agglomerator: Agglomerator) -> Standing:
        """List what people say about the box as it is now, older answers included.

        Greedy merges are no answers, nor is `not here`, which forbids nothing, nor the state of a
        segment. A merge by hand or a confirmed
        one counts while it joins its ends, a keep-apart while it keeps them apart; a cut keeps apart all
        supervoxels that were one in the result, touch each other and are not one any more.

        Parameters
        ----------
        agglomerator : Agglomerator
            The run in the box; only read.
        """
        ids, segment = agglomerator.supervoxels.ids, agglomerator.segment_ids()

        def are_one(pairs: Sequence[tuple[int, int]]) -> list[bool]:
            u, v = np.searchsorted(ids, np.array(pairs, dtype=np.uint64).reshape(-1, 2)).T
            found: list[bool] = (segment[u] == segment[v]).tolist()
            return found

        constraints = {_pair(*pair) for pair in agglomerator.constraints}
        found: dict[tuple[int, int], AnswerKind] = {}
        answers = self._opened.answers
        for answer, is_one in zip(answers, are_one([(one.u, one.v) for one in answers]), strict=True):
            pair = answer.u, answer.v
            if is_one if answer.kind == "merge" else pair in constraints:
                found[pair] = answer.kind
        silent = ("greedy", "not-here", "allow", *MARK_KINDS)
        steps = [step for step in agglomerator.history if step.kind not in silent]
        # What was kept apart and allowed again later says nothing any more.
        steps = [s for s in steps if s.kind != "keep-apart" or _pair(s.u_id, s.v_id) in constraints]
        for step, is_one in zip(steps, are_one([(one.u_id, one.v_id) for one in steps]), strict=True):
            if is_one == (step.kind in ("manual", "confirm")):
                found[_pair(step.u_id, step.v_id)] = "merge" if is_one else "keep-apart"
        merges = self._opened.choice.decided.merges
        for pair, is_one in zip(merges, are_one(merges), strict=True):
            if not is_one:
                found[_pair(*pair)] = "keep-apart"
        return found

    def changes(self, standing: Standing) -> list[Answer]:
        """List what is not written yet: new answers, other answers, and those that were withdrawn.

        Parameters
        ----------
        standing : mapping
            From `standing`.
        """
        changed = [Answer(kind, *pair) for pair, kind in standing.items() if self._written.get(pair) != kind]
        return changed + [Answer("withdrawn", *pair) for pair in self._written if pair not in standing]

    def write(self, standing: Standing, who: str = "") -> list[Answer]:
        """Write what is not written yet; the next `celis blockwise` joins the blocks by it.

        Parameters
        ----------
        standing : mapping
            From `standing`.
        who : str
            Who gave the answers.

        Returns
        -------
        answers : list of Answer
            What was written.
        """
        changes = self.changes(standing)
        add_answers(self._opened.run.store, changes, who)
        self._written = dict(standing)
        return changes


def _pair(u_id: int, v_id: int) -> tuple[int, int]:
    return min(u_id, v_id), max(u_id, v_id)
