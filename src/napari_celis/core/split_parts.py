"""Where a supervoxel with seeds of two sides falls apart: at its narrows, and where affinities are low."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt

from napari_celis.core.errors import ActionError
from napari_celis.core.kernels import seeded as kernels
from napari_celis.core.splits import SupervoxelSplit, box_around, next_id
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.volume import Triple

WALL, FREE, FIRST, SECOND = -1, 0, 1, 2
"""What a voxel is while the two sides spread."""
BOUNDARY = 0.5
"""A voxel with an affinity to a neighbour in its supervoxel below this counts as boundary."""
HIGHEST = 255
TOO_SMALL = 2
"""Voxels that a supervoxel must have at least to be split."""


@dataclass(frozen=True, eq=False)
class SplitGround:
    """One supervoxel, ready for seeds: how far every voxel lies from the boundary."""

    supervoxels: Supervoxels
    supervoxel: int
    """Dense index."""
    low: tuple[int, int, int]
    """First voxel of its box."""
    levels: np.ndarray
    """Distances to the boundary as 256 steps, uint8 (box)."""
    is_inside: np.ndarray
    """bool (box)"""

    @classmethod
    def of(
        cls,
        supervoxels: Supervoxels,
        supervoxel: int,
        affinities: np.ndarray | None,
        voxel_size_nm: Triple = (1.0, 1.0, 1.0),
    ) -> SplitGround:
        """Measure one supervoxel.

        Parameters
        ----------
        supervoxels : Supervoxels
            The volume.
        supervoxel : int
            Dense index.
        affinities : ndarray of float32 or uint8, shape (3, Z, Y, X), optional
            Channel c at p is the affinity of p with the voxel before it along axis c. Without them only the
            shape counts.
        voxel_size_nm : tuple of float
            Along z, y, x.
        """
        size = int(supervoxels.sizes[supervoxel])
        if supervoxel < 1:
            raise ActionError("A seed lies in the background, which cannot be split. Set it in a supervoxel.")
        if size < TOO_SMALL:
            raise ActionError(
                f"Supervoxel {supervoxels.ids[supervoxel]} has only {size} voxel, so it cannot be split. "
                "Cut it out of its segment instead (C)."
            )
        box = box_around(supervoxels.dense, (supervoxel,))
        is_inside = supervoxels.dense[box] == supervoxel
        is_deep = is_inside.copy()
        if affinities is not None:
            limit = BOUNDARY * HIGHEST if affinities.dtype == np.uint8 else BOUNDARY
            for axis in range(3):
                here, before = (_shifted(is_inside, axis, side) for side in (1, 0))
                is_low = (_shifted(affinities[(axis, *box)], axis, 1) < limit) & here & before
                for side in (1, 0):
                    _shifted(is_deep, axis, side)[is_low] = False
        levels = np.zeros(is_inside.shape, dtype=np.uint8)
        # Without any boundary there is no distance to it.
        if is_deep.any() and not is_deep.all():
            distance = distance_transform_edt(is_deep, sampling=voxel_size_nm)
            levels[:] = np.round(distance * (HIGHEST / float(distance.max())))
        low = box[0].start, box[1].start, box[2].start
        return cls(supervoxels, supervoxel, low, levels, is_inside)

    @property
    def name(self) -> int:
        """Id of the supervoxel."""
        return int(self.supervoxels.ids[self.supervoxel])

    def sides(self, first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> np.ndarray:
        """Let the seeds spread, from the middle of each side to its boundary; returns FIRST or SECOND.

        Of the voxels at hand the one that lies deepest comes first, and of equals the first one reached.
        Pieces of the supervoxel that have no seed go to the side with more voxels.

        Parameters
        ----------
        first, second : sequence of (z, y, x)
            Voxels of the volume, in the supervoxel.

        Returns
        -------
        sides : ndarray of int32, shape (box)
            WALL outside of the supervoxel.
        """
        labels = np.where(self.is_inside, np.int32(FREE), np.int32(WALL))
        for seeds, side, name in ((first, FIRST, "A"), (second, SECOND, "B")):
            if not len(seeds):
                raise ActionError(
                    f"Supervoxel {self.name} has no seed of side {name}. Set at least one of each side in it."
                )
            for seed in seeds:
                place = tuple(int(at) - begin for at, begin in zip(seed, self.low, strict=True))
                if not all(0 <= at < n for at, n in zip(place, labels.shape, strict=True)) or (
                    labels[place] == WALL
                ):
                    raise ActionError(
                        f"The seed at {tuple(int(at) for at in seed)} does not lie in supervoxel "
                        f"{self.name}. Remove it, or set it there."
                    )
                if labels[place] not in (FREE, side):
                    raise ActionError(
                        f"The voxel at {tuple(int(at) for at in seed)} is a seed of both sides. Remove one."
                    )
                labels[place] = side
        labels = np.ascontiguousarray(labels)
        kernels.flood(self.levels, labels, np.empty(labels.size, dtype=np.int32))
        n_first, n_second = (int((labels == side).sum()) for side in (FIRST, SECOND))
        labels[labels == FREE] = FIRST if n_first >= n_second else SECOND
        return labels

    def split(self, sides: np.ndarray) -> SupervoxelSplit:
        """Make the split of two sides: the larger one, and of equal ones the first, keeps the id.

        Parameters
        ----------
        sides : ndarray
            From `sides`.
        """
        leaving = SECOND if (sides == FIRST).sum() >= (sides == SECOND).sum() else FIRST
        at = np.stack(np.nonzero(sides == leaving)) + np.array(self.low)[:, None]
        voxels = np.ravel_multi_index(tuple(at), self.supervoxels.dense.shape).astype(np.int64)
        return SupervoxelSplit(self.name, next_id(self.supervoxels), voxels)


def _shifted(array: np.ndarray, axis: int, side: int) -> np.ndarray:
    """View an array without its first (1) or last (0) layer along an axis."""
    key = [slice(None)] * 3
    key[axis] = slice(1, None) if side else slice(None, -1)
    return array[tuple(key)]
