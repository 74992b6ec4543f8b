"""Train a whole model from one annotated volume, choosing nothing on data that was learned from.

The volume is cut into two slabs. Each slab gets its affinities from a network trained on the other one, so
that the energy models learn from affinities as good, or bad, as those of a new volume. Each slab is
agglomerated by energy models and a policy trained on the other one, and the thresholds are chosen where both
runs together are best. What goes into the model is trained on everything.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from napari_celis import __version__
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.presets import Preset, preset_specs
from napari_celis.core.seeded_watershed import SeededSettings, seeded_watershed
from napari_celis.core.symmetry import choose_symmetries
from napari_celis.core.volume import Triple, as_labels, as_triple, require_same_shape
from napari_celis.models.affinity_base import NEIGHBOURS
from napari_celis.models.affinity_base import Preset as AffinityPreset
from napari_celis.models.device import choose_device
from napari_celis.models.features import LAYOUT_GRID
from napari_celis.models.model_file import CelisModel
from napari_celis.training import DEFAULT_MINUTES
from napari_celis.training.affinity_data import affinity_targets
from napari_celis.training.affinity_loss import judge
from napari_celis.training.affinity_settings import affinity_training
from napari_celis.training.affinity_stage import AVERAGED_SYMMETRIES, cross_fitted_affinities, fit_affinity
from napari_celis.training.checkpoint import Checkpoint, fingerprint
from napari_celis.training.energy_stage import Energies, EnergyPlan, View, fit_energies
from napari_celis.training.folds import Slab, slab_bounds
from napari_celis.training.policy_stage import Judged, choose_threshold, fit_policy
from napari_celis.training.records import Records, TrainRecord, within
from napari_celis.training.shares import fit_shares
from napari_celis.training.validation import has_room, require_both_kinds, require_learnable

MOST_EXAMPLES, EXAMPLES_PER_MINUTE = 100_000, 4_000
MOST_DECISIONS, DECISIONS_PER_MINUTE = 20_000, 600
AFFINITY_SHARE, ENERGY_SHARE = 0.75, 0.15
"""Shares of the time for affinity networks and for energy models; the rest is for everything between."""
EVEN_ODDS = 0.0
"""Where the learned policy stops. On the pieces of one volume the threshold of the lowest error follows a few
merges of large bodies; the odds follow all examples, and carry over better."""
FULL_MINUTES = 10.0
"""With less time than this, each slab is looked at in one orientation only."""
SYMMETRIES = 4
SUPERVOXELS = SeededSettings()
"""How supervoxels are made where none are given, here and later by the model."""
STATE_SHARES = ((0.0, 0.9), (0.5, 1.0), (0.25, 0.75), (0.0, 0.95))
"""Per orientation: how far along the expert's way the states lie from which examples are drawn."""


@dataclass(frozen=True)
class TrainSettings:
    """What `celis train` can be told."""

    preset: Preset = "fast"
    affinity: AffinityPreset = "unet"
    minutes: float = DEFAULT_MINUTES
    """Time for everything, kept approximately."""
    power: float = 0.5
    """Examples weigh |change of error| to this power; 1 is the paper."""
    second_round: bool = False
    """Whether energy models and policy learn once more, from states that they themselves come to."""
    seed: int = 0
    dilation: int = 0
    """Voxels by which true boundaries are widened for the affinity network; the paper tries 0 to 8."""
    min_voxels: int = 0
    """Smaller true objects are unknown to the affinity network; the paper leaves out those below 10,000."""
    device: str = "auto"
    """See `choose_device`."""

    @property
    def examples(self) -> int:
        """Examples per spec and slab: as many as an epoch can get through in the time."""
        return min(MOST_EXAMPLES, max(1_000, round(EXAMPLES_PER_MINUTE * self.minutes)))

    @property
    def decisions(self) -> int:
        """Decisions that the policy may look at along one run."""
        return min(MOST_DECISIONS, max(200, round(DECISIONS_PER_MINUTE * self.minutes)))


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training run makes."""

    model: CelisModel
    affinities: np.ndarray
    """Of the training volume, by networks that did not see the place: what baselines may be tuned on."""
    checkpoint: Checkpoint
    """What `resume` would take up; to be cleared when the model is safe."""


def train_model(
    image: np.ndarray,
    truth: np.ndarray,
    supervoxels: np.ndarray | None,
    voxel_size_nm: Sequence[float],
    settings: TrainSettings | None = None,
    *,
    attribution: str = "",
    folder: Path | None = None,
    resume: bool = False,
) -> Generator[TrainRecord, None, Trained]:
    """Train affinity network, energy models and policy; `trained = yield from train_model(...)` gets them.

    Parameters
    ----------
    image, truth : ndarray, shape (Z, Y, X)
        The annotated volume; truth 0 is unknown.
    supervoxels : ndarray of int, optional
        Oversegmentation to learn on; made by watershed on the affinities if it is not given.
    voxel_size_nm : sequence of float
        Voxel size; decides shapes of networks and descriptors.
    settings : TrainSettings, optional
        Sizes and time.
    attribution : str
        Whose data it is; kept in the model.
    folder : Path, optional
        Where finished parts are kept until `Trained.checkpoint` is cleared.
    resume : bool
        Take up what an interrupted run left there.

    Yields
    ------
    record : TrainRecord
        What is going on.
    """
    settings = settings or TrainSettings()
    require_same_shape(image=image, truth=truth)
    if supervoxels is not None:
        require_same_shape(image=image, supervoxels=supervoxels)
    bounds = slab_bounds(len(image))
    specs = preset_specs(settings.preset, seed=settings.seed, voxel_size_nm=as_triple(voxel_size_nm))
    require_learnable(truth, supervoxels, bounds, specs)
    # An interrupted run may go on with another processor.
    what = {**asdict(settings), "nm": list(voxel_size_nm), "device": None}
    identity = fingerprint(what, image, truth, supervoxels)
    run = _Run(settings, specs, as_triple(voxel_size_nm), Checkpoint(folder, identity, resume=resume))
    affinities = yield from within(run.affinities(image, truth, bounds), 0.0, 2 / 3 * AFFINITY_SHARE)
    labels = supervoxels
    if labels is None:
        labels = seeded_watershed(affinities, run.voxel_size_nm, SUPERVOXELS).astype(np.uint64)
        for part in bounds:
            require_both_kinds(labels[part], truth[part])
    slabs = tuple(Slab(labels[part], truth[part], affinities[:, part]) for part in bounds)
    assert len(slabs) == 2
    middle = 2 / 3 * AFFINITY_SHARE
    energies = yield from within(run.energies(slabs), middle, middle + ENERGY_SHARE)
    parts = yield from within(run.policies(slabs, energies), middle + ENERGY_SHARE, 1 - AFFINITY_SHARE / 3)
    last = fit_affinity(
        "affinity network 3 of 3", image, truth, run.affinity_training, run.affinity_minutes, run.checkpoint,
        seed=settings.seed, device=str(run.device),
    )  # fmt: skip
    net = yield from within(last, 1 - AFFINITY_SHARE / 3, 1.0)
    figures = {
        **parts.pop("figures"),
        "centre_auc": energies.auc,
        "affinity_auc": _unseen_auc(affinities, truth),
        "settings": asdict(settings),
        "version": __version__,
    }
    model = CelisModel(
        affinity=net.cpu(),
        specs=run.specs,
        energies=tuple(energies.of_both),
        voxel_size_nm=run.voxel_size_nm,
        n_symmetries=AVERAGED_SYMMETRIES,
        layout_grid=LAYOUT_GRID,
        supervoxels=SUPERVOXELS,
        policy="learned",
        figures=figures,
        attribution=attribution,
        **parts,
    )
    return Trained(model, affinities, run.checkpoint)


def _unseen_auc(affinities: np.ndarray, truth: np.ndarray) -> float:
    """How well networks tell boundaries where they have not learned, by every fourth section."""
    targets, known = affinity_targets(as_labels(truth, "`truth`"), NEIGHBOURS)
    return judge(affinities[:, ::4], targets[:, ::4], known[:, ::4]).auc


class _Run:
    """One training run: settings, specs, device, workbench, and the stages."""

    def __init__(
        self,
        settings: TrainSettings,
        specs: tuple[DescriptorSpec, ...],
        voxel_size_nm: Triple,
        checkpoint: Checkpoint,
    ) -> None:
        self.settings, self.specs, self.voxel_size_nm, self.checkpoint = (
            settings,
            specs,
            voxel_size_nm,
            checkpoint,
        )
        self.device = choose_device(settings.device)
        # Every voxel counts, and the other slab judges: nothing more is held out.
        self.affinity_training = replace(
            affinity_training(settings.affinity, voxel_size_nm, holdout=0.0),
            dilation=settings.dilation,
            min_voxels=settings.min_voxels,
        )
        self.affinity_minutes = settings.minutes * AFFINITY_SHARE / 3

    def affinities(self, image: np.ndarray, truth: np.ndarray, bounds: list[slice]) -> Records[np.ndarray]:
        """Predict every slab with a network that was trained on the other one."""
        return cross_fitted_affinities(
            image, truth, bounds, self.affinity_training, 2 * self.affinity_minutes, self.checkpoint,
            seed=self.settings.seed, device=str(self.device),
        )  # fmt: skip

    def energies(self, slabs: tuple[Slab, Slab]) -> Records[Energies]:
        """Train the energy models, and once more along their own runs if that is wanted."""
        rng = np.random.default_rng(self.settings.seed)
        n_symmetries = SYMMETRIES if self.settings.minutes >= FULL_MINUTES else 1
        symmetries = choose_symmetries(self.voxel_size_nm, n_symmetries, rng)
        views: list[list[View]] = []
        for slab in slabs:
            yield TrainRecord("expert", 0.0)
            scenes = [slab.transformed(symmetry) for symmetry in symmetries]
            views.append(
                [
                    View(scene, scene.expert_states(shares))
                    for scene, shares in zip(scenes, STATE_SHARES, strict=False)
                ]
            )
        n_rounds = 2 if self.settings.second_round else 1
        networks = 4 * len(self.specs) * n_rounds
        plan = EnergyPlan(
            self.settings.preset,
            self.settings.examples,
            self.settings.power,
            60 * self.settings.minutes * ENERGY_SHARE / networks,
            self.settings.seed,
        )
        end = 1 / n_rounds
        first = fit_energies(self.specs, (views[0], views[1]), plan, self.checkpoint, self.device)
        energies = yield from within(first, 0.0, end)
        if self.settings.second_round:
            judged = self._judged(slabs, energies)
            own = [[*views[fold], self._own_view(one)] for fold, one in enumerate(judged)]
            again = fit_energies(
                self.specs, (own[0], own[1]), plan, self.checkpoint, self.device, "second energy of"
            )
            energies = yield from within(again, end, 1.0)
        return energies

    def policies(self, slabs: tuple[Slab, Slab], energies: Energies) -> Records[dict[str, Any]]:
        """Train the classifier, and choose the thresholds of both policies."""
        yield TrainRecord("shares of the specs", 0.0)
        sums, errors = zip(*(one.first_sums() for one in self._judged(slabs, energies)), strict=True)
        shares = fit_shares(sums, errors)
        self.specs = tuple(
            replace(spec, share=float(share)) for spec, share in zip(self.specs, shares, strict=True)
        )
        judged, pieces = self._judged(slabs, energies), self._pieces(slabs, energies)
        by_energy, energy_curve = yield from within(
            choose_threshold([(one, None) for own in pieces for one in own], "threshold of energy"), 0.0, 0.3
        )
        records = fit_policy(
            judged, self.settings.power, self.settings.decisions,
            along_runs=self.settings.second_round, seed=self.settings.seed,
        )  # fmt: skip
        classifier, own = yield from within(records, 0.3, 0.8)
        strangers = zip(pieces, reversed(own), strict=True)
        _, learned_curve = yield from within(
            choose_threshold([(one, s) for parts, s in strangers for one in parts], "errors of policy"),
            0.8,
            1.0,
        )
        return {
            "thresholds": {"energy": by_energy, "learned": EVEN_ODDS},
            "classifier": classifier,
            "figures": {"energy": energy_curve, "learned": learned_curve},
        }

    def _judged(self, slabs: tuple[Slab, Slab], energies: Energies) -> tuple[Judged, Judged]:
        """Give each slab the energy models of the other one."""
        first, second = slabs
        of_first, of_second = energies.of_slab
        return (
            Judged.make(first, self.specs, of_second, self.device),
            Judged.make(second, self.specs, of_first, self.device),
        )

    def _pieces(self, slabs: tuple[Slab, Slab], energies: Energies) -> list[list[Judged]]:
        """Cut each slab into quarters, where there is room, with the energy models of the other slab."""
        pieces = []
        for slab, networks in zip(slabs, reversed(energies.of_slab), strict=True):
            quarters = [one for one in slab.quarters() if one.is_labelled] or [slab]
            is_wide = all(has_room(one.labels.shape, spec) for one in quarters for spec in self.specs)
            parts = quarters if is_wide else [slab]
            pieces.append([Judged.make(one, self.specs, networks, self.device) for one in parts])
        return pieces

    def _own_view(self, judged: Judged) -> View:
        """Follow the energy models on a slab they have not seen, and stop in some states on their way."""
        with judged.agglomerator(None) as agglomerator:
            order = [step.action_index for step in agglomerator.steps()]
        scene = judged.slab.upright
        return View(scene, scene.states_along(order, (0.5, 0.8, 1.0)))
