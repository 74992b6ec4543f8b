"""Part a segment between seeds of two sides: between its supervoxels, and through those that have both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Step
from napari_celis.core.protection import require_not_done
from napari_celis.core.seed_surroundings import voxels_around
from napari_celis.core.seeded_cut import (
    contact_strength,
    contacts_inside,
    plan_seeded_cut,
    require_one_segment,
    weakest_cut,
)
from napari_celis.core.segments import join_all
from napari_celis.core.split_parts import SplitGround
from napari_celis.core.splits import DividedVolume, SupervoxelSplit
from napari_celis.core.splitting import carry_out_split
from napari_celis.core.volume import Triple

Voxel = tuple[int, int, int]
HARDLY = 0.1
"""A side with less than this share of the voxels around its seeds has hardly grown from them."""


@dataclass(frozen=True)
class Seeds:
    """Voxels of one segment that belong to two neurons."""

    first: tuple[Voxel, ...] = ()
    second: tuple[Voxel, ...] = ()

    def supervoxels(self, dense: np.ndarray) -> tuple[list[int], list[int]]:
        """Look up the supervoxels with seeds of each side, ascending, without repeats."""
        for seed in (*self.first, *self.second):
            if not all(0 <= at < size for at, size in zip(seed, dense.shape, strict=True)):
                raise ActionError(f"The seed at {seed} lies outside of the volume. Set it in the segment.")
        first, second = (sorted({int(dense[seed]) for seed in side}) for side in (self.first, self.second))
        return first, second


@dataclass(frozen=True, eq=False)
class SeededSplit:
    """What seeds do to a segment, to look at before it is done."""

    seeds: Seeds
    members: np.ndarray
    """Supervoxels of the segment, by dense index, ascending."""
    splits: tuple[SupervoxelSplit, ...]
    """Of supervoxels with seeds of both sides, in order; none for a cut between supervoxels."""
    volume: DividedVolume
    """The volume with their parts."""
    first_side: np.ndarray
    """Dense indices in that volume."""
    second_side: np.ndarray
    n_first_pieces: int
    """Segments that the first side consists of."""
    n_second_pieces: int
    has_hardly_grown: tuple[bool, bool] = (False, False)
    """Of each side whether it has far fewer voxels than lie around its seeds: rather a slip than a neuron."""


def plan_seeded_split(
    agglomerator: Agglomerator,
    seeds: Seeds,
    affinities: np.ndarray | None = None,
    voxel_size_nm: Triple = (1.0, 1.0, 1.0),
) -> SeededSplit:
    """Plan to part the segment of some seeds, at the least strength; changes nothing.

    A supervoxel that has seeds of both sides falls apart where it is narrow and where affinities are low.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    seeds : Seeds
        All in one segment.
    affinities : ndarray of float32 or uint8, shape (3, Z, Y, X), optional
        Those of the image; without them only areas and shapes count.
    voxel_size_nm : tuple of float
        Along z, y, x.

    Raises
    ------
    ActionError
        For seeds of one side only, in the background or in several segments, for a voxel that is a seed of
        both sides, and for a supervoxel that cannot be split.
    """
    supervoxels, segments = agglomerator.supervoxels, agglomerator.segment_ids()
    first, second = seeds.supervoxels(supervoxels.dense)
    require_one_segment(supervoxels, segments, first, second)
    own = int(segments[first[0]])
    require_not_done(agglomerator.is_done(), supervoxels.ids, supervoxels.index_of(own))
    members = np.flatnonzero(segments == own)
    volume = DividedVolume(supervoxels, agglomerator.actions, agglomerator.glued)
    splits = []
    for index in sorted(set(first) & set(second)):
        ground = SplitGround.of(volume.supervoxels, index, affinities, voxel_size_nm)
        inside = (
            [one for one in side if supervoxels.dense[one] == index] for side in (seeds.first, seeds.second)
        )
        splits.append(ground.split(ground.sides(*inside)))
        volume = volume.divided(splits[-1])
    after = np.append(members, np.arange(supervoxels.n + 1, volume.supervoxels.n + 1))
    on_first, n_pieces = _sides(volume, after, seeds, affinities)
    sides = after[on_first], after[~on_first]
    around = [
        voxels_around(supervoxels.dense, members, own_seeds, others, voxel_size_nm)
        for own_seeds, others in ((seeds.first, seeds.second), (seeds.second, seeds.first))
    ]
    sizes = [int(volume.supervoxels.sizes[side].sum()) for side in sides]
    is_tiny = sizes[0] < HARDLY * around[0], sizes[1] < HARDLY * around[1]
    return SeededSplit(seeds, members, tuple(splits), volume, *sides, *n_pieces, is_tiny)


def carry_out_seeded_split(
    agglomerator: Agglomerator, plan: SeededSplit, affinities: np.ndarray | None = None
) -> tuple[Step, ...]:
    """Part what a plan shows, to be taken back at once, and keep the two sides apart.

    Parameters
    ----------
    agglomerator : Agglomerator
        Of the plan's volume, its parts still merged; where nothing is split, the one that it was made for.
    plan : SeededSplit
        From `plan_seeded_split`.
    affinities : ndarray, optional
        Those of the plan.
    """
    strength = contact_strength(agglomerator.supervoxels, agglomerator.actions, affinities)
    sides = plan.seeds.supervoxels(agglomerator.supervoxels.dense)
    return carry_out_split(agglomerator, plan.splits, plan_seeded_cut(agglomerator, *sides, strength))


def require_same_segment(agglomerator: Agglomerator, plan: SeededSplit) -> None:
    """Refuse a plan whose segment has changed since.

    Parameters
    ----------
    agglomerator : Agglomerator
        Before the split.
    plan : SeededSplit
        From `plan_seeded_split`.
    """
    segments = agglomerator.segment_ids()
    is_same = len(segments) > plan.members[-1] and np.array_equal(
        np.flatnonzero(segments == segments[plan.members[0]]), plan.members
    )
    if not is_same:
        raise ActionError(
            "The segment has changed since this split was shown, so nothing was done. Set the seeds again."
        )


def _sides(
    volume: DividedVolume, members: np.ndarray, seeds: Seeds, affinities: np.ndarray | None
) -> tuple[np.ndarray, tuple[int, int]]:
    """Find which members are on the first side, and in how many pieces each side is."""
    rows, u, v = contacts_inside(volume.actions, members)
    strength = contact_strength(volume.supervoxels, volume.actions, affinities)[rows]
    first, second = (np.searchsorted(members, side) for side in seeds.supervoxels(volume.supervoxels.dense))
    on_first = weakest_cut(len(members), u, v, strength, first, second)
    kept = on_first[u] == on_first[v]
    piece = join_all(len(members) - 1, u[kept], v[kept])
    return on_first, (len(np.unique(piece[on_first])), len(np.unique(piece[~on_first])))
