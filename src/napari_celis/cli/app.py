"""The command tree; each command lives in its own file and imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from napari_celis import __version__

app = typer.Typer(
    name="celis",
    help="Reconstruct neurons from electron microscopy: CELIS from the command line.",
    epilog="A volume is written path[:dataset], for example train.h5:volumes/raw. "
    "Every command takes --debug to show a traceback instead of one sentence.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"celis {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
