"""Connectivity regions: the tiles inside which a descriptor decides what is connected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.descriptors import DescriptorSpec, IntTriple
from napari_celis.core.errors import SpecError
from napari_celis.core.kernels import regions as kernels
from napari_celis.core.parallel import Pool
from napari_celis.core.segments import ranges
from napari_celis.core.supervoxels import Supervoxels

REGIONS_PER_TASK = 64
"""Fixed, so that the work is cut the same way whatever the number of threads."""


@dataclass(frozen=True, eq=False)
class Tiling:
    """The connectivity regions of one spec in one volume, and the centres that each of them owns."""

    spec: DescriptorSpec
    shape: IntTriple
    low: np.ndarray
    """First voxel of each region, int64 (R, 3)."""
    high: np.ndarray
    """End of each region, exclusive, int64 (R, 3); the last tile of a row is clipped to the volume."""
    centres: np.ndarray
    """All centres in voxels, int32 (N, 3), region after region."""
    centre_start: np.ndarray
    """Where the centres of each region begin, int64 (R + 1,)."""

    @property
    def n_regions(self) -> int:
        """Number of regions that own at least one centre."""
        return len(self.low)

    @property
    def n_centres(self) -> int:
        """Number of centres."""
        return len(self.centres)

    def region_of(self, centre: int) -> int:
        """Return the region that owns a centre."""
        return int(np.searchsorted(self.centre_start, centre, side="right")) - 1


def tile(shape: Sequence[int], spec: DescriptorSpec) -> Tiling:
    """Cover a volume with overlapping regions so that every centre belongs to exactly one.

    Parameters
    ----------
    shape : sequence of int
        Voxels along z, y, x.
    spec : DescriptorSpec
        Gives the box, the size of the regions, and the lattice of centres.

    Returns
    -------
    tiling : Tiling
        Regions that own no centre of the lattice are left out.
    """
    z, y, x = (int(size) for size in shape)
    axes = [_tile_axis(size, axis, spec) for axis, size in enumerate((z, y, x))]
    low = _product([[begin for begin, _, _ in tiles] for tiles in axes])
    high = _product([[end for _, end, _ in tiles] for tiles in axes])
    centres = _product([np.concatenate([owned for _, _, owned in tiles]) for tiles in axes])
    n_owned = [[len(owned) for _, _, owned in tiles] for tiles in axes]
    of_axis = _product([np.repeat(np.arange(len(lengths)), lengths) for lengths in n_owned])
    region = np.ravel_multi_index(of_axis.T, [len(tiles) for tiles in axes])
    return Tiling(
        spec,
        (z, y, x),
        low,
        high,
        centres[np.argsort(region, kind="stable")].astype(np.int32),
        _starts(_product(n_owned).prod(axis=1)),
    )


def _product(axes: Sequence[np.ndarray | list[int]]) -> np.ndarray:
    """List all combinations of one number per axis, the last axis fastest, int64 (n, 3)."""
    grid = np.meshgrid(*axes, indexing="ij")
    return np.stack([axis.ravel() for axis in grid], axis=1).astype(np.int64)


def _tile_axis(size: int, axis: int, spec: DescriptorSpec) -> list[tuple[int, int, np.ndarray]]:
    """Cut one axis: first voxel, end and lattice centres of each tile that owns a centre."""
    box, region, stride = spec.box_zyx[axis], spec.region_zyx[axis], spec.stride_zyx[axis]
    if box > size:
        raise SpecError(
            f"The box {spec.box_zyx} of spec `{spec.name}` is larger than the volume, which has {size} "
            f"voxels along {'zyx'[axis]}. Use a smaller box or a larger volume."
        )
    first, n_valid, step = spec.low_zyx[axis], size - box + 1, region - box + 1
    lattice = np.arange(first, first + n_valid, stride)
    tiles = []
    for begin in range(0, n_valid, step):
        owned = lattice[(lattice >= first + begin) & (lattice < first + begin + step)]
        if len(owned):
            tiles.append((begin, min(begin + region, size), owned))
    return tiles


class Layout(NamedTuple):
    """What never changes about the regions of one spec, as flat arrays for the kernels.

    A *place* is one supervoxel in one region, a *slot* one action in one region.
    """

    centre_start: np.ndarray
    """int64 (R + 1,)"""
    flat_centres: np.ndarray
    """Centres as indices into the raveled volume, int64 (N,)."""
    local_start: np.ndarray
    """Where the places of each region begin, int64 (R + 1,)."""
    local_sv: np.ndarray
    """Supervoxel of each place, ascending within a region, int32 (L,)."""
    slot_start: np.ndarray
    """Where the slots of each region begin, int64 (R + 1,)."""
    slot_action: np.ndarray
    """Action of each slot, ascending within a region, int32 (S,)."""
    slot_u: np.ndarray
    """Ends of each slot as places counted from the region's first, int32 (S,)."""
    slot_v: np.ndarray
    seen_start: np.ndarray
    """Where the visibility rows of each region begin in `seen`, int64 (R,)."""
    seen: np.ndarray
    """One row of bits per place: which centres of the region sample this supervoxel, uint64."""


@dataclass(frozen=True, eq=False)
class RegionTable:
    """The regions of one spec, filled with the supervoxels and actions of a volume."""

    tiling: Tiling
    layout: Layout
    offsets: np.ndarray
    """The spec's pairs as distances in the raveled volume, int64 (2, K)."""
    n_actions: int

    @cached_property
    def slot_region(self) -> np.ndarray:
        """Region of each slot, int32 (S,)."""
        return np.repeat(np.arange(self.tiling.n_regions, dtype=np.int32), np.diff(self.layout.slot_start))

    @cached_property
    def slots_of_action(self) -> tuple[np.ndarray, np.ndarray]:
        """Slots of each action, in ascending order: where they begin, int64 (A + 1,), and the slots."""
        order = np.argsort(self.layout.slot_action, kind="stable").astype(np.int64)
        start = np.searchsorted(self.layout.slot_action[order], np.arange(self.n_actions + 1))
        return start.astype(np.int64), order

    def slots_of(self, actions: np.ndarray) -> np.ndarray:
        """List the slots of some actions, int64, ascending."""
        start, slots = self.slots_of_action
        return np.sort(slots[ranges(start, actions)])

    def regions_of(self, action: int) -> np.ndarray:
        """List the regions in which an action has a face, int64, ascending."""
        start, slots = self.slots_of_action
        regions: np.ndarray = self.slot_region[slots[start[action] : start[action + 1]]]
        return regions.astype(np.int64)

    @cached_property
    def max_slots(self) -> int:
        """Most actions in one region."""
        return int(np.diff(self.layout.slot_start).max())

    @cached_property
    def max_places(self) -> int:
        """Most supervoxels in one region."""
        return int(np.diff(self.layout.local_start).max())

    @cached_property
    def max_mask_words(self) -> int:
        """Most 64-bit words that a mask over the centres of one region needs."""
        return int((np.diff(self.layout.centre_start).max() + 63) // 64)


def fill(tiling: Tiling, supervoxels: Supervoxels, actions: ActionTable, pool: Pool) -> RegionTable:
    """Find the supervoxels, actions and visibility of every region.

    Parameters
    ----------
    tiling : Tiling
        The regions and centres of a spec.
    supervoxels : Supervoxels
        The supervoxels.
    actions : ActionTable
        The table of actions.
    pool : Pool
        Threads for the regions.
    """
    n_regions = tiling.n_regions
    tasks = [
        (begin, min(begin + REGIONS_PER_TASK, n_regions)) for begin in range(0, n_regions, REGIONS_PER_TASK)
    ]
    parts = list(pool.map(lambda task: _list_contents(tiling, supervoxels, actions, *task), tasks))
    n_local, local, n_slot, slot = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    local_start, slot_start = _starts(n_local), _starts(n_slot)
    index = np.empty(supervoxels.n + 1, dtype=np.int32)
    slot_u, slot_v = np.empty_like(slot), np.empty_like(slot)
    kernels.localise(local_start, local, slot_start, slot, actions.u, actions.v, index, slot_u, slot_v)

    _, height, width = tiling.shape
    steps = np.array([height * width, width, 1], dtype=np.int64)
    offsets = np.ascontiguousarray((tiling.spec.pairs.astype(np.int64) @ steps).T)
    n_words = (np.diff(tiling.centre_start) + 63) // 64
    layout = Layout(
        tiling.centre_start,
        tiling.centres.astype(np.int64) @ steps,
        local_start,
        local,
        slot_start,
        slot,
        slot_u,
        slot_v,
        _starts(n_local * n_words)[:-1],
        np.zeros(int((n_local * n_words).sum()), dtype=np.uint64),
    )
    sampled = np.unique(offsets)
    flat = supervoxels.dense.reshape(-1)
    list(pool.map(lambda task: _mark_visible(flat, sampled, layout, supervoxels.n, *task), tasks))
    return RegionTable(tiling, layout, offsets, len(actions))


def _starts(lengths: np.ndarray) -> np.ndarray:
    """Turn lengths into the indices where each run begins, with the end of the last one behind."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _list_contents(
    tiling: Tiling, supervoxels: Supervoxels, actions: ActionTable, begin: int, end: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """List supervoxels and actions of the regions from `begin` to `end`."""
    low, high = tiling.low[begin:end], tiling.high[begin:end]
    largest = int((high - low).prod(axis=1).max())
    local = np.empty(max(1 << 14, min(largest, supervoxels.n + 1)), dtype=np.int32)
    slot = np.empty(max(1 << 15, min(3 * largest, len(actions))), dtype=np.int32)
    sv_stamps = np.full(supervoxels.n + 1, -1, dtype=np.int64)
    action_stamps = np.full(len(actions), -1, dtype=np.int64)
    n_local, n_slot = np.zeros(end - begin, dtype=np.int64), np.zeros(end - begin, dtype=np.int64)
    locals_, slots = [], []
    done = 0
    while done < end - begin:
        done, used_local, used_slot = kernels.fill_regions(
            supervoxels.dense, low, high, done, actions.first, actions.v, sv_stamps, action_stamps,
            n_local, local, n_slot, slot,
        )  # fmt: skip
        locals_.append(local[:used_local].copy())
        slots.append(slot[:used_slot].copy())
    return n_local, np.concatenate(locals_), n_slot, np.concatenate(slots)


def _mark_visible(
    flat: np.ndarray, sampled: np.ndarray, layout: Layout, n_supervoxels: int, begin: int, end: int
) -> None:
    """Fill the visibility rows of the regions from `begin` to `end`."""
    index = np.empty(n_supervoxels + 1, dtype=np.int32)
    kernels.mark_visible(
        flat, layout.flat_centres, sampled, layout.local_start, layout.local_sv, layout.centre_start,
        layout.seen_start, begin, end, index, layout.seen,
    )  # fmt: skip
