"""Supervoxels: the atoms of an agglomeration, by dense index and by the id in the file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.errors import ActionError
from napari_celis.core.volume import as_labels, require_foreground, require_three_axes, require_voxels


@dataclass(frozen=True, eq=False)
class Supervoxels:
    """A label volume with its ids replaced by dense indices."""

    dense: np.ndarray
    """Index of every voxel's supervoxel, int32 (Z, Y, X), C-contiguous; 0 is background."""
    ids: np.ndarray
    """The id in the file of each index, uint64 (N + 1,); `ids[0]` is 0."""
    sizes: np.ndarray
    """Voxels of each index, int64 (N + 1,)."""

    @property
    def n(self) -> int:
        """Number of supervoxels, background not counted."""
        return len(self.ids) - 1

    @classmethod
    def from_labels(cls, labels: np.ndarray) -> Supervoxels:
        """Index a label volume; the indices follow the order of the ids."""
        require_three_axes(labels.shape, "`supervoxels`")
        require_voxels(labels.shape, "`supervoxels`")
        labels = as_labels(labels, "`supervoxels`")
        require_foreground(labels, "`supervoxels`")
        ids, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        has_background = ids[0] == 0
        dense = inverse.reshape(labels.shape).astype(np.int32)
        if not has_background:
            dense += 1
            ids, sizes = np.insert(ids, 0, 0), np.insert(sizes, 0, 0)
        return cls(np.ascontiguousarray(dense), ids.astype(np.uint64), sizes.astype(np.int64))

    def index_of(self, supervoxel_id: int) -> int:
        """Find the dense index of an id, or say which ids are near."""
        wanted = np.uint64(min(max(int(supervoxel_id), 0), 2**64 - 1))
        index = int(np.searchsorted(self.ids, wanted))
        if supervoxel_id <= 0 or index >= len(self.ids) or int(self.ids[index]) != supervoxel_id:
            raise ActionError(
                f"There is no supervoxel {supervoxel_id} in this volume; its ids run from {self.ids[1]} "
                f"to {self.ids[-1]}."
            )
        return index
