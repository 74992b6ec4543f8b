"""Ask what shape tells where affinities are unsure, with energies of more and more phantoms.

    python benchmarks/accuracy/unsure.py MODEL.safetensors [--phantoms 1 2 4 8 16] [--seeds 0] [--work FOLDER]

MODEL gives the affinities. On every phantom all merges that affinities are sure of are made. Energies learn
there from some phantoms, in four orientations, and stop by another one; policies are fitted on three more,
and three more are judged: every contact of two segments that is left, weighted by the root of what a merge
changes. `necks` counts those across the veil of a neck that are told right at even odds. Boxes of 3 and 9
voxels see evidence; those of 17 and 33 once with it (`pairwise17`) and once without (`pairwise17-blind`).
Then whole runs, from supervoxels to where each method stops (`vi`, all voxels and away from boundaries), with
everything fitted and tuned on the same three phantoms. One line of JSON per seed, number of phantoms and
policy or method.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from napari_celis.baselines.celis import Celis
from napari_celis.baselines.compare import baseline_methods, compare
from napari_celis.baselines.forest import ForestSettings
from napari_celis.baselines.problem import Problem
from napari_celis.core.contact_features import DECISIVE
from napari_celis.models.energy import EnergyNetwork
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.training.energy import weighted_auc
from napari_celis.training.policy import PolicyExamples, fit_classifier
from napari_celis.training.policy_stage import Judged, choose_threshold
from napari_celis.training.shares import fit_shares
from phantoms import CPU, NAMES, POWER, SPECS, Phantoms

FITTED, JUDGED = (42, 43, 44), (45, 46, 47)
SHAPE, EXAMPLES, EPOCHS = (64, 112, 112), 80_000, 30
"""Voxels of a phantom; examples of each energy in all phantoms, and how often they are seen at most."""
POLICIES = {
    "contact": (),
    "box 3": ("pairwise3",),
    "box 9": ("pairwise9",),
    "boxes 3, 9": ("pairwise3", "pairwise9"),
    "boxes 3, 9, 17": ("pairwise3", "pairwise9", "pairwise17"),
    "boxes 3, 9, 17 without evidence": ("pairwise3", "pairwise9", "pairwise17-blind"),
    "boxes 3, 9, 33": ("pairwise3", "pairwise9", "pairwise33"),
    "boxes 3, 9, 33 without evidence": ("pairwise3", "pairwise9", "pairwise33-blind"),
}
RUNS = {
    "boxes 3, 9": ("pairwise3", "pairwise9"),
    "boxes 3 to 33": ("pairwise3", "pairwise9", "pairwise17-blind", "pairwise33-blind"),
}
Networks = dict[str, EnergyNetwork]


def judge(odds: np.ndarray, examples: PolicyExamples, in_neck: np.ndarray) -> dict[str, float]:
    """How well odds tell contacts, and how many of those in necks they let through."""
    y = np.sign(examples.change) * np.abs(examples.change) ** POWER
    is_right = examples.change < 0
    return {
        "auc": round(weighted_auc(odds, y), 4),
        "log_loss": round(float(np.abs(y) @ np.logaddexp(0, -np.sign(y) * odds) / np.abs(y).sum()), 4),
        "necks": int(np.count_nonzero(odds[in_neck & is_right] < 0)),
        "of_necks": int(np.count_nonzero(in_neck & is_right)),
        "wrong_let_through": round(float((odds[~is_right] < 0).mean()), 4),
    }


def contact_rows(phantoms: Phantoms, networks: Networks, seed: int) -> Iterator[dict[str, object]]:
    """Judge every policy on single contacts."""
    every = [networks[name] for name in NAMES]
    fitted, judged = ([phantoms.contacts(one, every) for one in seeds] for seeds in (FITTED, JUDGED))
    known = PolicyExamples.join([examples for examples, _ in fitted])
    fresh = PolicyExamples.join([examples for examples, _ in judged])
    in_neck = np.concatenate([necks for _, necks in judged])
    y = np.sign(fresh.change) * np.abs(fresh.change) ** POWER
    yield {"policy": "mean affinity", "auc": round(weighted_auc(-fresh.features[:, 0], y), 4)}
    column = {name: len(DECISIVE) + index for index, name in enumerate(NAMES)}
    for name in NAMES:
        auc = weighted_auc(fresh.features[:, column[name]], y)
        yield {"policy": f"energy of {name} alone", "auc": round(auc, 4)}
    for name, chosen in POLICIES.items():
        columns = [*range(len(DECISIVE)), *(column[one] for one in chosen)]
        own, others = (replace(one, features=one.features[:, columns]) for one in (known, fresh))
        for kind, second in (("half each", False), ("second forest", True)):
            found = fit_classifier(own, POWER, seed, second=second)
            odds = found.scores(others.features, found.contact_odds(others.contacts))
            yield {"policy": f"{name}, {kind}", **judge(odds, others, in_neck)}


def model_of(phantoms: Phantoms, chosen: Sequence[str], networks: Networks, seed: int) -> CelisModel:
    """Fit shares, threshold and policy as training does, on phantoms that the energies have not seen."""
    energies, specs = tuple(networks[name] for name in chosen), tuple(SPECS[name] for name in chosen)
    judged = [Judged(phantoms.slab(one)[0], specs, energies, CPU) for one in FITTED]
    shares = fit_shares(*zip(*(one.first_sums() for one in judged), strict=True))
    specs = tuple(replace(spec, share=float(share)) for spec, share in zip(specs, shares, strict=True))
    judged = [replace(one, specs=specs) for one in judged]
    threshold, _ = choose_threshold([one.curve(None) for one in judged])
    examples = [part for one in judged for part in (one.first_examples(), one.unsure_examples())]
    return replace(
        phantoms.model,
        specs=specs,
        energies=energies,
        classifier=fit_classifier(PolicyExamples.join(examples), POWER, seed, second=True),
        thresholds={"energy": threshold, "learned": 0.0},
    )


def run_rows(
    phantoms: Phantoms, networks: Networks, seed: int, fitted: Problem, judged: Problem
) -> Iterator[dict[str, object]]:
    """Judge whole runs by energy and by the learned policy, and those of the peers."""
    methods, _ = baseline_methods(ForestSettings(seed=seed))
    for name, chosen in RUNS.items():
        model = model_of(phantoms, chosen, networks, seed)
        methods |= {f"{policy}, {name}": Celis(model, policy) for policy in model.policies}
    for name, figures in compare(fitted, judged, methods).items():
        both = figures["vi"], figures["ignore_boundary"]["vi"]
        yield {"method": name, "vi": [round(one, 4) for one in both], "seconds": round(figures["seconds"], 1)}


def main() -> None:
    """Learn from more and more phantoms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--phantoms", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--work", type=Path, default=Path("phantoms"), help="keeps phantoms of one MODEL")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    phantoms = Phantoms(load_model(arguments.model), arguments.work, SHAPE, EXAMPLES, EPOCHS)
    fitted, judged = phantoms.stacked(FITTED), phantoms.stacked(JUDGED)
    for seed in arguments.seeds:
        for n in arguments.phantoms:
            networks = {name: phantoms.energies(name, n, seed) for name in NAMES}
            for row in contact_rows(phantoms, networks, seed):
                print(json.dumps({"seed": seed, "phantoms": n, **row}), flush=True)
            for row in run_rows(phantoms, networks, seed, fitted, judged):
                print(json.dumps({"seed": seed, "phantoms": n, **row}), flush=True)


if __name__ == "__main__":
    main()
