"""Work in the background of one viewer, one piece after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from qtpy.QtCore import QObject, Signal

from napari_celis.gui.qt.progress import Progress
from napari_celis.gui.session.background.job import Job, sentence_of
from napari_celis.pipeline.stages import Report


class JobQueue(QObject):
    """Runs one job at a time; what comes meanwhile waits for its turn."""

    progressed = Signal(object)
    """A Progress; without a stage when a job has ended."""
    failed = Signal(str)
    """One sentence."""
    cancelled = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._job: Job | None = None
        self._waiting: deque[Callable[[], object]] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether a job is under way."""
        return self._job is not None

    def when_free(self, begin: Callable[[], object]) -> None:
        """Call `begin` now, or as soon as nothing else is under way."""
        if self.is_busy:
            self._waiting.append(begin)
        else:
            begin()

    def start(
        self,
        work: Callable[[Report], Any],
        on_returned: Callable[[Any], object],
        on_failed: Callable[[], object] = lambda: None,
    ) -> None:
        """Do work in a thread.

        Parameters
        ----------
        work : callable
            Called in the thread with a `Report`.
        on_returned : callable
            Called in this thread with what the work returned.
        on_failed : callable
            Called in this thread when the work failed.
        """
        assert self._job is None
        job = self._job = Job(work, "celis preparation", self)
        job.progressed.connect(self.progressed)
        job.failed.connect(lambda sentence: on_failed())
        job.failed.connect(self.failed)
        job.cancelled.connect(self.cancelled)
        job.returned.connect(lambda result: self._hand_over(on_returned, result))
        job.ended.connect(self._on_ended)
        self.progressed.emit(Progress("starting"))
        job.start()

    def cancel(self) -> None:
        """End the job at its next opportunity, and forget what waits for it."""
        self._waiting.clear()
        if self._job is not None:
            self._job.cancel()
            self.progressed.emit(Progress("cancelling"))

    def close(self) -> None:
        """End everything and wait for the thread."""
        self._waiting.clear()
        if self._job is not None:
            self._job.close()
            self._job = None

    def _hand_over(self, on_returned: Callable[[Any], object], result: Any) -> None:
        """Give the result away; a failure there is told like one of the work itself."""
        try:
            on_returned(result)
        except Exception as error:
            self.failed.emit(sentence_of(error))

    def _on_ended(self) -> None:
        if self._job is not None:
            self._job.deleteLater()
        self._job = None
        self.progressed.emit(Progress())
        while self._waiting and not self.is_busy:
            self._waiting.popleft()()
