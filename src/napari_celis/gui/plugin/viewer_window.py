"""A napari window on volumes that belong together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import napari
from napari import Viewer
from napari.layers import Layer
from qtpy.QtCore import QEventLoop, QTimer
from qtpy.QtWidgets import QApplication

from napari_celis.core.volume import Volume, require_label_type
from napari_celis.gui.layers.volume_layers import KINDS, LOOKS, volume_to_layer
from napari_celis.gui.plugin.panel import CelisPanel

SETTLE_MS = 1500
PANEL_NAME = "Segment and proofread neurons (CELIS)"


def open_viewer(volumes: Mapping[str, Volume], size: tuple[int, int] | None = None) -> Viewer:
    """Open a window with one layer per volume.

    Parameters
    ----------
    volumes : mapping of str to Volume
        By role: "image", "supervoxels", "truth", or some of them.
    size : tuple of int, optional
        Width and height of the window; without it, what napari remembers.
    """
    layers = [_as_layer(role, volumes[role]) for role in KINDS if role in volumes]
    viewer = Viewer(title="CELIS")
    if size is not None:
        viewer.window.resize(*size)
    for layer in layers:
        viewer.add_layer(layer)
    # Scale bars moved in napari 0.9.
    overlays = viewer.canvas.overlays if hasattr(viewer, "canvas") else viewer
    overlays.scale_bar.visible = True
    QApplication.processEvents()
    viewer.reset_view(margin=0.02)
    return viewer


def dock_panel(viewer: Viewer, model: Path | None = None) -> CelisPanel:
    """Dock the panel at the right of a window, with a model chosen.

    Parameters
    ----------
    viewer : Viewer
        Gets the panel.
    model : Path, optional
        Loaded in the background.
    """
    panel = CelisPanel(viewer)
    viewer.window.add_dock_widget(panel, name=PANEL_NAME, area="right")
    if model is not None:
        panel.workspace.preparation.load_model(model)
    return panel


def _as_layer(role: str, volume: Volume) -> Layer:
    kind = KINDS[role]
    if kind == "labels":
        require_label_type(volume.dtype, volume.name)
    data, settings, layer_type = volume_to_layer(volume, kind)
    return Layer.create(data, {**settings, **LOOKS[role], "name": role}, layer_type)


def save_picture(viewer: Viewer, path: Path, size: tuple[int, int]) -> None:
    """Save a picture of the whole window, `size` wide and high, once everything has been drawn.

    Parameters
    ----------
    viewer : Viewer
        Whose window is drawn.
    path : Path
        The file to write.
    size : tuple of int
        Width and height in pixels.
    """
    settled = QEventLoop()
    QTimer.singleShot(SETTLE_MS, settled.quit)
    settled.exec()
    # Texts in the bar at the bottom lie on top of each other until the window changes its size.
    width, height = size
    viewer.window.resize(width - 1, height)
    QApplication.processEvents()
    viewer.window.resize(width, height)
    QApplication.processEvents()
    temporary = path.with_name(f".part-{path.name}")
    viewer.screenshot(str(temporary), canvas_only=False, flash=False)
    temporary.replace(path)


def run() -> None:
    """Hand over to the user until the last window is closed."""
    napari.run()
