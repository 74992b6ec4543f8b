"""An offer to go on where an earlier window stopped."""

from __future__ import annotations

from typing import Any

from qtpy.QtWidgets import QVBoxLayout, QWidget

from napari_celis.core.errors import CelisError
from napari_celis.core.journal import Step
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.qt.narrow_combo import NarrowCombo
from napari_celis.gui.qt.widgets import button, row, wrapped
from napari_celis.gui.session.kept_decisions import DecisionFile, KeptRun, kept_runs, run_key, take_up
from napari_celis.gui.session.workers import Job, Report, sentence_of
from napari_celis.gui.session.workspace import Workspace


class GoingOn(QWidget):
    """One sentence about decisions that were kept, and a button that makes them again; hidden without any.

    Parameters
    ----------
    workspace : Workspace
        Shared by all tabs of a viewer.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._looked_for: tuple[Any, ...] = (None, None, None)
        self._jobs: list[Job] = []
        self._awaited: Job | None = None
        self.runs: list[KeptRun] = []
        """What is offered, best first."""
        self.sentence = wrapped()
        self.sentence.setStyleSheet(f"border-left: 4px solid {OKABE_ITO['sky']}; padding: 4px 6px;")
        self.choice = NarrowCombo("Which of the earlier runs.")
        self.go = button(
            "Go on where you stopped",
            self._on_go,
            "Make the same decisions again, yours and greedy's, in order.",
        )
        self.later = button(
            "Not now", self._on_later, "Begin anew; what was kept stays and is offered again."
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for widget in (self.sentence, self.choice):
            layout.addWidget(widget)
        layout.addLayout(row(self.go, self.later, stretch=(2, 1)))
        self.choice.currentIndexChanged.connect(lambda: self._describe())
        workspace.data_changed.connect(self._look)
        workspace.engine_changed.connect(self._look)
        workspace.preparing.connect(lambda stage, share: self._enable())
        workspace.closing.connect(self._end)
        self._offer([])
        self._look()

    def _look(self) -> None:
        """Look for earlier decisions about what is chosen now, in the background."""
        workspace = self._workspace
        try:
            counted = workspace.counted()
        except CelisError:
            counted = None
        wanted = (counted, workspace.model, workspace.engine)
        if wanted == self._looked_for or (counted is None and self._looked_for[0] is None):
            return
        self._looked_for = wanted
        self._stop_looking()
        self._offer([])
        if counted is None or workspace.model is None:
            return
        supervoxels, model, own = counted.supervoxels, workspace.model, workspace.kept_in

        def find(report: Report) -> list[KeptRun]:
            key = run_key(supervoxels, model)
            report("looking for earlier decisions", 0.5)
            return [run for run in kept_runs(key) if run.path != own]

        job = Job(find, "celis kept decisions", self)
        # An answer may be on its way already when nobody wants it any more.
        job.returned.connect(lambda runs: self._offer(runs) if job is self._awaited else None)
        job.failed.connect(lambda sentence: workspace.say(sentence, "warning"))
        job.ended.connect(lambda: self._jobs.remove(job))
        job.ended.connect(job.deleteLater)
        self._jobs.append(job)
        self._awaited = job
        job.start()

    def _offer(self, runs: list[KeptRun]) -> None:
        """Offer these; nothing if there are none."""
        self.runs = runs
        self.choice.blockSignals(True)
        self.choice.clear()
        self.choice.addItems([_title(run) for run in runs])
        self.choice.blockSignals(False)
        self.choice.setVisible(len(runs) > 1)
        self.setVisible(bool(runs))
        self._describe()
        self._enable()

    def _describe(self) -> None:
        run = self._chosen()
        self.sentence.setText("" if run is None else f"Earlier work on this volume was kept. {_title(run)}.")

    def _enable(self) -> None:
        self.go.setEnabled(not self._workspace.is_busy)

    def _chosen(self) -> KeptRun | None:
        return self.runs[max(0, self.choice.currentIndex())] if self.runs else None

    def _on_go(self) -> None:
        """Make the decisions again; prepare first where that is needed."""
        run, workspace = self._chosen(), self._workspace
        if run is None:
            return
        taken = self._take_up(run)
        if taken is None:
            return
        if workspace.engine is None or workspace.is_stale:
            # Nothing is held while it is not sure that the preparation succeeds.
            taken[0].close()
            self._offer([])
            workspace.prepare(and_then=lambda engine: self._go_on(run, self._take_up(run)))
        else:
            self._go_on(run, taken)

    def _take_up(self, run: KeptRun) -> tuple[DecisionFile, tuple[Step, ...]] | None:
        """Open earlier decisions; say why where that fails, and leave the offer as it is."""
        try:
            return take_up(run)
        except (CelisError, OSError) as error:
            self._workspace.say(sentence_of(error), "warning")
            return None

    def _go_on(self, run: KeptRun, taken: tuple[DecisionFile, tuple[Step, ...]] | None) -> None:
        """Write further decisions to the same file, so that it stays complete at every moment."""
        if taken is None:
            return
        workspace, (file, steps) = self._workspace, taken
        self._stop_looking()
        self._offer([])
        workspace.kept_in = run.path
        workspace.show_step(None)
        workspace.engine.go_on(steps, file)

    def _on_later(self) -> None:
        self._offer([])
        self._workspace.check()

    def _stop_looking(self) -> None:
        """Want no answer any more; nobody waits for the threads."""
        self._awaited = None
        for job in self._jobs:
            job.cancel()

    def _end(self) -> None:
        """End all threads with the viewer."""
        for job in self._jobs:
            job.close()
        self._jobs = []


def _title(run: KeptRun) -> str:
    """Say when a run ended and what stands in it."""
    decisions = f"{len(run.steps):,} decision{'s' * (len(run.steps) != 1)}"
    return f"{run.ended:%d %b %Y, %H:%M}: {decisions}, {run.n_by_hand:,} by hand"
