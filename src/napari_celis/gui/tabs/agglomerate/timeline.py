"""A slider over the decisions that stand: look at any earlier state, and go back to it."""

from __future__ import annotations

from qtpy.QtCore import Qt, Signal
from qtpy.QtWidgets import QLabel, QSlider, QVBoxLayout, QWidget

from napari_celis.core.words import counted
from napari_celis.gui.qt.widgets import button, heading, row, share_width
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.workspace import Workspace


class Timeline(QWidget):
    """Shows earlier states at once, without undoing anything until asked to."""

    moved = Signal(object)
    """The step that is shown, None for the present."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setToolTip("Look at the segmentation as it was after an earlier decision.")
        self.slider.valueChanged.connect(self._on_moved)
        self.step_text = QLabel()
        self.go_back = button(
            "Go back to here",
            self._on_go_back,
            "Take back every decision after the one shown; one Redo brings them again.",
        )
        self.latest = button("Show latest", self._on_latest, "Leave the preview.")
        share_width(self.go_back, self.latest)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row(heading("Timeline"), self.step_text, stretch=(1, 0)))
        layout.addWidget(self.slider)
        layout.addLayout(row(self.go_back, self.latest, stretch=(1, 1)))
        workspace.run.changed.connect(self._on_run_changed)
        workspace.preview.changed.connect(self._on_preview_changed)
        self._on_run_changed()

    @property
    def preview(self) -> int | None:
        """Decisions that stood in the state that is shown; None for the present one."""
        return self._workspace.preview.step

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Follow the run, unless the user looks at an earlier state."""
        n_steps, preview = len(snapshot.steps), self._workspace.preview.step
        self.slider.blockSignals(True)
        self.slider.setRange(0, n_steps)
        self.slider.setPageStep(max(1, n_steps // 20))
        if preview is None:
            self.slider.setValue(n_steps)
        self.slider.blockSignals(False)
        self._describe()

    def _on_run_changed(self) -> None:
        engine = self._workspace.run.engine
        if engine is None:
            self.slider.setRange(0, 0)
            self._describe()
        else:
            self.show_snapshot(engine.snapshot)

    def _on_preview_changed(self) -> None:
        """Follow when another part of the panel shows an earlier state, or leaves it."""
        preview = self._workspace.preview.step
        self.slider.blockSignals(True)
        self.slider.setValue(self.slider.maximum() if preview is None else preview)
        self.slider.blockSignals(False)
        self.moved.emit(preview)
        self._describe()

    def _on_moved(self, value: int) -> None:
        is_latest = value >= self.slider.maximum()
        self._workspace.preview.show(None if is_latest else value)

    def _on_go_back(self) -> None:
        n_steps = self._workspace.preview.step
        if n_steps is not None:
            self._workspace.rewind.go_back(n_steps, self)

    def _on_latest(self) -> None:
        self._workspace.preview.show(None)

    def _describe(self) -> None:
        """Say which step is shown, and offer what can be done."""
        preview, last = self._workspace.preview.step, self.slider.maximum()
        is_preview = preview is not None
        standing = counted(last, "decision")
        self.step_text.setText(f"preview of {preview:,} of {last:,}" if is_preview else standing)
        self.slider.setEnabled(last > 0)
        self.go_back.setEnabled(is_preview)
        self.latest.setEnabled(is_preview)
