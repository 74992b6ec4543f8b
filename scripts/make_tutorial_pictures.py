"""Make the pictures of docs/tutorial.md: do in a window what the tutorial says, and look at every step.

    python scripts/make_tutorial_pictures.py [--output DIR]

Questions are answered by one who knows the truth, and the errors before and after are printed: they are the
figures that the tutorial states. Everything is drawn on a virtual display: no screen is needed, but Xvfb is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import napari_celis as celis
from napari_celis.gui.plugin.display import virtual_display
from picture_studio import ROOT, SIZE, Studio

FOLDER = ROOT / "docs" / "images"
VOLUME = ("phantom", "em.h5", "--shape", "64", "128", "128", "--seed", "7")
"""What the tutorial calls the raw volume."""
N_ANSWERS = 30


def look(studio: Studio) -> None:
    """The raw volume in the window, and a model chosen."""
    studio.show_tab("Data")
    studio.save("tutorial-look")


def make_supervoxels(studio: Studio) -> None:
    """Supervoxels over the image."""
    studio.workspace.preparation.make_supervoxels()
    data = studio.workspace.data
    studio.wait_until(lambda: data.supervoxels_layer is not None and not studio.workspace.preparation.is_busy)
    studio.wait_until(lambda: data.counted() is not None)
    studio.save("tutorial-supervoxels")


def run(studio: Studio) -> None:
    """The segmentation after a run."""
    studio.show_tab("Agglomerate")
    studio.finished()
    studio.workspace.selection.select()
    studio.save("tutorial-run")


def answer(studio: Studio, truth: np.ndarray) -> None:
    """One question, then many answers, then the list of them."""
    tab = studio.show_tab("Decisions")
    decisions = studio.undecided()
    studio.save("tutorial-question")
    object_of = majority(np.asarray(studio.workspace.data.supervoxels_layer.data), truth)
    for _ in range(N_ANSWERS):
        pair = decisions.pair.ids()
        if pair is None:
            break
        is_one = object_of[pair[0]] == object_of[pair[1]]
        studio.next_question(decisions.accept if is_one else decisions.reject)
    tab.tabs.setCurrentWidget(tab.history)
    studio.rest(500)
    studio.save("tutorial-history")
    tab.tabs.setCurrentIndex(0)
    studio.workspace.selection.select()


def export(studio: Studio) -> None:
    """The tab Export."""
    studio.show_tab("Export")
    studio.viewer.reset_view(margin=0.02)
    studio.save("tutorial-export")


def majority(supervoxels: np.ndarray, truth: np.ndarray) -> dict[int, int]:
    """Return the true object that has most voxels of each supervoxel."""
    pairs, counts = np.unique(
        np.stack([supervoxels.ravel(), truth.ravel()]).astype(np.int64), axis=1, return_counts=True
    )
    order = np.argsort(counts)
    return dict(zip(pairs[0, order].tolist(), pairs[1, order].tolist(), strict=True))


def errors(studio: Studio, truth: np.ndarray) -> str:
    """Measure the segmentation that the window shows."""
    layer = studio.panel.canvas.segmentation.layer
    scores = celis.evaluate(np.asarray(layer.data[:]), truth, ignore_boundary=2)
    return f"VI split {scores.vi_split:.3f}, VI merge {scores.vi_merge:.3f}, VI {scores.vi:.3f} bits"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=FOLDER, help="another folder than docs/images")
    folder = parser.parse_args().output.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, virtual_display(*SIZE):
        os.chdir(work)
        subprocess.run([sys.executable, "-m", "napari_celis", *VOLUME], check=True)
        model = Path("phantom.safetensors")
        celis.save_model(celis.load_model(celis.bundled_models()["phantom"]), model)
        truth = celis.open_volume("em.h5:volumes/labels/neuron_ids").read()
        studio = Studio(folder, model, Path(work, "em.h5"), roles=("image",))
        look(studio)
        make_supervoxels(studio)
        run(studio)
        print(f"after the run: {errors(studio, truth)}", flush=True)
        answer(studio, truth)
        print(f"after {N_ANSWERS} answers: {errors(studio, truth)}", flush=True)
        export(studio)
        studio.viewer.close()


if __name__ == "__main__":
    main()
