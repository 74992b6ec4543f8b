"""The bundled sample in a window: for a person, or as a picture where there is no screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from napari_celis.core.errors import CelisError
from napari_celis.core.volume import Volume
from napari_celis.gui.plugin.display import require_qt, virtual_display
from napari_celis.io.samples import sample_volumes
from napari_celis.io.volumes import write_volume

if TYPE_CHECKING:
    from napari_celis.gui.plugin.panel import CelisPanel
    from napari_celis.gui.session.engine.engine import Engine
    from napari_celis.gui.session.messages import Message

WINDOW = (1600, 1000)


def open_demo(size: tuple[int, int] | None = None) -> CelisPanel:
    """Open a window on the sample, with the panel and the model for it."""
    require_qt()
    # napari finds its settings when it is loaded: not before the display that nobody sees has its own.
    from napari_celis.gui.layers.samples import phantom_model
    from napari_celis.gui.plugin.viewer_window import dock_panel, open_viewer

    return dock_panel(open_viewer(sample_volumes(), size), phantom_model())


def show_demo() -> None:
    """Open the sample and hand over to the user."""
    open_demo()
    from napari_celis.gui.plugin.viewer_window import run

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
        panel = open_demo(WINDOW)
        from napari_celis.gui.layers.samples import phantom_model
        from napari_celis.gui.plugin.viewer_window import save_picture

        viewer = panel.workspace.viewer
        segmentation = sample_volumes()["supervoxels"]
        if phantom_model() is not None:
            segmentation = _agglomerated(panel, segmentation)
        save_picture(viewer, written["screenshot"], WINDOW)
        viewer.close()
    write_volume(segmentation, written["segmentation"], kind="labels")
    return written


def _agglomerated(panel: CelisPanel, supervoxels: Volume) -> Volume:
    """Run to the end as a person would, and return what came out."""
    from qtpy.QtCore import QEventLoop

    panel.show_tab("Agglomerate")
    workspace, segmentation, waiting = panel.workspace, panel.canvas.segmentation, QEventLoop()
    problems: list[str] = []

    def stop(message: Message) -> None:
        if message.severity == "error":
            problems.append(message.text)
            waiting.quit()

    def run(engine: Engine) -> None:
        # Nobody watches: what is not drawn costs nothing.
        if segmentation.layer is not None:
            segmentation.layer.visible = False
        engine.run()

    workspace.messages.changed.connect(stop)
    workspace.run.finished.connect(lambda end: waiting.quit())
    workspace.preparation.prepare(and_then=run)
    waiting.exec()
    if problems or segmentation.layer is None:
        raise CelisError(problems[0] if problems else "The sample was not segmented.")
    segmentation.layer.visible = True
    labels = segmentation.layer.data[:]
    return Volume(labels, supervoxels.voxel_size_nm, supervoxels.offset_nm, "segmentation")
