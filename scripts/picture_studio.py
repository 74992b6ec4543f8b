"""A window that pictures are taken of, on the bundled sample or on a volume, and the files they go to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from napari_celis.gui.plugin.demo import open_demo
from napari_celis.io.volumes import open_volume

if TYPE_CHECKING:
    from napari_celis.gui.plugin.panel import CelisPanel

ROOT = Path(__file__).resolve().parents[1]
DATASETS = {"image": "raw", "supervoxels": "labels/supervoxels", "truth": "labels/neuron_ids"}
"""Where a file in the layout of CREMI has them, below `volumes`."""
SIZE, GIF_SIZE = (1600, 1000), (1280, 800)
"""Size of the window in the pictures, and in the animation, where it has no docks at the left."""
PANEL_WIDTH = 480
PATIENCE, DRAWING = 900.0, 60.0
"""Seconds to wait for anything, and for a picture in 3-D, which there may not be."""
PNG_COLOURS = 255
"""A palette makes pictures of the window three times smaller than full colours do."""
FILLED = 1.3
"""Diagonal of what is looked at in 3-D, by the shorter side of the canvas."""
GIF_WIDTH = 960
GIF_BYTES = 5_000_000


class Studio:
    """One window, and the means to wait for it and to take its picture.

    Parameters
    ----------
    folder : Path
        Where pictures go.
    model : Path, optional
        Another model than that of the sample.
    volume : Path, optional
        An HDF5 file in the layout of CREMI, to open instead of the sample.
    roles : sequence of str
        Which volumes of that file are opened.
    """

    def __init__(
        self,
        folder: Path,
        model: Path | None,
        volume: Path | None = None,
        roles: Sequence[str] = tuple(DATASETS),
    ) -> None:
        self.folder, self._model, self._volume, self._roles = folder, model, volume, roles
        self._open()

    def _open(self) -> None:
        self.panel: CelisPanel = (
            open_demo(SIZE) if self._volume is None else _open_on(self._volume, self._roles)
        )
        self.workspace = self.panel.workspace
        self.viewer = self.workspace.viewer
        # Commands that are shown should read the same on every computer.
        home = ROOT if self._volume is None else self._volume.parent
        for layer in self.viewer.layers:
            source = layer.metadata["celis"]["source"]
            layer.metadata["celis"]["source"] = source.removeprefix(f"{home}{os.sep}")
        self.show_window(SIZE)
        if self._model is not None:
            self.workspace.preparation.load_model(self._model)
        self.wait_until(
            lambda: self.workspace.data.model is not None and not self.workspace.preparation.is_busy
        )

    def reopen(self) -> None:
        """Close the window and open it again, as on another day."""
        self.viewer.close()
        self._open()

    def rest(self, milliseconds: int = 1500) -> None:
        """Let the window draw."""
        from qtpy.QtCore import QEventLoop, QTimer

        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def rest_in_3d(self) -> None:
        """Let the window draw, also the two segments of a question in 3-D."""
        self.rest()
        view, end = self.panel.canvas.contact_view, time.monotonic() + DRAWING
        while view.is_shown and view.pane.tiles.evidence.body is None and time.monotonic() < end:
            self.rest(100)

    def wait_until(self, is_true: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Let the window work until something has happened."""
        end = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > end:
                raise TimeoutError(
                    f"Waited {seconds:.0f} s in vain. Problem: {self.workspace.messages.current}"
                )
            self.rest(30)

    def show_window(self, size: tuple[int, int], *, with_layers: bool = True) -> None:
        """Give the window and the panel their sizes."""
        from qtpy.QtCore import Qt
        from qtpy.QtWidgets import QDockWidget

        self.size = size
        window = self.viewer.window._qt_window
        for dock in window.findChildren(QDockWidget):
            if dock.isAncestorOf(self.panel):
                window.resizeDocks([dock], [PANEL_WIDTH], Qt.Orientation.Horizontal)
            elif dock.objectName() in ("layer list", "layer controls"):
                dock.setVisible(with_layers)
        self.settle()
        self.viewer.reset_view(margin=0.02)

    def settle(self) -> None:
        """Wait until everything has been drawn."""
        self.rest_in_3d()
        # Texts in the bar at the bottom lie on top of each other until the window changes its size.
        for width in (self.size[0] - 1, self.size[0]):
            self.viewer.window.resize(width, self.size[1])
            self.rest(200)

    def grab(self) -> np.ndarray:
        """Take a picture of the whole window, as it is."""
        return np.asarray(self.viewer.screenshot(canvas_only=False, flash=False))[..., :3]

    def save(self, name: str, pixels: np.ndarray | None = None) -> None:
        """Save a picture; without one, that of the window once it has settled."""
        if pixels is None:
            self.settle()
            pixels = self.grab()
        # This way of choosing them leaves thin lines and small squares their colour.
        picture = Image.fromarray(pixels).quantize(
            PNG_COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
        picture.save(self.folder / f"{name}.png", optimize=True)
        print(f"{name}.png", flush=True)

    def show_tab(self, title: str) -> Any:
        """Bring a tab to the front and return it."""
        self.panel.show_tab(title)
        self.rest(300)
        return self.panel.tab(title)

    def prepared(self) -> Any:
        """Return the engine; the first call makes it."""
        if self.workspace.run.engine is None:
            self.workspace.preparation.prepare()
            self.wait_until(lambda: self.workspace.run.engine is not None)
        return self.workspace.run.engine

    def finished(self) -> Any:
        """Return the engine after a whole run."""
        engine = self.prepared()
        if not engine.snapshot.steps:
            ends: list[str] = []
            engine.finished.connect(ends.append)
            engine.run()
            self.wait_until(lambda: bool(ends))
        return engine

    def undecided(self) -> Any:
        """Look at the first question about a merge that was not made, and return what is deciding it."""
        decisions = self.workspace.decisions
        # Until all questions are known, open ones stand in for them.
        decisions.order.renew()
        self.wait_until(lambda: decisions.order.queue is not None and decisions.order.queue.left is not None)
        decisions.clear()
        pair = decisions.pair
        self.wait_until(lambda: pair.geometry is not None and len(decisions.order.open_actions()) > 0)
        self.next_question(decisions.next_uncertain)
        while pair.is_merged_directly:
            self.next_question(decisions.next_uncertain)
        self.wait_until(lambda: bool(pair.centres) or not pair.wants_centres)
        return decisions

    def next_question(self, go_on: Callable[[], object]) -> None:
        """Do what brings the next question, and wait for it."""
        pair = self.workspace.decisions.pair
        before = pair.action
        go_on()
        # Nothing is asked about the energy of a merge that was made.
        self.wait_until(
            lambda: pair.action not in (before, -1) and (bool(pair.parts) or pair.is_merged_directly)
        )

    def look_at(self, layers: Sequence[Any], angles: tuple[float, float, float]) -> None:
        """Turn the camera of the 3-D view to some layers, so that they fill it."""
        corners = np.concatenate([layer.extent.world for layer in layers])
        low, high = corners.min(axis=0), corners.max(axis=0)
        # The size of the canvas moved in napari 0.9.
        size = self.viewer.canvas.size if hasattr(self.viewer, "canvas") else self.viewer._canvas_size
        self.camera.angles = angles
        self.camera.center = tuple((low + high) / 2)
        self.camera.zoom = FILLED * min(size) / float(np.linalg.norm(high - low))

    @property
    def camera(self) -> Any:
        """The camera, which moved in napari 0.9."""
        return getattr(self.viewer, "scene", self.viewer).camera


def _open_on(path: Path, roles: Sequence[str]) -> CelisPanel:
    """Open a window on volumes of a file."""
    from napari_celis.gui.plugin.viewer_window import dock_panel, open_viewer

    volumes = {
        role: open_volume(f"{path}:volumes/{name}") for role, name in DATASETS.items() if role in roles
    }
    return dock_panel(open_viewer(volumes, SIZE))


def write_gif(path: Path, frames: list[np.ndarray], times: list[int]) -> None:
    """Write frames with one palette and without dithering, so that what stays the same costs nothing."""
    height = round(GIF_WIDTH * GIF_SIZE[1] / GIF_SIZE[0])
    small = [Image.fromarray(frame).resize((GIF_WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
    picked = [np.asarray(small[at]) for at in (0, len(small) // 3, 2 * len(small) // 3, -3, -1)]
    # 255 colours: the last one is left for what does not change.
    palette = Image.fromarray(np.concatenate(picked)).quantize(
        255, method=Image.Quantize.MAXCOVERAGE, kmeans=1
    )
    first, *rest = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in small]
    first.save(path, save_all=True, append_images=rest, duration=times, loop=0, disposal=1)
    size = path.stat().st_size
    print(f"{path.name}: {len(frames)} frames, {size / 1e6:.1f} MB")
    if size > GIF_BYTES:
        raise SystemExit(f"{path} is too large for a page. Take fewer frames.")
