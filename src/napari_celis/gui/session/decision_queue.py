"""The questions of a run, the one with the largest expected gain first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.decisions import ActionState, Candidates, list_candidates
from napari_celis.core.question_list import list_questions, open_questions_of
from napari_celis.core.questions import Question, QuestionKind, Questions, question_order
from napari_celis.core.remaining_error import RemainingError, remaining_error
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.engine.tables import RunTables

FAR_BEHIND = 20
"""More decisions than this, since they were listed, and questions are those of another segmentation."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions as of one snapshot."""

    n_steps: int
    """Decisions that stood then."""
    questions: Questions
    """In no particular order."""
    left: RemainingError
    """What they say of the error that is left."""


class DecisionQueue:
    """Lists and orders the questions of an engine's newest snapshot.

    They are computed ahead in the engine's thread. Until they are there, those of the snapshot before serve,
    without what was answered or changed since. The very first ones, and the first after many decisions at
    once, are about open merges alone.

    Parameters
    ----------
    engine : Engine
        Its snapshots are asked about.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.skipped: list[int] = []
        """Actions that were passed over; they come last in the queue."""
        self.near: np.ndarray | None = None
        """Where one looked last, in voxels: of questions with close gains the nearest comes first."""
        self._candidates: tuple[Snapshot, Candidates] | None = None
        self._asked: tuple[Snapshot, Asked] | None = None
        self._ordered: tuple[object, Questions] | None = None

    def candidates(self) -> Candidates:
        """Describe all actions."""
        snapshot = self._engine.snapshot
        if self._candidates is None or self._candidates[0] is not snapshot:
            self._candidates = (snapshot, describe(self._engine.tables, snapshot))
        return self._candidates[1]

    def questions(self) -> Questions:
        """Return the questions in the order in which they are asked."""
        snapshot = self._engine.snapshot
        if self._asked is None or is_far_behind(self._asked[1].n_steps, snapshot):
            self._asked = (snapshot, self._first())
        near = None if self.near is None else tuple(self.near.tolist())
        key = (id(self._asked[1]), id(snapshot), tuple(self.skipped), near)
        if self._ordered is None or self._ordered[0] != key:
            questions = still_asked(self._asked[1], snapshot, self.candidates(), self._engine.tables.actions)
            positions = self._engine.tables.actions.centroid[questions.action]
            late = np.array(self.skipped, dtype=np.int64)
            order = question_order(questions, positions, late, self.near)
            self._ordered = (key, questions.take(order))
        return self._ordered[1]

    @property
    def n_steps(self) -> int:
        """Decisions that stood when the newest questions were listed; 0 before there are any."""
        return 0 if self._asked is None else self._asked[1].n_steps

    @property
    def left(self) -> RemainingError | None:
        """How much error the newest questions expect to be left; None before there are any."""
        return None if self._asked is None else self._asked[1].left

    def order(self) -> np.ndarray:
        """List the actions of the questions, int64, the largest gain first."""
        return self.questions().action

    def question_of(self, action: int) -> Question | None:
        """Return the question about an action, None if there is none."""
        questions = self.questions()
        found = np.flatnonzero(questions.action == action)
        tables = self._engine.tables
        return questions.row(int(found[0]), tables.supervoxels, tables.actions) if len(found) else None

    def next_after(self, action: int, shown: np.ndarray | None = None) -> int:
        """Return the action of the question after one, of the first if that is none; -1 if there is none.

        Parameters
        ----------
        action : int
            The present one, -1 for none.
        shown : ndarray of bool, shape (A,), optional
            Which actions the table shows; all by default.
        """
        order = self.order()
        at = np.flatnonzero(order == action)
        order = np.roll(order, -int(at[0]) - 1) if len(at) else order
        order = order if shown is None else order[shown[order]]
        return int(order[0]) if len(order) else -1

    def skip(self, action: int) -> None:
        """Put an action at the end of the queue."""
        self.skipped = [other for other in self.skipped if other != action] + [action]

    def compute_ahead(self, on_ready: Callable[[], object]) -> None:
        """Compute all in the engine's thread, then call `on_ready`."""
        snapshot, tables, threshold = self._engine.snapshot, self._engine.tables, self._engine.threshold

        def compute(agglomerator: Agglomerator) -> tuple[Candidates, Asked | None]:
            candidates = describe(tables, snapshot)
            if len(agglomerator.journal.done) != len(snapshot.steps):
                # The engine is further than the snapshot: the next one is on its way.
                return candidates, None
            questions = list_questions(agglomerator, threshold, candidates=candidates)
            return candidates, Asked(len(snapshot.steps), questions, remaining_error(questions))

        def keep(result: tuple[Candidates, Asked | None]) -> None:
            candidates, asked = result
            if snapshot is self._engine.snapshot:
                self._candidates = (snapshot, candidates)
            if asked is not None:
                self._asked = (snapshot, asked)
            on_ready()

        self._engine.ask(compute, keep, key="decision queue")

    def _first(self) -> Asked:
        """Ask about open merges, which a snapshot tells all about."""
        snapshot, tables = self._engine.snapshot, self._engine.tables
        questions = open_questions_of(
            tables.supervoxels, tables.actions, self.candidates(), snapshot.scores, self._engine.threshold,
            snapshot.steps, scores_are_odds=tables.scores_are_odds,
        )  # fmt: skip
        return Asked(len(snapshot.steps), questions, remaining_error(questions))


def is_far_behind(n_steps: int, snapshot: Snapshot) -> bool:
    """Tell whether what was listed after some decisions is no help any more; a run is let finish first.

    Parameters
    ----------
    n_steps : int
        Decisions that stood then.
    snapshot : Snapshot
        The newest.
    """
    return not snapshot.is_running and abs(len(snapshot.steps) - n_steps) > FAR_BEHIND


def still_asked(asked: Asked, snapshot: Snapshot, candidates: Candidates, actions: ActionTable) -> Questions:
    """Leave out what was answered, merged, cut or finished since the questions were listed.

    Parameters
    ----------
    asked : Asked
        Questions of this snapshot or an earlier one.
    snapshot, candidates : Snapshot, Candidates
        The newest.
    actions : ActionTable
        What they are about.
    """
    questions = asked.questions
    answered = {step.action_index for step in snapshot.steps[asked.n_steps :]}
    is_open = candidates.state[questions.action] == ActionState.OPEN
    is_there = np.where(questions.kind == QuestionKind.MADE, snapshot.taken[questions.action], is_open)
    is_there = is_there & ~snapshot.is_done[actions.u[questions.action]]
    if answered:
        is_there = is_there & ~np.isin(questions.action, list(answered))
    return questions.take(np.flatnonzero(is_there))


def describe(tables: RunTables, snapshot: Snapshot) -> Candidates:
    """Describe all actions as of a snapshot.

    Parameters
    ----------
    tables : RunTables
        The actions.
    snapshot : Snapshot
        The state of the run.
    """
    return list_candidates(
        tables.supervoxels,
        tables.actions,
        snapshot.segment_ids,
        snapshot.taken,
        snapshot.available,
        snapshot.contacts,
        snapshot.constraints,
        snapshot.is_done,
    )
