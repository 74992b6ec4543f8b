"""The cut that is planned: what it would do is shown before it is done."""

from __future__ import annotations

from collections.abc import Callable

from qtpy.QtCore import QObject, Signal

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.cuts import (
    CutPlan,
    keeping_apart,
    plan_cut_between,
    plan_cut_of_merge,
    plan_taking_out,
)
from napari_celis.core.protection import require_not_done
from napari_celis.gui.session.run import Run


class PlannedCut(QObject):
    """Asks the engine what a cut would do, and carries it out when it is confirmed.

    Parameters
    ----------
    run : Run
        Whose engine is asked.
    """

    changed = Signal()
    """There is a plan, or none any more."""

    def __init__(self, run: Run, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run = run
        self.plan: CutPlan | None = None
        """What waits for confirmation."""

    def between(self, u: int, v: int) -> None:
        """Plan to part two supervoxels of one segment."""
        self._ask(lambda a: plan_cut_between(a, u, v))

    def taking_out(self, supervoxel: int) -> None:
        """Plan to take a supervoxel out of its segment."""
        self._ask(lambda a: plan_taking_out(a, supervoxel))

    def of_merge(self, action: int) -> None:
        """Plan to cut one past merge."""
        self._ask(lambda a: plan_cut_of_merge(a, action))

    def confirm(self) -> None:
        """Carry out what is planned."""
        plan, self.plan = self.plan, None
        engine = self._run.engine
        if plan is None or engine is None:
            return
        engine.carry_out(plan)
        self.changed.emit()

    def cancel(self) -> None:
        """Drop the plan."""
        self.plan = None
        self.changed.emit()

    def forget(self) -> None:
        """Drop the plan without a word: whoever calls tells others what changed."""
        self.plan = None

    def _ask(self, question: Callable[[Agglomerator], CutPlan]) -> None:
        if self._run.engine is not None:
            self._run.engine.ask(lambda a: _possible_cut(a, question), self._on_plan, key="cut")

    def _on_plan(self, plan: CutPlan) -> None:
        self.plan = plan
        self.changed.emit()


def _possible_cut(agglomerator: Agglomerator, question: Callable[[Agglomerator], CutPlan]) -> CutPlan:
    """Plan a cut that would be carried out; a segment that is done refuses it before it is shown."""
    plan, supervoxels = keeping_apart(question(agglomerator)), agglomerator.supervoxels
    if len(plan.first_side):
        segment = int(agglomerator.segment_ids()[plan.first_side[0]])
        require_not_done(agglomerator.is_done(), supervoxels.ids, supervoxels.index_of(segment))
    return plan
