"""What a policy was fitted to, in a compact form, so that answers can be added to it later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from napari_celis.core.errors import ModelError

MOST_EXAMPLES = 4096
"""Rows that a model keeps; about 30 bytes each."""
MOST_STORED = 2**16
"""Rows that a file may hold; models that were saved after learning hold answers too."""
LARGEST = 60_000.0
"""Numbers beyond it do not fit into half precision; no feature comes near."""


@dataclass(frozen=True, eq=False)
class PolicyRows:
    """Contacts that were judged by a truth or a person, as the last stage of the policy sees them."""

    features: np.ndarray
    """As in `LearnedScorer.features`, float16 (n, F)."""
    odds: np.ndarray
    """What a forest that did not learn from it said about each, float16 (n,)."""
    is_wrong: np.ndarray
    """Whether a merge is wrong, bool (n,)."""
    weights: np.ndarray
    """What each counts against the others, float16 (n,); 1 on average."""

    def __post_init__(self) -> None:
        n = len(self.odds)
        shapes = (self.odds.shape, self.is_wrong.shape, self.weights.shape)
        if self.features.ndim != 2 or len(self.features) != n or set(shapes) != {(n,)}:
            raise ModelError("The examples of the policy do not fit together: their numbers of rows differ.")
        if not 0 < n <= MOST_STORED:
            raise ModelError(f"The policy holds {n:,} examples, but there are 1 to {MOST_STORED:,}.")
        if not all(np.isfinite(array).all() for array in (self.features, self.odds, self.weights)):
            raise ModelError("The examples of the policy hold numbers that are not finite.")
        if (self.weights < 0).any() or not (self.weights > 0).any():
            raise ModelError("The examples of the policy hold weights below 0, or none above.")

    def __len__(self) -> int:
        return len(self.odds)

    @classmethod
    def of(
        cls, features: np.ndarray, odds: np.ndarray, is_wrong: np.ndarray, weights: np.ndarray
    ) -> PolicyRows:
        """Make rows from numbers of any precision.

        Parameters
        ----------
        features, odds, is_wrong, weights : ndarray
            As the fields; weights are brought to 1 on average.
        """
        weights = weights / weights.mean()
        halves = (np.clip(one, -LARGEST, LARGEST).astype(np.float16) for one in (features, odds, weights))
        few, said, counted = halves
        return cls(few, said, np.asarray(is_wrong, dtype=bool), counted)

    def thinned(self, most: int = MOST_EXAMPLES, seed: int = 0) -> PolicyRows:
        """Draw so many of them, right and wrong ones alike, each kind with its whole weight.

        Parameters
        ----------
        most : int
            How many are left at most.
        seed : int
            Of the draw.
        """
        if len(self) <= most:
            return self
        rng = np.random.default_rng(seed)
        kinds = [np.flatnonzero(self.is_wrong == kind) for kind in (False, True)]
        fewer = min(len(kind) for kind in kinds)
        room = [min(len(kind), max(most // 2, most - fewer)) for kind in kinds]
        weights = self.weights.astype(np.float64)
        drawn = []
        for kind, n in zip(kinds, room, strict=True):
            own = np.sort(rng.permutation(kind)[:n])
            if len(own):
                weights[own] *= weights[kind].sum() / max(weights[own].sum(), 1e-12)
            drawn.append(own)
        rows = np.concatenate(drawn)
        return PolicyRows.of(self.features[rows], self.odds[rows], self.is_wrong[rows], weights[rows])

    def to_tensors(self) -> dict[str, Tensor]:
        """Name the arrays for a model file."""
        return {
            "features": torch.from_numpy(self.features.copy()),
            "odds": torch.from_numpy(self.odds.copy()),
            "is_wrong": torch.from_numpy(self.is_wrong.astype(np.uint8)),
            "weights": torch.from_numpy(self.weights.copy()),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> PolicyRows:
        """Read back what `to_tensors` returned."""
        if tensors["is_wrong"].dtype != torch.uint8 or bool((tensors["is_wrong"] > 1).any()):
            raise ModelError("The examples of the policy are neither right nor wrong: the file is damaged.")
        return cls(
            tensors["features"].half().numpy(),
            tensors["odds"].half().numpy(),
            tensors["is_wrong"].bool().numpy(),
            tensors["weights"].half().numpy(),
        )
