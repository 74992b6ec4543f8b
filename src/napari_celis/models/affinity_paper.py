"""The affinity network of the paper, patch by patch and densely over a volume with the same result."""

from __future__ import annotations

from itertools import product

import torch
from torch import nn
from torch.nn import functional

from napari_celis.core.errors import ModelError
from napari_celis.models.affinity_base import AffinityNet, AffinitySettings

CONTEXT_ZYX = (9, 35, 35)
N_FEATURES = 512

# The table's "dropout p" is the probability to keep a value.
DROP_CONVOLUTION = 1 - 0.9
DROP_DENSE = 1 - 0.5

Maps = dict[tuple[int, int], torch.Tensor]


class PaperNet(AffinityNet):
    """Supplementary table "Network architecture used for oversegmentation and image features".

    A patch has 27 rows before the first pooling and 14 after it: the last window holds one row where the
    others hold two. When the patch slides over a volume, that row has a second one below it, so pooling the
    volume once cannot give the patch's last row. But whether a window is clipped depends only on its position
    in the patch, never on the position of the patch. So the dense form keeps two maps per axis, *full* and
    *clipped* windows, and each weight of the next layer reads the one for its position in the patch:
    only the last tap of an axis can meet a clipped window. With two axes that makes four maps per layer.
    """

    halo_zyx = (4, 17, 17)
    grid_zyx = (1, 1, 1)
    is_valid = True
    window_bytes = 4 * 64 * 16
    core_bytes = 4 * 2 * N_FEATURES

    def __init__(self, settings: AffinitySettings) -> None:
        super().__init__(settings)
        if settings.long_range:
            raise ModelError("The paper's network has no long-range affinities. Use preset `unet` for them.")
        self.convolution1 = nn.Conv3d(1, 64, (1, 5, 5))
        self.convolution2 = nn.Conv3d(64, 64, 5)
        self.convolution3 = nn.Conv3d(64, 64, 5)
        self.hidden = nn.Linear(64 * 5 * 5, N_FEATURES)
        self.output = nn.Linear(N_FEATURES, 3)
        for layer in (self.convolution1, self.convolution2, self.convolution3, self.hidden):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)

    def patch_features(self, patches: torch.Tensor) -> torch.Tensor:
        """Compute the features (N, 512) of the centres of patches (N, 1, 9, 35, 35), as the table has it."""
        pooled = functional.max_pool3d(self._rows(patches), (1, 2, 2), ceil_mode=True)
        third = self._drop(functional.relu(self.convolution3(self._drop(pooled))))
        pooled = self._drop(functional.max_pool3d(third, (1, 2, 2), ceil_mode=True))
        return self._drop(functional.relu(self.hidden(pooled.flatten(1))), DROP_DENSE)

    def patch_logits(self, patches: torch.Tensor) -> torch.Tensor:
        """Compute the logits (N, 3) of the centres of patches."""
        scores: torch.Tensor = self.output(self.patch_features(patches))
        return scores

    def features(self, image: torch.Tensor) -> torch.Tensor:
        """Compute the features (N, 512, Z, Y, X) of every voxel whose whole context lies in `image`."""
        pooled = _pool_rows(self._rows(image))
        third = self._third_maps({state: self._drop(rows) for state, rows in pooled.items()})
        final = {state: self._drop(rows) for state, rows in _pool_dilated(third).items()}
        weight = self.hidden.weight.view(N_FEATURES, 64, 1, 5, 5)
        # In the patch the five rows are 4 voxels apart; only the fifth may hold a clipped window.
        hidden = sum(_convolve(final[part], weight, part, 4) for part in _states())
        features = functional.relu(hidden + self.hidden.bias.view(1, -1, 1, 1, 1))
        return self._drop(features, DROP_DENSE)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Compute the logits (N, 3, Z, Y, X) of every voxel whose whole context lies in `image`."""
        return self._logits(self.features(image))

    def neighbour_logits(self, image: torch.Tensor, core: tuple[slice, slice, slice]) -> torch.Tensor:
        """Compute the logits of a part of these voxels."""
        return self._logits(self.features(image)[(..., *core)])

    def _logits(self, features: torch.Tensor) -> torch.Tensor:
        """Apply the last layer."""
        weight = self.output.weight.view(3, N_FEATURES, 1, 1, 1)
        return functional.conv3d(features, weight, self.output.bias)

    def _rows(self, image: torch.Tensor) -> torch.Tensor:
        """Run the two layers before the first pooling."""
        first = self._drop(functional.relu(self.convolution1(image)))
        return self._drop(functional.relu(self.convolution2(first)))

    def _third_maps(self, pooled: Maps) -> Maps:
        """Convolve for every combination of clipped and full windows at the patch's far edges."""
        weight, maps = self.convolution3.weight, dict[tuple[int, int], torch.Tensor]()
        for part in _states():
            # A part that holds the last tap of an axis reads clipped windows for clipped states only.
            for source in product(*(range(last + 1) for last in part)):
                term = _convolve(pooled[source[0], source[1]], weight, part, 2)
                for state in _states():
                    if (part[0] & state[0], part[1] & state[1]) == source:
                        maps[state] = maps[state] + term if state in maps else term
        bias = self.convolution3.bias
        assert bias is not None
        return {
            state: self._drop(functional.relu(total + bias.view(1, -1, 1, 1, 1)))
            for state, total in maps.items()
        }

    def _drop(self, values: torch.Tensor, p: float = DROP_CONVOLUTION) -> torch.Tensor:
        return functional.dropout(values, p, self.training)


def _states() -> list[tuple[int, int]]:
    """List what a window or a group of taps is along y and x: 0 full or first four, 1 clipped or last."""
    return [(0, 0), (0, 1), (1, 0), (1, 1)]


def _pool_rows(rows: torch.Tensor) -> Maps:
    """Pool pairs of neighbouring rows at every position, and keep the unpooled rows as clipped windows.

    The last position has no second row; it is read by clipped states only.
    """
    below = torch.cat([torch.maximum(rows[..., :-1, :], rows[..., 1:, :]), rows[..., -1:, :]], dim=-2)
    maps = {(1, 1): rows, (0, 1): below}
    for y, unpooled in ((1, rows), (0, below)):
        pairs = torch.maximum(unpooled[..., :-1], unpooled[..., 1:])
        maps[y, 0] = torch.cat([pairs, unpooled[..., -1:]], dim=-1)
    return maps


def _pool_dilated(maps: Maps) -> Maps:
    """Pool rows two voxels apart; in a clipped window the second row is the one that saw a clipped window."""
    pooled = {}
    height, width = maps[0, 0].shape[-2] - 2, maps[0, 0].shape[-1] - 2
    for y, x in _states():
        corners = [
            maps[a & y, b & x][..., 2 * a : 2 * a + height, 2 * b : 2 * b + width] for a, b in _states()
        ]
        pooled[y, x] = torch.maximum(
            torch.maximum(corners[0], corners[1]), torch.maximum(corners[2], corners[3])
        )
    return pooled


def _convolve(
    source: torch.Tensor, weight: torch.Tensor, part: tuple[int, int], dilation: int
) -> torch.Tensor:
    """Apply the first four taps (0) or the last tap (1) along y and x of a dilated 5 × 5 kernel."""
    taps, rows = [], []
    for last, size in zip(part, source.shape[-2:], strict=True):
        n_outputs = size - 4 * dilation
        taps.append(slice(4, 5) if last else slice(0, 4))
        begin = 4 * dilation if last else 0
        rows.append(slice(begin, begin + n_outputs + (0 if last else 3 * dilation)))
    return functional.conv3d(
        source[..., rows[0], rows[1]], weight[..., taps[0], taps[1]], dilation=(1, dilation, dilation)
    )
