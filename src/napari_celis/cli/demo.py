"""`celis demo`: the bundled sample in the viewer, or in a picture where there is no screen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.evaluate import evaluate
from napari_celis.cli.outputs import require_folder_output


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Where results go when there is no display.")
    ] = Path("demo-output"),
) -> None:
    """Open the bundled sample in napari; without a display, draw it all the same and write what it shows."""
    require_folder_output("--output", output)
    from napari_celis.gui.plugin.demo import record_demo, show_demo
    from napari_celis.gui.plugin.display import has_display

    if has_display():
        show_demo()
        return
    from napari_celis.io.samples import sample_volumes

    typer.echo("No display here: drawing the sample on a virtual one.", err=True)
    written = record_demo(output)
    written["figures"] = output / "figures.json"
    evaluate(str(written["segmentation"]), sample_volumes()["truth"].name, worst=0, json=written["figures"])
    typer.echo()
    for what, path in written.items():
        typer.echo(f"{what + ':':<14}{path.resolve()}")
