"""Judge a trained fold on its slab as if it had been recorded in another way.

    python benchmarks/accuracy/robust.py VOLUME.h5 z-low MODEL.safetensors

Nothing is fitted or tuned on the changed slab: peers keep what they learned from the block beside it, with
the affinities that `run.py` left next to the model. One line per recording and method.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import ndimage

from folds import AnnotatedVolume, Block
from napari_celis.baselines.celis import Celis
from napari_celis.baselines.compare import baseline_methods
from napari_celis.baselines.forest import ForestSettings
from napari_celis.baselines.judge import Judge
from napari_celis.baselines.problem import Problem
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import load_model

NOISE, CONTRAST, BLUR, COARSER = 15.0, 0.6, 0.7, 0.8


def with_image(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Block], Block]:
    """Change the grey values alone."""

    def changed(block: Block) -> Block:
        image = change(block.image.astype(np.float32)).round().clip(0, 255).astype(np.uint8)
        return Block(image, block.truth, block.supervoxels)

    return changed


def coarser(block: Block) -> Block:
    """Give the slab larger voxels, and keep from the model that it has them."""
    image = ndimage.zoom(block.image.astype(np.float32), COARSER, order=1)
    labels = (ndimage.zoom(array, COARSER, order=0) for array in (block.truth, block.supervoxels))
    return Block(image.round().astype(np.uint8), *labels)


RECORDINGS: dict[str, Callable[[Block], Block]] = {
    "as it is": lambda block: block,
    f"noise of {NOISE:g} grey values": with_image(
        lambda image: image + NOISE * np.random.default_rng(0).standard_normal(image.shape)
    ),
    f"contrast × {CONTRAST:g}": with_image(lambda image: image.mean() + CONTRAST * (image - image.mean())),
    f"blurred by {BLUR:g} voxels": with_image(lambda image: ndimage.gaussian_filter(image, BLUR)),
    f"voxels {1 / COARSER:g} times as large": coarser,
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=Path)
    parser.add_argument("fold")
    parser.add_argument("model", type=Path)
    arguments = parser.parse_args()
    model = load_model(arguments.model)
    block, judged = AnnotatedVolume.read(arguments.volume).fold(arguments.fold)
    fitted = Problem.from_labels(
        block.supervoxels,
        np.load(arguments.model.with_suffix(".npy")),
        truth=block.truth,
    )
    methods, _ = baseline_methods(ForestSettings())
    methods |= {f"celis_{policy}": Celis(model, policy) for policy in model.policies}
    del methods["none"], methods["watershed"]
    thresholds = {name: method.fit(fitted) for name, method in methods.items()}
    for recording, change in RECORDINGS.items():
        slab = change(judged)
        problem = Problem.from_labels(slab.supervoxels, affinities_of(model, slab.image), truth=slab.truth)
        judge = Judge(slab.truth, 2)
        for name, method in methods.items():
            threshold = thresholds[name]
            figures = judge.figures(method.sweep(problem).labels(-np.inf if threshold is None else threshold))
            inside = figures["ignore_boundary"]["vi"]
            print(
                f"{recording:<28}{name:<18}{figures['vi']:8.3f} / {inside:.3f}{figures['rand_f1']:8.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
