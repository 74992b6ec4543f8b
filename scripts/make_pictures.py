"""Make the pictures of the window and the animation in docs/images/, from the bundled sample and its model.

    python scripts/make_pictures.py [--only NAME …] [--model FILE] [--output DIR]

Everything is drawn on a virtual display, so no screen is needed, but Xvfb is. The picture of the tab Train
shows the first minutes of a real training, which is then ended. The plot pruning.png is not made here:
docs/pruning.md names its command.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from napari_celis.gui.demo import open_demo
from napari_celis.gui.display import virtual_display

if TYPE_CHECKING:
    from napari_celis.gui.panel import CelisPanel

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images"
SIZE, GIF_SIZE = (1600, 1000), (1280, 800)
"""Size of the window in the pictures, and in the animation, where it has no docks at the left."""
PANEL_WIDTH = 480
PATIENCE = 900.0
GIF_WIDTH = 960
GIF_BYTES = 5_000_000
EVERY, MIDDLE = 24, 400
"""Merges between two frames of the animation, and before the picture of a run."""
SPEED = 60
"""Merges per second while the animation is taken, so that the run lasts as long as it needs to be seen."""
FRAME_MS, LOOK_MS = 140, 1300
N_DECISIONS = 3


class Studio:
    """One window on the sample, and the means to wait for it and to take its picture."""

    def __init__(self, folder: Path, model: Path | None) -> None:
        self.folder = folder
        self.panel: CelisPanel = open_demo(SIZE)
        self.workspace = self.panel.workspace
        self.viewer = self.workspace.viewer
        # Commands that are shown should read the same on every computer.
        for layer in self.viewer.layers:
            source = layer.metadata["celis"]["source"]
            layer.metadata["celis"]["source"] = source.removeprefix(f"{ROOT}{os.sep}")
        self.show_window(SIZE)
        if model is not None:
            self.workspace.choose_model(model)
        self.wait_until(lambda: self.workspace.model is not None and not self.workspace.is_busy)

    def rest(self, milliseconds: int = 1500) -> None:
        """Let the window draw."""
        from qtpy.QtCore import QEventLoop, QTimer

        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def wait_until(self, is_true: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Let the window work until something has happened."""
        end = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > end:
                raise TimeoutError(f"Waited {seconds:.0f} s in vain. Problem: {self.workspace.problem}")
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
        self.rest()
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
        Image.fromarray(pixels).save(self.folder / f"{name}.png", optimize=True)
        print(f"{name}.png", flush=True)

    def show_tab(self, title: str) -> Any:
        """Bring a tab to the front and return it."""
        self.panel.show_tab(title)
        self.rest(300)
        return self.panel.tab(title)

    def prepared(self) -> Any:
        """Return the engine; the first call makes it."""
        if self.workspace.engine is None:
            self.workspace.prepare()
            self.wait_until(lambda: self.workspace.engine is not None)
        return self.workspace.engine

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
        """Look at the most doubtful decision and return what is deciding it."""
        from napari_celis.gui.deciding import Deciding

        deciding = Deciding.of(self.workspace)
        deciding.clear()
        self.wait_until(lambda: len(deciding.queue()) > 0)
        deciding.next_doubtful()
        self.wait_until(lambda: bool(deciding.parts) and bool(deciding.centres))
        return deciding


def picture_data(studio: Studio) -> None:
    """The tab Data, everything chosen."""
    studio.show_tab("Data")
    studio.wait_until(lambda: studio.workspace.counted() is not None)
    studio.save("data")


def picture_agglomerate(studio: Studio) -> None:
    """The tab Agglomerate in the middle of a run."""
    tab = studio.show_tab("Agglomerate")
    engine, ends = begin(studio, tab)
    studio.wait_until(lambda: bool(ends) or len(engine.snapshot.steps) >= MIDDLE)
    studio.save("agglomerate", studio.grab())
    tab.speed.setValue(0)
    studio.wait_until(lambda: bool(ends))


def picture_run(studio: Studio) -> None:
    """The animation of a whole run and some decisions."""
    studio.show_window(GIF_SIZE, with_layers=False)
    tab = studio.show_tab("Agglomerate")
    engine = studio.prepared()
    engine.reset()
    studio.wait_until(lambda: not engine.snapshot.steps)
    studio.settle()
    frames, times = [studio.grab()], [LOOK_MS]
    engine, ends = begin(studio, tab)
    while not ends:
        target = EVERY * len(frames)
        studio.wait_until(lambda target=target: bool(ends) or len(engine.snapshot.steps) >= target)
        frames.append(studio.grab())
        times.append(FRAME_MS)
    studio.rest(1000)
    frames.append(studio.grab())
    times.append(2 * LOOK_MS)
    tab.speed.setValue(0)
    add_decisions(studio, frames, times)
    write_gif(studio.folder / "run.gif", frames, times)
    studio.show_window(SIZE)


def begin(studio: Studio, tab: Any) -> tuple[Any, list[str]]:
    """Start a run that can be watched; return its engine and a list that gets an entry when it ends."""
    engine, ends = studio.prepared(), []
    engine.finished.connect(ends.append)
    tab.speed.setValue(SPEED)
    studio.settle()
    tab.run.click()
    return engine, ends


def add_decisions(studio: Studio, frames: list[np.ndarray], times: list[int]) -> None:
    """Accept some doubtful merges with the key A, one picture each."""
    studio.show_tab("Decisions")
    deciding = studio.undecided()
    for _ in range(N_DECISIONS):
        studio.rest(1500)
        frames.append(studio.grab())
        times.append(LOOK_MS)
        before = deciding.action
        deciding.accept()
        studio.wait_until(lambda before=before: deciding.action not in (before, -1) and bool(deciding.parts))
    studio.rest(1500)
    frames.append(studio.grab())
    times.append(2 * LOOK_MS)


def write_gif(path: Path, frames: list[np.ndarray], times: list[int]) -> None:
    """Write frames with one palette and without dithering, so that what stays the same costs nothing."""
    height = round(GIF_WIDTH * GIF_SIZE[1] / GIF_SIZE[0])
    small = [Image.fromarray(frame).resize((GIF_WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
    picked = [np.asarray(small[at]) for at in (0, len(small) // 3, 2 * len(small) // 3, -3, -1)]
    # 255 colours: the last one is left for what does not change.
    palette = Image.fromarray(np.concatenate(picked)).quantize(255, method=Image.Quantize.MEDIANCUT)
    first, *rest = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in small]
    first.save(path, save_all=True, append_images=rest, duration=times, loop=0, disposal=1)
    size = path.stat().st_size
    print(f"{path.name}: {len(frames)} frames, {size / 1e6:.1f} MB")
    if size > GIF_BYTES:
        raise SystemExit(f"{path} is too large for a page. Take fewer frames.")


def picture_demo(studio: Studio) -> None:
    """The whole window after a run."""
    studio.show_tab("Agglomerate")
    studio.finished()
    studio.workspace.select()
    studio.save("demo")


def picture_decisions(studio: Studio) -> None:
    """The tab Decisions: a doubtful one, in a section and in 3-D, and the history."""
    tab = studio.show_tab("Decisions")
    studio.finished()
    studio.undecided()
    zoom(studio, 1.6)
    studio.save("decisions")
    tab.tabs.setCurrentWidget(tab.history)
    studio.rest(500)
    tab.history.view.selectRow(40)
    studio.save("history")
    tab.tabs.setCurrentIndex(0)
    studio.viewer.reset_view(margin=0.02)


def picture_3d(studio: Studio) -> None:
    """Two segments as surfaces."""
    from napari_celis.gui.highlight import Highlight

    studio.show_tab("Decisions")
    studio.finished()
    studio.undecided()
    surfaces = Highlight.of(studio.workspace).meshes
    hidden = [layer for layer in studio.viewer.layers if layer.visible and layer.name in HIDDEN_IN_3D]
    for layer in hidden:
        layer.visible = False
    studio.viewer.dims.ndisplay = 3
    studio.wait_until(lambda: bool(surfaces.layers))
    studio.viewer.reset_view(margin=0.02)
    camera_of(studio).angles = (0, 25, 115)
    studio.save("surfaces")
    studio.viewer.dims.ndisplay = 2
    for layer in hidden:
        layer.visible = True
    studio.viewer.reset_view(margin=0.02)


HIDDEN_IN_3D = ("image", "segmentation", "supervoxels")


def picture_shape(studio: Studio) -> None:
    """The tab Shape where a doubtful merge changes the energy most."""
    tab = studio.show_tab("Shape")
    studio.finished()
    studio.undecided()
    studio.wait_until(lambda: tab.answer is not None and tab.answer.merge is not None)
    tab.find_merge.click()
    studio.wait_until(lambda: tab.answer is not None and bool(tab.answer.view.changed.any()))
    zoom(studio, 2.0)
    studio.save("shape")
    studio.viewer.reset_view(margin=0.02)


def picture_export(studio: Studio) -> None:
    """The tab Export."""
    studio.show_tab("Export")
    studio.finished()
    studio.workspace.select()
    studio.save("export")


def picture_light(studio: Studio) -> None:
    """A doubtful decision in the light theme."""
    studio.show_tab("Decisions")
    studio.finished()
    studio.undecided()
    studio.viewer.theme = "light"
    studio.save("light")
    studio.viewer.theme = "dark"


def picture_problem(studio: Studio) -> None:
    """What bad input looks like: supervoxels of another shape."""
    workspace = studio.workspace
    own = workspace.supervoxels_layer
    studio.show_tab("Data")
    crop = studio.viewer.add_labels(
        np.asarray(own.data[: own.data.shape[0] // 2]), scale=own.scale, units=own.units, name="crop"
    )
    crop.visible = False
    workspace.choose("supervoxels", crop)
    studio.save("problem")
    workspace.choose("supervoxels", own)
    studio.viewer.layers.remove(crop)


def picture_train(studio: Studio) -> None:
    """The tab Train in the first stage of a training."""
    tab = studio.show_tab("Train")
    records: list[Any] = []
    tab.training.recorded.connect(records.append)
    with tempfile.TemporaryDirectory() as folder:
        tab.form.output.setText(str(Path(folder, "model.safetensors")))
        tab.form.minutes.setValue(5)
        tab.start.click()
        studio.wait_until(lambda: len(records) >= 40 or not tab.is_busy)
        tab.form.output.setText("model.safetensors")
        studio.save("train")
        tab.progress.cancel.click()
        studio.wait_until(lambda: not tab.is_busy)


def zoom(studio: Studio, factor: float) -> None:
    """Come nearer to what is in the middle."""
    camera_of(studio).zoom *= factor


def camera_of(studio: Studio) -> Any:
    """Return the camera, which moved in napari 0.9."""
    return getattr(studio.viewer, "scene", studio.viewer).camera


PICTURES: dict[str, Callable[[Studio], None]] = {
    "data": picture_data,
    "problem": picture_problem,
    "agglomerate": picture_agglomerate,
    "demo": picture_demo,
    "light": picture_light,
    "decisions": picture_decisions,
    "shape": picture_shape,
    "export": picture_export,
    "surfaces": picture_3d,
    "run": picture_run,
    "train": picture_train,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(PICTURES), default=list(PICTURES), metavar="NAME")
    parser.add_argument("--model", type=Path, help="another model than the bundled one")
    parser.add_argument("--output", type=Path, default=FOLDER, help="another folder than docs/images")
    arguments = parser.parse_args()
    folder, model = arguments.output.resolve(), arguments.model and arguments.model.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    with virtual_display(*SIZE):
        studio = Studio(folder, model)
        for name in arguments.only:
            PICTURES[name](studio)
        studio.viewer.close()


if __name__ == "__main__":
    main()
