"""The tab Agglomerate: run, hold, step, go back, and watch what happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from qtpy.QtWidgets import QMessageBox, QVBoxLayout, QWidget

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.journal import Step
from napari_celis.core.words import counted
from napari_celis.gui.canvas.canvas import Canvas
from napari_celis.gui.canvas.keys import RUN_KEYS, STEP_KEY
from napari_celis.gui.qt.progress import Progress
from napari_celis.gui.session.engine.commands import FORWARD, REPEATING, Pause
from napari_celis.gui.session.engine.engine import Engine
from napari_celis.gui.session.engine.events import RunEnd
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.agglomerate_form import AgglomerateForm, number
from napari_celis.pipeline.result_remark import result_remark

PANEL_SECONDS = 0.3
"""Time between two updates of figures and plots in a run, at least."""
FOLLOW_SECONDS = 0.4
"""Time between two movements of the camera, so that the eye can follow."""

UNPREPARED = "Nothing is prepared yet. Run prepares first: affinities, then the first scores."
AGAIN = "Making the earlier decisions again."
WAITING = "Getting ready: the line above the tabs says what is being done."


class AgglomerateTab(QWidget):
    """Runs, holds and takes back, and shows what happens in a form."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.form = AgglomerateForm(workspace)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.form)
        self._workspace = workspace
        self._decisions = workspace.decisions
        self._canvas = Canvas.of(workspace)
        self._followed_at = 0.0
        self._shown: Snapshot | None = None
        self._remarked_on: tuple[Step, ...] = ()
        self._done_at: tuple[tuple[Step, ...], float] | None = None
        """What stood, and the threshold, when a run ended by itself."""
        self._caught_up_at = 0.0
        self._connect_form()
        self._connect()
        self._bind_keys()
        self._on_run_changed()

    def _connect_form(self) -> None:
        form = self.form
        form.prepare_asked.connect(self._on_prepare)
        form.run_asked.connect(self.toggle)
        form.to_threshold_asked.connect(self._on_to_threshold)
        form.steps_asked.connect(self._on_steps)
        form.undo_asked.connect(self._decisions.undo)
        form.redo_asked.connect(self._decisions.redo)
        form.reset_asked.connect(self._on_reset)
        form.show_layer_asked.connect(self._canvas.segmentation.show)
        form.threshold_asked.connect(self._on_threshold)
        form.speed_asked.connect(self._on_speed)

    def _connect(self) -> None:
        workspace = self._workspace
        workspace.run.changed.connect(self._on_run_changed)
        workspace.run.advanced.connect(self._show)
        workspace.run.drawn.connect(self._on_drawn)
        workspace.run.finished.connect(self._on_finished)
        workspace.run.threshold_changed.connect(self._on_threshold_changed)
        workspace.data.changed.connect(self._on_data_changed)
        self._canvas.segmentation.changed.connect(self._on_data_changed)
        workspace.preparation.progressed.connect(self._on_progress)
        workspace.preview.changed.connect(self._on_preview)
        self.form.plot_choice.currentTextChanged.connect(lambda text: self._ask_errors())
        workspace.closing.connect(self.form.close_plots)

    def _bind_keys(self) -> None:
        for key in RUN_KEYS:
            self._canvas.keys.bind(key, self.toggle, in_fields=True)
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
        self._on_steps(1)

    def _on_steps(self, n_steps: int) -> None:
        self._with_engine(lambda engine: engine.step(n_steps))

    def _on_reset(self) -> None:
        self._workspace.rewind.go_back(0, self)

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
            f"This starts a new run without the {counted(n_steps, 'decision')} made so far. All are kept, "
            "and offered again whenever these supervoxels and this model are chosen. Start a new run?",
        )
        return bool(answer == QMessageBox.StandardButton.Yes)

    def _on_threshold(self, value: float) -> None:
        if self._engine is not None:
            self._engine.set_threshold(value)

    def _on_speed(self, steps_per_second: int | None) -> None:
        if self._engine is not None:
            self._engine.set_speed(steps_per_second)

    # What is shown.

    def _on_run_changed(self) -> None:
        engine = self._engine
        if engine is not None:
            engine.set_speed(self.form.speed_limit)
            first = engine.snapshot
            self.form.start(first, engine.tables.first_energy, engine.threshold)
            self.form.offer_errors(has_truth=engine.past_errors is not None)
            self.form.say("Ready.")
            self._done_at = None
            self._remark((), "")
            self._show(first)
        self._on_data_changed()
        self._enable()

    def _on_data_changed(self) -> None:
        has_run, is_stale = self._engine is not None, self._workspace.is_stale
        has_layer = self._canvas.segmentation.layer is not None
        self.form.show_parts(has_run=has_run, is_stale=is_stale, has_layer=has_layer)
        if not has_run:
            self.form.say(WAITING if self._workspace.preparation.is_busy else UNPREPARED)
        elif is_stale:
            self.form.say("Other data, another model or policy was chosen; this run goes on with the old.")
        self._enable()

    def _on_progress(self, progress: Progress) -> None:
        if self._engine is None:
            self.form.say(WAITING if progress.stage else UNPREPARED)
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
        self._show_state(snapshot)
        if snapshot.steps[-1:] != self._remarked_on[-1:]:
            self._remark((), "")
        self._enable()
        self.form.show_snapshot(snapshot)
        if not snapshot.is_running:
            self._ask_errors()
        elif snapshot.vi_split is not None and snapshot.vi_merge is not None:
            # Looking back at the whole run would hold it up; the present errors are known.
            self.form.errors.go_on(len(snapshot.steps), snapshot.vi_split, snapshot.vi_merge)

    def _ask_errors(self) -> None:
        """Ask for the curve of errors, if anybody looks at it."""
        engine = self._engine
        if engine is None or engine.past_errors is None or not self.form.errors.isVisible():
            return
        engine.ask(engine.past_errors.curve, self.form.errors.show_curve, key="error curve")

    def _on_preview(self) -> None:
        """Let the figures follow the state that is shown."""
        engine, n_steps = self._engine, self._workspace.preview.step
        if engine is None or not self.isVisible():
            return
        steps, past = engine.snapshot.steps, engine.past_errors
        if n_steps is None or n_steps > len(steps):
            self.form.show_snapshot(engine.snapshot)
            return
        first = steps[n_steps] if n_steps < len(steps) else None

        def find(agglomerator: Agglomerator) -> tuple[float, float] | None:
            if past is None or n_steps > len(agglomerator.history):
                return None
            return past.at(agglomerator.segment_ids(n_steps))

        def show(errors: tuple[float, float] | None) -> None:
            if self._workspace.preview.step == n_steps:
                self.form.show_past(steps[:n_steps], first, errors)

        engine.ask(find, show, key="figures of the preview")

    def showEvent(self, event: Any) -> None:  # noqa: N802
        """Catch up with what happened while the tab was hidden."""
        super().showEvent(event)
        self._catch_up()

    def _show_state(self, snapshot: Snapshot) -> None:
        """Say how the run stands now; why a run ended only as long as nothing has changed since."""
        if snapshot.is_running:
            self._done_at = None
            self.form.say(AGAIN if isinstance(snapshot.last_command, REPEATING) else "Running.")
        elif self._workspace.is_stale or self._done_at == self._standing(snapshot):
            return
        elif isinstance(snapshot.last_command, Pause):
            self.form.say("Paused.")
        else:
            n_steps = len(snapshot.steps)
            again = " again" if isinstance(snapshot.last_command, REPEATING) else ""
            stand = f"{counted(n_steps, 'decision')} stand{'s' * (n_steps == 1)}{again}"
            self.form.say(f"Ready: {stand}." if n_steps else "Ready.")

    def _standing(self, snapshot: Snapshot) -> tuple[tuple[Step, ...], float]:
        """Name what the outcome of a run depends on."""
        return snapshot.steps[-1:], 0.0 if self._engine is None else self._engine.threshold

    def _on_threshold_changed(self, value: float) -> None:
        """Show another threshold; what was said about the old one is not true any more."""
        self.form.show_threshold(value)
        snapshot = self._workspace.run.snapshot
        if snapshot is not None:
            if not self._remarked_on:
                self._remark((), "")
            self._show_state(snapshot)

    def _on_finished(self, end: RunEnd) -> None:
        """Say why a run ended, and what to do when it did nothing."""
        if self._engine is None:
            return
        snapshot = self._engine.snapshot
        self._done_at = self._standing(snapshot)
        score = number(snapshot.next_score)
        if end is RunEnd.NOTHING_LEFT:
            self.form.say("Done: nothing is left to merge.")
        else:
            self.form.say(f"Done: the next score, {score}, is not below the threshold.")
        steps = snapshot.steps
        if not steps:
            threshold = number(self._engine.threshold)
            no_merge = (
                f"No merge was made: the best score is {score}, the threshold {threshold}. "
                "Drag the line in the histogram to the right, or take single steps."
            )
            self._workspace.messages.say(no_merge, "warning")
            self._remark(steps, no_merge)
            return
        self._engine.ask(
            lambda a: result_remark(a.supervoxels, a.segment_ids()),
            lambda remark: self._remark(steps, remark),
            key="remark",
        )

    def _remark(self, steps: tuple[Step, ...], remark: str) -> None:
        """Say what is suspicious about the outcome of a run, as long as that is what stands."""
        snapshot = self._workspace.run.snapshot
        is_present = snapshot is not None and snapshot.steps[-1:] == steps[-1:]
        self._remarked_on = steps
        self.form.remark.show_problem(remark if is_present else "", "warning")

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
        self.form.enable(snapshot, is_free=self._is_free(), can_pause=self._can_pause())

    def _follow(self, snapshot: Snapshot) -> None:
        """Fly to the last merge, not too often."""
        is_new = isinstance(snapshot.last_command, FORWARD) and bool(snapshot.steps)
        now = time.monotonic()
        is_time = not snapshot.is_running or now - self._followed_at >= FOLLOW_SECONDS
        if self._engine is not None and self.form.is_following and is_new and is_time:
            self._followed_at = now
            action = snapshot.steps[-1].action_index
            self._canvas.camera.fly_to(self._engine.tables.actions.centroid[action])
