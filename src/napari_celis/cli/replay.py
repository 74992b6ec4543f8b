"""`celis replay`: make every decision of a session again, and verify its scores."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from napari_celis.cli.app import app
from napari_celis.cli.options import JsonOption, say, write_json
from napari_celis.cli.session_options import (
    RelocateOption,
    SessionArgument,
    TableOption,
    relocations,
    require_session_outputs,
)
from napari_celis.core.words import counted

SHOWN = 10
"""Differences that are printed; all are in the figures."""


@app.command()
def replay(
    session: SessionArgument,
    tolerance: Annotated[
        float,
        typer.Option(min=0.0, help="Largest difference of scores, as a share of the larger or of 1."),
    ] = 1e-6,
    table: TableOption = None,
    relocate: RelocateOption = None,
    json: JsonOption = None,
) -> None:
    """Make every decision of a session again from the beginning, and verify each score.

    Nothing that is kept beside the session is used. Exit code 1 if anything differs.
    """
    import time

    from tqdm import tqdm

    from napari_celis.cli.progress import stage_bars
    from napari_celis.io.session.file import Session
    from napari_celis.io.session.table import write_table
    from napari_celis.pipeline.replay import prepare_replay
    from napari_celis.pipeline.replay import replay as replay_session
    from napari_celis.pipeline.session_identity import remark_on_affinities

    require_session_outputs(session, table=table, json=json)
    begin = time.monotonic()
    with Session.open(session, read_only=True) as opened:
        if table is not None:
            write_table(opened.events(), table)
        remark = remark_on_affinities(opened.head)
        with stage_bars() as report:
            divider = prepare_replay(opened, relocations(relocate), report, say)
        agglomerator, error, differences = divider.agglomerator, 0.0, []
        try:
            made = replay_session(opened, divider, tolerance)
            for event in tqdm(made, total=opened.n_events, desc="events", unit=""):
                agglomerator, error = event.agglomerator, max(error, event.error)
                differences += event.differences
            figures: dict[str, Any] = {
                "events": opened.n_events,
                "decisions": len(agglomerator.history),
                "segments": agglomerator.n_segments,
                "energy": agglomerator.energy,
            }
        finally:
            agglomerator.close()
    figures |= {
        "largest_error": error,
        "tolerance": tolerance,
        "differences": [vars(difference) for difference in differences],
        "seconds": time.monotonic() - begin,
    }
    write_json(json, figures)
    for one in differences[:SHOWN]:
        typer.echo(f"Event {one.number:,}: {one.what} was {one.recorded:.9g}, is {one.again:.9g}.")
    if len(differences) > SHOWN:
        typer.echo(f"… and {len(differences) - SHOWN:,} more.")
    typer.echo(
        f"{counted(figures['events'], 'event')} made again, {counted(len(differences), 'difference')}; "
        f"largest difference of a score {error:.2g} (tolerance {tolerance:.2g})."
    )
    if differences:
        if remark:
            typer.echo(remark)
        raise typer.Exit(1)
