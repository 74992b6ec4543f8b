"""The energy models of a training run: per spec one for each slab, used on the other, and one for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch

from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.parallel import Pool
from napari_celis.core.presets import Preset
from napari_celis.models.energy import EnergyNetwork, preset_settings
from napari_celis.models.features import LAYOUT_GRID, CentreFeatures
from napari_celis.training.budget import affordable, kept_cost, processor_seconds
from napari_celis.training.checkpoint import Checkpoint
from napari_celis.training.energy import EnergyRecord, EnergyTraining, train_energy
from napari_celis.training.examples import Examples, join_examples, sample_examples
from napari_celis.training.folds import Scene
from napari_celis.training.records import Records, TrainRecord, within

MOST_EPOCHS = 30
REHEARSED = 8192
"""Examples by which the cost of all is measured."""


@dataclass(frozen=True, eq=False)
class View:
    """A slab in one orientation, with states to draw examples from."""

    scene: Scene
    states: Sequence[np.ndarray]
    """Actions taken in each state, bool (A,)."""


@dataclass(frozen=True)
class EnergyPlan:
    """What the energy models of a run have in common."""

    preset: Preset
    examples: int
    """Per spec and slab."""
    power: float
    seconds: float
    """Processor time per thread, for one network."""
    seed: int


@dataclass(frozen=True, eq=False)
class Energies:
    """Networks of all specs."""

    of_slab: tuple[list[EnergyNetwork], list[EnergyNetwork]]
    """Trained on the first slab alone, and on the second alone."""
    of_both: list[EnergyNetwork]
    auc: dict[str, list[float]]
    """Per spec, how well single centres of the other slab tell right from wrong."""


def fit_energies(
    specs: Sequence[DescriptorSpec],
    views: tuple[Sequence[View], Sequence[View]],
    plan: EnergyPlan,
    checkpoint: Checkpoint,
    device: torch.device,
    stage: str = "energy of",
) -> Records[Energies]:
    """Train the networks of every spec.

    Parameters
    ----------
    specs : sequence of DescriptorSpec
        One network each.
    views : two sequences of View
        Of the first slab, and of the second.
    plan : EnergyPlan
        Sizes and time.
    checkpoint : Checkpoint
        Keeps the networks of each finished spec.
    device : torch.device
        Where to train.
    stage : str
        How the stages are called, before the name of the spec.
    """
    energies = Energies(([], []), [], {})
    for index, spec in enumerate(specs):
        part = f"{stage} {spec.name}"
        kept = checkpoint.load(part)
        if kept is None:
            records = _fit_spec(spec, views, plan, checkpoint, device, part)
            networks, facts = yield from within(records, index / len(specs), (index + 1) / len(specs))
            checkpoint.keep(part, _tensors(networks), facts)
        else:
            facts = kept[1]
            networks = _networks(plan, spec, kept[0], facts)
        for own, network in zip((*energies.of_slab, energies.of_both), networks, strict=True):
            own.append(round_weights(network.cpu().eval()))
        energies.auc[spec.name] = facts["auc"]
    return energies


def _fit_spec(
    spec: DescriptorSpec,
    views: tuple[Sequence[View], Sequence[View]],
    plan: EnergyPlan,
    checkpoint: Checkpoint,
    device: torch.device,
    part: str,
) -> Records[tuple[list[EnergyNetwork], dict[str, Any]]]:
    """Train the three networks of one spec."""
    yield TrainRecord(part, 0.0)
    rng = np.random.default_rng(plan.seed)
    data = [draw_examples(spec, own, plan, rng) for own in views]
    cost = kept_cost(checkpoint, f"cost of {part}", lambda: _cost_of_example(spec, data[0], plan, device))
    n_epochs = affordable(plan.seconds, cost * max(len(examples) for examples, _ in data), MOST_EPOCHS)
    training = EnergyTraining(seed=plan.seed, max_epochs=n_epochs)
    networks, epochs, auc = [], [], []
    for fold in range(2):
        (fit, features), (held_out, held_out_features) = data[fold], data[1 - fold]
        network = new_network(plan, spec, features)
        best: EnergyRecord | None = None
        for record in train_energy(
            spec.name, network, fit, features, held_out, held_out_features, training, device
        ):
            best = record if best is None or record.validation_loss < best.validation_loss else best
            yield TrainRecord(
                part,
                (fold + (record.epoch + 1) / n_epochs) / 3,
                {
                    "loss": record.loss,
                    "validation_loss": record.validation_loss,
                    "auc": record.validation_auc,
                },
                f"{fold + 1} of 3",
            )
        assert best is not None
        networks.append(network)
        epochs.append(best.epoch + 1)
        auc.append(best.validation_auc)
    both, features = join_data(data)
    network = new_network(plan, spec, features)
    # There is nothing left to stop by: as many epochs as each slab alone needed.
    n_epochs = max(1, round(float(np.mean(epochs))))
    training = replace(training, max_epochs=n_epochs, patience=n_epochs)
    little = Examples(both.centres[:1], both.before[:1], both.after[:1], both.y[:1])
    for record in train_energy(
        spec.name, network, both, features, little, features, training, device, keep_best=False
    ):
        yield TrainRecord(part, (2 + (record.epoch + 1) / n_epochs) / 3, {"loss": record.loss}, "3 of 3")
    return [*networks, network], {"auc": auc, "epochs": epochs, "n_features": features.layout.shape[1]}


def _cost_of_example(
    spec: DescriptorSpec, data: tuple[Examples, CentreFeatures], plan: EnergyPlan, device: torch.device
) -> float:
    """Measure what an epoch costs per example, its judgement included, with a network that is thrown away."""
    examples, features = data
    few = Examples(*(getattr(examples, field.name)[:REHEARSED] for field in fields(examples)))
    network, training = new_network(plan, spec, features), EnergyTraining(max_epochs=2)
    begin = 0.0
    for record in train_energy(spec.name, network, few, features, few, features, training, device):
        if record.epoch == 0:
            begin = processor_seconds(device)
    return (processor_seconds(device) - begin) / len(few)


def draw_examples(
    spec: DescriptorSpec, views: Sequence[View], plan: EnergyPlan, rng: np.random.Generator
) -> tuple[Examples, CentreFeatures]:
    """Draw the examples of one slab from all its views, with the features of their centres.

    Parameters
    ----------
    spec : DescriptorSpec
        What they are examples of.
    views : sequence of View
        Where to draw from, each as many.
    plan : EnergyPlan
        How many, and how they weigh.
    rng : Generator
        Source of the draws.
    """
    data = []
    pool = Pool()
    for view in views:
        scene = view.scene
        table = scene.table(spec, pool)
        examples = sample_examples(
            table, scene.supervoxels, scene.actions, scene.overlaps, view.states,
            budget=plan.examples // len(views), power=plan.power, rng=rng,
        )  # fmt: skip
        data.append((examples, scene.features(spec, LAYOUT_GRID)))
    pool.close()
    return join_data(data)


def join_data(
    data: Sequence[tuple[Examples, CentreFeatures]],
) -> tuple[Examples, CentreFeatures]:
    """Put examples of several tilings together, with the features of all their centres."""
    first = np.cumsum([0, *(len(features) for _, features in data)])
    examples = join_examples([examples for examples, _ in data], first[:-1].tolist())
    return examples, CentreFeatures.join([features for _, features in data])


def new_network(plan: EnergyPlan, spec: DescriptorSpec, features: CentreFeatures) -> EnergyNetwork:
    """Make a network with fresh weights, for features like these.

    Parameters
    ----------
    plan : EnergyPlan
        Gives preset and seed.
    spec : DescriptorSpec
        Whose bits it sees.
    features : CentreFeatures
        Standardised by their mean and spread from now on.
    """
    torch.manual_seed(plan.seed)
    network = EnergyNetwork(preset_settings(plan.preset, spec.n_bits, features.layout.shape[1]))
    network.set_feature_scale(torch.from_numpy(features.layout.astype(np.float32)))
    return network


def round_weights(network: EnergyNetwork) -> EnergyNetwork:
    """Round the weights to half precision, so that the model file can keep them in half the space."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.half().float())
    return network


def _tensors(networks: Sequence[EnergyNetwork]) -> dict[str, torch.Tensor]:
    """Name the weights of several networks."""
    return {
        f"{index}.{name}": tensor
        for index, network in enumerate(networks)
        for name, tensor in network.state_dict().items()
    }


def _networks(
    plan: EnergyPlan, spec: DescriptorSpec, tensors: dict[str, torch.Tensor], facts: dict[str, Any]
) -> list[EnergyNetwork]:
    """Put networks together again."""
    networks = []
    for index in range(3):
        network = EnergyNetwork(preset_settings(plan.preset, spec.n_bits, facts["n_features"]))
        prefix = f"{index}."
        own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        network.load_state_dict(own)
        networks.append(network)
    return networks
