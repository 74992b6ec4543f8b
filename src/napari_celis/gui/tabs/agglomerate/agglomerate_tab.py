"""The tab Agglomerate: run, hold, step, go back, and watch what happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from qtpy.QtWidgets import QMessageBox, QWidget

from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.keys import RUN_KEYS, STEP_KEY
from napari_celis.gui.qt.progress import Progress
from napari_celis.gui.session.engine.commands import FORWARD, REPEATING, Pause
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.events import RunEnd
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.agglomerate_form import AgglomerateForm, number

PANEL_SECONDS = 0.3
"""Time between two updates of figures and plots in a run, at least."""
FOLLOW_SECONDS = 0.4
"""Time between two movements of the camera, so that the eye can follow."""

UNPREPARED = "Nothing is prepared yet. Run prepares first: affinities, then the first scores."
AGAIN = "Making the earlier decisions again."
WAITING = "Getting ready: the line above the tabs says what is being done."


class AgglomerateTab(AgglomerateForm):
    """Runs, holds and takes back, and shows what happens."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self._workspace = workspace
        self._decisions = workspace.decisions
        self._canvas = Canvas.of(workspace)
        self._followed_at = 0.0
        self._shown: Snapshot | None = None
        self._caught_up_at = 0.0
        self._connect_buttons()
        self._connect()
        self._bind_keys()
        self._on_run_changed()

    def _connect_buttons(self) -> None:
        slots = (
            (self.prepare, self._on_prepare),
            (self.run, self.toggle),
            (self.to_threshold, self._on_to_threshold),
            (self.step, self.step_once),
            (self.many, self._on_many),
            (self.undo, self._decisions.undo),
            (self.redo, self._decisions.redo),
            (self.reset, self._on_reset),
            (self.show_layer, self._canvas.segmentation.show),
        )
        for button, slot in slots:
            button.clicked.connect(lambda checked=False, slot=slot: slot())

    def _connect(self) -> None:
        workspace = self._workspace
        workspace.run.changed.connect(self._on_run_changed)
        workspace.run.advanced.connect(self._show)
        workspace.run.drawn.connect(self._on_drawn)
        workspace.run.finished.connect(self._on_finished)
        workspace.run.threshold_changed.connect(self._show_threshold)
        workspace.data.changed.connect(self._on_data_changed)
        self._canvas.segmentation.changed.connect(self._on_data_changed)
        workspace.preparation.progressed.connect(self._on_progress)
        for plot in (self.energy, self.scores):
            workspace.closing.connect(plot.close_plot)
        self.scores.threshold_dragged.connect(self._on_threshold)
        self.threshold.valueChanged.connect(self._on_threshold)
        self.speed.valueChanged.connect(self._on_speed)
        self.timeline.moved.connect(self.energy.mark)

    def _bind_keys(self) -> None:
        for key in RUN_KEYS:
            self._canvas.keys.bind(key, self.toggle)
        self._canvas.keys.bind(STEP_KEY, self.step_once)

    @property
    def _engine(self) -> Engine | None:
        return self._workspace.run.engine

    # What the user does.

    def toggle(self) -> None:
        """Run, or hold a run; prepare first where that is needed."""
        if self._engine is not None and self._can_pause():
            self._engine.pause()
        else:
            self._with_engine(lambda engine: engine.run())

    def step_once(self) -> None:
        """Take one merge; prepare first where that is needed."""
        self._with_engine(lambda engine: engine.step())

    def _on_many(self) -> None:
        self._with_engine(lambda engine: engine.step(self.n_steps.value()))

    def _on_reset(self) -> None:
        if self._engine is not None:
            self._engine.reset()

    def _on_to_threshold(self) -> None:
        self._with_engine(lambda engine: engine.run_to_threshold())

    def _with_engine(self, work: Callable[[Engine], object]) -> None:
        """Do something now if that can be done, or once all is prepared; a key may come at any time."""
        if self._engine is None:
            self._workspace.preparation.prepare(and_then=work)
        elif self._is_free():
            work(self._engine)

    def _on_prepare(self) -> None:
        n_steps = 0 if self._engine is None else len(self._engine.snapshot.steps)
        if not n_steps or self._confirmed(n_steps):
            self._workspace.preparation.prepare()

    def _confirmed(self, n_steps: int) -> bool:
        """Ask before decisions are put aside."""
        answer = QMessageBox.question(
            self,
            "Prepare again",
            f"This starts a new run without the {n_steps:,} decisions made so far. They are kept, and "
            "offered again whenever these supervoxels and this model are chosen. Start a new run?",
        )
        return bool(answer == QMessageBox.StandardButton.Yes)

    def _on_threshold(self, value: float) -> None:
        if self._engine is not None:
            self._engine.set_threshold(value)

    def _on_speed(self, steps_per_second: int) -> None:
        if self._engine is not None:
            self._engine.set_speed(steps_per_second or None)

    # What is shown.

    def _on_run_changed(self) -> None:
        engine = self._engine
        if engine is not None:
            engine.set_speed(self.speed.value() or None)
            first = engine.snapshot
            self.energy.start(engine.tables.first_energy)
            self.scores.start(first.scores[first.available], engine.threshold)
            self._show_threshold(engine.threshold)
            self.state.setText("Ready.")
            self._show(first)
        self._on_data_changed()
        self._enable()

    def _on_data_changed(self) -> None:
        is_again = self._engine is not None
        self.live.setVisible(is_again)
        self.prepare.setText("Prepare again" if is_again else "Prepare")
        self.prepare.setVisible(not is_again or self._workspace.is_stale)
        self.show_layer.setVisible(is_again and self._canvas.segmentation.layer is None)
        self.command.refresh()
        if is_again and self._workspace.is_stale:
            self.state.setText(
                "Other data, another model or policy was chosen; this run goes on with the old."
            )
        if not is_again:
            self.state.setText(WAITING if self._workspace.preparation.is_busy else UNPREPARED)

    def _on_progress(self, progress: Progress) -> None:
        if self._engine is None:
            self.state.setText(WAITING if progress.stage else UNPREPARED)
        self._enable()

    def _show(self, snapshot: Snapshot) -> None:
        """Bring everything up to date, not too often; a hidden tab waits until it is seen."""
        was_running = self._shown is not None and self._shown.is_running
        self._shown = snapshot
        self._follow(snapshot)
        if not (snapshot.is_running and was_running):
            self._catch_up()

    def _on_drawn(self) -> None:
        """Draw figures and plots after the canvas: both at once would hold up the window twice as long."""
        is_running = self._shown is not None and self._shown.is_running
        if is_running and time.monotonic() > self._caught_up_at + PANEL_SECONDS:
            self._catch_up()

    def _catch_up(self) -> None:
        """Show the latest snapshot, if anybody looks."""
        self._caught_up_at = time.monotonic()
        if self.isVisible() and self._shown is not None and self._engine is not None:
            self._show_all(self._shown)

    def _show_all(self, snapshot: Snapshot) -> None:
        self.show_figures(snapshot)
        self._show_state(snapshot)
        self.timeline.show_snapshot(snapshot)
        self._enable()
        self.energy.show_steps(snapshot.steps)
        self.scores.show_scores(snapshot.scores[snapshot.available])

    def showEvent(self, event: Any) -> None:  # noqa: N802
        """Catch up with what happened while the tab was hidden."""
        super().showEvent(event)
        self._catch_up()

    def _show_state(self, snapshot: Snapshot) -> None:
        """Say whether a run goes on."""
        if snapshot.is_running:
            self.state.setText(AGAIN if isinstance(snapshot.last_command, REPEATING) else "Running.")
        elif self.state.text() == AGAIN:
            self.state.setText(f"Ready: {len(snapshot.steps):,} decisions stand again.")
        elif self.state.text() == "Running." or isinstance(snapshot.last_command, Pause):
            self.state.setText("Paused.")

    def _on_finished(self, end: RunEnd) -> None:
        """Say why a run ended, and what to do when it did nothing."""
        if self._engine is None:
            return
        snapshot = self._engine.snapshot
        score = number(snapshot.next_score)
        if end is RunEnd.NOTHING_LEFT:
            self.state.setText("Done: nothing is left to merge.")
        else:
            self.state.setText(f"Done: the next score, {score}, is not below the threshold.")
        if not snapshot.steps:
            threshold = number(self._engine.threshold)
            self._workspace.messages.say(
                f"No merge was made: the best score is {score}, the threshold {threshold}. "
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

    def _is_free(self) -> bool:
        """Tell whether nothing is being prepared, and no decisions are being made again."""
        is_running = self._engine is not None and self._engine.snapshot.is_running
        return not self._workspace.preparation.is_busy and (not is_running or self._can_pause())

    def _can_pause(self) -> bool:
        """Tell whether a run goes on; decisions that are made again cannot be held."""
        snapshot = self._workspace.run.snapshot
        if snapshot is None or not snapshot.is_running:
            return False
        return not isinstance(snapshot.last_command, REPEATING)

    def _enable(self) -> None:
        """Offer only what can be done now."""
        snapshot = self._workspace.run.snapshot
        is_running = snapshot is not None and snapshot.is_running
        is_free = self._is_free()
        for widget in (self.prepare, self.to_threshold, self.step, self.many):
            widget.setEnabled(is_free)
        self.run.setEnabled(is_free or self._can_pause())
        self.run.setText(f"{'Pause' if is_running else 'Run'}  [{RUN_KEYS[0]}]")
        self.undo.setEnabled(bool(snapshot and snapshot.steps))
        self.reset.setEnabled(bool(snapshot and snapshot.steps))
        self.redo.setEnabled(bool(snapshot and snapshot.n_undone))
        self.threshold.setEnabled(snapshot is not None)

    def _follow(self, snapshot: Snapshot) -> None:
        """Fly to the last merge, not too often."""
        is_new = isinstance(snapshot.last_command, FORWARD) and bool(snapshot.steps)
        now = time.monotonic()
        is_time = not snapshot.is_running or now - self._followed_at >= FOLLOW_SECONDS
        if self._engine is not None and self.follow.isChecked() and is_new and is_time:
            self._followed_at = now
            action = snapshot.steps[-1].action_index
            self._canvas.camera.fly_to(self._engine.tables.actions.centroid[action])
