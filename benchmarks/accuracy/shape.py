"""Ask whether energies tell merges that the contact alone does not, on phantoms that nobody has seen.

    python benchmarks/accuracy/shape.py MODEL.safetensors [--phantoms 1 2 6] [--seeds 0] [--work FOLDER]

MODEL gives the affinities of all phantoms. Energies learn from some phantoms and stop by another one, the
policy learns from three more with these energies, with and without looking at them, and three more are
judged: weighted area under the curve and log loss of the first state's contacts, each weighted by the root
of what it changes. One line of JSON per number of phantoms and seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from make_sample_data import make_supervoxels
from napari_celis.core.contact_features import DECISIVE
from napari_celis.core.presets import preset_specs
from napari_celis.models.inference import predict_averaged
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.energy import weighted_auc
from napari_celis.training.energy_stage import EnergyPlan, View, fit_energies
from napari_celis.training.folds import Slab
from napari_celis.training.policy import PolicyExamples, fit_classifier
from napari_celis.training.policy_stage import Judged

SHAPE, LEARNED, STOPPED, FITTED, JUDGED = (64, 112, 112), 21, 41, (42, 43, 44), (45, 46, 47)
STATES, POWER, EXAMPLES, SECONDS = (0.0, 0.5), 0.5, 60_000, 120.0


def slab_of(seed: int, model: CelisModel, work: Path) -> Slab:
    """Make a phantom with its affinities, or read it where it was kept."""
    path = work / f"phantom-{seed}.npz"
    if not path.exists():
        phantom = make_phantom(PhantomSettings(shape_zyx=SHAPE, seed=seed))
        affinities = predict_averaged(model.affinity, phantom.image, model.n_symmetries)
        np.savez(path, labels=make_supervoxels(phantom.image), truth=phantom.truth, affinities=affinities)
    kept = np.load(path)
    return Slab(kept["labels"].astype(np.uint64), kept["truth"], kept["affinities"])


def judge(
    fitted: Sequence[PolicyExamples], judged: Sequence[PolicyExamples], n: int, seed: int
) -> list[float]:
    """Fit a policy that sees the first `n` features; area under the curve and log loss, mean of phantoms."""

    def seen(examples: PolicyExamples) -> PolicyExamples:
        return PolicyExamples(examples.features[:, :n], examples.contacts, examples.change)

    classifier = fit_classifier(seen(PolicyExamples.join(fitted)), POWER, seed)
    found = []
    for examples in map(seen, judged):
        odds = classifier.scores(examples.features, classifier.contact_odds(examples.contacts))
        y = np.sign(examples.change) * np.abs(examples.change) ** POWER
        loss = np.abs(y) @ np.logaddexp(0, -np.sign(y) * odds) / np.abs(y).sum()
        found.append([weighted_auc(odds, y), float(loss)])
    return np.mean(found, axis=0).round(4).tolist()


def main() -> None:
    """Learn from more and more phantoms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--phantoms", nargs="+", type=int, default=[1, 2, 6])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--work", type=Path, default=Path("phantoms"), help="phantoms are kept here")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    model, cpu = load_model(arguments.model), torch.device("cpu")
    specs = preset_specs("fast", seed=0, voxel_size_nm=model.voxel_size_nm)

    def views(seeds: Sequence[int]) -> list[View]:
        scenes = [slab_of(seed, model, arguments.work).upright for seed in seeds]
        return [View(scene, scene.expert_states(STATES)) for scene in scenes]

    for n in arguments.phantoms:
        folds = views(range(LEARNED, LEARNED + n)), views([STOPPED])
        for seed in arguments.seeds:
            plan = EnergyPlan("fast", EXAMPLES, POWER, SECONDS, seed)
            records = fit_energies(specs, folds, plan, Checkpoint(None, "", resume=False), cpu)
            while True:
                try:
                    next(records)
                except StopIteration as end:
                    energies = end.value
                    break
            fitted, judged = (
                [
                    Judged(
                        slab_of(one, model, arguments.work), specs, energies.of_slab[0], cpu
                    ).first_examples()
                    for one in seeds
                ]
                for seeds in (FITTED, JUDGED)
            )
            row = {"phantoms": n, "seed": seed, "contact alone": judge(fitted, judged, len(DECISIVE), seed)}
            row["and energies"] = judge(fitted, judged, len(DECISIVE) + len(specs), seed)
            print(json.dumps({**row, "centre_auc": energies.auc}), flush=True)


if __name__ == "__main__":
    main()
