"""Goes forwards and back in an agglomeration. Knows nothing of threads and Qt."""

from __future__ import annotations

from collections.abc import Callable

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Step
from napari_celis.gui.session.engine.events import RunEnd
from napari_celis.gui.session.engine.recording import Recording

FOREVER = float("inf")
Between = Callable[[], bool]
"""Called between two decisions of a long command; False ends it."""


class Stepper:
    """Takes steps, takes them back and makes them again, and records all of it.

    Parameters
    ----------
    agglomerator : Agglomerator
        Only the thread that calls the methods may touch it.
    threshold : float
        Score at which a run stops; may be changed at any time.
    """

    def __init__(self, agglomerator: Agglomerator, threshold: float) -> None:
        self.threshold = float(threshold)
        self.recording = Recording()
        self.use(agglomerator)
        self.history: list[Step] = list(agglomerator.history)
        """The decisions that stand, oldest first."""
        self.n_done = 0
        """Steps taken and decisions made again so far; never falls."""
        self.steps_left = 0.0
        self._stop_at: float | None = None
        self._jumps: dict[int, int] = {}
        """From where each jump back came, by where it ended; one redo goes all the way again."""

    def use(self, agglomerator: Agglomerator) -> None:
        """Go on with another agglomerator, which has made all decisions of the one before."""
        self.agglomerator = agglomerator
        agglomerator.journal.listener = self.recording.hear

    # Forwards.

    def go(self, n_steps: float, stop_at: float | None) -> None:
        """Plan steps; `stop_at` None stops at the threshold of the moment.

        Parameters
        ----------
        n_steps : float
            How many; `FOREVER` for a run.
        stop_at : float, optional
            Score at which to stop; None is the threshold of the moment.
        """
        self._stop_at = stop_at
        is_stepping_on = n_steps < FOREVER and 0 < self.steps_left < FOREVER
        self.steps_left = n_steps + (self.steps_left if is_stepping_on else 0)

    def halt(self) -> None:
        """Plan no more steps."""
        self.steps_left = 0

    def step(self) -> RunEnd | None:
        """Take one merge of a run; return why the run ended where there was none to take."""
        stop_at = self.threshold if self._stop_at is None else self._stop_at
        try:
            step = self.agglomerator.step(stop_at)
        except Exception:
            self.halt()
            raise
        if step is None:
            self.halt()
            return RunEnd.THRESHOLD if self.agglomerator.best_action() >= 0 else RunEnd.NOTHING_LEFT
        self.history.append(step)
        self._jumps.clear()
        self.n_done += 1
        self.steps_left -= 1
        return None

    def go_to_threshold(self) -> None:
        """Take back greedy merges above the threshold, then run."""
        n_steps = self.agglomerator.steps_below(self.threshold)
        by_hand = [step for step in self.agglomerator.history[n_steps:] if step.kind != "greedy"]
        if by_hand:
            raise ActionError(
                f"Going back to this threshold would take {len(by_hand)} of your own decisions with it. "
                "Undo them first, or use the timeline."
            )
        self.go_back(n_steps)
        self.go(FOREVER, None)

    # Back, and forwards again.

    def undo(self, n_steps: int) -> None:
        """Hold, and take decisions back, each with those that were made together with it."""
        self.halt()
        for _ in range(n_steps):
            self._take_back(max(1, self.agglomerator.journal.n_last()))

    def _take_back(self, n_steps: int) -> None:
        for _ in range(n_steps):
            self.agglomerator.undo()

    def go_back(self, n_steps: int) -> None:
        """Take decisions back until `n_steps` stand."""
        n_done = len(self.agglomerator.history)
        if not 0 <= n_steps <= n_done:
            raise ActionError(f"There is no step {n_steps}; the last is {n_done}.")
        self.halt()
        self._take_back(n_done - n_steps)
        if n_steps < n_done:
            self._jumps[n_steps] = n_done

    def redo(self, between: Between) -> None:
        """Do again what was taken back last: one decision, those made together, or all of a jump back."""
        journal = self.agglomerator.journal
        n_done, n_undone = len(journal.done), len(journal.undone)
        n_wanted = self._jumps.pop(n_done, n_done + journal.n_next()) - n_done
        self._redo_many(max(1, min(n_wanted, n_undone)), between)

    def _redo_many(self, n_steps: int, between: Between) -> None:
        try:
            for n_left in reversed(range(n_steps)):
                self.history.append(self.agglomerator.redo())
                self.n_done += 1
                self.steps_left = n_left
                if n_left and not between():
                    break
        finally:
            self.halt()

    # After every command.

    def record(self) -> None:
        """Write what stands now, before anybody is told of it."""
        self.history = list(self.agglomerator.history)
        if not self.agglomerator.journal.undone:
            self._jumps.clear()
        self.recording.save()
