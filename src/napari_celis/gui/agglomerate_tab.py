"""The tab Agglomerate: run, hold, step, go back, and watch what happens."""

from __future__ import annotations

import time
from typing import Any

from napari.utils.theme import get_theme
from qtpy.QtWidgets import (
    QCheckBox,
    QDoubleSpinBox,
    QGridLayout,
    QMessageBox,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from napari_celis.gui.plots import EnergyPlot, ScorePlot
from napari_celis.gui.snapshot import Snapshot
from napari_celis.gui.timeline import Timeline
from napari_celis.gui.widgets import CommandLine, Figures, button, heading, row, wrapped
from napari_celis.gui.workspace import Workspace

FIGURES = ("Merges", "Segments", "Last score", "Next score", "Energy", "Merges / s", "VI split", "VI merge")
PANEL_SECONDS = 0.2
"""Time between two updates of figures and plots in a run; drawing them costs more than recolouring."""
FOLLOW_SECONDS = 0.4
"""Time between two movements of the camera, so that the eye can follow."""
NOTHING = "–"
MERGES = ("greedy", "manual")
RUN_KEY, STEP_KEY = "Ctrl+Return", "."


class AgglomerateTab(QWidget):
    """Controls of a run, live figures and plots, and the timeline."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._engine: Any = None
        self._followed_at = self._shown_at = 0.0
        self._shown: Snapshot | None = None
        self._make_controls()
        self.figures = Figures(FIGURES, columns=2)
        self.state = wrapped()
        self.energy = EnergyPlot()
        self.scores = ScorePlot()
        self.timeline = Timeline(workspace)
        self.command = CommandLine(workspace.command)
        self._lay_out()
        self._connect()
        self._bind_keys()
        self._on_engine_changed()

    def _make_controls(self) -> None:
        self.prepare = button("Prepare", self._on_prepare, "Compute affinities and the first scores.")
        self.run = button(
            "Run", self.toggle, "Merge until no score is below the threshold; again: pause.", RUN_KEY
        )
        self.to_threshold = button(
            "Run to threshold",
            self._on_to_threshold,
            "Go where a run to this threshold ends, forwards or back.",
        )
        self.step = button("Step", self.step_once, "Take the next merge, whatever its score.", STEP_KEY)
        self.n_steps = QSpinBox()
        self.n_steps.setRange(1, 1_000_000)
        self.n_steps.setValue(10)
        self.many = button("Step × N", self._on_many, "Take so many merges, whatever their scores.")
        self.undo = button(
            "Undo", lambda: self._engine.undo(), "Take the last decision back; also Ctrl+Z.", "U"
        )
        self.redo = button("Redo", lambda: self._engine.redo(), "Do it again: Ctrl+Shift+Z.", "Y")
        self.reset = button(
            "Reset", lambda: self._engine.reset(), "Take everything back; Redo brings it again."
        )
        self.speed = QSpinBox()
        self.speed.setRange(0, 1000)
        self.speed.setSpecialValueText("Speed: no limit")
        self.speed.setPrefix("At most ")
        self.speed.setSuffix(" merges / s")
        self.speed.setToolTip("Limit the speed of a run, to watch it.")
        self.threshold = QDoubleSpinBox()
        self.threshold.setDecimals(3)
        self.threshold.setRange(-1e6, 1e6)
        self.threshold.setSingleStep(0.1)
        self.threshold.setToolTip(
            "A run stops when the next score is not below this. The line can be dragged."
        )
        self.show_layer = button(
            "Show segmentation",
            self._workspace.show_segmentation,
            "Add the layer of the live segmentation again.",
        )
        self.follow = QCheckBox("Follow merges")
        self.follow.setToolTip("Let the camera fly to where things are merged.")

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        grid = QGridLayout()
        grid.setSpacing(4)
        places = (
            (self.run, 0, 0, 1, 4),
            (self.to_threshold, 0, 4, 1, 2),
            (self.step, 1, 0, 1, 2),
            (self.many, 1, 2, 1, 2),
            (self.n_steps, 1, 4, 1, 2),
            (self.undo, 2, 0, 1, 2),
            (self.redo, 2, 2, 1, 2),
            (self.reset, 2, 4, 1, 2),
            (self.follow, 3, 0, 1, 2),
            (self.speed, 3, 2, 1, 4),
        )
        for column in range(6):
            grid.setColumnStretch(column, 1)
        for widget, *place in places:
            grid.addWidget(widget, *place)
        layout.addWidget(self.prepare)
        layout.addLayout(grid)
        layout.addWidget(self.state)
        layout.addWidget(self.show_layer)
        layout.addWidget(self.figures)
        layout.addWidget(self.energy)
        layout.addLayout(row(heading("Threshold"), self.threshold, stretch=(1, 1)))
        layout.addWidget(self.scores)
        layout.addWidget(self.timeline)
        layout.addStretch(1)
        layout.addWidget(self.command)

    def _connect(self) -> None:
        workspace = self._workspace
        workspace.engine_changed.connect(self._on_engine_changed)
        workspace.data_changed.connect(self._on_data_changed)
        workspace.preparing.connect(self._on_preparing)
        workspace.viewer.events.theme.connect(self._on_theme)
        workspace.closing.connect(lambda: workspace.viewer.events.theme.disconnect(self._on_theme))
        self.scores.threshold_dragged.connect(self._on_threshold)
        self.threshold.valueChanged.connect(self._on_threshold)
        self.speed.valueChanged.connect(self._on_speed)
        self.timeline.moved.connect(self.energy.mark)
        self._on_theme()

    def _bind_keys(self) -> None:
        viewer = self._workspace.viewer
        viewer.bind_key("Control-Enter", lambda viewer: self.toggle(), overwrite=True)
        viewer.bind_key(STEP_KEY, lambda viewer: self.step_once(), overwrite=True)

    # What the user does.

    def toggle(self) -> None:
        """Run, or hold a run; prepare first where that is needed."""
        if self._engine is None:
            self._workspace.prepare(and_then=lambda engine: engine.run())
        elif self._engine.snapshot.is_running:
            self._engine.pause()
        else:
            self._engine.run()

    def step_once(self) -> None:
        """Take one merge; prepare first where that is needed."""
        self._with_engine(lambda engine: engine.step())

    def _on_many(self) -> None:
        self._with_engine(lambda engine: engine.step(self.n_steps.value()))

    def _on_to_threshold(self) -> None:
        self._with_engine(lambda engine: engine.run_to_threshold())

    def _with_engine(self, work: Any) -> None:
        if self._engine is None:
            self._workspace.prepare(and_then=work)
        else:
            work(self._engine)

    def _on_prepare(self) -> None:
        if self._engine is None or not self._engine.snapshot.steps or self._confirmed():
            self._workspace.prepare()

    def _confirmed(self) -> bool:
        """Ask before decisions are lost."""
        n_steps = len(self._engine.snapshot.steps)
        answer = QMessageBox.question(
            self, "Prepare again", f"This begins anew; the {n_steps:,} decisions made so far are lost. Go on?"
        )
        return answer == QMessageBox.StandardButton.Yes

    def _on_threshold(self, value: float) -> None:
        if self._engine is not None:
            self._engine.set_threshold(value)

    def _on_speed(self, steps_per_second: int) -> None:
        if self._engine is not None:
            self._engine.set_speed(steps_per_second or None)

    # What is shown.

    def _on_engine_changed(self) -> None:
        self._engine = self._workspace.engine
        engine = self._engine
        if engine is not None:
            engine.advanced.connect(self._show)
            engine.finished.connect(self._on_finished)
            engine.threshold_changed.connect(self._show_threshold)
            engine.set_speed(self.speed.value() or None)
            first = engine.snapshot
            self.energy.start(first.energy)
            self.scores.start(first.scores[first.available], engine.threshold)
            self._show_threshold(engine.threshold)
            self._show(first)
        self._on_data_changed()
        self._enable()

    def _on_data_changed(self) -> None:
        is_again = self._engine is not None
        self.prepare.setText("Prepare again" if is_again else "Prepare")
        self.prepare.setVisible(not is_again or self._workspace.is_stale)
        self.show_layer.setVisible(is_again and self._workspace.segmentation_layer is None)
        self.command.refresh()
        if not is_again:
            self.state.setText(
                "Nothing is prepared yet. Run prepares first: affinities, then the first scores."
            )

    def _on_preparing(self, stage: str, share: float) -> None:
        self._enable()

    def _on_theme(self, event: Any = None) -> None:
        theme = get_theme(self._workspace.viewer.theme)
        for plot in (self.energy, self.scores):
            plot.set_colours(theme.text.as_hex(), theme.background.as_hex())

    def _show(self, snapshot: Snapshot) -> None:
        """Bring everything up to date, not too often; a hidden tab waits until it is seen."""
        was_running = self._shown is not None and self._shown.is_running
        self._shown = snapshot
        self._follow(snapshot)
        is_time = time.monotonic() - self._shown_at >= PANEL_SECONDS
        if self.isVisible() and (is_time or not (snapshot.is_running and was_running)):
            self._show_all(snapshot)

    def _show_all(self, snapshot: Snapshot) -> None:
        self._shown_at = time.monotonic()
        self._show_figures(snapshot)
        self.timeline.show_snapshot(snapshot)
        self._enable()
        self.energy.show_steps(snapshot.steps)
        self.scores.show_scores(snapshot.scores[snapshot.available])

    def showEvent(self, event: Any) -> None:  # noqa: N802
        """Catch up with what happened while the tab was hidden."""
        super().showEvent(event)
        if self._shown is not None and self._engine is not None:
            self._show_all(self._shown)

    def _show_figures(self, snapshot: Snapshot) -> None:
        last = snapshot.steps[-1].score if snapshot.steps else None
        values = {
            "Merges": f"{sum(step.kind in MERGES for step in snapshot.steps):,}",
            "Segments": f"{snapshot.n_segments:,}",
            "Last score": _number(last),
            "Next score": _number(snapshot.next_score),
            "Energy": f"{snapshot.energy:,.1f}",
            "Merges / s": f"{snapshot.steps_per_second:,.0f}" if snapshot.is_running else NOTHING,
            "VI split": _number(snapshot.vi_split),
            "VI merge": _number(snapshot.vi_merge),
        }
        for name, text in values.items():
            self.figures.show_value(name, text)
        if snapshot.is_running:
            self.state.setText("Running.")
        elif self.state.text() == "Running." or snapshot.last_command == "pause":
            self.state.setText("Holding.")

    def _on_finished(self, reason: str) -> None:
        """Say why a run ended, and what to do when it did nothing."""
        snapshot = self._engine.snapshot
        score = _number(snapshot.next_score)
        if reason == "nothing left":
            self.state.setText("Done: nothing is left to merge.")
        else:
            self.state.setText(f"Done: the next score, {score}, is not below the threshold.")
        if not snapshot.steps:
            self._workspace.say(
                f"No merge was made: the best score is {score}, the threshold {self._engine.threshold:.3g}. "
                "Drag the line in the histogram to the right, or take single steps.",
                "warning",
            )

    def _show_threshold(self, value: float) -> None:
        if abs(self.threshold.value() - value) > 5e-4:
            self.threshold.blockSignals(True)
            self.threshold.setValue(value)
            self.threshold.blockSignals(False)
        self.scores.show_threshold(value)
        self.command.refresh()

    def _enable(self) -> None:
        """Offer only what can be done now."""
        is_free = not self._workspace.is_busy
        snapshot = self._engine.snapshot if self._engine is not None else None
        is_running = snapshot is not None and snapshot.is_running
        for widget in (self.prepare, self.run, self.to_threshold, self.step, self.many):
            widget.setEnabled(is_free)
        self.run.setText(f"{'Pause' if is_running else 'Run'}  [{RUN_KEY}]")
        self.undo.setEnabled(bool(snapshot and snapshot.steps))
        self.reset.setEnabled(bool(snapshot and snapshot.steps))
        self.redo.setEnabled(bool(snapshot and snapshot.n_undone))
        self.threshold.setEnabled(snapshot is not None)

    def _follow(self, snapshot: Snapshot) -> None:
        """Fly to the last merge, not too often."""
        is_new = snapshot.last_command in ("run", "step", "run to threshold") and bool(snapshot.steps)
        now = time.monotonic()
        is_time = not snapshot.is_running or now - self._followed_at >= FOLLOW_SECONDS
        if self.follow.isChecked() and is_new and is_time:
            self._followed_at = now
            action = snapshot.steps[-1].action_index
            self._workspace.fly_to(self._engine.agglomerator.actions.centroid[action])


def _number(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
