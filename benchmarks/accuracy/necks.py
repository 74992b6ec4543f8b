"""Count the necks of phantoms that each method joins, the thinner and the thicker ones.

    python benchmarks/accuracy/necks.py MODEL.safetensors [--seed 51]

Supervoxels are made from the image alone, affinities by the model. Mean affinity stops where its error is
lowest on the phantom itself, which flatters it. One line of JSON per range of diameters: VI in bits, all
voxels and away from boundaries, and the necks whose base and head are one segment.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from make_sample_data import make_supervoxels
from napari_celis.baselines.celis import Celis
from napari_celis.baselines.judge import ALL, INSIDE, Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.simple import MeanAffinity, Method, Oracle
from napari_celis.baselines.sweep import tune
from napari_celis.models.inference import predict_averaged
from napari_celis.models.model_file import load_model
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom

SHAPE = (64, 128, 128)
DIAMETERS_NM = ((24.0, 36.0), (36.0, 48.0), (44.0, 56.0), (52.0, 64.0))


def main() -> None:
    """Make one phantom after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--seed", type=int, default=51)
    arguments = parser.parse_args()
    model = load_model(arguments.model)
    methods: dict[str, Method] = {
        "mean_affinity": MeanAffinity(),
        "celis_energy": Celis(model, "energy"),
        "celis_learned": Celis(model, "learned"),
        "oracle": Oracle(),
    }
    stops = {f"celis_{policy}": threshold for policy, threshold in model.thresholds.items()} | {"oracle": 0.0}
    for diameters in DIAMETERS_NM:
        phantom = make_phantom(
            PhantomSettings(shape_zyx=SHAPE, seed=arguments.seed, neck_diameter_nm=diameters)
        )
        affinities = predict_averaged(model.affinity, phantom.image, model.n_symmetries)
        problem = Problem.from_labels(make_supervoxels(phantom.image), affinities, truth=phantom.truth)
        judge = Judge(phantom.truth, 2)
        row: dict[str, Any] = {"diameters_nm": diameters, "necks": len(phantom.necks)}
        for name, method in methods.items():
            run = method.sweep(problem)
            labels = run.labels(stops[name] if name in stops else tune([(run, judge)]))
            base, head = (labels[tuple(phantom.necks.ends_zyx[:, end].T)] for end in (0, 1))
            errors = judge.errors(labels)
            row[name] = {
                "vi": [round(sum(errors[kind]), 3) for kind in (ALL, INSIDE)],
                "joined": int(np.count_nonzero((base == head) & (base > 0))),
            }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
