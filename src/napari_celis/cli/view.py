"""`celis view`: the viewer with volumes loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from napari_celis.cli.app import app


@app.command()
def view(
    image: Annotated[str | None, typer.Argument(metavar="[V]", help="Image, as path[:dataset].")] = None,
    supervoxels: Annotated[str | None, typer.Option(metavar="V", help="Oversegmentation.")] = None,
    truth: Annotated[str | None, typer.Option(metavar="V", help="True segmentation.")] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Model file made by celis train.")
    ] = None,
) -> None:
    """Open the viewer with these volumes as layers, and the panel."""
    from napari_celis.core.errors import CelisError
    from napari_celis.gui.plugin.display import has_display, require_qt

    if not has_display():
        raise CelisError(
            "There is no display here, so no viewer can be opened. Run this where there is a screen; "
            "`celis info` and `celis evaluate` work without one."
        )
    require_qt()
    from napari_celis.gui.plugin.viewer_window import dock_panel, open_viewer, run
    from napari_celis.io.volumes import open_volume, require_same_shape

    paths = {"image": image, "supervoxels": supervoxels, "truth": truth}
    volumes = {role: open_volume(path) for role, path in paths.items() if path is not None}
    require_same_shape(**volumes)
    dock_panel(open_viewer(volumes), model)
    run()
