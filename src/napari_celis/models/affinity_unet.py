"""A compact 3-D U-Net for affinities, made for few CPU cores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import nn
from torch.nn import functional

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import ModelError
from napari_celis.models.affinity_base import NEIGHBOURS, AffinityNet, AffinitySettings

KERNEL = (3, 3, 3)

COARSE = 2.0
"""An axis whose voxels are this many times longer than the finest is pooled later than the others."""

CELLS_AT_ONCE = 2**14
"""Cells whose voxels are made at a time: those of a tile would need more memory than its convolutions."""


def pooling_factors(voxel_size_nm: Sequence[float], levels: int) -> list[IntTriple]:
    """Choose what each level pools, so that voxels become more isotropic on the way down.

    Parameters
    ----------
    voxel_size_nm : sequence of float
        Edge lengths of a voxel; only ratios count.
    levels : int
        How often the resolution is reduced.

    Returns
    -------
    factors : list of tuple
        1 or 2 per axis and level. Isotropic voxels give (2, 2, 2) throughout, 40 × 4 × 4 nm gives
        (1, 2, 2) three times and then (2, 2, 2).
    """
    size = [float(value) for value in voxel_size_nm]
    factors = []
    for _ in range(levels):
        z, y, x = (2 if step < COARSE * min(size) else 1 for step in size)
        factors.append((z, y, x))
        size = [step * factor for step, factor in zip(size, (z, y, x), strict=True)]
    return factors


def to_cells(values: torch.Tensor, factor: IntTriple) -> torch.Tensor:
    """Cut a map into cells of `factor` voxels and make the voxels of a cell its channels, the last axis.

    Maps have their channels last here, (N, Z, Y, X, C): then every cell is one stretch of memory.

    Parameters
    ----------
    values : torch.Tensor
        (N, C, Z, Y, X).
    factor : IntTriple
        Voxels per cell along each axis.
    """
    n, z, y, x, channels = values.shape
    a, b, c = factor
    cells = values.reshape(n, z // a, a, y // b, b, x // c, c, channels).permute(0, 1, 3, 5, 2, 4, 6, 7)
    return cells.reshape(n, z // a, y // b, x // c, a * b * c * channels)


def from_cells(cells: torch.Tensor, factor: IntTriple) -> torch.Tensor:
    """Undo `to_cells`.

    Parameters
    ----------
    cells : torch.Tensor
        From `to_cells`.
    factor : IntTriple
        Voxels per cell along each axis.
    """
    n, z, y, x, channels = cells.shape
    a, b, c = factor
    voxels = cells.reshape(n, z, y, x, a, b, c, channels // (a * b * c)).permute(0, 1, 4, 2, 5, 3, 6, 7)
    return voxels.reshape(n, z * a, y * b, x * c, channels // (a * b * c))


def rectified(values: torch.Tensor) -> torch.Tensor:
    """Set what is negative to 0: in place, unless something is learned; autograd would copy views whole."""
    return functional.relu(values, inplace=not torch.is_grad_enabled())


class Convolution(nn.Module):
    """A convolution with batch statistics; they are constants outside training."""

    def __init__(self, inputs: int, outputs: int, kernel: IntTriple) -> None:
        super().__init__()
        padding = cast(IntTriple, tuple(size // 2 for size in kernel))
        self.convolution = nn.Conv3d(inputs, outputs, kernel, padding=padding, bias=False)
        self.norm = nn.BatchNorm3d(outputs)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Keep the size, change the channels."""
        if self.training:
            result: torch.Tensor = self.norm(self.convolution(values))
            return result
        # Constants go into the weights: a pass over the map, and a second map in memory, less.
        gain, shift = self._constants()
        weight = self.convolution.weight * gain.view(-1, 1, 1, 1, 1)
        return functional.conv3d(values, weight, shift, padding=self.convolution.padding)

    def _constants(self) -> tuple[torch.Tensor, torch.Tensor]:
        """What the statistics multiply each channel with, and add to it."""
        mean, variance = self.norm.running_mean, self.norm.running_var
        assert mean is not None
        assert variance is not None
        gain = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        return gain, self.norm.bias - mean * gain


class Residual(nn.Module):
    """Two convolutions beside a shortcut; keeps channels and size."""

    def __init__(self, channels: int, kernel: IntTriple) -> None:
        super().__init__()
        self.first = Convolution(channels, channels, kernel)
        self.second = Convolution(channels, channels, kernel)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Add what the two convolutions found."""
        change: torch.Tensor = self.second(self.first(values).relu_())
        return change.add_(values).relu_()


class Down(nn.Module):
    """Go one level down: one linear layer over the voxels of each cell."""

    def __init__(self, inputs: int, outputs: int, factor: IntTriple) -> None:
        super().__init__()
        self.factor = factor
        self.mix = nn.Linear(inputs * math.prod(factor), outputs)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the coarser map."""
        mixed: torch.Tensor = self.mix(to_cells(values.movedim(1, -1), self.factor))
        return rectified(mixed).movedim(-1, 1)


class Up(nn.Module):
    """Come one level up: one linear layer makes the voxels of each cell."""

    def __init__(self, inputs: int, outputs: int, factor: IntTriple) -> None:
        super().__init__()
        self.factor = factor
        self.mix = nn.Linear(inputs, outputs * math.prod(factor))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Return the finer map."""
        return from_cells(self.mix(values.movedim(1, -1)), self.factor).movedim(-1, 1)


class UNet(AffinityNet):
    """A residual U-Net whose finest level are cells of 2 × 2 × 2 voxels (1 × 2 × 2 in coarse sections).

    On a CPU a convolution over voxels costs eight times one over cells, and runs at a fraction of the speed
    because it has few channels. So the voxels of a cell enter as its channels, and a linear layer at the end
    makes one feature vector for each of them. No layer mixes statistics of the window into its result,
    and windows begin on the grid, therefore a window with `halo_zyx` around it gives the same values as the
    whole volume.
    """

    is_valid = False

    def __init__(self, settings: AffinitySettings) -> None:
        super().__init__(settings)
        if settings.levels < 1 or settings.width < 1 or settings.n_features < 1:
            raise ModelError(
                f"A U-Net needs at least one level, channel and feature, got levels {settings.levels}, "
                f"width {settings.width}, n_features {settings.n_features}."
            )
        factors = pooling_factors(settings.voxel_size_nm, settings.levels)
        widths = [settings.width * 2**level for level in range(settings.levels)]
        self.cell, self.n_features = factors[0], settings.n_features
        per_cell = math.prod(self.cell)
        self.stem = Convolution(per_cell, widths[0], KERNEL)
        self.encoders = nn.ModuleList(Residual(width, KERNEL) for width in widths)
        self.decoders = nn.ModuleList(Residual(width, KERNEL) for width in widths[:-1])
        steps = list(zip(widths, widths[1:], factors[1:], strict=False))
        self.downs = nn.ModuleList(Down(fine, coarse, factor) for fine, coarse, factor in steps)
        self.ups = nn.ModuleList(Up(coarse, fine, factor) for fine, coarse, factor in steps)
        self.detail = nn.Linear(2 * widths[0], per_cell * self.n_features)
        self.output = nn.Linear(self.n_features, len(settings.offsets))
        self.grid_zyx, self.halo_zyx = _geometry(factors)
        self.window_bytes = 4 * (2 + 4 * settings.width // per_cell)
        self.core_bytes = 4 * 3 * len(NEIGHBOURS)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Compute logits (N, C, Z, Y, X)."""
        return self.logits_of_cells(self.cell_features(image))

    def neighbour_logits(self, image: torch.Tensor, core: tuple[slice, slice, slice]) -> torch.Tensor:
        """Compute the logits of the neighbours; the last layers see only `core`, and little at a time."""
        parts = [slice(part.start // n, part.stop // n) for part, n in zip(core, self.cell, strict=True)]
        known = self.cell_features(image)[(slice(None), *parts)]
        sizes = [size * n for size, n in zip(known.shape[1:4], self.cell, strict=True)]
        found = torch.empty((len(image), len(NEIGHBOURS), *sizes), device=image.device)
        layers = max(1, CELLS_AT_ONCE // math.prod(known.shape[2:4]))
        for begin in range(0, known.shape[1], layers):
            logits = self.logits_of_cells(known[:, begin : begin + layers])
            first = begin * self.cell[0]
            found[:, :, first : first + logits.shape[2]] = logits[:, : len(NEIGHBOURS)]
        return found

    def logits_of_cells(self, known: torch.Tensor) -> torch.Tensor:
        """Turn what `cell_features` returned into logits (N, C, Z, Y, X)."""
        cells = rectified(self.detail(known))
        scores = self.output(cells.view(*cells.shape[:-1], -1, self.n_features)).flatten(-2)
        return from_cells(scores, self.cell).movedim(-1, 1)

    def cell_features(self, image: torch.Tensor) -> torch.Tensor:
        """Return what is known about each cell, (N, Z', Y', X', 2 × width)."""
        stem = self.stem(to_cells(image.movedim(1, -1), self.cell).movedim(-1, 1)).relu_()
        values, skips = stem, []
        for down, encoder in zip([nn.Identity(), *self.downs], self.encoders, strict=True):
            values = encoder(down(values))
            skips.append(values)
        skips.pop()
        for up, decoder in zip(reversed(self.ups), reversed(self.decoders), strict=True):
            values = decoder(rectified(skips.pop() + up(values)))
        return torch.cat([stem, values], dim=1).movedim(1, -1)


def _geometry(factors: Sequence[IntTriple]) -> tuple[IntTriple, IntTriple]:
    """Work out the pooling grid and how far one output looks, rounded up to the grid."""
    grids, halos = [], []
    for axis in range(3):
        grid, reach = 1, 0
        for level, factor in enumerate(factors):
            grid *= factor[axis]
            n_blocks = 1 if level == len(factors) - 1 else 2
            n_convolutions = 2 * n_blocks + (level == 0)
            reach += n_convolutions * grid
        # An output at one end of its coarsest cell also sees the other end.
        reach += grid - 1
        grids.append(grid)
        halos.append(-(-reach // grid) * grid)
    return (grids[0], grids[1], grids[2]), (halos[0], halos[1], halos[2])
