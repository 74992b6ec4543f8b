"""How soon the picture of the next question is there after the key that asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.bench.agglomeration import BenchData, Figures
from napari_celis.core.errors import CelisError
from napari_celis.gui.plugin.display import has_display, virtual_display
from napari_celis.gui.plugin.responsiveness import WINDOW, in_process, open_window

if TYPE_CHECKING:
    from napari_celis.gui.plugin.panel import CelisPanel

N_QUESTIONS = 30
PAUSE_MS = 350
"""Between two answers: about three a second."""
MOST_SECONDS = 600.0
TICK_MS = 10


def measure_questions(data: BenchData) -> Figures:
    """Answer questions in a real window with real keys.

    Returns
    -------
    figures : dict
        `question_p95_ms`, `question_ms`: 95th percentile and median of the time from the key until the next
        question is painted. `question_stall_ms`: 95th percentile of the longest gap of a 10 ms timer after
        each key. `question_ready_share`: how many had their bodies in 3-D at once.
    """
    return in_process(_measure, data)


def _measure(data: BenchData) -> Figures:
    """Open a window where there is a screen, else on one in memory."""
    with nullcontext() if has_display() else virtual_display(*WINDOW):
        panel = open_window(data)
        try:
            return _answer(panel)
        finally:
            panel.workspace.viewer.close()


def _answer(panel: CelisPanel) -> Figures:
    """Press the keys for yes and no in turn, and take the time."""
    from qtpy.QtCore import Qt, QTimer
    from qtpy.QtTest import QTest

    from napari_celis.gui.canvas.canvas import Canvas

    workspace = panel.workspace
    decisions = workspace.decisions
    _wait(lambda: not workspace.preparation.is_busy)
    workspace.preparation.prepare()
    _wait(lambda: decisions.pair.geometry is not None)
    panel.show_tab("Decisions")
    pane = Canvas.of(workspace).contact_view.pane
    assert pane is not None
    painted: list[float] = []
    ticks: list[float] = []
    decisions.visited.connect(lambda position: painted.append(time.perf_counter()))
    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))
    decisions.next_uncertain()
    QTest.qWait(3000)
    timer.start(TICK_MS)
    seconds, stalls, n_ready = [], [], 0
    for number in range(N_QUESTIONS):
        begin, n_before = time.perf_counter(), len(painted)
        QTest.keyClick(pane.tiles, Qt.Key.Key_R if number % 2 else Qt.Key.Key_A)
        if len(painted) > n_before:
            seconds.append(painted[-1] - begin)
            n_ready += pane.tiles.evidence is not None and pane.tiles.evidence.body is not None
        QTest.qWait(PAUSE_MS)
        stalls.append(float(np.diff([begin, *(tick for tick in ticks if tick > begin)]).max(initial=0.0)))
    if not seconds:
        raise CelisError("No question was asked in the window that was to be measured.")
    return {
        "question_p95_ms": 1e3 * float(np.percentile(seconds, 95)),
        "question_ms": 1e3 * float(np.median(seconds)),
        "question_stall_ms": 1e3 * float(np.percentile(stalls, 95)),
        "question_ready_share": n_ready / len(seconds),
    }


def _wait(is_over: Callable[[], bool]) -> None:
    """Let the window work until something is over, but not for ever."""
    from qtpy.QtTest import QTest

    end = time.monotonic() + MOST_SECONDS
    while not is_over():
        if time.monotonic() > end:
            raise CelisError("The window that was to be measured did not get ready.")
        QTest.qWait(50)
