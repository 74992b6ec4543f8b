"""A fitted random forest as plain arrays, so that thousands of small predictions cost no overhead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_celis.core.kernels import trees as kernels


@dataclass(frozen=True, eq=False)
class FlatForest:
    """All trees one after the other."""

    root: np.ndarray
    """First node of each tree, int64 (T,)."""
    nodes: np.ndarray
    """Column that a node looks at (negative in a leaf), and its next nodes left and right, int32 (M, 3)."""
    number: np.ndarray
    """Rows up to and including this go left; in a leaf, the share of the second class, float64 (M,)."""

    @classmethod
    def from_sklearn(cls, forest: Any) -> FlatForest:
        """Flatten a `RandomForestClassifier` with two classes."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        sizes = np.array([tree.node_count for tree in trees])
        root = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        shift = np.repeat(root, sizes)
        column = np.concatenate([tree.feature for tree in trees])
        left, right = (
            np.concatenate([getattr(tree, side) for tree in trees]) + shift
            for side in ("children_left", "children_right")
        )
        weight = np.concatenate([tree.value[:, 0, :] for tree in trees])
        threshold = np.concatenate([tree.threshold for tree in trees])
        return cls(
            root,
            np.stack([column, left, right], axis=1).astype(np.int32),
            np.where(column < 0, weight[:, 1] / weight.sum(axis=1), threshold),
        )

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Probability of the second class.

        Parameters
        ----------
        features : ndarray of float32, shape (n, F)
            Columns as in training.

        Returns
        -------
        probabilities : ndarray of float64, shape (n,)
            What `predict_proba` of scikit-learn gives for the second class.
        """
        out = np.zeros(len(features))
        kernels.average_leaves(
            np.ascontiguousarray(features, dtype=np.float32), self.root, self.nodes, self.number, out
        )
        return out
