"""Options and small services of the commands that work with sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from napari_celis.core.agglomerator import Agglomerator
    from napari_celis.core.journal import Step
    from napari_celis.io.session.file import Session

SessionArgument = Annotated[Path, typer.Argument(metavar="S", help="Session file, NAME.celis.")]
RelocateOption = Annotated[
    list[str] | None,
    typer.Option(
        "--relocate",
        metavar="ROLE=V",
        help="Where a volume (image, supervoxels, affinities, truth) or the model is now; can be repeated.",
    ),
]
TableOption = Annotated[
    Path | None, typer.Option("--table", metavar="FILE", help="Write all events as .csv or .parquet.")
]
SegmentsOption = Annotated[
    Path | None,
    typer.Option(
        "--segments",
        metavar="FILE",
        help="Write all segments as .csv: name, state, size, decisions, note. Reads the supervoxels.",
    ),
]
FLUSH_SECONDS = 0.2
"""Merges of a greedy run are written together, at least this often."""


def relocations(given: list[str] | None) -> dict[str, str]:
    """Take `role=path` apart."""
    from napari_celis.core.errors import CelisError

    found = {}
    for text in given or ():
        role, is_there, path = text.partition("=")
        if not is_there or not path:
            raise CelisError(
                f"--relocate {text} says nothing: write role=path, for example image=raw.h5:raw."
            )
        found[role] = path
    return found


def require_session_outputs(
    session: Path, *, table: Path | None = None, json: Path | None = None, segments: Path | None = None
) -> None:
    """Refuse outputs that cannot be written, or that would replace the session or each other.

    Parameters
    ----------
    session : Path
        What is read.
    table, json, segments : Path, optional
        What will be written.
    """
    from napari_celis.cli.options import require_outputs
    from napari_celis.cli.outputs import require_distinct
    from napari_celis.io.session.table import require_table
    from napari_celis.pipeline.segment_table import require_csv

    require_outputs(table, json, segments)
    require_distinct({"--table": table, "--json": json, "--segments": segments, "the session": session}, {})
    if table is not None:
        require_table(table)
    if segments is not None:
        require_csv(segments)


def run_recorded(agglomerator: Agglomerator, threshold: float, session: Session | None) -> list[Step]:
    """Take steps until none is below the threshold; all of them are in the session when this ends, however.

    Parameters
    ----------
    agglomerator : Agglomerator
        Ready to step.
    threshold : float
        Where to stop.
    session : Session, optional
        Where decisions go.
    """
    import time

    from tqdm import tqdm

    from napari_celis.io.session.writer import SessionWriter

    steps = tqdm(agglomerator.steps(threshold), desc="merges", unit="")
    if session is None:
        return list(steps)
    writer = SessionWriter(session)
    agglomerator.journal.listener = writer
    taken, flushed_at = [], time.monotonic()
    try:
        for step in steps:
            taken.append(step)
            if time.monotonic() - flushed_at > FLUSH_SECONDS:
                writer.flush()
                flushed_at = time.monotonic()
    finally:
        writer.flush()
        agglomerator.journal.listener = None
    return taken
