"""The classifier of the learned policy: a few small networks whose answers are averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

CLIP = 5.0
"""Standardised features are cut off here, so that a segment larger than any in training stays in range."""


@dataclass(frozen=True)
class PolicySettings:
    """Size of the classifier."""

    n_features: int
    hidden: int = 64
    members: int = 8
    """Networks that are averaged; each starts from weights of its own."""
    keep: float = 0.8
    """Probability that a hidden unit is kept while training."""


class PolicyNetwork(nn.Module):
    """Log-odds that a merge is wrong, one answer per member, from the features of `core.policy`."""

    def __init__(self, settings: PolicySettings) -> None:
        super().__init__()
        self.settings = settings
        m, f, h = settings.members, settings.n_features, settings.hidden
        self.register_buffer("mean", torch.zeros(f))
        self.register_buffer("scale", torch.ones(f))
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.randn(m, a, b) * (2.0 / a) ** 0.5) for a, b in ((f, h), (h, h), (h, 1))]
        )
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(m, 1, b)) for b in (h, h, 1)])
        self.dropout = nn.Dropout(1.0 - settings.keep)

    mean: Tensor
    scale: Tensor

    def set_scale(self, features: np.ndarray) -> None:
        """Measure mean and deviation of every feature."""
        self.mean.copy_(torch.from_numpy(features.mean(axis=0, dtype=np.float64)))
        deviation = features.std(axis=0, dtype=np.float64)
        self.scale.copy_(torch.from_numpy(np.where(deviation > 1e-6, deviation, 1.0)))

    def forward(self, features: Tensor) -> Tensor:
        """Return log-odds, (members, n)."""
        rows = ((features - self.mean) / self.scale).clamp(-CLIP, CLIP)
        hidden = rows.expand(self.settings.members, *rows.shape)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = self.dropout(torch.relu(hidden @ weight + bias))
        odds: Tensor = (hidden @ self.weights[-1] + self.biases[-1]).squeeze(-1)
        return odds


class NetworkScorer:
    """Scores actions by the mean log-odds of a network's members, in float64.

    Parameters
    ----------
    network : PolicyNetwork
        Copied; later training does not change the scorer.
    """

    def __init__(self, network: PolicyNetwork) -> None:
        arrays = {name: value.detach().cpu().double().numpy() for name, value in network.state_dict().items()}
        self._mean, self._scale = arrays["mean"], arrays["scale"]
        self._weights = [arrays[f"weights.{layer}"] for layer in range(len(network.weights))]
        self._biases = [arrays[f"biases.{layer}"] for layer in range(len(network.biases))]

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the log-odds that each merge is wrong, float64 (n,)."""
        hidden = np.clip((features - self._mean) / self._scale, -CLIP, CLIP)
        for weight, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0.0)
        odds: np.ndarray = (hidden @ self._weights[-1] + self._biases[-1])[:, :, 0].mean(axis=0)
        return odds
