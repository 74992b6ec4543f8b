"""Train one boundary network on the middle of a volume, and judge it on the slabs at both ends.

    python benchmarks/accuracy/boundaries.py VOLUME.h5 [--steps N …] [--seeds N …] [--dilation N] [--levels N]
        [--width N] [--shape-weight X] [--patch Z Y X] [--batch N] [--views N …]

VOLUME.h5 is in the CREMI layout, 125 sections or more. The network learns from z 40 to 84, and is judged on
z < 35 and z ≥ 90, on supervoxels that come with the volume: single affinities, contacts by their mean
affinity, and agglomeration by mean affinity, at the best threshold of the slab and at that of the other slab.
The middle is judged too: what a network cannot tell where it has learned, more data like it does not teach.
One line of JSON per run and number of views, the symmetries of the image that affinities are averaged over.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from contacts import changes, contact_figures, fit_line, mean_affinity_odds
from folds import AnnotatedVolume
from napari_celis.baselines.judge import ALL, INSIDE, Judge
from napari_celis.baselines.problem import Problem
from napari_celis.baselines.simple import MeanAffinity, Oracle
from napari_celis.baselines.sweep import Hierarchy, tune
from napari_celis.models.affinity_base import NEIGHBOURS, AffinityNet, AffinitySettings
from napari_celis.models.inference import predict_averaged
from napari_celis.training.affinity import AffinityTrainer
from napari_celis.training.affinity_data import affinity_targets
from napari_celis.training.affinity_loss import judge
from napari_celis.training.affinity_settings import PATCH, AffinityTraining, affinity_training
from napari_celis.training.affinity_stage import AVERAGED_SYMMETRIES

FIT = slice(40, 85)
SEEN = "learned from, z 45 to 79"
JUDGED = {"z < 35": slice(0, 35), "z >= 90": slice(90, 125), SEEN: slice(45, 80)}


def train(volume: AnnotatedVolume, arguments: argparse.Namespace, steps: int, seed: int) -> AffinityNet:
    """Train a network on the middle."""
    settings = affinity_training("unet", volume.voxel_size_nm, holdout=0.0)
    network = replace(settings.network, levels=arguments.levels, width=arguments.width)
    settings = replace(
        settings,
        network=network,
        dilation=arguments.dilation,
        shape_weight=arguments.shape_weight,
        patch_zyx=tuple(arguments.patch),
        batch=arguments.batch,
    )
    block = volume.whole
    trainer = AffinityTrainer([(block.image[FIT], block.truth[FIT])], settings, seed=seed)
    for _ in trainer.run(steps):
        pass
    return trainer.result()


def predict(net: AffinityNet, image: np.ndarray, part: slice, views: int) -> np.ndarray:
    """Predict a slab with the image around it."""
    begin = max(0, part.start - net.halo_zyx[0])
    found = predict_averaged(net, image[begin : part.stop + net.halo_zyx[0]], views)
    return np.ascontiguousarray(found[:, part.start - begin : part.stop - begin])


def of_contacts(problem: Problem) -> dict[str, float]:
    """How well mean affinity tells right from wrong merges, with the best odds for the slab itself."""
    odds, y = mean_affinity_odds(problem), changes(problem)
    slope, constant = fit_line(odds[y != 0], y[y != 0])
    figures = contact_figures(slope * odds + constant, y)
    return {"contact_auc": figures["auc"], "contact_log_loss": figures["log_loss"]}


def errors(run: Hierarchy, truth: Judge, threshold: float) -> list[float]:
    """VI in bits at a threshold, of all voxels and away from boundaries."""
    found = run.errors(np.array([threshold]), truth)
    return [float(found[kind].vi[0]) for kind in (ALL, INSIDE)]


def judge_net(net: AffinityNet, volume: AnnotatedVolume, views: int) -> dict[str, dict[str, Any]]:
    """Judge a network on both slabs, and where it has learned."""
    block, found, runs = volume.whole, {}, {}
    for name, part in JUDGED.items():
        affinities = predict(net, block.image, part, views)
        targets, known = affinity_targets(block.truth[part].astype(np.int64), NEIGHBOURS)
        figures = judge(affinities, targets, known)
        problem = Problem.from_labels(
            np.ascontiguousarray(block.supervoxels[part]), affinities, truth=block.truth[part]
        )
        runs[name] = MeanAffinity().sweep(problem), Judge(problem.known_truth(), 2)
        found[name] = {
            "affinity_auc": figures.auc,
            "affinity_log_loss": figures.balanced_cross_entropy,
            **of_contacts(problem),
            "oracle": errors(Oracle().sweep(problem), runs[name][1], 0.0),
        }
    for name in JUDGED:
        found[name]["best"] = errors(*runs[name], tune([runs[name]]))
    first, second = (name for name in JUDGED if name != SEEN)
    for name, other in ((first, second), (second, first)):
        found[name]["carried"] = errors(*runs[name], tune([runs[other]]))
    return found


def main() -> None:
    """Train and judge one network after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("volume", type=Path)
    parser.add_argument("--steps", nargs="+", type=int, default=[1200])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--dilation", type=int, default=0)
    parser.add_argument("--levels", type=int, default=AffinitySettings.levels)
    parser.add_argument("--width", type=int, default=AffinitySettings.width)
    parser.add_argument("--shape-weight", type=float, default=AffinityTraining.shape_weight)
    parser.add_argument("--patch", nargs=3, type=int, default=[PATCH] * 3, help="voxels along z, y, x")
    parser.add_argument("--batch", type=int, default=AffinityTraining.batch, help="patches per step")
    parser.add_argument("--views", type=int, nargs="+", default=[AVERAGED_SYMMETRIES])
    arguments = parser.parse_args()
    volume = AnnotatedVolume.read(arguments.volume)
    for steps in arguments.steps:
        for seed in arguments.seeds:
            begin = time.process_time()
            net = train(volume, arguments, steps, seed)
            seconds = round(time.process_time() - begin, 1)
            varied = ("dilation", "levels", "width", "shape_weight", "patch", "batch")
            row = {"steps": steps, "seed": seed} | {name: getattr(arguments, name) for name in varied}
            for views in arguments.views:
                judged = judge_net(net, volume, views)
                print(json.dumps({**row, "processor_seconds": seconds, "views": views, **judged}), flush=True)


if __name__ == "__main__":
    main()
