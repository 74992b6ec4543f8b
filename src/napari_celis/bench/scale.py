"""How costs grow with the volume: steps, undo and whole runs, in a small one and a large one alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TypeVar

import numpy as np

from napari_celis.bench.agglomeration import BenchData, Figures, peak_gb
from napari_celis.bench.kernels import write_cells
from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.kept_scores import KeptScores
from napari_celis.core.recorded import RecordedHistory
from napari_celis.core.supervoxels import Supervoxels

SMALL, LARGE = (51, 51, 51), (225, 225, 227)
"""Shapes with about 8,000 and 700,000 actions."""
SPACING = 5
"""Voxels between the seeds of two cells, on average."""
MERGED_SHARE = 0.3
"""Share of the contacts that a whole run merges across, before it stops."""
Result = TypeVar("Result")
Measure = Callable[[Agglomerator], Figures]
"""Measures something of an agglomeration."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Supervoxels of a shape, with affinities that say nothing and energies of a real model."""

    supervoxels: Supervoxels
    actions: ActionTable
    affinities: np.ndarray

    @classmethod
    def make(cls, shape: tuple[int, int, int], seed: int = 0) -> Cells:
        """Make cells around seeds that are scattered about a grid.

        Parameters
        ----------
        shape : tuple of int
            Voxels along z, y, x.
        seed : int
            Source of every random choice.
        """
        rng = np.random.default_rng(seed)
        grid = tuple(-(-size // SPACING) for size in shape)
        seeds = rng.random((*grid, 3)).astype(np.float32)
        labels = np.empty(shape, dtype=np.int32)
        write_cells(seeds, SPACING, labels)
        supervoxels = Supervoxels.from_labels(labels)
        affinities = rng.random((3, *shape), dtype=np.float32)
        return cls(supervoxels, ActionTable.from_supervoxels(supervoxels), affinities)

    def agglomerator(
        self, *, past: RecordedHistory | None = None, kept: KeptScores | None = None
    ) -> Agglomerator:
        """Start the bundled phantom's model on them, with its learned policy; or go on with decisions.

        Parameters
        ----------
        past : RecordedHistory, optional
            Decisions to go on with.
        kept : KeptScores, optional
            Scores that need not be computed again.
        """
        from napari_celis.io.samples import bundled_models
        from napari_celis.models.model_file import load_model
        from napari_celis.pipeline.agglomeration import agglomerator_of

        model = load_model(bundled_models()["phantom"])
        return agglomerator_of(
            model,
            self.supervoxels,
            self.affinities,
            actions=self.actions,
            policy="learned",
            past=past,
            kept=kept,
        )


def measure_step_growth(data: BenchData, also: Measure | None = None) -> Figures:
    """Time steps and undo in a large volume and in a small one.

    Parameters
    ----------
    data : BenchData
        Says how many steps to take.
    also : callable, optional
        Measures more of the agglomeration in the large volume.
    """
    small = _time_steps(Cells.make(SMALL), data.n_steps, None)
    large = _time_steps(Cells.make(LARGE), data.n_steps, also)
    return {
        "step_growth": large["step_p50_ms"] / small["step_p50_ms"],
        "small_actions": small["actions"],
        **{f"large_{key}": value for key, value in large.items()},
    }


def _time_steps(cells: Cells, n_steps: int, also: Measure | None) -> Figures:
    with cells.agglomerator() as run:
        # The first ones load compiled code and fill caches.
        for _ in range(20):
            run.step(np.inf)
        steps = [_seconds(lambda: run.step(np.inf))[0] for _ in range(n_steps)]
        undos = [_seconds(run.undo)[0] for _ in range(n_steps)]
        more = {} if also is None else also(run)
    return {
        "actions": len(cells.actions),
        "step_p50_ms": 1e3 * float(np.percentile(steps, 50)),
        "step_p95_ms": 1e3 * float(np.percentile(steps, 95)),
        "undo_p95_ms": 1e3 * float(np.percentile(undos, 95)),
        **more,
    }


def measure_run_growth(data: BenchData) -> Figures:
    """Time whole runs with all scores current, first scores included, each in a process."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        small = executor.submit(_time_run, SMALL).result()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        large = executor.submit(_time_run, LARGE).result()
    return {
        "run_growth": (large["seconds"] / large["actions"]) / (small["seconds"] / small["actions"]),
        "large_run_seconds": large["seconds"],
        "large_run_steps": large["steps"],
        "large_run_peak_gb": large["peak_gb"],
    }


def _time_run(shape: tuple[int, int, int]) -> Figures:
    cells = Cells.make(shape)
    # Compiled code is loaded by a run that is not timed.
    _run(Cells.make((31, 31, 31)))
    seconds, steps = _seconds(lambda: _run(cells))
    return {"actions": len(cells.actions), "steps": steps, "seconds": seconds, "peak_gb": peak_gb()}


def _run(cells: Cells) -> int:
    with cells.agglomerator() as run:
        most = round(MERGED_SHARE * cells.supervoxels.n)
        return sum(1 for _, _ in zip(run.steps(0.0), range(most), strict=False))


def _seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result
