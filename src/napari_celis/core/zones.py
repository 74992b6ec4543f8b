"""Zones of the paper: a region's centres in at most 64 parts; one word tells which see a supervoxel."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from napari_celis.core.kernels import zones as kernels
from napari_celis.core.regions import RegionTable, Tiling

if TYPE_CHECKING:
    from napari_celis.core.pruning import Join, SpecState


@dataclass(frozen=True)
class ZoneSettings:
    """How zones are cut: a regular grid, then merging as long as the cost of the paper falls.

    The cost is Σ (|Z| + alpha) |A_Z| + beta · (number of zones), in descriptors: |Z| centres of a zone times
    the |A_Z| actions whose ends are both seen from it.
    """

    max_zones: int = kernels.MAX_ZONES
    """Most zones in the grid, 1 to 64."""
    alpha: float = 1.0
    """What an action that is active in a zone costs beyond its descriptors."""
    beta: float = 1.0
    """What one more zone costs."""

    def __post_init__(self) -> None:
        if not 1 <= self.max_zones <= kernels.MAX_ZONES or self.alpha < 0 or self.beta < 0:
            raise ValueError(f"Zones need 1 to 64 parts and costs that are not negative, got {self}.")


@dataclass(frozen=True, eq=False)
class ZoneTable:
    """The zones of every region of one spec."""

    zones: np.ndarray
    """Zone of each centre, counted from 0 in each region, uint8 (N,)."""
    seen: np.ndarray
    """Bit z of a place: does a centre of zone z sample this supervoxel? uint64 (L,)."""
    n_zones: np.ndarray
    """Zones of each region, int64 (R,)."""


def cut_zones(table: RegionTable, settings: ZoneSettings | None = None) -> ZoneTable:
    """Cut the centres of every region into zones.

    Parameters
    ----------
    table : RegionTable
        Regions with their centres, actions and exact visibility.
    settings : ZoneSettings, optional
        The grid to begin with and the costs that decide what is merged.

    Returns
    -------
    zone_table : ZoneTable
        A partition of the centres of each region, and who is seen from each part.
    """
    settings = settings or ZoneSettings()
    layout, n_regions = table.layout, table.tiling.n_regions
    zones = grid_zones(table.tiling, settings.max_zones)
    seen = np.zeros(len(layout.local_sv), dtype=np.uint64)
    kernels.see_zones(layout, zones, 0, n_regions, seen)
    sizes, active, names = np.empty((3, kernels.MAX_ZONES), dtype=np.int64)
    gains = np.full((kernels.MAX_ZONES, kernels.MAX_ZONES), -1.0)
    kernels.merge_zones(
        layout,
        0,
        n_regions,
        float(settings.alpha),
        float(settings.beta),
        sizes,
        active,
        gains,
        names,
        zones,
        seen,
    )
    return ZoneTable(zones, seen, np.maximum.reduceat(zones, layout.centre_start[:-1]).astype(np.int64) + 1)


def grid_zones(tiling: Tiling, max_zones: int) -> np.ndarray:
    """Number the cells of a regular grid over each region's lattice of centres, uint8 (N,).

    Parameters
    ----------
    tiling : Tiling
        The regions and centres of a spec.
    max_zones : int
        How many zones a region may have.
    """
    zones = np.empty(tiling.n_centres, dtype=np.uint8)
    stride = np.array(tiling.spec.stride_zyx)
    for region in range(tiling.n_regions):
        owned = slice(tiling.centre_start[region], tiling.centre_start[region + 1])
        lattice = (tiling.centres[owned] - tiling.centres[owned][0]) // stride
        size = lattice.max(axis=0) + 1
        cells = grid_cells(size, stride, max_zones)
        zones[owned] = np.ravel_multi_index(tuple((lattice * cells // size).T), tuple(cells))
    return zones


def grid_cells(size: np.ndarray, stride: np.ndarray, max_zones: int) -> np.ndarray:
    """Halve the longest cells while at most `max_zones` come out; returns cells per axis, int64 (3,).

    Parameters
    ----------
    size : ndarray
        Centres along each axis.
    stride : ndarray
        Voxels between two centres.
    max_zones : int
        How many zones a region may have.
    """
    cells = np.ones(3, dtype=np.int64)
    while True:
        extent = np.where(2 * cells <= size, size * stride / cells, 0)
        if 2 * cells.prod() > max_zones or not extent.any():
            return cells
        cells[extent.argmax()] *= 2


class ZoneRule:
    """The zone rule: centres in zones that see either component. Zones are cut at the first use."""

    def __init__(self, settings: ZoneSettings | None = None) -> None:
        self.settings = settings or ZoneSettings()
        self._tables: WeakKeyDictionary[RegionTable, ZoneTable] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def zones_of(self, table: RegionTable) -> ZoneTable:
        """Return the zones of a spec, cut once."""
        with self._lock:
            if table not in self._tables:
                self._tables[table] = cut_zones(table, self.settings)
            return self._tables[table]

    def __call__(self, state: SpecState, join: Join, mask_start: np.ndarray) -> np.ndarray:
        """Mark the centres in zones that see either component."""
        zone_table = self.zones_of(state.table)
        masks = np.zeros(mask_start[-1], dtype=np.uint64)
        kernels.zone_centres(
            state.table.layout, zone_table.zones, zone_table.seen, state.components, join.regions, join.k1,
            join.k2, mask_start, masks,
        )  # fmt: skip
        return masks
