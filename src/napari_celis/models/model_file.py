"""One file that holds a whole model: networks, specs with their offsets, threshold, figures, attribution."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from napari_celis.core.contact_features import DECISIVE, N_CONTACT_FEATURES
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.errors import CelisError, ModelError
from napari_celis.core.seeded_watershed import SeededSettings
from napari_celis.core.volume import Triple, as_triple
from napari_celis.models.affinity import from_tensors, to_tensors
from napari_celis.models.affinity_base import AffinityNet
from napari_celis.models.energy import EnergyNetwork, EnergySettings
from napari_celis.models.examples import PolicyRows
from napari_celis.models.features import LAYOUT_GRID, grid_offsets
from napari_celis.models.model_checks import (
    MAX_FILE_BYTES,
    MAX_TEXT,
    is_plain_number,
    require_finite_weights,
    require_sense,
    require_shapes,
)
from napari_celis.models.policy import PolicyClassifier
from napari_celis.models.refit import Refit, start_classifier
from napari_celis.models.tensor_file import write_tensors

FORMAT = 7
"""Raised when a file written now could not be read by an older version."""
OLDEST = 5
"""Files of earlier formats hold energies or policies of another kind, which are not read any more."""
KEY = "napari-celis"

PolicyName = Literal["energy", "learned"]


@dataclass(frozen=True, eq=False)
class CelisModel:
    """Everything that turns an image and its supervoxels into a segmentation."""

    affinity: AffinityNet
    specs: tuple[DescriptorSpec, ...]
    energies: tuple[EnergyNetwork, ...]
    """One per spec, in the same order."""
    voxel_size_nm: Triple
    """Voxel size of the training data."""
    thresholds: Mapping[str, float]
    """Score at which greedy agglomeration stops, for each policy that the model knows."""
    classifier: PolicyClassifier | None = None
    """Scores contacts for the policy `learned`."""
    examples: PolicyRows | None = None
    """What the classifier was fitted to, so that answers can be added; files of format 5 have none."""
    policy: PolicyName = "energy"
    """How actions are ordered: `energy` is the paper, the sum of energy changes; `learned` asks the
    classifier."""
    n_symmetries: int = 1
    """Symmetries of the image over which affinities are averaged, as they were in training."""
    layout_grid: int = LAYOUT_GRID
    """Points per axis of the grid on which the interior probability around a centre is a feature."""
    supervoxels: SeededSettings = field(default_factory=SeededSettings)
    """How supervoxels are made from the affinities of this model; files without it get the defaults."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What training measured, plain numbers and lists."""
    attribution: str = ""
    """Whose data it was trained on, and the licence."""

    @property
    def threshold(self) -> float:
        """Score at which greedy agglomeration stops under the model's own policy."""
        return self.thresholds[self.policy]

    @property
    def policies(self) -> tuple[PolicyName, ...]:
        """The policies that can be asked for."""
        return ("energy",) if self.classifier is None else ("energy", "learned")

    def learner(self) -> Refit:
        """Return what learns from answers, starting from what this model knows."""
        return Refit(self.classifier or start_classifier(len(self.specs)), self.examples)


def save_model(model: CelisModel, path: str | os.PathLike[str]) -> Path:
    """Write a model under a temporary name, then rename.

    Parameters
    ----------
    model : CelisModel
        What to write.
    path : path
        Where to; an existing file is replaced once the new one is complete.

    Returns
    -------
    path : Path
        Where it is.
    """
    path = Path(path)
    weights, _ = to_tensors(model.affinity)
    tensors = {f"affinity.{name}": tensor for name, tensor in weights.items()}
    for spec, network in zip(model.specs, model.energies, strict=True):
        tensors |= _prefixed(f"energy.{spec.name}", network)
        tensors[f"pairs.{spec.name}"] = torch.from_numpy(np.array(spec.pairs))
    if model.classifier is not None:
        tensors |= {f"policy.{name}": tensor for name, tensor in model.classifier.to_tensors().items()}
        if model.examples is not None:
            tensors |= {f"examples.{name}": tensor for name, tensor in model.examples.to_tensors().items()}
    write_tensors(path, tensors, {KEY: json.dumps(_describe(model))})
    return path


def _describe(model: CelisModel) -> dict[str, Any]:
    """Say in plain JSON what the tensors are."""
    return {
        "format": FORMAT,
        "affinity": model.affinity.settings.to_json(),
        "specs": [
            {
                "name": spec.name,
                "kind": spec.kind,
                "box_zyx": spec.box_zyx,
                "region_zyx": spec.region_zyx,
                "stride_zyx": spec.stride_zyx,
                "share": spec.share,
                "energy": asdict(network.settings),
            }
            for spec, network in zip(model.specs, model.energies, strict=True)
        ],
        "voxel_size_nm": model.voxel_size_nm,
        "thresholds": dict(model.thresholds),
        "policy": model.policy,
        "has_classifier": model.classifier is not None,
        "has_examples": model.classifier is not None and model.examples is not None,
        "turns": model.n_symmetries,  # the name that files have for it
        "layout_grid": model.layout_grid,
        "supervoxels": asdict(model.supervoxels),
        "figures": dict(model.figures),
        "attribution": model.attribution,
    }


def load_model(path: str | os.PathLike[str]) -> CelisModel:
    """Read a model; nothing in the file is ever run.

    Parameters
    ----------
    path : path
        A file written by `save_model`.

    Returns
    -------
    model : CelisModel
        On the CPU, ready to evaluate.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"There is no model file {path}. Give a .safetensors file made by celis train.")
    n_bytes = path.stat().st_size
    if n_bytes > MAX_FILE_BYTES:
        raise ModelError(f"{path} has {n_bytes / 1e9:.3g} GB, too much for a model. Give another file.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(
            f"{path} is damaged or not a safetensors file ({error}). Copy it again or train the model again."
        ) from error
    if KEY not in metadata:
        raise ModelError(f"{path} is a safetensors file, but not a model of napari-celis.")
    try:
        if len(metadata[KEY]) > MAX_TEXT:
            raise ModelError(f"its description has {len(metadata[KEY]):,} letters. It is damaged.")
        return _rebuild(json.loads(metadata[KEY]), tensors)
    except CelisError as error:
        raise ModelError(f"{path} cannot be used: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError) as error:
        raise ModelError(
            f"{path} is damaged, or of another version: its description and its weights do not fit together "
            f"({' '.join(str(error).split())[:200]})."
        ) from error


def _rebuild(described: dict[str, Any], tensors: dict[str, Tensor]) -> CelisModel:
    """Turn a description and its tensors back into a model."""
    if not is_plain_number(described["format"]):
        raise ModelError(f"it has format {described['format']!r:.40}, which is no number. It is damaged.")
    if described["format"] > FORMAT:
        raise ModelError(
            f"it has format {described['format']}, but this version of napari-celis reads up to {FORMAT}. "
            "Upgrade napari-celis."
        )
    if described["format"] < OLDEST:
        raise ModelError(
            f"it has format {described['format']}, of an earlier version of napari-celis; this one reads "
            f"{OLDEST} and later. Train the model again."
        )
    require_sense(described)
    require_finite_weights(tensors)
    affinity = from_tensors(_under(tensors, "affinity"), described["affinity"])
    specs, energies = [], []
    for item in described["specs"]:
        name = item["name"]
        specs.append(
            DescriptorSpec(
                name,
                item["kind"],
                tuple(item["box_zyx"]),
                tensors[f"pairs.{name}"].numpy(),
                tuple(item["region_zyx"]),
                tuple(item["stride_zyx"]),
                float(item["share"]),
            )
        )
        weights = _under(tensors, f"energy.{name}")
        energies.append(_rebuild_energy(specs[-1], item["energy"], weights, described["layout_grid"]))
    model = CelisModel(
        affinity=affinity,
        specs=tuple(specs),
        energies=tuple(energies),
        voxel_size_nm=as_triple(described["voxel_size_nm"]),
        thresholds={str(name): float(value) for name, value in described["thresholds"].items()},
        classifier=PolicyClassifier.from_tensors(_under(tensors, "policy"))
        if described["has_classifier"]
        else None,
        examples=PolicyRows.from_tensors(_under(tensors, "examples"))
        if described.get("has_examples", False)
        else None,
        policy=described["policy"],
        n_symmetries=int(described["turns"]),
        layout_grid=int(described["layout_grid"]),
        supervoxels=SeededSettings(**described.get("supervoxels", {})),
        figures=dict(described["figures"]),
        attribution=str(described["attribution"]),
    )
    if model.classifier is not None:
        n_features = len(DECISIVE) + len(specs)
        seen = model.classifier.n_features, model.classifier.forest.n_features
        if seen[0] != n_features or seen[1] > N_CONTACT_FEATURES:
            raise ModelError(
                f"it is damaged: its policy looks at {seen[0]} features of actions and {seen[1]} of "
                f"contacts, but there are {n_features} and {N_CONTACT_FEATURES}."
            )
    if model.examples is not None and model.examples.features.shape[1] != len(DECISIVE) + len(specs):
        raise ModelError("it is damaged: its examples have another number of features than its policy.")
    if model.policy not in model.policies or set(model.policies) - set(model.thresholds):
        raise ModelError(f"it asks for the policy {model.policy!r}, which this version does not know.")
    return model


def _rebuild_energy(
    spec: DescriptorSpec, described: dict[str, Any], tensors: dict[str, Tensor], grid: int
) -> EnergyNetwork:
    """Turn the description of one energy network and its tensors back into the network."""
    settings = EnergySettings(**described)
    seen, taken = (spec.n_bits, len(grid_offsets(spec, grid))), (settings.n_bits, settings.n_features)
    if seen != taken:
        raise ModelError(
            f"it is damaged: the energy network of `{spec.name}` takes {taken[0]} bits and {taken[1]} "
            f"features, but the spec has {seen[0]} and the layout {seen[1]}."
        )
    with torch.device("meta"):
        empty = EnergyNetwork(settings)
    require_shapes(empty, tensors, f"the energy network of `{spec.name}`")
    network = EnergyNetwork(settings)
    network.load_state_dict(tensors)
    return network.eval()


def _prefixed(prefix: str, network: nn.Module) -> dict[str, Tensor]:
    """Name the tensors of one network."""
    return {f"{prefix}.{name}": _compact(tensor) for name, tensor in network.state_dict().items()}


def _compact(tensor: Tensor) -> Tensor:
    """Store floats in half precision where that loses nothing."""
    tensor = tensor.detach().cpu().contiguous()
    half = tensor.half()
    return half if tensor.is_floating_point() and torch.equal(half.to(tensor.dtype), tensor) else tensor


def _under(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Pick the tensors of one network."""
    return {
        name.removeprefix(f"{prefix}."): tensor
        for name, tensor in tensors.items()
        if name.startswith(f"{prefix}.")
    }
