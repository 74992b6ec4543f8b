"""`celis view`: the viewer with volumes loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from napari_celis.cli.app import app
from napari_celis.cli.session_options import RelocateOption, relocations

if TYPE_CHECKING:
    from napari_celis.scale.boxes import OpenedBox


@app.command()
def view(
    image: Annotated[str | None, typer.Argument(metavar="[V]", help="Image, as path[:dataset].")] = None,
    supervoxels: Annotated[str | None, typer.Option(metavar="V", help="Oversegmentation.")] = None,
    truth: Annotated[str | None, typer.Option(metavar="V", help="True segmentation.")] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Model file made by celis train.")
    ] = None,
    box: Annotated[
        tuple[int, int, int, int, int, int] | None,
        typer.Option(
            metavar="Z0 Z1 Y0 Y1 X0 X1",
            help="Open these voxels of V, a result of celis blockwise, to look through its decisions.",
        ),
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

    if box is not None:
        if image is None or any((supervoxels, truth, model)):
            raise typer.BadParameter("--box needs a result of celis blockwise, and nothing else.")
        opened = _open_box(image, box)
        dock_panel(open_viewer({})).workspace.box.show(opened)
        run()
        return
    paths = {"image": image, "supervoxels": supervoxels, "truth": truth}
    volumes = {role: open_volume(path) for role, path in paths.items() if path is not None}
    require_same_shape(**volumes)
    panel = dock_panel(open_viewer(volumes), model)
    if session is not None:
        panel.session.files.open(session, places)
    run()


def _open_box(url: str, numbers: tuple[int, ...]) -> OpenedBox:
    """Open a box before there is a window: what is wrong with it is said on the command line."""
    from napari_celis.cli.progress import stage_bars
    from napari_celis.scale.boxes import box_of, open_box
    from napari_celis.scale.run import BlockRun
    from napari_celis.scale.storage import RunStore

    run = BlockRun(RunStore(url))
    with stage_bars() as report:
        return open_box(run, box_of(numbers, run.settings.shape), report)
