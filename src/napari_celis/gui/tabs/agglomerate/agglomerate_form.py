"""The form of the tab Agglomerate: it shows a run, and says what the user asks for."""

from __future__ import annotations

from collections.abc import Sequence

from qtpy.QtCore import Signal
from qtpy.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from napari_celis.core.journal import Step
from napari_celis.gui.canvas.keys import REDO_TIP, RUN_KEYS, STEP_KEY
from napari_celis.gui.qt.narrow_combo import make_narrow
from napari_celis.gui.qt.themed_plot import CurveLegend
from napari_celis.gui.qt.widgets import (
    CommandLine,
    Figures,
    StatusLine,
    heading,
    make_primary,
    row,
    share_width,
    wrapped,
)
from napari_celis.gui.session.command_line import agglomerate_command
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.workspace import Workspace
from napari_celis.gui.tabs.agglomerate.plots import ERROR_CURVES, EnergyPlot, ErrorPlot, ScorePlot
from napari_celis.gui.tabs.agglomerate.timeline import Timeline

FIGURES = {
    "Merges": "Merges made so far, by the run and by you.",
    "Segments": "Segments there are now.",
    "Last score": "Score of the last decision, when it was made; a cut has none.",
    "Next score": "The lowest score left: what a run would merge next.",
    "Energy": "Energy of the whole segmentation; lower is more plausible.",
    "Merges / s": "Speed of the run.",
    "VI split": "Split error in bits: what belongs together but is apart. It needs a truth.",
    "VI merge": "Merge error in bits: what was joined but is apart in the truth. It needs a truth.",
}
"""The figures of a run, and what they mean."""
ERRORS = "Errors (VI)"
NOTHING = "–"
LARGE_ENERGY = 1e5
MERGES = ("greedy", "manual")
SCORED = (*MERGES, "keep-apart", "not-here")
"""Decisions that were about a score; that of a cut is a change of the energy."""


class AgglomerateForm(QWidget):
    """Buttons of a run, and below them, once there is something to see, figures, plots and timeline.

    Parameters
    ----------
    workspace : Workspace
        Shared by all tabs of a viewer.
    """

    prepare_asked = Signal()
    run_asked = Signal()
    """Run, or hold a run."""
    to_threshold_asked = Signal()
    steps_asked = Signal(int)
    """How many merges to take."""
    undo_asked = Signal()
    redo_asked = Signal()
    reset_asked = Signal()
    show_layer_asked = Signal()
    threshold_asked = Signal(float)
    speed_asked = Signal(object)
    """Merges per second, at most; None for no limit."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._first_energy = 0.0
        self._can_prepare = True
        self._make_buttons()
        self._make_settings()
        self.state = wrapped()
        self.remark = StatusLine()
        """What is suspicious about the outcome of a run; stays until the outcome is another one."""
        self.live = QWidget()
        self.figures = Figures(FIGURES, columns=2)
        self.energy = EnergyPlot(workspace.viewer)
        self.errors = ErrorPlot(workspace.viewer)
        self.plot_choice = QComboBox()
        make_narrow(self.plot_choice)
        for name in ("Energy", ERRORS):
            self.plot_choice.addItem(name)
        self.plot_choice.setToolTip(
            "What the plot shows over the decisions: the energy, or the errors against the truth."
        )
        self.legend = CurveLegend(self.errors, ERROR_CURVES)
        self.scores = ScorePlot(workspace.viewer)
        self.timeline = Timeline(workspace)
        self.command = CommandLine(lambda: agglomerate_command(workspace))
        self._lay_out()
        self._connect()

    @property
    def speed_limit(self) -> int | None:
        """Merges per second, at most; None for no limit."""
        return self.speed.value() or None

    @property
    def is_following(self) -> bool:
        """Whether the camera should fly to the merges."""
        return bool(self.follow.isChecked())

    @property
    def sentence(self) -> str:
        """What is said about the run."""
        return str(self.state.text())

    def say(self, sentence: str) -> None:
        """Say how the run stands."""
        self.state.setText(sentence)

    def start(self, first: Snapshot, first_energy: float, threshold: float) -> None:
        """Begin plots and threshold anew, for another run.

        Parameters
        ----------
        first : Snapshot
            How the run begins.
        first_energy : float
            Energy before any decision.
        threshold : float
            Where it stops.
        """
        self._first_energy = first_energy
        self.energy.start(first_energy)
        self.scores.start(first.scores[first.available], threshold)
        self.show_threshold(threshold)

    def show_snapshot(self, snapshot: Snapshot) -> None:
        """Show figures, timeline and plots of a snapshot."""
        if self.timeline.preview is None:
            self._show_figures(snapshot)
        self.timeline.show_snapshot(snapshot)
        self.energy.show_steps(snapshot.steps)
        self.scores.show_scores(snapshot.scores[snapshot.available])

    def show_threshold(self, value: float) -> None:
        """Show another threshold, and the command that goes with it."""
        if abs(self.threshold.value() - value) > 5e-4:
            self.threshold.blockSignals(True)
            self.threshold.setValue(value)
            self.threshold.blockSignals(False)
        self.scores.show_threshold(value)
        self.command.refresh()

    def show_parts(self, *, has_run: bool, is_stale: bool, has_layer: bool) -> None:
        """Show what makes sense now, and the command that goes with it.

        Parameters
        ----------
        has_run : bool
            Whether a run is prepared.
        is_stale : bool
            Whether something else was chosen since.
        has_layer : bool
            Whether the live segmentation is in the viewer.
        """
        self.live.setVisible(has_run)
        self.prepare.setText("Prepare again" if has_run else "Prepare")
        self._can_prepare = not has_run or is_stale
        self.show_layer.setVisible(has_run and not has_layer)
        self.command.refresh()

    def enable(self, snapshot: Snapshot | None, *, is_free: bool, can_pause: bool) -> None:
        """Offer only what can be done now.

        Parameters
        ----------
        snapshot : Snapshot, optional
            How the run stands; None before it is prepared.
        is_free : bool
            Whether a run, or a step, may begin.
        can_pause : bool
            Whether a run goes on that can be held.
        """
        is_running = snapshot is not None and snapshot.is_running
        for widget in (self.to_threshold, self.step, self.many):
            widget.setEnabled(is_free)
        self.prepare.setEnabled(is_free and self._can_prepare)
        self.run.setEnabled(is_free or can_pause)
        self.run.setText(f"{'Pause' if is_running else 'Run'} [{RUN_KEYS[0]}]")
        self.undo.setEnabled(bool(snapshot and snapshot.steps))
        self.reset.setEnabled(bool(snapshot and snapshot.steps))
        self.redo.setEnabled(bool(snapshot and snapshot.n_undone))
        self.threshold.setEnabled(snapshot is not None)

    def close_plots(self) -> None:
        """Let go of the viewer, which is closing."""
        for plot in (self.energy, self.errors, self.scores):
            plot.close_plot()

    def offer_errors(self, *, has_truth: bool) -> None:
        """Let the user choose what the plot shows, where there is a choice."""
        self.plot_choice.setVisible(has_truth)
        if not has_truth:
            self.plot_choice.setCurrentIndex(0)

    def _on_plot(self, name: str) -> None:
        self.energy.setVisible(name != ERRORS)
        for widget in (self.errors, self.legend):
            widget.setVisible(name == ERRORS)

    def show_past(
        self, steps: Sequence[Step], first: Step | None, errors: tuple[float, float] | None
    ) -> None:
        """Show the figures of an earlier state.

        Parameters
        ----------
        steps : sequence of Step
            The decisions that stood in it.
        first : Step, optional
            The decision that came next.
        errors : tuple of float, optional
            Split and merge error then; None without a truth.
        """
        last = steps[-1] if steps else None
        n_segments = None if last is None else last.n_segments
        if last is None and first is not None:
            n_segments = first.n_segments + first.joins_segments
        energy = self._first_energy if last is None else last.energy
        split, merge = (None, None) if errors is None else errors
        values = {
            "Merges": f"{sum(step.kind in MERGES for step in steps):,}",
            "Segments": NOTHING if n_segments is None else f"{n_segments:,}",
            "Last score": number(last.score if last is not None and last.kind in SCORED else None),
            "Next score": number(first.score if first is not None and first.kind in SCORED else None),
            "Energy": _energy(energy),
            "Merges / s": NOTHING,
            "VI split": number(split),
            "VI merge": number(merge),
        }
        for name, text in values.items():
            self.figures.show_value(name, text)

    def _show_figures(self, snapshot: Snapshot) -> None:
        is_scored = bool(snapshot.steps) and snapshot.steps[-1].kind in SCORED
        last = snapshot.steps[-1].score if is_scored else None
        values = {
            "Merges": f"{sum(step.kind in MERGES for step in snapshot.steps):,}",
            "Segments": f"{snapshot.n_segments:,}",
            "Last score": number(last),
            "Next score": number(snapshot.next_score),
            "Energy": _energy(snapshot.energy),
            "Merges / s": f"{snapshot.steps_per_second:,.0f}" if snapshot.is_running else NOTHING,
            "VI split": number(snapshot.vi_split),
            "VI merge": number(snapshot.vi_merge),
        }
        for name, text in values.items():
            self.figures.show_value(name, text)

    def _make_buttons(self) -> None:
        self.prepare = _button("Prepare", "Compute affinities and the first scores.")
        self.run = _button("Run", "Merge until no score is below the threshold; again: pause.", RUN_KEYS[0])
        make_primary(self.run)
        self.to_threshold = _button(
            "Run to threshold", "Go where a run to this threshold ends, forwards or back."
        )
        self.step = _button("Step", "Take the next merge, whatever its score.", STEP_KEY)
        self.many = _button("Step × N", "Take so many merges, whatever their scores.")
        self.undo = _button("Undo", "Take the last decision back; also Ctrl+Z.", "U")
        self.redo = _button("Redo", REDO_TIP, "Y")
        self.reset = _button(
            "Reset",
            "Take everything back, after a question where you decided by hand; one Redo brings it again.",
        )
        self.show_layer = _button("Show segmentation", "Add the layer of the live segmentation again.")

    def _make_settings(self) -> None:
        self.n_steps = QSpinBox()
        self.n_steps.setRange(1, 1_000_000)
        self.n_steps.setValue(10)
        self.n_steps.setToolTip("How many merges “Step × N” takes.")
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
        # It counts at once, in a run too: a number that is half typed must not.
        self.threshold.setKeyboardTracking(False)
        self.threshold.setToolTip(
            "A run stops when the next score is not below this. The line can be dragged."
        )
        self.follow = QCheckBox("Follow merges")
        self.follow.setToolTip("Let the camera fly to where things are merged.")

    def _connect(self) -> None:
        asked = (
            (self.prepare, self.prepare_asked),
            (self.run, self.run_asked),
            (self.to_threshold, self.to_threshold_asked),
            (self.undo, self.undo_asked),
            (self.redo, self.redo_asked),
            (self.reset, self.reset_asked),
            (self.show_layer, self.show_layer_asked),
        )
        for button, signal in asked:
            button.clicked.connect(lambda checked=False, signal=signal: signal.emit())
        self.step.clicked.connect(lambda: self.steps_asked.emit(1))
        self.many.clicked.connect(lambda: self.steps_asked.emit(self.n_steps.value()))
        self.threshold.valueChanged.connect(self.threshold_asked)
        self.scores.threshold_dragged.connect(self.threshold_asked)
        self.speed.valueChanged.connect(lambda: self.speed_asked.emit(self.speed_limit))
        self.timeline.moved.connect(self.energy.mark)
        self.timeline.moved.connect(self.errors.mark)
        self.plot_choice.currentTextChanged.connect(self._on_plot)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.addLayout(self._control_grid())
        layout.addWidget(self.state)
        layout.addWidget(self.remark)
        layout.addWidget(self.show_layer)
        layout.addWidget(self.live, 100)
        layout.addStretch(1)
        layout.addWidget(self.command)
        inner = QVBoxLayout(self.live)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(self.figures)
        inner.addLayout(row(self.plot_choice, self.legend, stretch=(1, 0)))
        inner.addWidget(self.energy, 100)
        inner.addWidget(self.errors, 100)
        for widget in (self.errors, self.plot_choice, self.legend):
            widget.setVisible(False)
        inner.addLayout(row(heading("Threshold"), self.threshold, stretch=(1, 1)))
        inner.addWidget(self.scores, 100)
        inner.addWidget(self.timeline)
        inner.addStretch(1)

    def _control_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(4)
        # Prepare has its place also when there is nothing to prepare: what is below must not jump.
        cells = (
            (self.run, 0, 0, 1, 6),
            (self.to_threshold, 0, 6, 1, 6),
            (self.step, 1, 0, 1, 4),
            (self.many, 1, 4, 1, 4),
            (self.n_steps, 1, 8, 1, 4),
            (self.prepare, 2, 0, 1, 4),
            (self.undo, 2, 4, 1, 3),
            (self.redo, 2, 7, 1, 3),
            (self.reset, 2, 10, 1, 2),
            (self.follow, 3, 0, 1, 6),
            (self.speed, 3, 6, 1, 6),
        )
        for column in range(12):
            grid.setColumnStretch(column, 1)
        for widget, *cell in cells:
            grid.addWidget(widget, *cell)
        share_width(*(widget for widget, *_ in cells))
        return grid


def number(value: float | None) -> str:
    """Write a score or an error, or a dash where there is none."""
    return NOTHING if value is None else f"{value:.3f}".replace("-", "−")


def _energy(value: float) -> str:
    """Write an energy; a large one without decimals, which fit into no column."""
    return f"{value:,.{1 if abs(value) < LARGE_ENERGY else 0}f}".replace("-", "−")


def _button(text: str, tip: str, key: str = "") -> QPushButton:
    """Make a button that is connected later; its key is shown on it."""
    made = QPushButton(f"{text} [{key}]" if key else text)
    made.setToolTip(f"{tip}  Key: {key}" if key else tip)
    return made
