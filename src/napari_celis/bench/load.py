"""A session as large as people make them in months: what they wait for, and whether all is there again."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from napari_celis.bench.agglomeration import Figures, peak_gb
from napari_celis.bench.scale import Cells
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.recorded import recorded_history
from napari_celis.io.session.file import Session
from napari_celis.io.session.records import SessionHead, SessionVolume
from napari_celis.io.session.writer import SessionWriter

SHAPE = (232, 232, 233)
"""About 100,000 supervoxels and 700,000 actions."""
N_DECISIONS, N_BY_HAND = 50_000, 6_000
BY_HAND = ("manual", "keep-apart", "manual", "keep-apart", "manual", "cut")
"""Kinds of decisions by hand, again and again."""
N_TIMED = 200
FLUSH_EVERY = 50
"""Merges of a greedy run that are written together."""
Result = TypeVar("Result")


def measure_load(
    also: Callable[[Agglomerator], Figures] | None = None,
    shape: tuple[int, int, int] = SHAPE,
    n_decisions: int = N_DECISIONS,
    n_by_hand: int = N_BY_HAND,
) -> Figures:
    """Make very many decisions with a session, and time what a person waits for; then go on with it.

    Parameters
    ----------
    also : callable, optional
        Measures what the panel asks for.
    shape : tuple of int
        Voxels along z, y, x.
    n_decisions, n_by_hand : int
        Decisions in all, and those by hand among them.
    """
    cells = Cells.make(shape)
    figures: Figures = {"load_supervoxels": cells.supervoxels.n, "load_actions": len(cells.actions)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "load.celis")
        figures["load_first_scores_seconds"], agglomerator = _seconds(cells.agglomerator)
        with agglomerator, Session.create(path, _head(shape, agglomerator)) as session:
            figures |= _decide(agglomerator, session, n_decisions, n_by_hand)
            figures |= (
                {} if also is None else {f"load_{key}": value for key, value in also(agglomerator).items()}
            )
            figures["load_peak_gb"] = peak_gb()
            figures["load_save_as_seconds"] = _seconds(lambda: session.save_as(Path(folder, "copy.celis")))[0]
            figures["load_file_mb"] = Path(folder, "copy.celis").stat().st_size / 1e6
            figures |= _resume(cells, session, agglomerator)
    return figures


def _head(shape: tuple[int, int, int], agglomerator: Agglomerator) -> SessionHead:
    volumes = (SessionVolume("supervoxels", "", "", "0" * 32, shape),)
    return SessionHead(volumes, "", "0" * 32, {}, agglomerator.energy_units(), time.time())


def _decide(agglomerator: Agglomerator, session: Session, n_decisions: int, n_by_hand: int) -> Figures:
    """Let greedy and a person decide; every decision is in the session."""
    rng = np.random.default_rng(0)
    writer = agglomerator.journal.listener = SessionWriter(session, "bench")
    while len(agglomerator.history) < n_decisions - n_by_hand:
        for _ in range(FLUSH_EVERY):
            agglomerator.step(np.inf)
        writer.flush()
    by_hand: list[float] = []
    while len(by_hand) < n_by_hand:
        work = _decision(agglomerator, BY_HAND[len(by_hand) % len(BY_HAND)], rng)
        try:
            by_hand.append(_kept_seconds(work, writer))
        except ActionError:
            continue
    steps = [_kept_seconds(lambda: agglomerator.step(np.inf), writer) for _ in range(N_TIMED)]
    undos = [_kept_seconds(agglomerator.undo, writer) for _ in range(N_TIMED)]
    return {
        "load_decisions": len(agglomerator.history),
        "load_by_hand_p95_ms": _p95(by_hand[-1000:]),
        "load_step_p95_ms": _p95(steps),
        "load_undo_p95_ms": _p95(undos),
    }


def _decision(agglomerator: Agglomerator, kind: str, rng: np.random.Generator) -> Callable[[], object]:
    """Draw a decision by hand about some supervoxels that touch."""
    table, ids = agglomerator.actions, agglomerator.supervoxels.ids
    if kind == "cut":
        step = agglomerator.history[int(rng.integers(len(agglomerator.journal.done)))]
        return lambda: agglomerator.cut(step.u_id, step.v_id)
    row = int(rng.integers(len(table)))
    pair = int(ids[table.u[row]]), int(ids[table.v[row]])
    return lambda: (agglomerator.merge if kind == "manual" else agglomerator.keep_apart)(*pair)


def _resume(cells: Cells, session: Session, agglomerator: Agglomerator) -> Figures:
    """Bring other agglomerators to where the session ends, with and without scores that were kept."""
    read, events = _seconds(lambda: [record.event for record in session.events()])
    followed, past = _seconds(
        lambda: recorded_history(cells.supervoxels, cells.actions, events, session.head.units_at_start)
    )
    expected = agglomerator.segment_ids(), agglomerator.scores(), agglomerator.energy
    kept = agglomerator.kept_scores()
    figures: Figures = {"load_events_seconds": read, "load_history_seconds": followed}
    for name, scores in (("load_resume_seconds", None), ("load_resume_kept_seconds", kept)):
        seconds, again = _seconds(lambda scores=scores: cells.agglomerator(past=past, kept=scores))  # type: ignore[misc]
        with again:
            is_same = np.array_equal(again.segment_ids(), expected[0]) and np.array_equal(
                again.scores(), expected[1]
            )
            if not is_same or again.energy != expected[2]:
                return {**figures, name: math.nan}
            undos = [_seconds(again.undo)[0] for _ in range(N_TIMED)]
        figures |= {name: read + followed + seconds, "load_resumed_undo_p95_ms": _p95(undos)}
    return figures


def _kept_seconds(work: Callable[[], object], writer: SessionWriter) -> float:
    """Time something together with writing it to the disk."""
    begin = time.perf_counter()
    work()
    writer.flush()
    return time.perf_counter() - begin


def _p95(seconds: list[float]) -> float:
    return 1e3 * float(np.percentile(seconds, 95))


def _seconds(work: Callable[[], Result]) -> tuple[float, Result]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result
