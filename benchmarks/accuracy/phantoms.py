"""Phantoms with affinities of a model, and what learns from them where affinities are unsure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy import ndimage

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from make_sample_data import make_supervoxels
from napari_celis.baselines.problem import Problem
from napari_celis.core.presets import preset_specs
from napari_celis.core.symmetry import choose_symmetries
from napari_celis.models.energy import EnergyNetwork
from napari_celis.models.inference import predict_averaged
from napari_celis.models.model_file import CelisModel
from napari_celis.synthetic.phantom import PhantomSettings, make_phantom
from napari_celis.training.energy import EnergyTraining, train_energy
from napari_celis.training.energy_stage import EnergyPlan, View, draw_examples, new_network, round_weights
from napari_celis.training.folds import Slab
from napari_celis.training.policy import PolicyExamples, TruthAlong
from napari_celis.training.policy_stage import Judged, Undecided
from napari_celis.training.unsure import sure_merges, unsure_views

LEARNED, STOPPED = 21, 41
"""Seeds of the first phantom that energies learn from, and of the one that they stop by."""
POWER, ORIENTATIONS, NEAR = 0.5, 4, 5
NM = (10.0, 10.0, 10.0)
BLIND = "-blind"
NAMES = ("pairwise3", "pairwise9", "pairwise17", f"pairwise17{BLIND}", "pairwise33", f"pairwise33{BLIND}")
PAPER = {spec.name: spec for spec in preset_specs("paper", seed=0, voxel_size_nm=NM)}
SPECS = {name: replace(PAPER[name.removesuffix(BLIND)], name=name) for name in NAMES}
GAP = 33
"""Empty sections between phantoms that are judged as one volume: the largest box sees one of them only."""
CPU = torch.device("cpu")


class Phantoms:
    """Phantoms with affinities of a model, made once."""

    def __init__(
        self, model: CelisModel, work: Path, shape: tuple[int, int, int], examples: int, epochs: int
    ) -> None:
        self.model, self._work, self._shape = model, work, shape
        self._examples, self._epochs = examples, epochs
        self._slabs: dict[int, tuple[Slab, np.ndarray]] = {}

    def slab(self, seed: int) -> tuple[Slab, np.ndarray]:
        """Make a phantom, or read it where it was kept; and the middles of its necks."""
        path = self._work / f"phantom-{seed}-{'-'.join(map(str, self._shape))}.npz"
        if not path.exists():
            made = make_phantom(PhantomSettings(shape_zyx=self._shape, seed=seed))
            affinities = predict_averaged(self.model.affinity, made.image, self.model.n_symmetries)
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
        return [view for slab, _ in map(self.slab, seeds) for view in unsure_views(slab, symmetries)]

    def energies(self, name: str, n: int, seed: int) -> EnergyNetwork:
        """Train the energy of one spec on `n` phantoms."""
        spec, rng = SPECS[name], np.random.default_rng(seed)
        plan = EnergyPlan("fast", self._examples, POWER, 0.0, seed)
        fewer = replace(plan, examples=self._examples // 2)
        fit, features = draw_examples(spec, self.views(range(LEARNED, LEARNED + n), ORIENTATIONS), plan, rng)
        held_out = draw_examples(spec, self.views([STOPPED], 1), fewer, rng)
        network = new_network(plan, spec, features)
        if name.endswith(BLIND):
            bare = EnergyNetwork(replace(network.settings, has_evidence=False))
            bare.load_state_dict(network.state_dict(), strict=False)
            network = bare
        training = EnergyTraining(seed=seed, max_epochs=self._epochs)
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
                agglomerator.scoring.features(left[first]),
                agglomerator.scoring.contact_features(left[first]),
                np.array([along.change(int(row)) for row in left[first]]),
            )
        return examples.known(), in_neck[examples.change != 0]

    def stacked(self, seeds: Sequence[int]) -> Problem:
        """Put phantoms on top of each other, with nothing between them."""
        slabs = [self.slab(seed)[0] for seed in seeds]
        labels, truth = (
            _pile([_renumbered(getattr(slab, name), index) for index, slab in enumerate(slabs)])
            for name in ("labels", "truth")
        )
        affinities = [_pile([slab.affinities[axis] for slab in slabs]) for axis in range(3)]
        return Problem.from_labels(labels, np.stack(affinities), truth=truth)


def _renumbered(labels: np.ndarray, index: int) -> np.ndarray:
    """Give the labels of every phantom numbers of their own."""
    return np.where(labels > 0, labels.astype(np.int64) + (index << 32), 0)


def _pile(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Join volumes along z with empty sections between them."""
    empty = np.zeros((GAP, *parts[0].shape[1:]), dtype=parts[0].dtype)
    return np.concatenate([piece for part in parts for piece in (part, empty)][:-1])


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
