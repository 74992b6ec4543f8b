"""Make the pictures of the window and the animation in docs/images/, from the bundled sample and its model.

    python scripts/make_pictures.py [--only NAME …] [--model FILE] [--output DIR]
    python scripts/make_pictures.py --volume FILE.h5 --model FILE [--only NAME …] [--output DIR]

The second makes the pictures of a real volume: docs/ has those of the FIB-SEM volume that README.md in
sample_data/ names, with the model fibsem-medulla.
Everything is drawn on a virtual display, so no screen is needed, but Xvfb is. The picture of the tab Train
shows the first minutes of a real training, which is then ended. The plot pruning.png is not made here:
docs/pruning.md names its command.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from decision_pictures import picture_decisions, picture_segments, picture_split
from napari_celis.gui.plugin.display import virtual_display
from picture_studio import GIF_SIZE, ROOT, SIZE, Studio, write_gif

FOLDER = ROOT / "docs" / "images"
EVERY, MIDDLE = 24, 400
"""Merges between two frames of the animation, and before the picture of a run."""
SPEED = 60
"""Merges per second while the animation is taken, so that the run lasts as long as it needs to be seen."""
FRAME_MS, LOOK_MS = 140, 1300
N_DECISIONS = 3


def picture_data(studio: Studio) -> None:
    """The tab Data, everything chosen."""
    studio.show_tab("Data")
    studio.wait_until(lambda: studio.workspace.data.counted() is not None)
    studio.save("data")


def picture_agglomerate(studio: Studio) -> None:
    """The tab Agglomerate in the middle of a run."""
    tab = studio.show_tab("Agglomerate")
    engine, ends = begin(studio, tab)
    studio.wait_until(lambda: bool(ends) or len(engine.snapshot.steps) >= MIDDLE)
    studio.save("agglomerate", studio.grab())
    tab.form.speed.setValue(0)
    studio.wait_until(lambda: bool(ends))


def picture_run(studio: Studio) -> None:
    """The animation of a whole run and some decisions."""
    studio.show_window(GIF_SIZE, with_layers=False)
    tab = studio.show_tab("Agglomerate")
    engine = studio.prepared()
    engine.go_back(0)
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
    tab.form.speed.setValue(0)
    add_decisions(studio, frames, times)
    write_gif(studio.folder / "run.gif", frames, times)
    studio.show_window(SIZE)


def begin(studio: Studio, tab: Any) -> tuple[Any, list[str]]:
    """Start a run that can be watched; return its engine and a list that gets an entry when it ends."""
    engine, ends = studio.prepared(), []
    engine.finished.connect(ends.append)
    tab.form.speed.setValue(SPEED)
    studio.settle()
    tab.form.run.click()
    return engine, ends


def add_decisions(studio: Studio, frames: list[np.ndarray], times: list[int]) -> None:
    """Accept some uncertain merges with the key A, one picture each."""
    studio.show_tab("Decisions")
    decisions = studio.undecided()
    for _ in range(N_DECISIONS):
        studio.rest_in_3d()
        frames.append(studio.grab())
        times.append(LOOK_MS)
        studio.next_question(decisions.accept)
    studio.rest_in_3d()
    frames.append(studio.grab())
    times.append(2 * LOOK_MS)


def picture_demo(studio: Studio) -> None:
    """The whole window after a run."""
    studio.show_tab("Agglomerate")
    studio.finished()
    studio.workspace.selection.select()
    studio.save("demo")


def picture_3d(studio: Studio) -> None:
    """Two segments as surfaces."""
    studio.show_tab("Decisions")
    studio.finished()
    show_surfaces(studio, "surfaces", (0, 25, 115))


def show_surfaces(studio: Studio, name: str, angles: tuple[float, float, float]) -> None:
    """Take a picture of the two segments of the most uncertain merge in 3-D."""
    from napari_celis.gui.canvas.canvas import Canvas

    studio.undecided()
    canvas = Canvas.of(studio.workspace)
    canvas.contact_view.leave()
    surfaces = canvas.highlight.meshes
    studio.viewer.dims.ndisplay = 3
    studio.wait_until(lambda: len(surfaces.layers) == 2)
    studio.settle()
    studio.look_at(surfaces.layers, angles)
    studio.save(name)
    studio.viewer.dims.ndisplay = 2
    studio.viewer.reset_view(margin=0.02)


def picture_shape(studio: Studio) -> None:
    """The tab Shape where an uncertain merge changes the energy most."""
    tab = studio.show_tab("Shape")
    studio.finished()
    studio.undecided()
    studio.wait_until(lambda: tab.answer is not None and tab.answer.merge is not None)
    tab.form.find_merge.click()
    studio.wait_until(lambda: tab.answer is not None and bool(tab.answer.view.changed.any()))
    studio.panel.canvas.contact_view.leave()
    studio.camera.zoom *= 2.0
    studio.save("shape")
    studio.viewer.reset_view(margin=0.02)


def picture_export(studio: Studio) -> None:
    """The tab Export."""
    studio.show_tab("Export")
    studio.finished()
    studio.workspace.selection.select()
    studio.save("export")


def picture_compare(studio: Studio) -> None:
    """The table and the plot of a comparison, at the lower end of the tab Export."""
    tab = studio.show_tab("Export")
    studio.wait_until(lambda: tab.compare.start.isEnabled())
    tab.compare.start.click()
    studio.wait_until(lambda: not tab.compare.is_busy)
    studio.save("compare")


def picture_going_on(studio: Studio) -> None:
    """What a new window offers when decisions were made in an earlier one."""
    studio.show_tab("Decisions")
    studio.finished()
    decisions = studio.undecided()
    n_steps = len(studio.workspace.run.snapshot.steps)
    for decide in (decisions.accept, decisions.reject):
        decide()
        n_steps += 1
        studio.wait_until(
            lambda n=n_steps: len(studio.workspace.run.snapshot.steps) >= n and decisions.pair.action >= 0
        )
    studio.reopen()
    studio.show_tab("Agglomerate")
    studio.wait_until(lambda: bool(studio.panel.resume.runs))
    studio.save("going-on")


def picture_light(studio: Studio) -> None:
    """A uncertain decision in the light theme."""
    studio.show_tab("Decisions")
    studio.finished()
    studio.undecided()
    studio.viewer.theme = "light"
    studio.save("light")
    studio.viewer.theme = "dark"


def picture_problem(studio: Studio) -> None:
    """What bad input looks like: supervoxels of another shape."""
    workspace = studio.workspace
    own = workspace.data.supervoxels_layer
    studio.show_tab("Data")
    crop = studio.viewer.add_labels(
        np.asarray(own.data[: own.data.shape[0] // 2]), scale=own.scale, units=own.units, name="crop"
    )
    crop.visible = False
    workspace.data.choose("supervoxels", crop)
    studio.save("problem")
    workspace.data.choose("supervoxels", own)
    studio.viewer.layers.remove(crop)


def picture_train(studio: Studio) -> None:
    """The tab Train in the first stage of a training."""
    tab = studio.show_tab("Train")
    records: list[Any] = []
    tab.process.recorded.connect(records.append)
    with tempfile.TemporaryDirectory() as folder:
        tab.form.output.value = Path(folder, "model.safetensors")
        tab.form.minutes.value = 5
        tab.start.click()
        studio.wait_until(lambda: len(records) >= 40 or not tab.is_busy)
        tab.form.output.line_edit.value = "model.safetensors"
        studio.save("train")
        tab.progress.cancel.click()
        studio.wait_until(lambda: not tab.is_busy)


def picture_blocks(studio: Studio) -> None:
    """The tab Blocks: a finished result, a box of it, and a decision that waits to be written back."""
    tab, workspace, name = studio.show_tab("Blocks"), studio.workspace, "segmentation.zarr"
    shutil.rmtree(ROOT / name, ignore_errors=True)
    tab.form.output.line_edit.value = name
    tab.start.click()
    studio.wait_until(lambda: not tab.process.is_running and tab.result.show_layer.isEnabled())
    tab.result.show_layer.click()
    studio.wait_until(lambda: tab.result.layer is not None)
    tab.result.box.open.click()
    studio.wait_until(lambda: workspace.box.is_active)
    studio.undecided().reject()
    studio.wait_until(lambda: bool(workspace.box.unwritten))
    studio.undecided()
    # What is shown should read the same on every computer.
    here = f"{ROOT}{os.sep}"
    tab.command.text.setText(tab.command.text.text().replace(here, ""))
    tab.command.text.setCursorPosition(0)
    tab.log.setPlainText(tab.log.toPlainText().replace(here, ""))
    studio.save("blocks")
    shutil.rmtree(ROOT / name)


def picture_real_run(studio: Studio) -> None:
    """A whole run on a real volume."""
    studio.show_tab("Agglomerate")
    studio.finished()
    studio.save("real")


def picture_real_3d(studio: Studio) -> None:
    """The most uncertain merge of a real volume as surfaces, from the side where the two touch."""
    studio.show_tab("Decisions")
    studio.finished()
    show_surfaces(studio, "real-surfaces", (0, -30, -65))


REAL_PICTURES: dict[str, Callable[[Studio], None]] = {
    "real": picture_real_run,
    "real-surfaces": picture_real_3d,
}

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
    "segments": picture_segments,
    "split": picture_split,
    "run": picture_run,
    "train": picture_train,
    "compare": picture_compare,
    "going-on": picture_going_on,
    "blocks": picture_blocks,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=[*PICTURES, *REAL_PICTURES], default=[], metavar="NAME")
    parser.add_argument("--volume", type=Path, help="a real volume, HDF5 in the layout of CREMI")
    parser.add_argument("--model", type=Path, help="another model than the bundled one")
    parser.add_argument("--output", type=Path, default=FOLDER, help="another folder than docs/images")
    arguments = parser.parse_args()
    folder, model = arguments.output.resolve(), arguments.model and arguments.model.resolve()
    # A model of ours is shown by its place in the checkout.
    model = model.relative_to(ROOT) if model and model.is_relative_to(ROOT) else model
    volume = arguments.volume and arguments.volume.resolve()
    pictures = PICTURES if volume is None else REAL_PICTURES
    wanted = arguments.only or list(pictures)
    if not set(wanted) <= set(pictures):
        parser.error("pictures of a real volume need --volume, all others go without")
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    with virtual_display(*SIZE):
        studio = Studio(folder, model, volume)
        for name in wanted:
            pictures[name](studio)
        studio.viewer.close()


if __name__ == "__main__":
    main()
