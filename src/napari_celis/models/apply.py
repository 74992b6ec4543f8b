"""Apply a model: image in, affinities and energies out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

import numpy as np
import torch

from napari_celis.core.descriptors import DescriptorSpec
from napari_celis.core.parallel import Pool
from napari_celis.core.regions import tile
from napari_celis.core.seeded_watershed import seeded_watershed
from napari_celis.core.volume import ArrayLike3D, Box
from napari_celis.models.device import choose_device
from napari_celis.models.evaluator import NetworkEnergy
from napari_celis.models.features import CentreFeatures, centre_features, interior_probability
from napari_celis.models.inference import predict_averaged
from napari_celis.models.intensity import Intensity, in_known_range, measure_intensity
from napari_celis.models.model_file import CelisModel


def affinities_of(
    model: CelisModel,
    image: ArrayLike3D,
    *,
    box: Box | None = None,
    intensity: Intensity | None = None,
    device: torch.device | None = None,
    progress: Callable[[int, int], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> np.ndarray:
    """Compute the affinities of an image as the model's training did, float32 (3, Z, Y, X).

    Parameters
    ----------
    model : CelisModel
        Gives the network, and over how many symmetries to average.
    image : array or lazy array, shape (Z, Y, X)
        Grey values as in the file. Those of another recording are first brought to those of training.
    box : three slices, optional
        The part that is wanted, with the values that it has in the whole; everything by default.
    intensity : (float, float), optional
        Mean and deviation of the whole image; measured here unless given.
    device : torch.device, optional
        Where to compute; the best one by default.
    progress : callable, optional
        Called as `progress(done, total)`.
    say : callable, optional
        Called with a sentence if grey values had to be changed.
    """
    net = model.affinity.to(device or choose_device())
    own = measure_intensity(np.asarray(image[:, :, :])) if intensity is None else intensity
    seen = in_known_range(image, net.settings.intensity, own, say)
    return predict_averaged(net, seen, model.n_symmetries, box=box, progress=progress)


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
