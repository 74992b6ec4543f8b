"""A model as small as one can be, with fresh weights, and supervoxels to train another one."""

import numpy as np
import torch

from napari_celis.core.descriptors import sample_spec
from napari_celis.models.affinity import build_affinity_net
from napari_celis.models.affinity_base import AffinitySettings
from napari_celis.models.energy import EnergyNetwork, EnergySettings
from napari_celis.models.model_file import CelisModel
from napari_celis.models.trees import FlatForest


def small_forest(n_features):
    """One tree that asks for the last of the features."""
    nodes = np.array([[n_features - 1, 1, 2], [-2, -1, -1], [-2, -1, -1]], dtype=np.int32)
    return FlatForest(np.zeros(1, np.int64), nodes, np.array([0.0, 0.25, 0.75], dtype=np.float32))


def small_model():
    """One spec with a box of 5, for volumes of 10 nm."""
    torch.manual_seed(0)
    spec = sample_spec(
        "small", "pairwise", (5, 5, 5), rng=np.random.default_rng(0), k=64, stride_zyx=(2, 2, 2)
    )
    settings = AffinitySettings(width=4, levels=1, n_features=4, intensity=(128.0, 60.0))
    return CelisModel(
        affinity=build_affinity_net(settings),
        specs=(spec,),
        energies=(EnergyNetwork(EnergySettings(64, 27, hidden=8)),),
        voxel_size_nm=(10.0, 10.0, 10.0),
        thresholds={"energy": -0.5},
        layout_grid=3,
    )


def cut_into_pieces(truth, size=14):
    """Supervoxels of a few seconds' network would be dust: cut the true objects along a grid instead."""
    z, y, x = np.indices(truth.shape) // size
    _, pieces = np.unique(truth.astype(np.int64) * 1000 + z * 100 + y * 10 + x, return_inverse=True)
    return (pieces.reshape(truth.shape) + 1).astype(np.uint64)
