"""Tab Export: volumes, decisions, pictures and surfaces as files, and the comparison of methods."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from qtpy.QtWidgets import QFileDialog, QPushButton, QVBoxLayout, QWidget

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Triple, as_triple
from napari_celis.gui.canvas.camera import camera_of
from napari_celis.gui.layers.volume_files import volume_of
from napari_celis.gui.layers.volume_layers import source_of
from napari_celis.gui.qt.progress import Progress, ProgressLine
from napari_celis.gui.qt.widgets import CommandLine, button, heading, may_replace, row, wrapped
from napari_celis.gui.session.background.celis_process import celis_command
from napari_celis.gui.session.background.job import Job
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.export.compare_view import CompareView
from napari_celis.gui.tabs.export.export_form import FORMATS, ExportForm
from napari_celis.gui.tabs.export.export_jobs import (
    folder_beside,
    write_neuroglancer,
    write_part,
    write_picture,
    write_surfaces,
)
from napari_celis.gui.tabs.export.open_files import require_not_open
from napari_celis.io.decisions import standing_merges, write_decision_log, write_merge_list
from napari_celis.pipeline.stages import Report

NO_SELECTION = "No segment is selected. Click one in the canvas first, then export its surface."
BUSY = "An export is running already. Wait for it, or cancel it."


class ExportTab(QWidget):
    """Buttons that write files in the background, one at a time."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._job: Job | None = None
        self._folder = Path.home()
        self.form = ExportForm(workspace)
        self._make_buttons()
        self.progress = ProgressLine()
        self.done = wrapped()
        self.command = CommandLine(self.command_text)
        self.compare = CompareView(workspace)
        self._lay_out()
        self._connect()
        self.refresh()

    @property
    def is_busy(self) -> bool:
        """Whether something is being written."""
        return self._job is not None

    # What the tab looks like.

    def _make_buttons(self) -> None:
        self.export = self._button("Export volume…", self._on_export, "Write the chosen part of the volume.")
        self.neuroglancer = self._button(
            "Neuroglancer…",
            self._on_neuroglancer,
            "Write image and segmentation as precomputed volumes, and a page that opens neuroglancer.",
        )
        self.merges = self._button(
            "Merge list…", self._on_merges, "Write the merges that stand: ids, score and kind, in order."
        )
        self.log = self._button(
            "Decision log…", self._on_log, "Write every decision, yours and the machine's, one per line."
        )
        self.meshes = self._button(
            "Surfaces…",
            self._on_meshes,
            "Write the surfaces of the selected segments as meshes, in nanometres.",
        )
        self.screenshot = self._button("Screenshot…", self._on_screenshot, "Write a picture of the canvas.")
        self.segments = self._button(
            "Segments…", self._on_segments, "Write all segments: name, state, size, decisions and note."
        )
        self._buttons = (
            self.export, self.neuroglancer, self.merges, self.log, self.segments, self.meshes,
            self.screenshot,
        )  # fmt: skip

    def _button(self, text: str, on_click: Callable[[], None], tip: str) -> QPushButton:
        """Make a button; what is wrong with the data is said when it is pressed."""

        def press() -> None:
            try:
                on_click()
            except CelisError as error:
                self._workspace.messages.say(str(error))

        return button(text, press, tip)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.addWidget(heading("Volumes"))
        layout.addWidget(self.form)
        layout.addLayout(row(self.export, self.neuroglancer, stretch=(1, 1)))
        layout.addWidget(heading("Decisions and views"))
        layout.addLayout(row(self.merges, self.log, self.segments, stretch=(1, 1, 1)))
        layout.addLayout(row(self.meshes, self.screenshot, stretch=(1, 1)))
        for widget in (self.progress, self.done, self.command, heading("Compare with other methods")):
            layout.addWidget(widget)
        layout.addWidget(self.compare)
        layout.addStretch(1)

    def _connect(self) -> None:
        workspace = self._workspace
        for signal in (workspace.data.changed, workspace.run.changed, workspace.selection.changed):
            signal.connect(self.refresh)
        workspace.closing.connect(self._end)
        self.form.changed.connect(self.command.refresh)
        self.progress.cancelled.connect(self._on_cancel)

    def refresh(self) -> None:
        """Show what can be exported now."""
        self.form.refresh()
        has_volume, has_run = self.form.role.count() > 0, self._workspace.run.engine is not None
        for one in self._buttons:
            one.setEnabled(not self.is_busy)
        for one in (self.export, self.neuroglancer):
            one.setEnabled(has_volume and not self.is_busy)
        for one in (self.merges, self.log, self.segments, self.meshes):
            one.setEnabled(has_run and not self.is_busy)
        if not self.done.text() or self.done.property("is_hint"):
            self._hint(
                "" if has_volume else "There is nothing to export yet. Open data on the tab Data first."
            )
        self.command.refresh()

    def command_text(self) -> str:
        """Write the command that makes the same volume without a window."""
        workspace, role = self._workspace, self.form.role.currentData()
        if role in (None, "segmentation"):
            return agglomerate_command(workspace, f"segmentation{self.form.suffix()}")
        source = source_of(workspace.data.layer(role), role.upper())
        return celis_command(["convert", source, f"{role}{self.form.suffix()}", "--kind", self.form.kind])

    # The buttons.

    def _on_export(self) -> None:
        role, suffix = self.form.role.currentData(), self.form.suffix()
        title = next(title for title, known in FORMATS.items() if known == suffix)
        filters = f"{title} (*{suffix});;All files (*)"
        name = self._ask_name(f"Export {role}", f"{role}{suffix}", filters, suffix, *FORMATS.values())
        if name:
            part = self.form.part()
            self._run(lambda report: write_part(part, Path(name), report))

    def _on_neuroglancer(self) -> None:
        name = self._ask_name("Page that opens neuroglancer", "neuroglancer.html", "Page (*.html)", ".html")
        top = self.form.role.currentData()
        roles = ["image", top] if self._workspace.data.image_layer is not None and top != "image" else [top]
        if not name:
            return
        if self._may_write(name, [folder_beside(Path(name), role) for role in roles]):
            parts = [self.form.part(role) for role in roles]
            selected, position = self._selected(), self._position_nm()
            self._run(lambda report: write_neuroglancer(parts, Path(name), selected, position, report))

    def _on_merges(self) -> None:
        name = self._ask_name("Merge list", "merges.csv", "Table (*.csv);;JSON (*.json)", ".csv", ".json")
        snapshot = self._workspace.run.snapshot
        if name and snapshot is not None:

            def work(report: Report) -> Path:
                report("writing the merge list", 0.0)
                return write_merge_list(standing_merges(snapshot.steps, snapshot.taken), Path(name))

            self._run(work)

    def _on_log(self) -> None:
        name = self._ask_name("Decision log", "decisions.jsonl", "JSON lines (*.jsonl)", ".jsonl")
        snapshot = self._workspace.run.snapshot
        if name and snapshot is not None:
            steps = snapshot.steps

            def work(report: Report) -> Path:
                report("writing the decision log", 0.0)
                return write_decision_log(steps, Path(name))

            self._run(work)

    def _on_segments(self) -> None:
        name = self._ask_name("Segments", "segments.csv", "Table (*.csv)", ".csv")
        table = self._workspace.segments.table()
        if name and table is not None:
            voxel_size = self.form.part("segmentation").volume.voxel_size_nm

            def work(report: Report) -> Path:
                report("writing the list of segments", 0.0)
                return table.write_csv(Path(name), voxel_size)

            self._run(work)

    def _on_meshes(self) -> None:
        segments = self._selected()
        if not segments:
            self._workspace.messages.say(NO_SELECTION, "warning")
            return
        name = self._ask_name("Surfaces", "segments.obj", "OBJ (*.obj);;PLY (*.ply)", ".obj", ".ply")
        engine = self._workspace.run.engine
        if name and engine is not None:
            supervoxels, ids = engine.tables.supervoxels, engine.snapshot.segment_ids
            like = self.form.part("segmentation").volume
            self._run(lambda report: write_surfaces(supervoxels, ids, segments, like, Path(name), report))

    def _on_screenshot(self) -> None:
        name = self._ask_name("Screenshot", "celis.png", "Picture (*.png)", ".png")
        if name:
            pixels = self._workspace.viewer.screenshot(canvas_only=True, flash=False)
            self._run(lambda report: write_picture(pixels, Path(name), report))

    def _on_cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self.progress.show_progress(Progress("cancelling"))

    # What they share.

    def _ask_name(self, title: str, default: str, filters: str, *suffixes: str) -> str:
        """Let the user choose a file; the first suffix is added to a name without a fitting one.

        What the dialog could not know is asked here: whether a name that was completed may be replaced.
        """
        name, _ = QFileDialog.getSaveFileName(self, title, str(self._folder / default), filters)
        if not name:
            return ""
        self._folder = Path(name).parent
        complete = name if Path(name).suffix.lower() in suffixes else name + suffixes[0]
        return complete if self._may_write(name, [Path(complete)]) else ""

    def _may_write(self, chosen: str, targets: Sequence[Path]) -> bool:
        """Ask whether files may be replaced that the dialog did not ask about; what is open may not be."""
        for target in targets:
            require_not_open(self._workspace.viewer.layers, target)
        return may_replace(self, chosen, targets)

    def _run(self, work: Callable[[Report], Path]) -> None:
        """Write in the background; the tab says what came of it."""
        workspace = self._workspace
        if self.is_busy:
            workspace.messages.say(BUSY, "warning")
            return
        workspace.messages.clear()
        began = time.monotonic()
        job = self._job = Job(work, "celis export", self)
        job.progressed.connect(self.progress.show_progress)
        job.returned.connect(
            lambda path: self._say_done(f"Wrote {path} in {time.monotonic() - began:.1f} s.")
        )
        job.failed.connect(workspace.messages.say)
        job.cancelled.connect(lambda: self._say_done("Cancelled; nothing was written."))
        job.ended.connect(self._on_ended)
        self._say_done("")
        self.progress.show_progress(Progress("starting"))
        job.start()
        self.refresh()

    def _on_ended(self) -> None:
        if self._job is not None:
            self._job.deleteLater()
        self._job = None
        self.progress.hide_progress()
        self.refresh()

    def _say_done(self, text: str) -> None:
        self.done.setProperty("is_hint", False)
        self.done.setText(text)
        self.done.setVisible(bool(text))

    def _hint(self, text: str) -> None:
        self._say_done(text)
        self.done.setProperty("is_hint", True)

    def _selected(self) -> tuple[int, ...]:
        """List the segments of the selected supervoxels."""
        workspace = self._workspace
        if workspace.run.engine is None:
            return ()
        return tuple(
            dict.fromkeys(
                workspace.run.segment_of(supervoxel) for supervoxel in workspace.selection.supervoxels
            )
        )

    def _position_nm(self) -> Triple | None:
        """Find the position in the middle of the view."""
        viewer, workspace = self._workspace.viewer, self._workspace
        layer = workspace.data.image_layer or workspace.data.supervoxels_layer
        if layer is None:
            return None
        world = np.array(viewer.dims.point)
        shown = list(viewer.dims.displayed)
        world[shown] = np.array(camera_of(viewer).center)[-len(shown) :]
        voxel, volume = layer.world_to_data(world[-3:]), volume_of(layer)
        return as_triple(
            offset + length * index
            for offset, length, index in zip(volume.offset_nm, volume.voxel_size_nm, voxel, strict=True)
        )

    def _end(self) -> None:
        """Leave no half file behind when the viewer closes."""
        if self._job is not None:
            self._job.close()
            self._job = None
