"""A random forest as plain arrays, grown by scikit-learn.

Walked by hand: greedy asks thousands of times for a few dozen rows, where the overhead of a call of
scikit-learn costs more than the trees. A safetensors file can hold the arrays; a pickle would run code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from napari_celis.core.errors import ModelError
from napari_celis.core.kernels import trees as kernels
from napari_celis.core.parallel import default_threads


@dataclass(frozen=True, eq=False)
class FlatForest:
    """All trees one after the other; every node comes before its next nodes."""

    root: np.ndarray
    """First node of each tree, int64 (T,)."""
    nodes: np.ndarray
    """Column that a node looks at (negative in a leaf), and its next nodes left and right, int32 (M, 3)."""
    number: np.ndarray
    """Rows up to and including this go left; in a leaf, the share of the second class, float32 (M,)."""

    def __post_init__(self) -> None:
        if not self._is_sound():
            raise ModelError("The trees of the forest are damaged: their nodes do not fit together.")

    def _is_sound(self) -> bool:
        """Look for what would send the kernel, which checks nothing, astray or round for ever."""
        root, nodes, number = self.root, self.nodes, self.number
        n_nodes = len(number)
        if root.ndim != 1 or not len(root) or nodes.shape != (n_nodes, 3) or number.shape != (n_nodes,):
            return False
        inner = np.flatnonzero(nodes[:, 0] >= 0)
        below = nodes[inner, 1:]
        is_inside = ((root >= 0) & (root < n_nodes)).all() and (below < n_nodes).all()
        return bool(is_inside and (below > inner[:, None]).all() and np.isfinite(number).all())

    @property
    def n_features(self) -> int:
        """Number of columns it needs at least."""
        return int(self.nodes[:, 0].max(initial=-1)) + 1

    @classmethod
    def from_sklearn(cls, forest: Any) -> FlatForest:
        """Flatten a classifier of trees with two classes."""
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
            np.where(column < 0, weight[:, 1] / weight.sum(axis=1), threshold).astype(np.float32),
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
            What `predict_proba` of scikit-learn gives for the second class, but for rounding to float32.
        """
        out = np.zeros(len(features))
        kernels.average_leaves(
            np.ascontiguousarray(features, dtype=np.float32), self.root, self.nodes, self.number, out
        )
        return out

    def contributions(self, features: np.ndarray) -> np.ndarray:
        """Say what each column adds to the probability, float64 (n, F + 1).

        Every question on the way from a root to a leaf changes what is to be expected, if both answers are
        as likely; the change counts for the column that is asked about. Last stands what is expected before
        anything is known; rows add up to the probability.

        Parameters
        ----------
        features : ndarray of float32, shape (n, F)
            Columns as in training.
        """
        values = np.empty(len(self.number))
        kernels.fill_node_values(self.nodes, self.number, values)
        out = np.zeros((len(features), features.shape[1] + 1))
        kernels.average_steps(
            np.ascontiguousarray(features, dtype=np.float32),
            self.root, self.nodes, self.number, values, out,
        )  # fmt: skip
        return out

    def lowest_probabilities(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return what no probability of a row between two rows is below, float64 (n,).

        Where the two are equal, to the bit what `probabilities` says.

        Parameters
        ----------
        low, high : ndarray of float32, shape (n, F)
            Columns as in training; each lies between the two.
        """
        out = np.zeros(len(low))
        kernels.average_lowest_leaves(
            *(np.ascontiguousarray(bound, dtype=np.float32) for bound in (low, high)),
            self.root, self.nodes, self.number, np.empty(len(self.number) + 1, dtype=np.int64), out,
        )  # fmt: skip
        return out


def grow_forest(
    features: np.ndarray,
    is_one: np.ndarray,
    *,
    n_trees: int,
    min_leaf: int,
    seed: int,
    weights: np.ndarray | None = None,
) -> FlatForest:
    """Fit a random forest that tells two classes apart.

    Parameters
    ----------
    features : ndarray of float32, shape (n, F)
        What it sees.
    is_one : ndarray of bool, shape (n,)
        The second class; both must occur.
    n_trees, min_leaf : int
        Size of the forest, and examples that a leaf must hold.
    seed : int
        Of the draws.
    weights : ndarray of float, shape (n,), optional
        What each row counts.
    """
    # Imported here: it takes a second, and only those who train need it.
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        n_trees, min_samples_leaf=min_leaf, n_jobs=default_threads(), random_state=seed
    )
    return FlatForest.from_sklearn(forest.fit(features, is_one, sample_weight=weights))
