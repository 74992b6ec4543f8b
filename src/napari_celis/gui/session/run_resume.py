"""Finds earlier sessions about the chosen data, and goes on with one."""

from __future__ import annotations

from typing import Any

from qtpy.QtCore import QObject, Signal

from napari_celis.core.errors import CelisError
from napari_celis.gui.session.background.job import Job
from napari_celis.gui.session.session_run import SessionWish
from napari_celis.gui.session.session_store import SavedSession, run_key, saved_sessions
from napari_celis.gui.session.workspace import Workspace
from napari_celis.pipeline.session_identity import model_checksum, supervoxels_checksum
from napari_celis.pipeline.stages import Report


class RunResume(QObject):
    """Offers to resume an earlier session.

    Parameters
    ----------
    workspace : Workspace
        Whose data is looked up, and whose run goes on.
    """

    changed = Signal()
    """Other sessions can be resumed."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self.runs: list[SavedSession] = []
        """What can be resumed, best first."""
        self._searched_for: tuple[Any, ...] = (None, None, None)
        self._jobs: list[Job] = []
        self._awaited: Job | None = None
        self._given_up: list[SavedSession] = []
        """What was offered before a session was taken up; offered again should that not come to its end."""
        workspace.data.changed.connect(self.search)
        workspace.run.changed.connect(self.search)
        workspace.preparation.prepared.connect(lambda ready: self._given_up.clear())
        for ended in (workspace.preparation.jobs.failed, workspace.preparation.jobs.cancelled):
            ended.connect(lambda *sentence: self._offer_again())
        workspace.closing.connect(self._end)
        self.search()

    def search(self) -> None:
        """Look in the background for earlier sessions about what is chosen now, if that is new."""
        data, run = self._workspace.data, self._workspace.run
        try:
            counted = data.counted()
        except CelisError:
            counted = None
        wanted = (counted, data.model, run.engine)
        if wanted == self._searched_for or (counted is None and self._searched_for[0] is None):
            return
        self._searched_for = wanted
        self._given_up = []
        self.dismiss()
        # Who has decided something goes on with that: whatever is older lies behind it.
        decided, n_steps = data.decided, 0 if run.engine is None else len(run.engine.snapshot.steps)
        if counted is None or data.model is None or n_steps > len(decided.apart):
            return
        supervoxels, model, own = counted.supervoxels, data.model, run.session_path
        model_path = data.sources().model

        def find(report: Report) -> list[SavedSession]:
            checksums = supervoxels_checksum(supervoxels), model_checksum(model, model_path)
            report("looking for earlier sessions", 0.5)
            found = saved_sessions(*checksums, run_key(supervoxels, model), decided.digest)
            return [saved for saved in found if saved.path != own]

        job = Job(find, "celis saved sessions", self)
        # An answer may be on its way already when nobody wants it any more.
        job.returned.connect(lambda runs: self._offer(runs) if job is self._awaited else None)
        job.failed.connect(lambda sentence: self._workspace.messages.say(sentence, "warning"))
        job.ended.connect(lambda: self._jobs.remove(job))
        job.ended.connect(job.deleteLater)
        self._jobs.append(job)
        self._awaited = job
        job.start()

    def resume(self, saved: SavedSession) -> None:
        """Prepare a run that begins where an earlier session ends; its decisions go to the same file."""
        offered = list(self.runs)
        self.dismiss()
        self._given_up = offered
        self._workspace.preview.show(None)
        self._workspace.preparation.prepare(
            session=SessionWish(saved.path, goes_on=not saved.is_old, is_old=saved.is_old)
        )

    def dismiss(self) -> None:
        """Offer nothing, and want no answer of a search that is under way; nobody waits for its thread."""
        self._awaited = None
        for job in self._jobs:
            job.cancel()
        self._offer([])

    def _offer_again(self) -> None:
        """Bring the offer back: who cancels has not gone on."""
        if self._given_up:
            runs, self._given_up = self._given_up, []
            self._offer(runs)

    def _offer(self, runs: list[SavedSession]) -> None:
        self.runs = runs
        self.changed.emit()

    def _end(self) -> None:
        """End all threads with the viewer."""
        for job in self._jobs:
            job.close()
        self._jobs = []
