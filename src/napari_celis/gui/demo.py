"""The bundled sample in a window: for a person, or as a picture where there is no screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from napari_celis.gui.display import require_qt, virtual_display
from napari_celis.io.samples import sample_volumes
from napari_celis.io.volumes import write_volume

if TYPE_CHECKING:
    from napari import Viewer

WINDOW = (1600, 1000)


def open_demo(size: tuple[int, int] | None = None) -> Viewer:
    """Open a window on the sample."""
    require_qt()
    from napari_celis.gui.viewing import open_viewer

    return open_viewer(sample_volumes(), size)


def show_demo() -> None:
    """Open the sample and hand over to the user."""
    open_demo()
    from napari_celis.gui.viewing import run

    run()


def record_demo(folder: Path) -> dict[str, Path]:
    """Open the sample where nobody sees it, and write what there is to see.

    Parameters
    ----------
    folder : Path
        Made if it is not there; earlier results in it are replaced.

    Returns
    -------
    written : dict of str to Path
        The picture of the window and the segmentation.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = {"screenshot": folder / "screenshot.png", "segmentation": folder / "segmentation.zarr"}
    with virtual_display(*WINDOW):
        viewer = open_demo(WINDOW)
        from napari_celis.gui.viewing import save_picture

        save_picture(viewer, written["screenshot"], WINDOW)
        viewer.close()
    write_volume(sample_volumes()["supervoxels"], written["segmentation"], kind="labels")
    return written
