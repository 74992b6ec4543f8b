"""The layer by which an affinity network tells the local shape of objects; not kept after training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from napari_celis.models.affinity_unet import UNet
from napari_celis.training.affinity_data import Patch, ShapeMap
from napari_celis.training.shape_targets import N_CHANNELS, local_shape


class ShapeHead(nn.Module):
    """One linear layer from what a U-Net knows of a cell to the shape of the object there.

    Parameters
    ----------
    net : UNet
        Whose cells it reads.
    maps : sequence of ShapeMap
        Of the training volumes; the first one says in which units errors count.
    seed : int
        Of the first weights.
    """

    def __init__(self, net: UNet, maps: Sequence[ShapeMap], seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.mix = nn.Linear(2 * net.settings.width, N_CHANNELS)
        inside = maps[0].values[:, maps[0].values[0] > 0].astype(np.float32)
        deviation = inside.std(axis=1) if inside.size else np.ones(N_CHANNELS, dtype=np.float32)
        self.unit = torch.from_numpy(1 / np.maximum(deviation, 1e-3)).to(net.device)
        self.to(net.device)

    def loss(self, cells: torch.Tensor, patches: Sequence[Patch]) -> torch.Tensor:
        """Mean squared error inside objects, in deviations of each channel.

        Parameters
        ----------
        cells : Tensor, shape (N, Z, Y, X, C)
            What the network knows of each cell.
        patches : sequence of Patch
            With the shapes to learn.
        """
        shapes = np.stack([patch.shape for patch in patches if patch.shape is not None])
        wanted = torch.from_numpy(shapes).to(cells.device).movedim(1, -1)
        inside = (wanted[..., :1] > 0).float()
        found = self.mix(cells).float()
        squared = (found - wanted * self.unit) ** 2 * inside
        loss: torch.Tensor = squared.sum() / (N_CHANNELS * inside.sum()).clamp(min=1)
        return loss


def shape_map(net: UNet, labels: np.ndarray) -> ShapeMap:
    """Describe the shapes of labels on the cells of a network.

    Parameters
    ----------
    net : UNet
        What learns them.
    labels : ndarray of int, shape (Z, Y, X)
        True objects.
    """
    return ShapeMap(local_shape(labels, net.cell, net.settings.voxel_size_nm), net.cell)
