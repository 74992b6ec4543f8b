"""Finds the decisions of earlier windows about the chosen data, and makes them again."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QObject, Signal

from napari_celis.core.errors import CelisError
from napari_celis.core.journal import Step
from napari_celis.gui.session.background.job import Job, sentence_of
from napari_celis.gui.session.decision_files import DecisionFile, SavedRun, reopen, run_key, saved_runs
from napari_celis.gui.session.workspace import Workspace
from napari_celis.pipeline.stages import Report

Reopened = tuple[DecisionFile, tuple[Step, ...]]
"""A file that no other window can write to, and the decisions in it."""


class RunResume(QObject):
    """Offers to resume an earlier run.

    Parameters
    ----------
    workspace : Workspace
        Whose data is looked up, and whose engine makes the decisions again.
    """

    changed = Signal()
    """Other runs can be resumed."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.runs: list[SavedRun] = []
        """What can be resumed, best first."""
        self._searched_for: tuple[Any, ...] = (None, None, None)
        self._jobs: list[Job] = []
        self._awaited: Job | None = None
        workspace.data.changed.connect(self.search)
        workspace.run.changed.connect(self.search)
        workspace.closing.connect(self._end)
        self.search()

    def search(self) -> None:
        """Look in the background for earlier decisions about what is chosen now, if that is new."""
        data, run = self._workspace.data, self._workspace.run
        try:
            counted = data.counted()
        except CelisError:
            counted = None
        wanted = (counted, data.model, run.engine)
        if wanted == self._searched_for or (counted is None and self._searched_for[0] is None):
            return
        self._searched_for = wanted
        self.dismiss()
        if counted is None or data.model is None:
            return
        supervoxels, model, own = counted.supervoxels, data.model, run.decisions_path
        decided = data.decided

        def find(report: Report) -> list[SavedRun]:
            key = run_key(supervoxels, model, decided)
            report("looking for earlier decisions", 0.5)
            return [run for run in saved_runs(key) if run.path != own]

        job = Job(find, "celis saved decisions", self)
        # An answer may be on its way already when nobody wants it any more.
        job.returned.connect(lambda runs: self._offer(runs) if job is self._awaited else None)
        job.failed.connect(lambda sentence: self._workspace.messages.say(sentence, "warning"))
        job.ended.connect(lambda: self._jobs.remove(job))
        job.ended.connect(job.deleteLater)
        self._jobs.append(job)
        self._awaited = job
        job.start()

    def resume(self, run: SavedRun) -> None:
        """Make the decisions of a run again; prepare first where that is needed."""
        workspace = self._workspace
        reopened = self._reopen(run)
        if reopened is None:
            return
        if workspace.run.engine is None or workspace.is_stale:
            # Nothing is held while it is not sure that the preparation succeeds.
            reopened[0].close()
            self._offer([])
            workspace.preparation.prepare(and_then=lambda engine: self._make_again(run, self._reopen(run)))
        else:
            self._make_again(run, reopened)

    def dismiss(self) -> None:
        """Offer nothing, and want no answer of a search that is under way; nobody waits for its thread."""
        self._awaited = None
        for job in self._jobs:
            job.cancel()
        self._offer([])

    def _offer(self, runs: list[SavedRun]) -> None:
        self.runs = runs
        self.changed.emit()

    def _reopen(self, run: SavedRun) -> Reopened | None:
        """Open earlier decisions; say why where that fails, and leave the offer as it is."""
        try:
            return reopen(run)
        except (CelisError, OSError) as error:
            self._workspace.messages.say(sentence_of(error), "warning")
            return None

    def _make_again(self, run: SavedRun, reopened: Reopened | None) -> None:
        """Write further decisions to the same file, so that it stays complete at every moment."""
        engine = self._workspace.run.engine
        if reopened is None or engine is None:
            return
        file, steps = reopened
        self.dismiss()
        self._workspace.run.decisions_path = run.path
        self._workspace.preview.show(None)
        engine.resume(steps, file)

    def _end(self) -> None:
        """End all threads with the viewer."""
        for job in self._jobs:
            job.close()
        self._jobs = []
