"""The classifier of the learned policy: log-odds that a merge is wrong, as a weighted sum of what is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from napari_celis.core.errors import ModelError


@dataclass(frozen=True, eq=False)
class PolicyClassifier:
    """A logistic regression over the features of `core.policy`, in float64 throughout."""

    mean: np.ndarray
    """Of every feature in training, (F,)."""
    scale: np.ndarray
    """Standard deviation of every feature in training, (F,)."""
    weights: np.ndarray
    """Log-odds per standard deviation, (F,)."""
    constant: np.ndarray
    """Log-odds at the mean, (1,)."""

    def __post_init__(self) -> None:
        arrays = [getattr(self, field.name) for field in fields(self)]
        n_features = len(self.mean)
        if any(array.shape != (n,) for array, n in zip(arrays, (*[n_features] * 3, 1), strict=True)):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise ModelError(f"The arrays of the policy do not fit together: {shapes}.")
        if not all(np.isfinite(array).all() for array in arrays) or not (self.scale > 0).all():
            raise ModelError("The policy holds numbers that are not finite, or a feature without a scale.")

    @property
    def n_features(self) -> int:
        """Number of features it looks at."""
        return len(self.mean)

    def parts(self, features: np.ndarray) -> np.ndarray:
        """What each feature adds to the log-odds, float64 (n, F): 0 where it is as on average."""
        parts: np.ndarray = (features.astype(np.float64) - self.mean) / self.scale * self.weights
        return parts

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the log-odds that each merge is wrong, float64 (n,)."""
        # Summed row by row, so that an action scores the same to the last bit in any company.
        scores: np.ndarray = self.parts(features).sum(axis=1) + self.constant
        return scores

    def to_tensors(self) -> dict[str, Tensor]:
        """Name the arrays for a model file."""
        return {field.name: torch.from_numpy(getattr(self, field.name).copy()) for field in fields(self)}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> PolicyClassifier:
        """Read back what `to_tensors` returned."""
        return cls(**{field.name: tensors[field.name].double().numpy() for field in fields(cls)})
