"""`celis view`: the viewer with volumes loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.session_options import RelocateOption, relocations


@app.command()
def view(
    image: Annotated[str | None, typer.Argument(metavar="[V]", help="Image, as path[:dataset].")] = None,
    supervoxels: Annotated[str | None, typer.Option(metavar="V", help="Oversegmentation.")] = None,
    truth: Annotated[str | None, typer.Option(metavar="V", help="True segmentation.")] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Model file made by celis train.")
    ] = None,
    session: Annotated[
        Path | None, typer.Option(metavar="S", help="Session file to go on with; it names its volumes.")
    ] = None,
    relocate: RelocateOption = None,
) -> None:
    """Open the viewer with these volumes as layers, and the panel."""
    from napari_celis.core.errors import CelisError

    places = relocations(relocate)
    if session is not None and any(given is not None for given in (image, supervoxels, truth, model)):
        raise typer.BadParameter(
            "A session names its volumes and its model; say with --relocate where they are."
        )
    if session is None and places:
        raise typer.BadParameter("--relocate is for the volumes of a session.")
    if session is not None:
        from napari_celis.io.session.file import Session

        Session.open(session, read_only=True).close()
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
    panel = dock_panel(open_viewer(volumes), model)
    if session is not None:
        panel.session.files.open(session, places)
    run()
