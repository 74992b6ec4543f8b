"""Compare CELIS with other ways to agglomerate: settings, process and results."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from napari.layers import Image, Labels, Layer
from qtpy.QtCore import QCoreApplication, QEvent, QTimer
from qtpy.QtWidgets import QFileDialog, QFormLayout, QScrollArea, QSpinBox, QVBoxLayout, QWidget

from napari_celis.core.errors import CelisError
from napari_celis.gui.layers.volume_files import VolumeFile, write_missing
from napari_celis.gui.layers.volume_layers import is_live, source_of
from napari_celis.gui.qt.narrow_combo import NarrowCombo
from napari_celis.gui.qt.progress import Progress, ProgressLine
from napari_celis.gui.qt.widgets import CommandLine, as_int, button, may_replace, row, wrapped
from napari_celis.gui.session.background.celis_process import CelisProcess, celis_command
from napari_celis.gui.session.background.job import Job
from napari_celis.gui.session.background.records import Record
from napari_celis.gui.session.command_line import unsaved_note
from napari_celis.gui.session.layer_roles import VolumeRole
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.export.compare_data import CompareOptions, half_files, read_results, whole_files
from napari_celis.gui.tabs.export.compare_results import CompareResults
from napari_celis.io.atomic import atomic_file

HALF = "First half of this volume"
MISSING: dict[VolumeRole, str] = {
    "image": "Choose an image on the tab Data first.",
    "truth": "Choose a truth on the tab Data first; methods are judged by it.",
}
NO_MODEL = "Choose a model file on the tab Data first; its affinities serve all methods."
NO_TRAIN_TRUTH = "Choose the truth of the image to tune on, or tune on the first half of this volume."


class CompareView(QWidget):
    """Fits and tunes every method on one volume, and judges it on the chosen one."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._folder = tempfile.TemporaryDirectory(prefix="celis-compare-")
        self._job: Job | None = None
        self.process = CelisProcess(self)
        self.train_image = NarrowCombo(
            "Thresholds and forests are tuned here, never on what they are judged by."
        )
        self.train_truth = NarrowCombo("The true segmentation of that image.")
        self.boundary = QSpinBox(minimum=0, maximum=100, value=2, suffix=" voxels")
        self.boundary.setToolTip("Judge a second time without voxels this near to a true boundary.")
        self.start = button("Compare", self._on_start, "Run all methods, in a process of its own.")
        self.save_table = button("Save table…", self._on_save_table, "Write all figures and curves as JSON.")
        self.save_plot = button("Save plot…", self._on_save_plot, "Write the plot as PNG.")
        self.progress = ProgressLine()
        self.hint = wrapped()
        self.results = CompareResults(workspace.viewer)
        self.command = CommandLine(self.command_text, self.note_text)
        self._lay_out()
        self._connect()
        self.refresh()

    @property
    def is_busy(self) -> bool:
        """Whether a comparison runs or its volumes are being written."""
        return self._job is not None or self.process.is_running

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        form.addRow("Tune on", self.train_image)
        form.addRow("Its truth", self.train_truth)
        form.addRow("Boundary", self.boundary)
        self._form = form
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(form)
        layout.addLayout(row(self.start, self.save_table, self.save_plot, stretch=(1, 1, 1)))
        for widget in (self.progress, self.hint, self.results, self.command):
            layout.addWidget(widget)

    def _connect(self) -> None:
        workspace, process = self._workspace, self.process
        workspace.data.changed.connect(self.refresh)
        workspace.closing.connect(self._end)
        for box in (self.train_image, self.train_truth):
            box.currentIndexChanged.connect(lambda: self._show_state())
        self.boundary.valueChanged.connect(lambda: self.command.refresh())
        self.progress.cancelled.connect(self._on_cancel)
        process.recorded.connect(self._on_record)
        process.said.connect(self._on_said)
        process.finished.connect(self._on_finished)
        process.failed.connect(workspace.messages.say)
        process.ended.connect(self._show_state)

    # What is shown.

    def refresh(self) -> None:
        """Offer the layers that there are."""
        judged = (self._workspace.data.image_layer, self._workspace.data.truth_layer)
        layers = [
            layer for layer in self._workspace.viewer.layers if not is_live(layer) and layer not in judged
        ]
        images = [layer for layer in layers if isinstance(layer, Image)]
        labels = [layer for layer in layers if isinstance(layer, Labels)]
        self.train_image.offer([HALF, *(layer.name for layer in images)])
        self.train_truth.offer([layer.name for layer in labels])
        self._show_state()

    def _show_state(self) -> None:
        """Say what is missing, and enable what can be done."""
        problem = self._problem()
        for widget in (self.train_truth, self._form.labelForField(self.train_truth)):
            widget.setVisible(not self._uses_halves())
        self.hint.setText(problem)
        self.hint.setVisible(bool(problem))
        self.start.setEnabled(not problem and not self.is_busy)
        has_results = bool(self.results.results)
        self.results.setVisible(has_results)
        for widget in (self.save_table, self.save_plot):
            widget.setEnabled(has_results and not self.is_busy)
        if not self.is_busy:
            self.progress.hide_progress()
        self.command.refresh()

    def _problem(self) -> str:
        """Tell what keeps a comparison from being made."""
        workspace = self._workspace
        for role, sentence in MISSING.items():
            if workspace.data.layer(role) is None:
                return sentence
        if workspace.data.model_path is None:
            return NO_MODEL
        return NO_TRAIN_TRUTH if not self._uses_halves() and self._train_layers()["truth"] is None else ""

    def command_text(self) -> str:
        """Write the command that does the same."""
        volumes = {option: source_of(layer, _word(option)) for option, layer in self._named_layers().items()}
        model = self._workspace.data.model_path or "MODEL.safetensors"
        return celis_command(
            CompareOptions(
                volumes, model, self.boundary.value(), self._workspace.data.any_voxel_size
            ).arguments()
        )

    def note_text(self) -> str:
        """Say what keeps the command from being used as it is."""
        if self._problem():
            return ""
        return unsaved_note({_word(option): layer for option, layer in self._named_layers().items()})

    # What the user does.

    def _on_start(self) -> None:
        folder = Path(self._folder.name)
        try:
            files = self._files(folder)
        except CelisError as error:
            self._workspace.messages.say(str(error))
            return
        self._workspace.messages.clear()
        job = self._job = Job(lambda report: write_missing(files, report), "celis volumes", self)
        job.progressed.connect(self.progress.show_progress)
        job.failed.connect(self._workspace.messages.say)
        job.returned.connect(self._launch)
        job.ended.connect(self._on_job_ended)
        self.progress.show_progress(Progress("starting"))
        job.start()
        self._show_state()

    def _launch(self, targets: dict[str, str]) -> None:
        """Start the process on volumes that lie in files now."""
        workspace = self._workspace
        options = CompareOptions(
            targets,
            workspace.data.model_path or "",
            self.boundary.value(),
            workspace.data.any_voxel_size,
            {"json": self._output("json"), "plot": self._output("png")},
        )
        self.progress.show_progress(Progress("starting the process"))
        self.process.start(options.arguments())

    def _on_cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
        self.process.stop()
        self.progress.show_progress(Progress("cancelling"))

    def _on_save_table(self) -> None:
        self._save("Table of the comparison", "comparison.json", "JSON (*.json)")

    def _on_save_plot(self) -> None:
        self._save("Plot of the comparison", "comparison.png", "Picture (*.png)")

    def _save(self, title: str, default: str, filters: str) -> None:
        name, _ = QFileDialog.getSaveFileName(self, title, str(Path.home() / default), filters)
        if not name:
            return
        suffix = Path(default).suffix
        target = Path(name) if name.lower().endswith(suffix) else Path(name + suffix)
        if not may_replace(self, name, [target]):
            return
        try:
            with atomic_file(target) as temporary:
                shutil.copyfile(self._output(suffix.lstrip(".")), temporary)
        except CelisError as error:
            self._workspace.messages.say(str(error))

    # What the process tells.

    def _on_record(self, record: Record) -> None:
        if self.process.is_running and not self.process.is_stopping:
            self.progress.show_progress(Progress(record.stage, record.done))

    def _on_said(self, line: str) -> None:
        """Pass on which methods were left out, and why."""
        if "was left out" in line:
            self._workspace.messages.say(line, "warning")

    def _on_finished(self) -> None:
        try:
            self.results.show_results(read_results(self._output("json")))
        except CelisError as error:
            self._workspace.messages.say(str(error))
        else:
            # Once the new rows are laid out.
            QTimer.singleShot(0, self._scroll_to_results)

    def _scroll_to_results(self) -> None:
        area: QWidget | None = self
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            # The rows are there, but nobody has made room for them yet.
            QCoreApplication.sendPostedEvents(None, as_int(QEvent.Type.LayoutRequest))
            area.ensureWidgetVisible(self.results.note)

    def _on_job_ended(self) -> None:
        self._job = None
        self._show_state()

    # What it runs on.

    def _files(self, folder: Path) -> dict[str, VolumeFile]:
        """Name the volumes by the options of the command."""
        if self._uses_halves():
            return half_files(self._layers(), folder)
        return whole_files(self._layers(), self._train_layers(), folder)

    def _layers(self) -> dict[str, Layer | None]:
        workspace = self._workspace
        layers = {"image": workspace.data.image_layer, "truth": workspace.data.truth_layer}
        # Supervoxels of one volume only would make the two incomparable.
        if self._uses_halves() and workspace.data.supervoxels_layer is not None:
            layers["supervoxels"] = workspace.data.supervoxels_layer
        return layers

    def _train_layers(self) -> dict[str, Layer | None]:
        if self._uses_halves():
            return self._layers()
        layers = self._workspace.viewer.layers
        names = {"image": self.train_image.currentText(), "truth": self.train_truth.currentText()}
        return {role: _named(layers, name) for role, name in names.items()}

    def _named_layers(self) -> dict[str, Layer | None]:
        """Return the layers by the options of the command, which cuts halves itself."""
        layers = self._layers()
        if not self._uses_halves():
            layers |= {f"train-{role}": layer for role, layer in self._train_layers().items()}
        return layers

    def _uses_halves(self) -> bool:
        return bool(self.train_image.currentIndex() <= 0)

    def _output(self, suffix: str) -> Path:
        return Path(self._folder.name, f"comparison.{suffix}")

    def _end(self) -> None:
        """End everything with the viewer."""
        if self._job is not None:
            self._job.close()
            self._job = None
        self.process.close()
        self.results.close_plot()
        self._folder.cleanup()


def _word(option: str) -> str:
    """Return what stands in the command for a volume that lies in no file."""
    return option.upper().replace("-", "_")


def _named(layers: Iterable[Layer], name: str) -> Layer | None:
    return next((layer for layer in layers if layer.name == name), None)
