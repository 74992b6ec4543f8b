"""What is asked next: the queue of an engine's questions, and the way through it."""

from __future__ import annotations

import numpy as np
from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.core.decisions import Candidates
from napari_celis.gui.session.decision_queue import DecisionQueue, is_far_behind
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.inspected_pair import REFRESH_MS
from napari_celis.gui.session.question_walk import KnownOrder, QuestionWalk
from napari_celis.gui.session.run import Run


class QuestionOrder(QObject):
    """Follows a run from engine to engine, and keeps its questions in order.

    Parameters
    ----------
    run : Run
        Whose engine has the questions.
    """

    changed = Signal()
    """The queue as of the newest snapshot is known."""

    def __init__(self, run: Run, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self.queue: DecisionQueue | None = None
        """The order of the open decisions; None without an engine."""
        self.walk: QuestionWalk | None = None
        """The way through it."""
        self._known: KnownOrder | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self.renew)
        run.changed.connect(self._on_run)
        run.advanced.connect(self._on_advanced)

    def candidates(self) -> Candidates | None:
        """Describe all actions as of the newest snapshot."""
        return None if self.queue is None else self.queue.candidates()

    def open_actions(self) -> np.ndarray:
        """List the open actions, in the order of the queue."""
        return np.empty(0, dtype=np.int64) if self.queue is None else self.queue.order()

    def start_at(self, action: int) -> None:
        """Go on from a question that the user chose."""
        if self.walk is not None:
            self.walk.start_at(action, self.open_actions())

    def upcoming(self, n: int, shown: int) -> list[int]:
        """List the questions that come next.

        Parameters
        ----------
        n : int
            How many at most.
        shown : int
            The question that is shown; left out.
        """
        snapshot = self._run.snapshot
        if self.walk is None or self.queue is None or snapshot is None:
            return []
        known = self._known
        if known is None or is_far_behind(known.n_steps, snapshot):
            order = self.queue.order()
        else:
            order = known.of(snapshot)
        return [one for one in self.walk.upcoming(order, snapshot, n + 1) if one != shown][:n]

    def renew(self) -> None:
        """Let the engine's thread put the questions in order; `changed` tells when it has."""
        if self.queue is not None:
            self.queue.compute_ahead(self._on_computed)

    def _on_computed(self) -> None:
        snapshot = self._run.snapshot
        if self.queue is not None and self._run.engine is not None and snapshot is not None:
            order, actions = self.queue.order(), self._run.engine.tables.actions
            self._known = KnownOrder.at(order, actions, snapshot, self.queue.n_steps)
            self.changed.emit()

    def _on_run(self) -> None:
        """Follow another engine, or none; what the user wants to be asked about stays."""
        is_wanted = None if self.walk is None else self.walk.is_wanted
        engine = self._run.engine
        self._known = None
        self.walk = None if engine is None else QuestionWalk(engine.tables.actions)
        if self.walk is not None:
            self.walk.is_wanted = is_wanted
        self.queue = None if engine is None else DecisionQueue(engine)
        if self.queue is not None:
            self.queue.skipped = self._run.skipped_actions()

    def _on_advanced(self, snapshot: Snapshot) -> None:
        if self.walk is not None:
            self.walk.settle(snapshot)
        if not snapshot.is_running and not self._timer.isActive():
            self._timer.start()
