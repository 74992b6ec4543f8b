"""Train a whole model from one annotated volume, choosing nothing on data that was learned from.

The volume is cut into two slabs. Each slab gets its affinities from a network trained on the other one, so
that the energy models learn from affinities as good, or bad, as those of a new volume. Each slab is
agglomerated by energy models trained on the other one, and the threshold is chosen where both runs together
are best. Then all networks are trained once more, on everything.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.descriptors import DescriptorSpec, paper_specs
from napari_celis.core.parallel import Pool
from napari_celis.core.volume import Triple, as_triple, require_same_shape
from napari_celis.models.affinity_base import AffinityNet
from napari_celis.models.affinity_base import Preset as AffinityPreset
from napari_celis.models.apply import supervoxels_of
from napari_celis.models.checkpoint import CelisModel
from napari_celis.models.device import choose_device
from napari_celis.models.energy import EnergyNetwork, Preset, preset_settings
from napari_celis.models.evaluator import NetworkEnergy
from napari_celis.models.features import interior_probability
from napari_celis.models.inference import predict_affinities
from napari_celis.training.affinity import train_affinity
from napari_celis.training.affinity_settings import affinity_training
from napari_celis.training.energy import EnergyTraining, train_energy
from napari_celis.training.examples import Examples, sample_examples
from napari_celis.training.folds import Slab, slab_bounds
from napari_celis.training.threshold import Curve, best_threshold, run_curve

LAYOUT_GRID = 5
STRIDES = (4, 4, 8)
HIGHEST_SCORE = 64.0
"""Greedy runs that look for the threshold go on up to this score: one centre of the densest lattice."""
MOST_EXAMPLES, EXAMPLES_PER_MINUTE = 120_000, 6_000
AFFINITY_SHARE, ENERGY_SHARE = 0.55, 0.3
"""Shares of the time for affinity networks and for energy models; the rest is for everything between."""


@dataclass(frozen=True)
class TrainSettings:
    """What `celis train` can be told."""

    preset: Preset = "fast"
    affinity: AffinityPreset = "unet"
    minutes: float = 30.0
    """Time for everything, kept approximately."""
    power: float = 0.5
    """Examples weigh |change of error| to this power; 1 is the paper."""
    seed: int = 0

    @property
    def examples(self) -> int:
        """Examples per spec: as many as an epoch can get through in the time."""
        return min(MOST_EXAMPLES, max(2_000, round(EXAMPLES_PER_MINUTE * self.minutes)))


@dataclass(frozen=True)
class TrainRecord:
    """Something that training has to tell."""

    stage: str
    done: float
    """Share of the whole that is done, 0 to 1."""
    figures: Mapping[str, Any] = field(default_factory=dict)


Records = Generator[TrainRecord, None, Any]


def train_model(
    image: np.ndarray,
    truth: np.ndarray,
    supervoxels: np.ndarray | None,
    voxel_size_nm: Sequence[float],
    settings: TrainSettings | None = None,
    *,
    attribution: str = "",
) -> Generator[TrainRecord, None, CelisModel]:
    """Train affinity network and energy models; `model = yield from train_model(...)` gets the result.

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

    Yields
    ------
    record : TrainRecord
        What is going on.
    """
    require_same_shape(image=image, truth=truth)
    if supervoxels is not None:
        require_same_shape(image=image, supervoxels=supervoxels)
    run = _Run(settings or TrainSettings(), as_triple(voxel_size_nm))
    bounds = slab_bounds(len(image))
    affinities = yield from run.cross_fitted_affinities(image, truth, bounds)
    labels = supervoxels_of(affinities) if supervoxels is None else supervoxels
    interior = interior_probability(affinities)
    slabs = [Slab.cut(labels[part], truth[part], interior[part]) for part in bounds]
    energies, figures = yield from run.energies(slabs)
    threshold, curve = yield from run.threshold(slabs, figures.pop("cross_fitted"))
    net = yield from run.affinity_net(image, truth, "affinity network 3 of 3", 1 - AFFINITY_SHARE / 3)
    return CelisModel(
        affinity=net.cpu(),
        specs=run.specs,
        energies=tuple(network.cpu() for network in energies),
        voxel_size_nm=run.voxel_size_nm,
        thresholds={"energy": threshold},
        layout_grid=LAYOUT_GRID,
        figures={**figures, **curve, "seed": run.settings.seed, "minutes": run.settings.minutes},
        attribution=attribution,
    )


class _Run:
    """One training run: settings, specs, device, and the stages."""

    def __init__(self, settings: TrainSettings, voxel_size_nm: Triple) -> None:
        self.settings = settings
        self.voxel_size_nm = voxel_size_nm
        self.specs = paper_specs(seed=settings.seed, voxel_size_nm=voxel_size_nm, strides=STRIDES)
        self.device = choose_device()

    def affinity_net(
        self, image: np.ndarray, truth: np.ndarray, stage: str, done: float
    ) -> Generator[TrainRecord, None, AffinityNet]:
        """Train one affinity network with a third of the time for all of them."""
        training = affinity_training(self.settings.affinity, self.voxel_size_nm)
        minutes = self.settings.minutes * AFFINITY_SHARE / 3
        records = train_affinity(
            image, truth, training, seed=self.settings.seed, minutes=minutes, device=str(self.device)
        )
        while True:
            try:
                record = next(records)
            except StopIteration as stop:
                net: AffinityNet = stop.value
                return net
            share = min(1.0, record.seconds / (60 * minutes))
            yield TrainRecord(stage, done + share * AFFINITY_SHARE / 3, {"loss": record.loss})

    def cross_fitted_affinities(
        self, image: np.ndarray, truth: np.ndarray, bounds: list[slice]
    ) -> Generator[TrainRecord, None, np.ndarray]:
        """Predict every slab with a network that was trained on the other one."""
        affinities = np.empty((3, *image.shape), dtype=np.float32)
        for place, part in enumerate(bounds):
            other = bounds[1 - place]
            done = place * AFFINITY_SHARE / 3
            net = yield from self.affinity_net(
                image[other], truth[other], f"affinity network {place + 1} of 3", done
            )
            affinities[:, part] = predict_affinities(net, image)[:, part]
        return affinities

    def energies(
        self, slabs: list[Slab]
    ) -> Generator[TrainRecord, None, tuple[list[EnergyNetwork], dict[str, Any]]]:
        """Train every spec's network on each slab and on both."""
        rng = np.random.default_rng(self.settings.seed)
        final: list[EnergyNetwork] = []
        crossed: list[list[EnergyNetwork]] = [[], []]
        figures: dict[str, Any] = {"validation_auc": {}}
        states = [slab.states() for slab in slabs]
        pool = Pool()
        for place, spec in enumerate(self.specs):
            done = 2 * AFFINITY_SHARE / 3 + ENERGY_SHARE * place / len(self.specs)
            tables = [slab.table(spec, pool) for slab in slabs]
            features = [slab.features(table, LAYOUT_GRID) for slab, table in zip(slabs, tables, strict=True)]
            examples = [
                sample_examples(
                    table, slab.supervoxels, slab.actions, slab.overlaps, own, power=self.settings.power,
                    budget=self.settings.examples // 2, rng=rng,
                )
                for slab, table, own in zip(slabs, tables, states, strict=True)
            ]  # fmt: skip
            epochs, aucs = [], []
            for fold in range(2):
                network, records = yield from self._fold(spec, examples, features, fold, done)
                crossed[fold].append(network)
                best = min(records, key=lambda record: record.validation_loss)
                epochs.append(best.epoch + 1)
                aucs.append(best.validation_auc)
            figures["validation_auc"][spec.name] = aucs
            final.append(self._fit_all(spec, examples, features, round(float(np.mean(epochs)))))
        pool.close()
        return final, {**figures, "cross_fitted": crossed}

    def _network(self, spec: DescriptorSpec, features: np.ndarray) -> EnergyNetwork:
        torch.manual_seed(self.settings.seed)
        network = EnergyNetwork(preset_settings(self.settings.preset, spec.n_bits, features.shape[1]))
        network.set_feature_scale(torch.from_numpy(features.astype(np.float32)))
        return network

    def _training(self, **changes: Any) -> EnergyTraining:
        seconds = 60 * self.settings.minutes * ENERGY_SHARE / len(self.specs) / 3
        return replace(EnergyTraining(seed=self.settings.seed, seconds=seconds), **changes)

    def _fold(
        self,
        spec: DescriptorSpec,
        examples: list[Examples],
        features: list[np.ndarray],
        fold: int,
        done: float,
    ) -> Generator[TrainRecord, None, tuple[EnergyNetwork, list[Any]]]:
        """Train on one slab, stop by the other; the network is for agglomerating the other."""
        network = self._network(spec, features[fold])
        records = []
        for record in train_energy(
            spec.name, network, examples[fold], features[fold], examples[1 - fold], features[1 - fold],
            self._training(), self.device,
        ):  # fmt: skip
            records.append(record)
            yield TrainRecord(
                f"energy of {spec.name}",
                done,
                {
                    "loss": record.loss,
                    "validation_loss": record.validation_loss,
                    "auc": record.validation_auc,
                },
            )
        return network, records

    def _fit_all(
        self, spec: DescriptorSpec, examples: list[Examples], features: list[np.ndarray], epochs: int
    ) -> EnergyNetwork:
        """Train on both slabs for as long as each alone was best."""
        first = len(features[0])
        both = Examples(
            np.concatenate([examples[0].centres, examples[1].centres + first]).astype(np.int32),
            *(np.concatenate([getattr(e, name) for e in examples]) for name in ("before", "after", "y")),
        )
        everything = np.concatenate(features)
        network = self._network(spec, everything)
        training = self._training(max_epochs=epochs, patience=epochs)
        for _ in train_energy(spec.name, network, both, everything, both, everything, training, self.device):
            pass
        return network

    def threshold(
        self, slabs: list[Slab], crossed: list[list[EnergyNetwork]]
    ) -> Generator[TrainRecord, None, tuple[float, dict[str, Any]]]:
        """Agglomerate each slab by networks that never saw it, and choose the best stopping point."""
        curves: list[Curve] = []
        for fold, slab in enumerate(reversed(slabs)):
            yield TrainRecord("threshold", 2 * AFFINITY_SHARE / 3 + ENERGY_SHARE)
            pool = Pool()
            features = [slab.features(slab.table(spec, pool), LAYOUT_GRID) for spec in self.specs]
            pool.close()
            energy = NetworkEnergy(crossed[fold], features, self.device)
            with Agglomerator(slab.supervoxels, self.specs, energy) as agglomerator:
                curves.append(run_curve(agglomerator, slab.overlaps, HIGHEST_SCORE))
        threshold, scores, vi = best_threshold(curves)
        thinned = np.unique(np.linspace(0, len(scores) - 1, 200).round().astype(int))
        return threshold, {
            "vi_change": float(vi.min()),
            "threshold_curve": {"threshold": scores[thinned].tolist(), "vi_change": vi[thinned].tolist()},
        }
