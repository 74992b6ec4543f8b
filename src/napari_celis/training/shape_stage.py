"""Energy models and policy of a training run: each fold is judged by what was learned on the other one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.symmetry import Symmetry, choose_symmetries
from napari_celis.core.volume import Triple
from napari_celis.models.energy import EnergyNetwork, preset_settings
from napari_celis.models.examples import PolicyRows
from napari_celis.models.features import LAYOUT_GRID
from napari_celis.models.policy import PolicyClassifier
from napari_celis.training.budget import kept_cost, processor_seconds
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.energy_stage import Energies, EnergyPlan, View, fit_energies
from napari_celis.training.folds import Scene, Slab
from napari_celis.training.policy_stage import Judged, choose_threshold, fit_policy, run_curves
from napari_celis.training.records import Records, TrainRecord, within
from napari_celis.training.settings import TrainSettings
from napari_celis.training.shares import fit_shares
from napari_celis.training.threshold import Curve
from napari_celis.training.unsure import unsure_views
from napari_celis.training.validation import has_room, missing_kind

EVEN_ODDS = 0.0
"""Where the learned policy stops. On the pieces of one volume the threshold of the lowest error follows a few
merges of large bodies; the odds follow all examples, and carry over better."""
STATE_SHARES = ((0.0, 0.9), (0.5, 1.0), (0.25, 0.75), (0.0, 0.95))
"""Per orientation: how far along the expert's way the states lie from which examples are drawn."""
OWN_SHARES = (0.5, 0.8, 1.0)
"""How far along the models' own way the states of the second round lie."""
PASSES, PASSES_PER_SYMMETRY = 8.0, 1.5
"""What all that is done with a slab costs, in units of its first scores: in any case, and per orientation."""
REHEARSED_SHARE = 0.1
"""Part of a slab on which the cost of first scores is measured."""
SMALLEST_WINDOW = 48
"""Voxels along y and x that are looked at in any case, where there are as many."""

SlabFolds = tuple[Sequence[Slab], Sequence[Slab]]


@dataclass(frozen=True, eq=False)
class Policies:
    """How to agglomerate, and what came of it on slabs that nobody learned from."""

    specs: tuple[DescriptorSpec, ...]
    """With their shares."""
    classifier: PolicyClassifier
    examples: PolicyRows
    """What it was fitted to."""
    thresholds: dict[str, float]
    figures: dict[str, Any]
    changes: dict[str, list[list[float]]]
    """Per policy, fold and slab: the change of the variation of information where it stops, in bits."""


@dataclass(frozen=True, eq=False)
class ShapeStage:
    """Settings, and the steps from slabs to policies."""

    settings: TrainSettings
    specs: tuple[DescriptorSpec, ...]
    voxel_size_nm: Triple
    checkpoint: Checkpoint
    device: torch.device

    def share(self, first: Sequence[Slab], second: Sequence[Slab]) -> float:
        """How much of the area of each slab of two folds there is time for; 1 and more is all of it."""
        everything = [*first, *second]
        largest = max(everything, key=lambda slab: slab.labels.size)
        cost = kept_cost(self.checkpoint, "cost of first scores", lambda: self._first_scores(largest))
        n_passes = PASSES * self.settings.n_rounds + PASSES_PER_SYMMETRY * self.settings.n_symmetries
        whole = n_passes * cost * sum(slab.labels.size for slab in everything)
        return self.settings.seconds * self.settings.middle_share / whole

    def _first_scores(self, slab: Slab) -> float:
        """Measure the first scores of a part of a slab, in seconds per voxel."""
        scene = slab.window(0.0, SMALLEST_WINDOW).upright
        widths = [scene.features(spec, LAYOUT_GRID).layout.shape[1] for spec in self.specs]
        networks = [
            EnergyNetwork(preset_settings(self.settings.preset, spec.n_bits, width)).eval()
            for spec, width in zip(self.specs, widths, strict=True)
        ]
        # The first time loops are compiled, which takes far longer than running them.
        seconds = 0.0
        for share in (0.0, REHEARSED_SHARE):
            window = slab.window(share, SMALLEST_WINDOW)
            begin = processor_seconds(self.device)
            Judged(window, self.specs, networks, self.device).first_sums()
            seconds = (processor_seconds(self.device) - begin) / window.labels.size
        return seconds

    def energies(self, slabs: SlabFolds) -> Records[Energies]:
        """Train the energy models, and once more along their own runs if that is wanted."""
        rng = np.random.default_rng(self.settings.seed)
        symmetries = choose_symmetries(self.voxel_size_nm, self.settings.n_symmetries, rng)
        views: list[list[View]] = [[], []]
        for fold, own in enumerate(slabs):
            for index, slab in enumerate(own):
                yield TrainRecord("expert", 0.0)
                views[fold] += self._first_views(f"expert {fold + 1} {index + 1}", slab, symmetries)
        n_rounds = self.settings.n_rounds
        plan = EnergyPlan(
            self.settings.preset,
            self.settings.examples,
            self.settings.power,
            self.settings.seconds * self.settings.energy_share / (4 * len(self.specs) * n_rounds),
            self.settings.seed,
        )
        end = 1 / n_rounds
        first = fit_energies(self.specs, (views[0], views[1]), plan, self.checkpoint, self.device)
        energies = yield from within(first, 0.0, end)
        if self.settings.second_round:
            for fold, judged in enumerate(self._judged(slabs, energies, self.specs)):
                for index, one in enumerate(judged):
                    name = f"own run {fold + 1} {index + 1}"
                    views[fold].append(self._view(name, one.slab.upright, one.own_order, OWN_SHARES))
            again = fit_energies(
                self.specs, (views[0], views[1]), plan, self.checkpoint, self.device, "second energy of"
            )
            energies = yield from within(again, end, 1.0)
        return energies

    def policies(self, slabs: SlabFolds, energies: Energies) -> Records[Policies]:
        """Train the classifier, and choose the thresholds of both policies.

        Parameters
        ----------
        slabs : SlabFolds
            What is learned from and judged by.
        energies : Energies
            The trained energy networks.
        """
        yield TrainRecord("shares of the specs", 0.0)
        specs = self._shared(slabs, energies)
        judged = self._judged(slabs, energies, specs)
        pieces = [[self._pieces(one) for one in fold] for fold in judged]
        flat = [piece for fold in pieces for parts in fold for piece in parts]
        by_energy = yield from within(
            run_curves([(piece, None) for piece in flat], "threshold of energy", self.checkpoint), 0.0, 0.3
        )
        records = fit_policy(
            judged, self.settings.power, self.settings.decisions, self.checkpoint,
            along_runs=self.settings.second_round, unsure=self.settings.unsure, seed=self.settings.seed,
        )  # fmt: skip
        fitted = yield from within(records, 0.3, 0.8)
        strangers = [
            (piece, stranger)
            for fold, stranger in zip(pieces, reversed(fitted.own), strict=True)
            for parts in fold
            for piece in parts
        ]
        by_policy = yield from within(run_curves(strangers, "errors of policy", self.checkpoint), 0.8, 1.0)
        threshold, energy_curve = choose_threshold(by_energy)
        _, learned_curve = choose_threshold(by_policy)
        thresholds = {"energy": threshold, "learned": EVEN_ODDS}
        counts = [[len(parts) for parts in fold] for fold in pieces]
        return Policies(
            specs,
            fitted.both,
            fitted.examples,
            thresholds,
            {"energy": energy_curve, "learned": learned_curve},
            {
                "energy": _changes(by_energy, counts, threshold),
                "learned": _changes(by_policy, counts, EVEN_ODDS),
            },
        )

    def _first_views(self, name: str, slab: Slab, symmetries: Sequence[Symmetry]) -> list[View]:
        """Look at a slab from several sides: where affinities are unsure, or along the expert's way."""
        if self.settings.unsure:
            return unsure_views(slab, symmetries)
        scenes = (slab.transformed(symmetry) for symmetry in symmetries)
        return [
            self._view(f"{name} {n + 1}", scene, scene.expert_order, shares)
            for n, (scene, shares) in enumerate(zip(scenes, STATE_SHARES, strict=False))
        ]

    def _view(
        self, name: str, scene: Scene, follow: Callable[[], list[int]], shares: Sequence[float]
    ) -> View:
        """Follow somebody through a scene, or take up where that was kept."""
        kept = self.checkpoint.load(name)
        order = follow() if kept is None else kept[0]["order"].tolist()
        if kept is None:
            self.checkpoint.keep(name, {"order": torch.tensor(order, dtype=torch.int64)}, {})
        return View(scene, scene.states_along(order, shares))

    def _shared(self, slabs: SlabFolds, energies: Energies) -> tuple[DescriptorSpec, ...]:
        """Give every spec its share of the energy."""
        kept = self.checkpoint.load("shares")
        if kept is None:
            everything = [one for fold in self._judged(slabs, energies, self.specs) for one in fold]
            sums, errors = zip(*(one.first_sums() for one in everything), strict=True)
            shares = fit_shares(sums, errors).tolist()
            self.checkpoint.keep("shares", {}, {"shares": shares})
        else:
            shares = kept[1]["shares"]
        return tuple(replace(spec, share=share) for spec, share in zip(self.specs, shares, strict=True))

    def _judged(
        self, slabs: SlabFolds, energies: Energies, specs: tuple[DescriptorSpec, ...]
    ) -> tuple[list[Judged], list[Judged]]:
        """Give each slab the energy models of the other fold."""
        first, second = (
            [Judged(slab, specs, networks, self.device) for slab in fold]
            for fold, networks in zip(slabs, reversed(energies.of_slab), strict=True)
        )
        return first, second

    def _pieces(self, judged: Judged) -> list[Judged]:
        """Cut a slab into quarters, where there is room."""
        quarters = [one for one in judged.slab.quarters() if one.is_labelled]
        is_wide = all(has_room(one.labels.shape, spec) for one in quarters for spec in self.specs)
        return [replace(judged, slab=one) for one in quarters] if quarters and is_wide else [judged]


def learnable_window(slab: Slab, share: float) -> Slab:
    """Cut out the middle of a slab, larger than asked for where it has only right or only wrong merges.

    Parameters
    ----------
    slab : Slab
        To cut from.
    share : float
        Part of its sections' area that is asked for.
    """
    window = slab.window(share, SMALLEST_WINDOW)
    while window is not slab and not _has_both_kinds(window):
        share *= 2
        window = slab.window(share, SMALLEST_WINDOW)
    return window


def _has_both_kinds(slab: Slab) -> bool:
    return slab.is_labelled and missing_kind(slab.labels, slab.truth)[1] is None


def _changes(curves: Sequence[Curve], counts: list[list[int]], threshold: float) -> list[list[float]]:
    """Average the changes at a threshold over the pieces of each slab."""
    values = iter([float(curve.change_at(np.array([threshold]))[0]) for curve in curves])
    return [[float(np.mean([next(values) for _ in range(n)])) for n in fold] for fold in counts]
