"""What is left: how much error is expected, how it falls, and how many answers a chosen quality takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyqtgraph as pg
from qtpy.QtCore import Qt
from qtpy.QtGui import QShowEvent
from qtpy.QtWidgets import QDoubleSpinBox, QLabel, QVBoxLayout, QWidget

from napari_celis.core.journal import MARK_KINDS, StepKind
from napari_celis.core.remaining_error import RemainingError
from napari_celis.core.words import counted
from napari_celis.gui.qt.elided_label import ElidedLabel
from napari_celis.gui.qt.themed_plot import ThemedPlot
from napari_celis.gui.qt.widgets import row, wrapped
from napari_celis.gui.session.engine.snapshot import Snapshot
from napari_celis.gui.session.workspace import Workspace

EMPTY = "Prepare or run first. Then this page says how much error is expected to be left, and how it falls."
GUESSED = " A rough guess: scores of this policy are no probabilities."
REACHED = "expected to be reached"
TOLD_AFTER = (20, 50)
NO_ANSWERS: frozenset[StepKind] = frozenset({"greedy", *MARK_KINDS})
DEFAULT_TARGET = 0.1
HEIGHTS = (94, 320)
MOST_POINTS = 200
"""Answers to come that the plot shows at most."""


class LeftPlot(ThemedPlot):
    """Expected error over answers: what it was, what it may become, and what is wanted."""

    def __init__(self, viewer: Any) -> None:
        super().__init__(viewer, "answers", "bits left", HEIGHTS)
        self.setToolTip("Expected error after your answers so far (line), and after further ones (dashes).")
        self._past, self._future = self.plot(), self.plot()
        self._target = pg.InfiniteLine(angle=0)
        self.keep_dressed(self._past, "sky")
        self.keep_dressed(self._future, "grey", style=Qt.PenStyle.DashLine)
        self.keep_dressed(self._target, "vermilion", width=1)
        self.addItem(self._target, ignoreBounds=True)

    def show_curves(self, past: dict[int, float], left: np.ndarray, target: float) -> None:
        """Draw both curves.

        Parameters
        ----------
        past : dict
            Expected error by the number of answers; the last one is now.
        left : ndarray of float64
            Expected error now and after further answers.
        target : float
            What is wanted.
        """
        answers = sorted(past)
        shown = left[: MOST_POINTS + 1]
        self._past.setData(answers, [past[n] for n in answers])
        self._future.setData(answers[-1] + np.arange(len(shown)), shown)
        self._target.setPos(target)
        highest = max([target, *past.values()])
        self.setRange(xRange=(answers[0], answers[-1] + max(10, len(shown) - 1)), padding=0.02)
        self.setRange(yRange=(0.0, highest or 1.0), padding=0.06)


class LeftPage(QWidget):
    """A sentence, a target and the plot; follows the questions.

    Parameters
    ----------
    workspace : Workspace
        Shared with all tabs.
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.workspace = workspace
        self.sentence = wrapped(EMPTY)
        self.plot = LeftPlot(workspace.viewer)
        self.target = QDoubleSpinBox()
        self.target.setRange(0.0, 99.0)
        self.target.setDecimals(2)
        self.target.setSingleStep(0.05)
        self.target.setValue(DEFAULT_TARGET)
        self.target.setSuffix(" bits")
        self.target.setToolTip("The error that you would be content with.")
        self.until = ElidedLabel()
        self.past: dict[int, float] = {}
        """Expected error in bits by the number of answers."""
        self._engine = workspace.run.engine
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.sentence)
        layout.addLayout(row(QLabel("Until"), self.target, self.until, stretch=(0, 0, 1)))
        layout.addWidget(self.plot, 1)
        layout.addStretch()
        self.target.valueChanged.connect(self.refresh)
        workspace.run.changed.connect(self._on_run)
        workspace.decisions.order.changed.connect(self._on_ordered)
        workspace.closing.connect(self.plot.close_plot)
        self.refresh()

    def refresh(self, *_: object) -> None:
        """Show what the newest questions say."""
        left, engine = self._left(), self.workspace.run.engine
        is_known = left is not None and engine is not None and bool(self.past)
        for widget in (self.plot, self.target, self.until):
            widget.setEnabled(is_known)
        self.plot.setVisible(is_known)
        if left is None or engine is None or not self.past:
            self.sentence.setText(EMPTY)
            self.until.setText("")
            return
        self.sentence.setText(told(left) + ("" if engine.tables.scores_are_odds else GUESSED))
        n_answers = left.questions_until(self.target.value())
        about = f"about {counted(n_answers, 'answer')}"
        self.until.setText(about if n_answers else REACHED)
        self.until.setToolTip(f"Expected after {about} more." if n_answers else "")
        if self.isVisible():
            self.plot.show_curves(self.past, left.left, self.target.value())

    def _left(self) -> RemainingError | None:
        queue = self.workspace.decisions.order.queue
        return None if queue is None else queue.left

    def _on_run(self) -> None:
        """Forget what another run knew; one whose supervoxel was split goes on."""
        if self.workspace.run.engine is not self._engine:
            self._engine, self.past = self.workspace.run.engine, {}
        self.refresh()

    def _on_ordered(self) -> None:
        """Note what is left after the answers that stand; what was undone is forgotten."""
        left, snapshot = self._left(), self.workspace.run.snapshot
        if left is not None and snapshot is not None:
            n_answers = count_answers(snapshot)
            self.past = {n: bits for n, bits in self.past.items() if n < n_answers} | {n_answers: left.bits}
            self.refresh()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what happened while nobody looked."""
        super().showEvent(event)
        self.workspace.decisions.order.renew()
        self.refresh()


def count_answers(snapshot: Snapshot) -> int:
    """Count the decisions by hand that stand; what is decided at once, as in a cut, counts once."""
    return sum(step.kind not in NO_ANSWERS and not step.follows for step in snapshot.steps)


def told(left: RemainingError) -> str:
    """Say how much error is expected to be left, now and after some answers."""
    if not left.n_questions:
        return "No question is left."
    later = ", ".join(f"{left.left[n]:.2f} after {n}" for n in TOLD_AFTER if n <= left.n_questions)
    return f"About {left.bits:.2f} bits of error are left" + (f"; {later} more answers." if later else ".")
