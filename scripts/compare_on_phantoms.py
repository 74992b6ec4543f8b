"""Compare methods on phantoms that the bundled model has never seen, and count the thin necks they join.

    python scripts/compare_on_phantoms.py [--seeds 21 22 23] [--json FILE]

The first seed is what baselines are fitted and tuned on, with the affinities of the model, which has not seen
it either; every further one, and the bundled sample, is judged. A neck is joined when the voxels inside its
base and its head are in one segment. It counts only if the supervoxels leave it to the agglomeration.

All of it is done twice: with supervoxels from the image alone, and with the same ones cut along the truth, so
that merging alone decides.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import cc3d
import fastremap
import numpy as np

from make_sample_data import SETTINGS, SMALLEST_SUPERVOXEL, make_supervoxels
from napari_celis.baselines.celis import Celis
from napari_celis.baselines.compare import baseline_methods
from napari_celis.baselines.judge import Judge
from napari_celis.baselines.problem import Problem
from napari_celis.io.samples import bundled_models
from napari_celis.models.apply import affinities_of
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.synthetic.phantom import Phantom, make_phantom


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[21, 22, 23])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    model = load_model(bundled_models()["phantom"])
    methods, notes = baseline_methods()
    del methods["watershed"]
    methods |= {f"celis_{policy}": Celis(model, policy) for policy in model.policies}
    for note in notes:
        print(note)
    phantoms = [(seed, *make(seed, model)) for seed in [*arguments.seeds, SETTINGS.seed]]
    results = []
    for kind, supervoxels in (("image", from_image), ("cut along the truth", cut_along_truth)):
        first, *others = (
            (seed, phantom, Problem.from_labels(supervoxels(phantom), affinities, truth=phantom.truth))
            for seed, phantom, affinities in phantoms
        )
        thresholds = {name: method.fit(first[2]) for name, method in methods.items()}
        for (seed, phantom, problem), (name, method) in product(others, methods.items()):
            threshold = thresholds[name]
            labels = method.sweep(problem).labels(-np.inf if threshold is None else threshold)
            figures = Judge(phantom.truth, 2).figures(labels)
            joined, n_necks = count_necks(phantom, problem.supervoxels.dense, labels)
            results.append(
                {
                    "supervoxels": kind,
                    "seed": seed,
                    "method": name,
                    "vi": figures["vi"],
                    "vi_inside": figures["ignore_boundary"]["vi"],
                    "rand_f1": figures["rand_f1"],
                    "necks_joined": joined,
                    "necks": n_necks,
                }
            )
            print("  ".join(f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}"
                            for key, value in results[-1].items()), flush=True)  # fmt: skip
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


def make(seed: int, model: CelisModel) -> tuple[Phantom, np.ndarray]:
    """Make a phantom and its affinities."""
    phantom = make_phantom(replace(SETTINGS, seed=seed))
    return phantom, affinities_of(model, phantom.image)


def from_image(phantom: Phantom) -> np.ndarray:
    """Make supervoxels that never saw the truth."""
    return make_supervoxels(phantom.image)


def cut_along_truth(phantom: Phantom) -> np.ndarray:
    """Cut the same supervoxels along the truth; slivers go to a neighbour in their object."""
    labels, truth = from_image(phantom).astype(np.uint64), phantom.truth.astype(np.uint64)
    crossed, _ = fastremap.renumber(labels * (truth.max() + np.uint64(1)) + truth)
    pieces = cc3d.connected_components(crossed, connectivity=6).astype(np.uint64)
    is_sliver = np.bincount(pieces.ravel().astype(np.int64)) < SMALLEST_SUPERVOXEL
    kept = np.where(is_sliver[pieces], 0, pieces)
    n_left = -1
    while n_left != (n_left := int((kept == 0).sum())):
        for axis in range(3):
            for low, high in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
                here, there = (np.moveaxis(kept, axis, 0)[part] for part in (low, high))
                own, other = (np.moveaxis(truth, axis, 0)[part] for part in (low, high))
                np.copyto(here, there, where=(here == 0) & (own == other))
    return np.where(kept == 0, pieces, kept)


def count_necks(phantom: Phantom, supervoxels: np.ndarray, labels: np.ndarray) -> tuple[int, int]:
    """Count the necks whose two ends are one segment, and those that the supervoxels cut."""
    base, head = (tuple(phantom.necks.ends_zyx[:, end].T) for end in (0, 1))
    is_cut = supervoxels[base] != supervoxels[head]
    return int((labels[base] == labels[head])[is_cut].sum()), int(is_cut.sum())


if __name__ == "__main__":
    main()
