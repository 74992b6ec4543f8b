"""Build affinity networks, and turn them into named tensors and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import ModelError
from napari_celis.core.volume import as_triple
from napari_celis.models.affinity_base import AffinityNet, AffinitySettings, Preset
from napari_celis.models.affinity_paper import N_FEATURES, PaperNet
from napari_celis.models.affinity_unet import UNet
from napari_celis.models.model_checks import require_shapes

LONG_RANGE = (3, 9)
"""Distances of the auxiliary affinities, in voxels of the finest axis."""

PRESETS: dict[str, type[AffinityNet]] = {"unet": UNet, "paper": PaperNet}


def affinity_settings(
    preset: Preset = "unet", voxel_size_nm: Sequence[float] = (1, 1, 1)
) -> AffinitySettings:
    """Return the sizes that a preset has for a voxel size.

    Parameters
    ----------
    preset : {'unet', 'paper'}
        The compact U-Net, or the network of the paper.
    voxel_size_nm : sequence of float
        Edge lengths of a voxel; along a coarse axis the U-Net pools later and long-range offsets are shorter.

    Returns
    -------
    settings : AffinitySettings
    """
    size = as_triple(voxel_size_nm)
    if preset == "paper":
        return AffinitySettings(preset, size, n_features=N_FEATURES)
    return AffinitySettings(preset, size, long_range=long_range_offsets(size))


def long_range_offsets(voxel_size_nm: Sequence[float]) -> tuple[IntTriple, ...]:
    """List offsets of 3 and 9 voxels of the finest axis along every axis where they pass the neighbour."""
    offsets = []
    for distance in LONG_RANGE:
        for axis, step in enumerate(voxel_size_nm):
            n_voxels = round(distance * min(voxel_size_nm) / step)
            if n_voxels > 1:
                z, y, x = (-n_voxels if axis == other else 0 for other in range(3))
                offsets.append((z, y, x))
    return tuple(offsets)


def build_affinity_net(settings: AffinitySettings, *, seed: int = 0) -> AffinityNet:
    """Make a network with fresh weights.

    Parameters
    ----------
    settings : AffinitySettings
        Preset and sizes.
    seed : int
        Seed of the initial weights; torch's own generator is left as it was.

    Returns
    -------
    net : AffinityNet
        On the CPU, in training mode.
    """
    if settings.preset not in PRESETS:
        raise ModelError(f"`{settings.preset}` is no affinity preset. Choose {' or '.join(PRESETS)}.")
    if min(settings.voxel_size_nm) <= 0 or settings.intensity[1] <= 0:
        raise ModelError(
            f"Voxel size {settings.voxel_size_nm} and grey-value deviation {settings.intensity[1]:g} must be "
            "positive."
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = PRESETS[settings.preset](settings)
    return net.to(memory_format=torch.channels_last_3d)  # type: ignore[call-overload, no-any-return]


def to_tensors(net: AffinityNet) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Take a network apart.

    Parameters
    ----------
    net : AffinityNet
        Any preset, on any device.

    Returns
    -------
    tensors : dict of str to Tensor
        Copies of weights and running statistics on the CPU, contiguous.
    settings : dict
        Plain JSON, for `from_tensors`.
    """
    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in net.state_dict().items()}
    return tensors, net.settings.to_json()


def from_tensors(tensors: Mapping[str, torch.Tensor], settings: Mapping[str, Any]) -> AffinityNet:
    """Put a network together again.

    Parameters
    ----------
    tensors, settings
        What `to_tensors` returned, perhaps by way of a file.

    Returns
    -------
    net : AffinityNet
        On the CPU, in evaluation mode.

    Raises
    ------
    ModelError
        If a tensor is missing, unknown or of another shape.
    """
    chosen = AffinitySettings.from_json(settings)
    with torch.device("meta"):
        empty = build_affinity_net(chosen)
    require_shapes(empty, tensors, f"the affinity network `{chosen.preset}`")
    net = build_affinity_net(chosen)
    net.load_state_dict(dict(tensors))
    return net.eval()
