"""Apply a model: image in, affinities and energies out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np
import torch

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.contacts import measure_contacts
from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.errors import ModelError
from napari_celis.core.parallel import Pool
from napari_celis.core.policy import EnergyPolicy, LearnedPolicy, Policy
from napari_celis.core.regions import tile
from napari_celis.core.seeded_watershed import seeded_watershed
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Triple
from napari_celis.models.checkpoint import CelisModel, PolicyName
from napari_celis.models.device import choose_device
from napari_celis.models.evaluator import NetworkEnergy
from napari_celis.models.features import CentreFeatures, centre_features, interior_probability
from napari_celis.models.inference import predict_turned
from napari_celis.models.intensity import in_known_range


def affinities_of(
    model: CelisModel,
    image: np.ndarray,
    *,
    device: torch.device | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> np.ndarray:
    """Compute the affinities of an image as the model's training did, float32 (3, Z, Y, X).

    Grey values of another recording are first brought to those of training; see `in_known_range`, which tells
    `say` so.
    """
    net = model.affinity.to(device or choose_device())
    image = in_known_range(image, net.settings.intensity, say)
    return predict_turned(net, image, model.turns, progress=progress)


def supervoxels_of(model: CelisModel, affinities: np.ndarray, voxel_size_nm: Sequence[float]) -> np.ndarray:
    """Make an oversegmentation with the model's settings, uint64 (Z, Y, X); see `seeded_watershed`.

    Parameters
    ----------
    model : CelisModel
        Says how fine.
    affinities : ndarray of float or uint8, shape (3, Z, Y, X)
        From `affinities_of`.
    voxel_size_nm : sequence of float
        Voxel size of the volume along z, y, x.
    """
    return seeded_watershed(affinities, voxel_size_nm, model.supervoxels).astype(np.uint64)


def energy_of(
    model: CelisModel, affinities: np.ndarray, *, device: torch.device | None = None
) -> NetworkEnergy:
    """Make the energy of an image, for an agglomerator that uses the model's specs.

    Parameters
    ----------
    model : CelisModel
        Gives specs and networks.
    affinities : ndarray of float, shape (3, Z, Y, X)
        From `affinities_of`.
    device : torch.device, optional
        Where to evaluate; the best one by default.

    Returns
    -------
    energy : NetworkEnergy
        With features at every centre.
    """
    interior = interior_probability(affinities)

    def features_of(spec: DescriptorSpec) -> CentreFeatures:
        return centre_features(interior, tile(interior.shape, spec).centres, spec, model.layout_grid)

    with closing(Pool()) as pool:
        features = list(pool.map(features_of, model.specs))
    return NetworkEnergy(model.energies, features, device or choose_device())


def agglomerator_of(
    model: CelisModel,
    supervoxels: Supervoxels,
    affinities: np.ndarray,
    *,
    policy: PolicyName | None = None,
    device: torch.device | None = None,
    progress: Callable[[float], None] | None = None,
) -> Agglomerator:
    """Make the agglomerator of a volume as the model wants it: its specs, energies and policy.

    Parameters
    ----------
    model : CelisModel
        What to apply.
    supervoxels : Supervoxels
        The atoms.
    affinities : ndarray of float, shape (3, Z, Y, X)
        From `affinities_of`.
    policy : {'energy', 'learned'}, optional
        How to order actions; the model's own policy by default.
    device : torch.device, optional
        Where to evaluate; the best one by default.
    progress : callable, optional
        Called with the finished share, 0 to 1, while the first scores are computed.
    """
    energy = energy_of(model, affinities, device=device)
    return Agglomerator(
        supervoxels,
        model.specs,
        energy,
        policy=policy_of(model, policy or model.policy, supervoxels, affinities),
        progress=progress,
    )


def policy_of(
    model: CelisModel, name: PolicyName, supervoxels: Supervoxels, affinities: np.ndarray
) -> Policy:
    """Make the policy of a volume."""
    if name == "energy":
        return EnergyPolicy()
    if model.classifier is None:
        raise ModelError("This model has no classifier, so it knows only the policy `energy`.")
    contacts = measure_contacts(supervoxels, ActionTable.from_supervoxels(supervoxels), affinities)
    return LearnedPolicy(model.classifier, contacts)


def require_voxel_size(
    model: CelisModel, voxel_size_nm: Triple, way_out: str = "go on anyway with --any-voxel-size"
) -> None:
    """Refuse a volume whose voxels differ from those the model was trained on by more than a tenth."""
    ratios = [own / trained for own, trained in zip(voxel_size_nm, model.voxel_size_nm, strict=True)]
    if max(*ratios, *(1 / ratio for ratio in ratios)) > 1.1:
        own, trained = (" × ".join(f"{v:g}" for v in size) for size in (voxel_size_nm, model.voxel_size_nm))
        raise ModelError(
            f"The model was trained on voxels of {trained} nm, but those of this volume measure {own} nm. "
            f"Resample it (celis convert IN OUT --resample {trained.replace(' ×', '')}), or {way_out}."
        )
