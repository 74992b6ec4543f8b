"""How well a window keeps up with a run: its longest stall, colours per second, memory, first merge."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from multiprocessing import get_context
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from napari_celis.bench.agglomeration import BenchData, Figures, random_networks
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import CelisError
from napari_celis.core.presets import preset_specs
from napari_celis.core.question_list import list_questions
from napari_celis.core.questions import question_order
from napari_celis.core.volume import Volume
from napari_celis.gui.plugin.display import has_display, require_qt, virtual_display
from napari_celis.gui.session.decision_queue import describe
from napari_celis.gui.session.engine.snapshot import take_snapshot
from napari_celis.gui.session.engine.tables import RunTables

if TYPE_CHECKING:
    from napari_celis.gui.plugin.panel import CelisPanel
    from napari_celis.gui.session.engine.snapshot import Snapshot
    from napari_celis.gui.session.messages import Message
    from napari_celis.models.model_file import CelisModel

WINDOW = (1600, 1000)
VOXEL_NM = (10.0, 10.0, 10.0)
TICK_MS = 10
"""A window that is free answers a timer this often."""
MOST_MERGES = 1000
MOST_SECONDS = 300.0
THRESHOLD = 1000.0
"""Above all scores, so that a run does not end by itself."""


def measure_window(data: BenchData) -> Figures:
    """Run in a real window, in a process of its own, and watch how often the window answers.

    Returns
    -------
    figures : dict
        `stall_ms`, `stall_p99_ms`: longest and 99th percentile of the gaps of a 10 ms timer while merges are
        made. `prepare_stall_ms`: the longest before the first merge. `recolour_hz`: states of the run shown
        per second. `viewer_growth_mb`: memory that the process takes on from the first merge to the last.
        `first_merge_seconds`: from a click on Run, affinities given. `window_merges`: merges made.
    """
    return in_process(_measure, data)


def in_process(measure: Callable[[BenchData], Figures], data: BenchData) -> Figures:
    """Measure in a process of its own.

    Parameters
    ----------
    measure : callable
        Opens the window.
    data : BenchData
        What it is opened on.
    """
    require_qt()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        try:
            return executor.submit(measure, data).result()
        except BrokenProcessPool as error:
            raise CelisError(
                "The window that was to be measured ended by itself; it probably could not be drawn. "
                "Try `celis demo`, which opens one too."
            ) from error


def _measure(data: BenchData) -> Figures:
    """Open a window where there is a screen, else on one in memory."""
    with nullcontext() if has_display() else virtual_display(*WINDOW):
        panel = open_window(data)
        try:
            return _Watch(panel).measure()
        finally:
            panel.workspace.viewer.close()


def open_window(data: BenchData) -> CelisPanel:
    """Open a window on the labels, with an image, affinities and networks made up for them."""
    from napari_celis.gui.plugin.viewer_window import dock_panel, open_viewer

    labels = data.supervoxels
    grey = (labels * np.uint64(2654435761) >> np.uint64(8)).astype(np.uint8)
    arrays = {"image": grey, "supervoxels": labels}
    volumes = {role: Volume(array, VOXEL_NM, name=role) for role, array in arrays.items()}
    panel = dock_panel(open_viewer(volumes, WINDOW))
    affinities = np.random.default_rng(0).random((3, *labels.shape), dtype=np.float32)
    panel.workspace.data.use_model(_random_model())
    panel.workspace.data.use_affinities(affinities)
    panel.show_tab("Agglomerate")
    return panel


def _random_model() -> CelisModel:
    """Make a model of random networks that costs what a trained one does."""
    from napari_celis.models.affinity import build_affinity_net
    from napari_celis.models.affinity_base import AffinitySettings
    from napari_celis.models.model_file import CelisModel

    specs = preset_specs("fast")
    return CelisModel(
        affinity=build_affinity_net(AffinitySettings(width=4, levels=1, n_features=4)),
        specs=specs,
        energies=tuple(random_networks(specs)),
        voxel_size_nm=VOXEL_NM,
        thresholds={"energy": THRESHOLD},
    )


class _Watch:
    """Clicks Run in a panel and takes the time of everything until the run ends."""

    def __init__(self, panel: CelisPanel) -> None:
        import psutil
        from qtpy.QtCore import QEventLoop, Qt, QTimer

        self._panel, self._workspace = panel, panel.workspace
        self._process = psutil.Process()
        self._loop = QEventLoop()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._on_tick)
        self._is_over: Callable[[], bool] = lambda: True
        self._ticks: list[float] = []
        self._shown: list[float] = []
        """When each state of the run was shown, from the first merge on."""
        self._snapshot: Snapshot | None = None
        self._first_bytes = 0
        self._problem = ""

    def measure(self) -> Figures:
        """Wait until the window is at rest, then run."""
        workspace = self._workspace
        workspace.messages.changed.connect(self._on_message)
        workspace.run.advanced.connect(self._on_advanced)
        self._timer.start()
        self._wait(lambda: not workspace.preparation.is_busy)
        begin = time.perf_counter()
        self._panel.tab("Agglomerate").form.run.click()
        self._wait(self._has_run)
        self._timer.stop()
        if self._problem or self._snapshot is None:
            raise CelisError(self._problem or "No merge was made in the window that was to be measured.")
        return self._figures(begin, len(self._snapshot.steps))

    def _wait(self, is_over: Callable[[], bool]) -> None:
        """Let the window work until something is over, but not for ever."""
        end = time.perf_counter() + MOST_SECONDS
        self._is_over = lambda: is_over() or bool(self._problem) or time.perf_counter() > end
        self._loop.exec()

    def _has_run(self) -> bool:
        snapshot = self._snapshot
        return snapshot is not None and (len(snapshot.steps) >= MOST_MERGES or not snapshot.is_running)

    def _on_tick(self) -> None:
        self._ticks.append(time.perf_counter())
        if self._is_over():
            self._loop.quit()

    def _on_message(self, message: Message) -> None:
        if message.severity == "error":
            self._problem = message.text

    def _on_advanced(self, snapshot: Snapshot) -> None:
        """Note that a state of the run is shown."""
        if not snapshot.steps:
            return
        if self._snapshot is None:
            self._first_bytes = self._process.memory_info().rss
        self._shown.append(time.perf_counter())
        self._snapshot = snapshot

    def _figures(self, begin: float, n_merges: int) -> Figures:
        first, last = self._shown[0], self._shown[-1]
        growth = self._process.memory_info().rss - self._first_bytes
        running = self._gaps(first, last)
        return {
            "stall_ms": 1e3 * float(running.max()),
            "stall_p99_ms": 1e3 * float(np.percentile(running, 99)),
            "prepare_stall_ms": 1e3 * float(self._gaps(begin, first).max()),
            "recolour_hz": max(1, len(self._shown) - 1) / max(last - first, 1e-3 * TICK_MS),
            "viewer_growth_mb": max(0.0, growth / 1e6),
            "first_merge_seconds": first - begin,
            "window_merges": n_merges,
        }

    def _gaps(self, begin: float, end: float) -> np.ndarray:
        """Return the times between two answers of the window, in seconds, with those at both ends."""
        inside = [tick for tick in self._ticks if begin < tick < end]
        return np.diff([begin, *inside, end]) if end > begin else np.array([1e-3 * TICK_MS])


def measure_snapshots(agglomerator: Agglomerator) -> Figures:
    """Time what the panel asks an agglomeration for: a snapshot, and the queue of questions."""
    snapshots, queues, tables = [], [], RunTables.of(agglomerator)
    for _ in range(7):
        begin = time.perf_counter()
        snapshot = take_snapshot(
            agglomerator, [], None, is_running=True, steps_per_second=0.0, last_command=None
        )
        snapshots.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        questions = list_questions(agglomerator, 0.0, candidates=describe(tables, snapshot))
        question_order(questions, tables.actions.centroid[questions.action])
        queues.append(time.perf_counter() - begin)
    return {"snapshot_ms": 1e3 * median(snapshots), "queue_ms": 1e3 * median(queues)}
