"""Looks at the files of a block-wise run, whoever computes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qtpy.QtCore import QObject, QTimer, Signal

from napari_celis.gui.session.background.job import Job
from napari_celis.pipeline.stages import Report

# Block-wise runs need packages that not everybody has: they are imported when a run is looked at.
if TYPE_CHECKING:
    from napari_celis.scale.run import BlockRun
    from napari_celis.scale.status import RunStatus

POLL_MS = 1500
"""Time between two looks at a run that is under way."""


@dataclass(frozen=True, eq=False)
class SeenRun:
    """A run, and how far it is."""

    run: BlockRun
    status: RunStatus


def open_run(url: str) -> BlockRun:
    """Open a run; a CelisError says why there is none."""
    from napari_celis.scale.run import BlockRun
    from napari_celis.scale.storage import RunStore

    return BlockRun(RunStore(url))


class RunWatcher(QObject):
    """Looks at the files of a run in the background; whoever computes it, here or elsewhere."""

    seen = Signal(object)
    """A SeenRun; None where there is no run that can be read."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._url = ""
        self._job: Job | None = None
        self._is_asked_again = False
        self._timer = QTimer(self, interval=POLL_MS)
        self._timer.timeout.connect(lambda: self.look(self._url))

    def watch(self, url: str) -> None:
        """Look at a run again and again."""
        self._url = url
        self._timer.start()

    def rest(self) -> None:
        """Look no more by itself."""
        self._timer.stop()

    def look(self, url: str) -> None:
        """Look at a run once; asked again meanwhile, it looks again."""
        self._url = url
        if self._job is not None:
            self._is_asked_again = True
            return
        self._is_asked_again = False

        def work(report: Report) -> SeenRun:
            from napari_celis.scale.status import read_status

            run = open_run(url)
            return SeenRun(run, read_status(run))

        job = self._job = Job(work, "celis run status", self)
        job.returned.connect(self.seen)
        # A place without a run is no mistake: one may begin there.
        job.failed.connect(lambda sentence: self.seen.emit(None))
        job.ended.connect(self._on_ended)
        job.start()

    def close(self) -> None:
        """Look no more."""
        self._timer.stop()
        if self._job is not None:
            self._job.close()
            self._job = None

    def _on_ended(self) -> None:
        if self._job is not None:
            self._job.deleteLater()
        self._job = None
        if self._is_asked_again:
            self.look(self._url)
