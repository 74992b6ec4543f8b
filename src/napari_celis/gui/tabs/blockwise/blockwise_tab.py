"""Tab Blocks: volumes that do not fit into memory, computed block by block in a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qtpy.QtCore import QTimer
from qtpy.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from napari_celis.core.errors import CelisError
from napari_celis.gui.qt.numbers import duration
from napari_celis.gui.qt.progress import Progress, ProgressLine
from napari_celis.gui.qt.widgets import CommandLine, button, heading, wrapped
from napari_celis.gui.session.background.celis_process import CelisProcess, celis_command
from napari_celis.gui.session.background.records import Record
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.blockwise.blockwise_command import BlockwiseCommand
from napari_celis.gui.tabs.blockwise.blockwise_form import BlockwiseForm
from napari_celis.gui.tabs.blockwise.result_view import ResultView
from napari_celis.gui.tabs.blockwise.run_view import RunView
from napari_celis.gui.tabs.blockwise.run_watcher import RunWatcher, SeenRun, open_run

if TYPE_CHECKING:
    from napari_celis.scale.boxes import OpenedBox
    from napari_celis.scale.run import BlockRun

DASHBOARD = "Dashboard: "
"""How `celis blockwise` begins the line with the address of Dask's dashboard."""
LOG_LINES = 500
BEGIN = "Begin a run, or go on with the one that lies there."
AGAIN = "Join the blocks again by new answers; only what changed is computed."
RETRY = "--retry-failed"
SOME_FAILED = (
    "Some blocks failed; the tab Blocks says which. Put right what it says, then press “Retry failed blocks”."
)
LOOK_MS = 400
"""Time after the last letter of a name until what lies there is looked at."""


class BlockwiseTab(QWidget):
    """Settings, progress and result of one block-wise run, and boxes of it."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.process = CelisProcess(self)
        self.watcher = RunWatcher(self)
        self.seen: SeenRun | None = None
        """The run in the chosen place; None if there is none, or nobody has looked yet."""
        self._opened: OpenedBox | None = None
        self.form = BlockwiseForm()
        self._command = BlockwiseCommand(workspace.data, self.form)
        self.data = wrapped()
        self.start = button("Start", self._on_start, BEGIN)
        self.progress = ProgressLine()
        self.progress.cancel.setText("Stop")
        self.progress.cancel.setToolTip("Stop the run; finished blocks are kept, “Go on” goes on with it.")
        self.run_view = RunView(self._on_retry)
        self.log = QPlainTextEdit(readOnly=True)
        self.log.setMaximumBlockCount(LOG_LINES)
        self.log.setFixedHeight(64)
        self.log.setStyleSheet("border: 1px solid #80808080;")
        self.result = ResultView(workspace, self._run)
        self.command = CommandLine(self.command_text)
        self._look_soon = QTimer(self, singleShot=True, interval=LOOK_MS)
        self._lay_out()
        self._connect()
        self.refresh()
        self._look()

    # What the tab looks like.

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        for widget in (self.data, self.form.native, self.start, self.progress):
            layout.addWidget(widget)
        for widget in (self.run_view, self.log, heading("Result"), self.result):
            layout.addWidget(widget)
        layout.addStretch(1)
        layout.addWidget(self.command)

    def _connect(self) -> None:
        workspace, process = self._workspace, self.process
        workspace.data.changed.connect(self.refresh)
        workspace.box.changed.connect(self._on_box)
        workspace.closing.connect(self._end)
        self.form.changed.connect(self._on_form)
        self._look_soon.timeout.connect(self._look)
        self.watcher.seen.connect(self._on_seen)
        self.progress.cancelled.connect(self._on_stop)
        process.recorded.connect(self._on_record)
        process.said.connect(self._on_said)
        process.finished.connect(self.result.reread)
        process.stopped.connect(lambda: self._log("Stopped. Finished blocks are kept."))
        process.failed.connect(self._on_failed)
        process.ended.connect(self._on_ended)

    def refresh(self) -> None:
        """Show what is chosen, and what can be done with it."""
        is_running, has_run = self.process.is_running, self.form.has_run
        self.data.setText(self._command.describe())
        self.form.enabled = not is_running
        self.form.use_supervoxels.visible = not has_run and self._workspace.data.supervoxels_layer is not None
        is_finished = self.seen is not None and self.seen.status.is_finished
        self.start.setText("Start" if not has_run else "Run again" if is_finished else "Go on")
        self.start.setToolTip(AGAIN if is_finished else BEGIN)
        self.start.setEnabled(not is_running)
        self.run_view.retry.setEnabled(not is_running)
        self.result.allow(is_finished)
        self.log.setVisible(bool(self.log.toPlainText()))
        if not is_running:
            self.progress.hide_progress()
        self.command.refresh()

    # The command.

    def command_text(self) -> str:
        """Write the command that does the same."""
        try:
            return celis_command(self._arguments(is_strict=False))
        except CelisError:
            return celis_command(["blockwise", "--output", self.form.target()])

    def _arguments(self, *, is_strict: bool) -> list[str]:
        """Write what `celis` is told: for an earlier run its own settings, otherwise what is chosen."""
        if self.form.has_run:
            return self._command.resume(self._run())
        return self._command.begin(is_strict=is_strict)

    def _run(self) -> BlockRun:
        """Return the run in the chosen place."""
        if self.seen is not None:
            return self.seen.run
        return open_run(self.form.target())

    # The run.

    def _on_start(self) -> None:
        self._begin([])

    def _on_retry(self) -> None:
        self._begin([RETRY])

    def _begin(self, more: list[str]) -> None:
        """Check everything, then start the process."""
        if self.process.is_running:
            return
        try:
            self.form.check()
            arguments = self._arguments(is_strict=True)
        except CelisError as error:
            self._workspace.messages.say(str(error))
            return
        self._workspace.messages.clear()
        self.log.clear()
        self.progress.show_progress(Progress("starting workers"))
        self.process.start([*arguments, *more])
        self.watcher.watch(self.form.target())
        self.refresh()

    def _on_stop(self) -> None:
        self.process.stop()
        self.progress.show_progress(Progress("stopping"))

    def _on_record(self, record: Record) -> None:
        if not self.process.is_running or self.process.is_stopping:
            return
        figures = record.figures
        parts = [f"{record.stage}: {figures['blocks']:,.0f} of {figures['total']:,.0f} blocks"]
        parts.append(f"{record.done:.0%} of all")
        if "seconds_left" in figures:
            parts.append(f"about {duration(figures['seconds_left'])} left")
        self.progress.show_progress(Progress(", ".join(parts), record.done))

    def _on_said(self, line: str) -> None:
        if line.startswith(DASHBOARD):
            self.run_view.show_dashboard(line.removeprefix(DASHBOARD))
        else:
            self._log(line)

    def _log(self, line: str) -> None:
        self.log.appendPlainText(line)
        self.log.setVisible(True)

    def _on_failed(self, sentence: str) -> None:
        self._workspace.messages.say(SOME_FAILED if RETRY in sentence else sentence)

    def _on_ended(self) -> None:
        self.watcher.rest()
        self.run_view.show_dashboard("")
        self._look()
        self.refresh()

    # What lies there.

    def _on_form(self) -> None:
        self.seen = None
        self.refresh()
        self._look_soon.start()

    def _look(self) -> None:
        if self.form.has_run:
            self.watcher.look(self.form.target())
        else:
            self._on_seen(None)

    def _on_seen(self, seen: SeenRun | None) -> None:
        if seen is not None and seen.run.store.url != self.form.target():
            return
        self.seen = seen
        self.run_view.show_status(None if seen is None else seen.status)
        self.refresh()

    def _on_box(self) -> None:
        """Go on with the result whose box is open."""
        opened = self._workspace.box.opened
        if opened is not None and opened is not self._opened and not self.process.is_running:
            self._opened = opened
            self.form.use_target(opened.run.store.url)

    def _end(self) -> None:
        """End everything with the viewer; finished blocks are kept."""
        self._look_soon.stop()
        self.watcher.close()
        self.process.close()
