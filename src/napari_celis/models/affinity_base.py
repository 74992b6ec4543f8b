"""What every affinity network has: settings that fit in JSON, logits and a known context."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from napari_celis.core.descriptors import IntTriple
from napari_celis.core.errors import ModelError
from napari_celis.core.volume import Triple, as_triple
from napari_celis.models.intensity import Intensity

Preset = Literal["unet", "paper"]

NEIGHBOURS: tuple[IntTriple, ...] = ((-1, 0, 0), (0, -1, 0), (0, 0, -1))
"""Channel c at voxel p is the affinity of p and p + NEIGHBOURS[c]."""


@dataclass(frozen=True)
class AffinitySettings:
    """Everything that is needed to build an affinity network before its weights are known."""

    preset: Preset = "unet"
    voxel_size_nm: Triple = (1.0, 1.0, 1.0)
    """Decides which axes the U-Net pools; only ratios count."""
    width: int = 32
    """U-Net: channels at half resolution; twice as many at each level below."""
    levels: int = 2
    """U-Net: how often the resolution is halved."""
    n_features: int = 32
    """U-Net: channels of the penultimate layer, the image features; the paper's network has 512."""
    long_range: tuple[IntTriple, ...] = ()
    """U-Net: further offsets whose affinities are predicted as auxiliary targets."""
    intensity: Intensity = (0.0, 1.0)
    """Mean and standard deviation of the training image; every image is standardised with them."""

    @property
    def offsets(self) -> tuple[IntTriple, ...]:
        """Offset of every output channel, the three neighbours first."""
        return (*NEIGHBOURS, *self.long_range)

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers, text and lists."""
        values = asdict(self)
        return {key: _plain(value) for key, value in values.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> AffinitySettings:
        """Read back what `to_json` returned; a damaged one is a `ModelError`."""
        unknown = set(values) - {field.name for field in fields(cls)}
        if unknown:
            raise ModelError(
                f"This version does not know some settings of the network: {', '.join(sorted(unknown))}. "
                "Use the version of napari-celis that wrote the model, or a newer one."
            )
        try:
            mean, deviation = values["intensity"]
            return cls(
                preset=values["preset"],
                voxel_size_nm=as_triple(values["voxel_size_nm"]),
                width=int(values["width"]),
                levels=int(values["levels"]),
                n_features=int(values["n_features"]),
                long_range=tuple(_offset(offset) for offset in values["long_range"]),
                intensity=(float(mean), float(deviation)),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelError(f"The settings of the affinity network are damaged: {error!r}.") from error


def _plain(value: Any) -> Any:
    """Turn tuples into lists, all the way down."""
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def _offset(values: Sequence[int]) -> IntTriple:
    """Three whole numbers."""
    z, y, x = (int(value) for value in values)
    return z, y, x


class AffinityNet(nn.Module):
    """Image → affinity logits; the context of one voxel is known exactly.

    Inputs are standardised images (N, 1, Z, Y, X); `standardise` makes them.
    """

    halo_zyx: IntTriple
    """Voxels on each side that one output may depend on, a multiple of `grid_zyx`."""
    grid_zyx: IntTriple
    """Where windows of a volume may begin, so that pooling meets the same voxels in each of them."""
    is_valid: bool
    """Whether outputs exist only where the whole context does; otherwise they cover the input."""
    window_bytes: int
    """Memory per voxel of an input window, float32."""
    core_bytes: int
    """Memory per voxel of the outputs that are kept, float32."""

    def __init__(self, settings: AffinitySettings) -> None:
        super().__init__()
        self.settings = settings

    @abstractmethod
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Compute logits (N, C, Z, Y, X), one channel per offset."""

    @abstractmethod
    def neighbour_logits(self, image: torch.Tensor, core: tuple[slice, slice, slice]) -> torch.Tensor:
        """Compute the logits (N, 3, Z, Y, X) of the three neighbours in a part of the outputs.

        Parameters
        ----------
        image : torch.Tensor
            (N, 1, Z, Y, X).
        core : tuple of slice
            The part that is wanted, on the grid.
        """

    def standardise(self, image: np.ndarray) -> np.ndarray:
        """Bring grey values to the scale that the network was trained on, float32."""
        mean, deviation = self.settings.intensity
        return (image.astype(np.float32) - np.float32(mean)) * np.float32(1 / deviation)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device
