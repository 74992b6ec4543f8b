"""Ask what shape tells where affinities are unsure, with energies of more and more phantoms.

    python benchmarks/accuracy/unsure.py MODEL.safetensors [--phantoms 1 2 4] [--seeds 0] [--work FOLDER]

MODEL gives the affinities. On every phantom all merges that affinities are sure of are made. Energies learn
there from some phantoms, in four orientations, and stop by another one; policies are fitted on three more,
and three more are judged: every contact of two segments that is left, weighted by the root of what a merge
changes. `necks` counts those across the veil of a neck that are told right at even odds. Boxes of 3 and 9
voxels see evidence; that of 17 once with it (`pairwise17`) and once without (`pairwise17-blind`). One line of
JSON per seed, number of phantoms and policy.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from make_sample_data import make_supervoxels
from napari_celis.core.contact_features import DECISIVE
from napari_celis.core.presets import preset_specs
from napari_celis.core.symmetry import choose_symmetries
from napari_celis.models.energy import EnergyNetwork
from napari_celis.models.inference import predict_averaged
from napari_celis.models.model_file import CelisModel, load_model
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training.energy import EnergyTraining, train_energy, weighted_auc
from napari_celis.training.energy_stage import EnergyPlan, View, draw_examples, new_network, round_weights
from napari_celis.training.folds import Slab
from napari_celis.training.policy import PolicyExamples, TruthAlong, fit_classifier
from napari_celis.training.policy_stage import Judged, Undecided
from napari_celis.training.unsure import sure_merges

SHAPE, LEARNED, STOPPED, FITTED, JUDGED = (64, 112, 112), 21, 41, (42, 43, 44), (45, 46, 47)
POWER, EXAMPLES, EPOCHS, ORIENTATIONS, NEAR = 0.5, 80_000, 30, 4, 5
NM = (10.0, 10.0, 10.0)
BLIND = "-blind"
NAMES = ("pairwise3", "pairwise9", "pairwise17", f"pairwise17{BLIND}")
PAPER = {spec.name: spec for spec in preset_specs("paper", seed=0, voxel_size_nm=NM)}
SPECS = {name: replace(PAPER[name.removesuffix(BLIND)], name=name) for name in NAMES}
POLICIES = {
    "contact": (),
    "box 3": (0,),
    "box 9": (1,),
    "boxes 3, 9": (0, 1),
    "boxes 3, 9, 17": (0, 1, 2),
    "boxes 3, 9, 17 without evidence": (0, 1, 3),
}
CPU = torch.device("cpu")


class Phantoms:
    """Phantoms with affinities of a model, made once."""

    def __init__(self, model: CelisModel, work: Path) -> None:
        self._model, self._work = model, work
        self._slabs: dict[int, tuple[Slab, np.ndarray]] = {}

    def slab(self, seed: int) -> tuple[Slab, np.ndarray]:
        """Make a phantom, or read it where it was kept; and the middles of its necks."""
        path = self._work / f"veiled-{seed}.npz"
        if not path.exists():
            made = make_phantom(PhantomSettings(shape_zyx=SHAPE, seed=seed))
            affinities = predict_averaged(self._model.affinity, made.image, self._model.n_symmetries)
            np.savez(path, labels=make_supervoxels(made.image), truth=made.truth, affinities=affinities,
                     necks=made.necks.positions_zyx)  # fmt: skip
        if seed not in self._slabs:
            kept = np.load(path)
            slab = Slab(kept["labels"].astype(np.uint64), kept["truth"], kept["affinities"])
            self._slabs[seed] = slab, kept["necks"]
        return self._slabs[seed]

    def views(self, seeds: Sequence[int], n: int) -> list[View]:
        """Look at the state where affinities are unsure, from several sides."""
        symmetries = choose_symmetries(NM, n, np.random.default_rng(0))
        views = []
        for slab, _ in map(self.slab, seeds):
            order = sure_merges(slab)
            scenes = (slab.transformed(one) for one in symmetries)
            views += [View(scene, scene.states_along(order, (1.0,))) for scene in scenes]
        return views

    def energies(self, name: str, n: int, seed: int) -> EnergyNetwork:
        """Train the energy of one spec on `n` phantoms."""
        spec, rng = SPECS[name], np.random.default_rng(seed)
        plan = EnergyPlan("fast", EXAMPLES, POWER, 0.0, seed)
        fit, features = draw_examples(spec, self.views(range(LEARNED, LEARNED + n), ORIENTATIONS), plan, rng)
        held_out = draw_examples(spec, self.views([STOPPED], 1), replace(plan, examples=EXAMPLES // 2), rng)
        network = new_network(plan, spec, features)
        if name.endswith(BLIND):
            bare = EnergyNetwork(replace(network.settings, has_evidence=False))
            bare.load_state_dict(network.state_dict(), strict=False)
            network = bare
        training = EnergyTraining(seed=seed, max_epochs=EPOCHS)
        for _ in train_energy(name, network, fit, features, *held_out, training, CPU):
            pass
        return round_weights(network.eval())

    def contacts(self, seed: int, networks: Sequence[EnergyNetwork]) -> tuple[PolicyExamples, np.ndarray]:
        """Describe every contact of two segments in that state, and tell which lie in a neck."""
        slab, necks = self.slab(seed)
        far = np.ones(slab.labels.shape, dtype=bool)
        far[tuple(necks.T)] = False
        touching = _touching(slab.upright.supervoxels.dense, ndimage.distance_transform_edt(far) < NEAR)
        with Judged(slab, tuple(SPECS.values()), networks, CPU).agglomerator(Undecided()) as agglomerator:
            along, ids = TruthAlong(agglomerator, slab.upright.overlaps), agglomerator.supervoxels.ids
            actions = agglomerator.actions
            for action in sure_merges(slab):
                agglomerator.merge(int(ids[actions.u[action]]), int(ids[actions.v[action]]))
                along.join(action)
            segments, left = agglomerator.segment_ids(), np.flatnonzero(agglomerator.available())
            ends = np.sort(np.stack([segments[actions.u[left]], segments[actions.v[left]]]), axis=0)
            _, first, group = np.unique(ends, axis=1, return_index=True, return_inverse=True)
            pairs = np.sort(np.stack([actions.u[left], actions.v[left]]), axis=0).T.tolist()
            in_neck = np.bincount(group.ravel(), [tuple(pair) in touching for pair in pairs]) > 0
            examples = PolicyExamples(
                agglomerator.policy_features(left[first]),
                agglomerator.policy_contacts(left[first]),
                np.array([along.change(int(row)) for row in left[first]]),
            )
        return examples.known(), in_neck[examples.change != 0]


def _touching(labels: np.ndarray, near: np.ndarray) -> set[tuple[int, int]]:
    """Pairs of supervoxels most of whose faces lie near the middle of a neck."""
    faces = []
    for axis in range(3):
        own, is_near = (np.moveaxis(array, axis, 0) for array in (labels, near))
        pair = np.sort(np.stack([own[1:], own[:-1]]), axis=0)
        apart = (pair[0] != pair[1]) & (pair[0] > 0)
        faces.append(np.concatenate([pair[:, apart], (is_near[1:] & is_near[:-1])[None, apart]]))
    *pairs, is_near = np.concatenate(faces, axis=1).astype(np.int64)
    unique, group = np.unique(np.stack(pairs), axis=1, return_inverse=True)
    share = np.bincount(group.ravel(), is_near) / np.bincount(group.ravel())
    return {(int(u), int(v)) for u, v in unique[:, share > 0.5].T}


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


def rows(phantoms: Phantoms, n: int, seed: int) -> Iterator[dict[str, object]]:
    """Judge every policy with energies of `n` phantoms."""
    networks = [phantoms.energies(name, n, seed) for name in NAMES]
    fitted, judged = ([phantoms.contacts(one, networks) for one in seeds] for seeds in (FITTED, JUDGED))
    known = PolicyExamples.join([examples for examples, _ in fitted])
    fresh = PolicyExamples.join([examples for examples, _ in judged])
    in_neck = np.concatenate([necks for _, necks in judged])
    y = np.sign(fresh.change) * np.abs(fresh.change) ** POWER
    yield {"policy": "mean affinity", "auc": round(weighted_auc(-fresh.features[:, 0], y), 4)}
    for index, name in enumerate(NAMES):
        auc = weighted_auc(fresh.features[:, len(DECISIVE) + index], y)
        yield {"policy": f"energy of {name} alone", "auc": round(auc, 4)}
    for name, chosen in POLICIES.items():
        columns = [*range(len(DECISIVE)), *(len(DECISIVE) + one for one in chosen)]
        own, others = (replace(one, features=one.features[:, columns]) for one in (known, fresh))
        for kind, second in (("half each", False), ("second forest", True)):
            found = fit_classifier(own, POWER, seed, second=second)
            odds = found.scores(others.features, found.contact_odds(others.contacts))
            yield {"policy": f"{name}, {kind}", **judge(odds, others, in_neck)}


def main() -> None:
    """Learn from more and more phantoms."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--phantoms", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--work", type=Path, default=Path("phantoms"), help="phantoms are kept here")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    phantoms = Phantoms(load_model(arguments.model), arguments.work)
    for seed in arguments.seeds:
        for n in arguments.phantoms:
            for row in rows(phantoms, n, seed):
                print(json.dumps({"seed": seed, "phantoms": n, **row}), flush=True)


if __name__ == "__main__":
    main()
