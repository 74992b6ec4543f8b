"""The classifier of the learned policy: a few small networks whose answers are averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from napari_celis.models.device import one_torch_thread

N_KNOTS = 33
"""Quantiles of every feature that are remembered."""
SPREAD = 1.7
"""Features are spread evenly from minus this to this, which gives them a deviation of about 1."""


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
        self.register_buffer("knots", torch.linspace(0, 1, N_KNOTS, dtype=torch.float64).repeat(f, 1))
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.randn(m, a, b) * (2.0 / a) ** 0.5) for a, b in ((f, h), (h, h), (h, 1))]
        )
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(m, 1, b)) for b in (h, h, 1)])
        self.dropout = nn.Dropout(1.0 - settings.keep)

    knots: Tensor
    """Quantiles of every feature, ascending, float64 (n_features, N_KNOTS)."""

    def set_knots(self, features: np.ndarray) -> None:
        """Remember the quantiles of every feature."""
        quantiles = np.quantile(features.astype(np.float64), np.linspace(0, 1, N_KNOTS), axis=0)
        self.knots.copy_(torch.from_numpy(quantiles.T))

    def forward(self, rows: Tensor) -> Tensor:
        """Return log-odds, (members, n), of features that went through `spread`."""
        hidden = rows.expand(self.settings.members, *rows.shape)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = self.dropout(torch.relu(hidden @ weight + bias))
        odds: Tensor = (hidden @ self.weights[-1] + self.biases[-1]).squeeze(-1)
        return odds


def spread(features: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Replace every feature by where it lies among those of training, evenly between two numbers.

    What lies beyond all of them counts as the last one: a segment larger than any in training stays in range.

    Parameters
    ----------
    features : ndarray of float, shape (n, F)
        As `core.policy` makes them.
    knots : ndarray of float64, shape (F, N_KNOTS)
        From `PolicyNetwork.set_knots`.
    """
    places = np.empty(features.shape)
    for column, own in enumerate(knots):
        values = np.clip(features[:, column].astype(np.float64), own[0], own[-1])
        below = np.clip(np.searchsorted(own, values) - 1, 0, len(own) - 2)
        step = own[below + 1] - own[below]
        share = np.divide(values - own[below], step, out=np.zeros(len(values)), where=step > 0)
        places[:, column] = below + share
    spreaded: np.ndarray = SPREAD * (2.0 * places / (knots.shape[1] - 1) - 1.0)
    return spreaded


class NetworkScorer:
    """Scores actions by the mean log-odds of a network's members, in float64.

    Parameters
    ----------
    network : PolicyNetwork
        Copied; later training does not change the scorer.
    """

    def __init__(self, network: PolicyNetwork) -> None:
        tensors = {name: value.detach().cpu().double() for name, value in network.state_dict().items()}
        self._knots = tensors["knots"].numpy()
        self._weights = [tensors[f"weights.{layer}"] for layer in range(len(network.weights))]
        self._biases = [tensors[f"biases.{layer}"] for layer in range(len(network.biases))]

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the log-odds that each merge is wrong, float64 (n,)."""
        with torch.inference_mode(), one_torch_thread():
            hidden = torch.from_numpy(spread(features, self._knots))
            for weight, bias in zip(self._weights[:-1], self._biases[:-1], strict=True):
                hidden = torch.relu(hidden @ weight + bias)
            odds: np.ndarray = (hidden @ self._weights[-1] + self._biases[-1])[:, :, 0].mean(dim=0).numpy()
        return odds
