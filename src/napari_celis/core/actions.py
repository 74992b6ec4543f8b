"""Actions: the pairs of adjacent supervoxels that agglomeration may merge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napari_celis.core.kernels import adjacency
from napari_celis.core.supervoxels import Supervoxels

WHOLE = (0, 0, 0)
"""Every face of an array counts."""


@dataclass(frozen=True, eq=False)
class ActionTable:
    """All actions of a volume, sorted by the dense indices of their two ends."""

    u: np.ndarray
    """Smaller end, int32 (A,)."""
    v: np.ndarray
    """Larger end, int32 (A,)."""
    area: np.ndarray
    """Number of voxel faces in the contact, int64 (A,)."""
    centroid: np.ndarray
    """Mean position of those faces, in voxels, float64 (A, 3)."""
    n_supervoxels: int

    def __len__(self) -> int:
        return len(self.u)

    @cached_property
    def first(self) -> np.ndarray:
        """Where the actions of each smaller end begin, int64 (N + 2,)."""
        return np.searchsorted(self.u, np.arange(self.n_supervoxels + 2)).astype(np.int64)

    def find(self, u: int, v: int) -> int:
        """Return the row of the action between two dense indices, or -1.

        Parameters
        ----------
        u, v : int
            Dense indices of two supervoxels.
        """
        return int(adjacency.find_action(self.first, self.v, min(u, v), max(u, v)))

    @classmethod
    def from_supervoxels(
        cls, supervoxels: Supervoxels, begin_zyx: tuple[int, int, int] = WHOLE
    ) -> ActionTable:
        """Collect the 6-connected faces between supervoxels; background takes no part.

        Parameters
        ----------
        supervoxels : Supervoxels
            What touches.
        begin_zyx : tuple of int
            Only faces count whose upper voxel lies at or behind this along every axis: a block of a volume
            owns the faces towards the layer before it, and no others of that layer.
        """
        keys, positions = np.empty(0, dtype=np.int64), np.empty((0, 3), dtype=np.float32)
        n_faces = adjacency.list_faces(supervoxels.dense, begin_zyx, supervoxels.n, keys, positions)
        keys = np.empty(n_faces, dtype=np.int64)
        positions = np.empty((n_faces, 3), dtype=np.float32)
        adjacency.list_faces(supervoxels.dense, begin_zyx, supervoxels.n, keys, positions)
        pairs, inverse, area = np.unique(keys, return_inverse=True, return_counts=True)
        sums = [np.bincount(inverse, weights=positions[:, axis], minlength=len(pairs)) for axis in range(3)]
        centroid = np.stack(sums, axis=1) / area[:, None]
        width = supervoxels.n + 1
        return cls(
            (pairs // width).astype(np.int32), (pairs % width).astype(np.int32), area, centroid, supervoxels.n
        )

    def nearest(self, u: int, v: int, n: int = 3) -> np.ndarray:
        """Return up to `n` actions of `u` or `v`, those first whose contact lies nearest to the other one.

        Parameters
        ----------
        u, v : int
            Dense indices of two supervoxels.
        n : int
            How many at most.
        """
        of_u = np.flatnonzero((self.u == u) | (self.v == u))
        of_v = np.flatnonzero(((self.u == v) | (self.v == v)) & (u != v))
        if not len(of_u) or not len(of_v):
            return np.concatenate([of_u, of_v])[:n]
        middle = self.centroid[of_u].mean(axis=0), self.centroid[of_v].mean(axis=0)
        distance = np.concatenate(
            [
                np.linalg.norm(self.centroid[of_u] - middle[1], axis=1),
                np.linalg.norm(self.centroid[of_v] - middle[0], axis=1),
            ]
        )
        return np.concatenate([of_u, of_v])[np.argsort(distance, kind="stable")[:n]]
