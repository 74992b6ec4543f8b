"""Tab Train: from an annotated volume to a model, in a process of its own."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from napari.layers import Layer
from qtpy.QtCore import QEvent, QObject
from qtpy.QtWidgets import (
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from napari_celis.core.errors import CelisError
from napari_celis.gui.layers.volume_files import VolumeFile, file_of, write_missing
from napari_celis.gui.layers.volume_layers import source_of
from napari_celis.gui.qt.progress import Progress, ProgressLine
from napari_celis.gui.qt.widgets import CommandLine, button, heading, is_confirmed, row, wrapped
from napari_celis.gui.session.background.celis_process import CelisProcess, celis_command
from napari_celis.gui.session.background.job import Job
from napari_celis.gui.session.background.records import Record
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.train.further_volumes import AnnotatedLayers, FurtherVolumes
from napari_celis.gui.tabs.train.train_curves import TrainCurves
from napari_celis.gui.tabs.train.train_form import TrainForm
from napari_celis.gui.tabs.train.train_options import TrainOptions, TrainVolume, checkpoint_of
from napari_celis.pipeline.checks import check_volumes

LOG_LINES = 2000
CLOSING = (
    "A training is running. Close the window and stop it? Its checkpoint stays, so that it can be resumed."
)
UNFINISHED = "There is an unfinished training of this model file. Delete it and start again?"


class TrainTab(QWidget):
    """Settings, buttons, curves and log of one training."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._folder = tempfile.TemporaryDirectory(prefix="celis-volumes-")
        self._job: Job | None = None
        self._options: TrainOptions | None = None
        self._may_end = self._has_ended = False
        self.process = CelisProcess(self)
        self.data = wrapped()
        self.further = FurtherVolumes()
        self.form = TrainForm()
        self._make_run()
        self._lay_out()
        self._connect()
        self.refresh()

    @property
    def is_busy(self) -> bool:
        """Whether a training runs or its volumes are being written."""
        return self._job is not None or self.process.is_running

    # What the tab looks like.

    def _make_run(self) -> None:
        self.start = button("Train", self._on_start, "Begin a new training.")
        self.resume = button("Resume", self._on_resume, "Go on from the checkpoint of this model file.")
        self.progress = ProgressLine()
        self.progress.cancel.setToolTip("Stop the training; its checkpoint stays, to resume from.")
        self.curves = TrainCurves(self._workspace.viewer)
        self.log = QPlainTextEdit(readOnly=True)
        self.log.setMaximumBlockCount(LOG_LINES)
        self.log.setFixedHeight(90)
        self.log.setStyleSheet("border: 1px solid #80808080;")
        self.log.setPlaceholderText("What the training says appears here.")
        self.command = CommandLine(self.command_text)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        shown = heading("Annotated volume"), self.data, self.further, heading("Settings"), self.form.native
        for widget in shown:
            layout.addWidget(widget)
        layout.addLayout(row(self.start, self.resume, stretch=(1, 1)))
        layout.addWidget(self.progress)
        for widget in (heading("Progress"), self.curves, self.log):
            layout.addWidget(widget)
        layout.addStretch(1)
        layout.addWidget(self.command)

    def _connect(self) -> None:
        workspace, process = self._workspace, self.process
        workspace.data.changed.connect(self.refresh)
        workspace.closing.connect(self._end)
        self.form.changed.connect(self.refresh)
        self.further.add_asked.connect(self._on_add)
        self.further.changed.connect(self.refresh)
        self.progress.cancelled.connect(self._on_cancel)
        process.recorded.connect(self._on_record)
        process.said.connect(self.log.appendPlainText)
        process.finished.connect(self._on_finished)
        process.stopped.connect(self._on_stopped)
        process.failed.connect(self._on_failed)
        process.ended.connect(self.refresh)
        window = getattr(workspace.viewer, "window", None)
        if window is not None:
            window._qt_window.installEventFilter(self)

    def refresh(self) -> None:
        """Show what is chosen, and what can be done with it."""
        workspace = self._workspace
        layers = {"image": workspace.data.image_layer, "truth": workspace.data.truth_layer}
        names = {role: layer.name for role, layer in layers.items() if layer is not None}
        missing = [role for role in layers if role not in names]
        if missing:
            self.data.setText(
                f"Choose {' and '.join(f'the {role}' for role in missing)} on the tab Data first."
            )
        else:
            self.data.setText("\n".join(f"{role.capitalize()}: {name}" for role, name in names.items()))
        has_supervoxels = workspace.data.supervoxels_layer is not None
        self.form.enabled = not self.is_busy
        self.form.use_supervoxels.enabled = has_supervoxels and not self.is_busy
        can_start = not missing and not self.is_busy
        self.further.setEnabled(can_start)
        self.start.setEnabled(can_start)
        self.resume.setEnabled(can_start and checkpoint_of(self.form.path()).exists())
        if not self.is_busy:
            self.progress.hide_progress()
        self.command.refresh()

    def command_text(self) -> str:
        """Write the command that does the same."""
        chosen = {"image": None, "truth": None, **self._layers()}
        volumes = [
            TrainVolume(**{role: source_of(layer, role.upper()) for role, layer in own.items()})
            for own in (chosen, *self._others())
        ]
        return celis_command(self.form.train_options(volumes, is_resumed=False).arguments())

    # What the user does.

    def _on_start(self) -> None:
        self._begin(is_resumed=False)

    def _on_resume(self) -> None:
        self._begin(is_resumed=True)

    def _on_add(self) -> None:
        """Keep the volume that is chosen now."""
        try:
            check_volumes(replace(self._workspace.data.choice(), affinities=None))
        except CelisError as error:
            self._workspace.messages.say(str(error))
            return
        data = self._workspace.data
        layers = {"image": data.image_layer, "truth": data.truth_layer, "supervoxels": data.supervoxels_layer}
        self.further.append({role: layer for role, layer in layers.items() if layer is not None})

    def _begin(self, *, is_resumed: bool) -> None:
        """Check everything, write volumes that lie in no file, then start the process."""
        if self.is_busy:
            return
        workspace = self._workspace
        try:
            check_volumes(replace(workspace.data.choice(), affinities=None))
            self.form.check(is_resumed=is_resumed)
            files = self._files()
        except CelisError as error:
            workspace.messages.say(str(error))
            return
        if not is_resumed and not self._may_replace():
            return
        workspace.messages.clear()
        if is_resumed:
            self.curves.history.take_up()
        else:
            self.curves.clear()
            self.log.clear()
        job = self._job = Job(lambda report: write_missing(files, report), "celis volumes", self)
        job.progressed.connect(self.progress.show_progress)
        job.failed.connect(workspace.messages.say)
        job.returned.connect(lambda targets: self._launch(targets, is_resumed=is_resumed))
        job.ended.connect(self._on_job_ended)
        self.progress.show_progress(Progress("starting"))
        job.start()
        self.refresh()

    def _may_replace(self) -> bool:
        """Ask before anything that was trained is lost."""
        path = self.form.path()
        if checkpoint_of(path).exists():
            return is_confirmed(self, "Start again", UNFINISHED)
        question = f"{path} exists. Replace it at the end?"
        return not path.exists() or is_confirmed(self, "Replace the model", question)

    def _launch(self, targets: dict[str, str], *, is_resumed: bool) -> None:
        """Start the process on volumes that lie in files now."""
        volumes = [
            TrainVolume(**{role: targets[_numbered(role, n)] for role in own})
            for n, own in enumerate((self._layers(), *self._others()))
        ]
        self._options = self.form.train_options(volumes, is_resumed=is_resumed)
        self.progress.show_progress(Progress("starting the training process"))
        self.process.start(self._options.arguments())

    def _on_cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
        if self.process.is_running:
            self.process.stop()
            self.progress.show_progress(Progress("stopping"))

    # What the training tells.

    def _on_record(self, record: Record) -> None:
        self.curves.add(record)
        if self.process.is_running and not self.process.is_stopping:
            self.progress.show_progress(Progress(f"{record.stage}, {record.done:.0%}", record.done))

    def _on_finished(self) -> None:
        if self._options is None:
            return
        self.log.appendPlainText("Finished; the new model is selected.")
        self._workspace.preparation.load_model(self._options.output)

    def _on_stopped(self) -> None:
        has_checkpoint = self._options is not None and checkpoint_of(self._options.output).exists()
        kept = "Press Resume to go on." if has_checkpoint else "There was no checkpoint yet."
        self.log.appendPlainText(f"Stopped. {kept}")

    def _on_failed(self, sentence: str) -> None:
        self._workspace.messages.say(sentence)

    def _on_job_ended(self) -> None:
        self._job = None
        self.refresh()

    # The end.

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Ask before the window closes on a training; end it once the window has really gone."""
        if event.type() == QEvent.Type.Close:
            self._may_end = not self.is_busy or is_confirmed(self, "Training is running", CLOSING)
            if not self._may_end:
                event.ignore()
                return True
        # napari may ask a question of its own and stay open.
        elif event.type() == QEvent.Type.Hide and not event.spontaneous() and self._may_end:
            self._workspace.dispose()
        return False

    def _end(self) -> None:
        """End everything with the viewer."""
        if self._has_ended:
            return
        self._has_ended = True
        if self._job is not None:
            self._job.close()
            self._job = None
        self.process.close()
        self.curves.close_plots()
        self._folder.cleanup()

    def _layers(self) -> dict[str, Layer]:
        """Return the layers to train on, by role."""
        data = self._workspace.data
        layers = {"image": data.image_layer, "truth": data.truth_layer}
        if self._has_supervoxels():
            layers["supervoxels"] = data.supervoxels_layer
        return {role: layer for role, layer in layers.items() if layer is not None}

    def _others(self) -> list[AnnotatedLayers]:
        """Return the further volumes, with supervoxels as the chosen one has them."""
        has_supervoxels = self._has_supervoxels()
        return [
            {role: layer for role, layer in own.items() if has_supervoxels or role != "supervoxels"}
            for own in self.further.others(self._layers())
        ]

    def _files(self) -> dict[str, VolumeFile]:
        """Find the files of all volumes, or name copies of them.

        Raises
        ------
        CelisError
            If a further volume has no supervoxels though the chosen one has.
        """
        files: dict[str, VolumeFile] = {}
        for n, own in enumerate((self._layers(), *self._others())):
            if self._has_supervoxels() and "supervoxels" not in own:
                raise CelisError(
                    f"{own['image'].name} was added without supervoxels, but the chosen volume has some. Add "
                    "it again with supervoxels, or turn “Learn on the chosen supervoxels” off."
                )
            folder = Path(self._folder.name, str(n))
            folder.mkdir(exist_ok=True)
            files |= {_numbered(role, n): file_of(layer, role, folder) for role, layer in own.items()}
        return files

    def _has_supervoxels(self) -> bool:
        return self._workspace.data.supervoxels_layer is not None and self.form.use_supervoxels.value


def _numbered(role: str, n: int) -> str:
    """Name a part of the chosen volume by its role, that of a further one by role and number."""
    return role if n == 0 else f"{role} {n + 1}"
