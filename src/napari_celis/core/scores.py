"""Energy changes per region and component pair, kept exact from merge to merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from napari_celis.core.buffers import Buffers, allocate
from napari_celis.core.changes import N_COLUMNS, N_SHIFTS, Change, Counters, Effect
from napari_celis.core.energy import UNITS, Energy, EnergyCache
from napari_celis.core.energy_batches import EnergyBatches, SeenRows
from napari_celis.core.kernels import changes as collect
from napari_celis.core.kernels import on_demand
from napari_celis.core.kernels import regions as region_kernels
from napari_celis.core.kernels import scores as kernels
from napari_celis.core.pruning import (
    CentreRule,
    Join,
    mask_starts,
    masked_centres,
    touchable_centres,
    views_of,
)
from napari_celis.core.regions import RegionTable
from napari_celis.core.segments import ranges
from napari_celis.core.supervoxels import Supervoxels

CENTRES_PER_TASK = 2048


@dataclass(eq=False)
class SpecScores:
    """The state of one descriptor spec: local components, and the terms of every active pair."""

    index: int
    table: RegionTable
    supervoxels: Supervoxels
    energy: Energy
    cache_entries: int
    """Energies to remember at most."""
    rules: tuple[CentreRule, ...] = (touchable_centres,)
    is_lazy: bool = False
    """Whether energy changes of pairs are evaluated only when they are asked for."""
    initial: Counters = field(default_factory=Counters)
    incremental: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        layout = self.table.layout
        self.cache = EnergyCache(self.cache_entries, self.table.tiling.n_centres)
        self._batches = EnergyBatches(
            self.energy, self.index, self.table.tiling.spec.n_bits, is_bounded=self.is_lazy
        )
        self.flat = self.supervoxels.dense.reshape(-1)
        self.components = np.zeros(len(layout.local_sv), dtype=np.int32)
        self.sums = np.zeros((len(layout.slot_action), N_COLUMNS), dtype=np.int64)
        self.known = np.full(len(self.sums), not self.is_lazy)
        """Slots whose energy change is evaluated; that of others is 0."""
        self.region_energy = np.zeros(self.table.tiling.n_regions, dtype=np.int64)
        self._pending = np.zeros_like(self.sums)
        self._wanted = np.zeros(len(self.sums), dtype=bool)
        self.buffers = self.new_buffers()
        self._spare = [self.buffers]

    @property
    def scale(self) -> float:
        """Energy of one unit at a centre, which stands for several voxels."""
        return self.table.tiling.spec.weight / UNITS

    def new_buffers(self) -> Buffers:
        """Allocate working memory for one more thread."""
        return allocate(self.table, self.supervoxels.n, N_COLUMNS)

    @contextmanager
    def spare_buffers(self) -> Iterator[Buffers]:
        """Lend working memory to a thread, and keep it for the next one."""
        try:
            buffers = self._spare.pop()
        except IndexError:
            buffers = self.new_buffers()
        yield buffers
        self._spare.append(buffers)

    def tasks(self, regions: np.ndarray | None = None) -> list[np.ndarray]:
        """Cut regions, all by default, into runs of about as many centres, the same for any pool."""
        if regions is None:
            regions = np.arange(self.table.tiling.n_regions, dtype=np.int64)
        n_centres = np.diff(self.table.tiling.centre_start)[regions]
        before = np.cumsum(n_centres) - n_centres
        cuts = np.flatnonzero(np.diff(before // CENTRES_PER_TASK)) + 1
        return np.split(regions, cuts) if len(regions) else []

    def label_components(self, regions: np.ndarray, taken: np.ndarray) -> np.ndarray:
        """Find the components of the given regions under the actions taken; other places stay 0.

        Parameters
        ----------
        regions : ndarray
            Numbers of regions.
        taken : ndarray
            Which actions are taken, bool (A,).
        """
        layout = self.table.layout
        parent = np.empty(self.table.max_places, dtype=np.int32)
        out = np.zeros_like(self.components)
        region_kernels.join_taken(
            regions, layout.local_start, layout.slot_start, layout.slot_action, layout.slot_u, layout.slot_v,
            taken, parent, out,
        )  # fmt: skip
        return out

    def score_regions(
        self,
        regions: np.ndarray,
        components: np.ndarray,
        buffers: Buffers,
        counters: Counters,
        sums: np.ndarray,
        region_energy: np.ndarray,
    ) -> list[SeenRows]:
        """Score the given regions from scratch; lazy, only count who sees what.

        Writes to the slots of these regions in `sums`, which must be zero there, and to `region_energy`, one
        number per given region. Returns what was evaluated: centres, hashes, energies.

        Parameters
        ----------
        regions : ndarray
            Numbers of regions.
        components : ndarray
            Component of every place.
        buffers : Buffers
            Scratch of this thread.
        counters : Counters
            Counts what it costs.
        sums : ndarray
            Written: energy changes per slot.
        region_energy : ndarray
            Written: energy of each region.
        """
        wanted = collect.COUNTS if self.is_lazy else collect.EVERYTHING
        seen = self._collect(regions, components, buffers, counters, sums, region_energy, wanted)
        kernels.spread_initial(self.table.layout, components, regions, buffers.scratch, sums)
        return seen

    def _collect(
        self,
        regions: np.ndarray,
        components: np.ndarray,
        buffers: Buffers,
        counters: Counters,
        sums: np.ndarray,
        region_energy: np.ndarray,
        wanted: int,
    ) -> list[SeenRows]:
        """Add up what is wanted of some regions, see `kernels.changes.collect_initial`."""

        def advance(index: int, centre: int) -> tuple[int, int]:
            at: tuple[int, int] = collect.collect_initial(
                self.flat, self.table.layout, self.table.offsets, components, regions, wanted, index, centre,
                self.cache.arrays, buffers.rows, buffers.terms, buffers.scratch, buffers.counts,
            )  # fmt: skip
            return at

        def add(n_terms: int, energies: np.ndarray) -> None:
            kernels.add_terms(buffers.terms, n_terms, energies, sums, region_energy)

        return list(self._batches.run(advance, len(regions), buffers, counters, add))

    def find_join(self, action: int) -> Join:
        """Find the regions where an action would join two components."""
        start, slots = self.table.slots_of_action
        own = slots[start[action] : start[action + 1]]
        regions, k1, k2 = (
            np.empty(len(own), np.int64),
            np.empty(len(own), np.int32),
            np.empty(len(own), np.int32),
        )
        n = kernels.joining_regions(
            own, self.table.slot_region, self.table.layout, self.components, regions, k1, k2
        )
        return Join(regions[:n], k1[:n], k2[:n])

    def prepare_merge(self, join: Join) -> None:
        """Evaluate what a merge changes and keep it aside; nothing that anyone can see changes."""
        if not len(join.regions):
            return
        mask_start, masks = masked_centres(self.rules, self, join)

        def advance(index: int, centre: int) -> tuple[int, int]:
            at: tuple[int, int] = collect.collect_changes(
                self.flat, self.table.layout, self.table.offsets, self.components, join.regions, join.k1,
                join.k2, mask_start, masks, self.known, index, centre, self.cache.arrays, self.buffers.rows,
                self.buffers.terms, self.buffers.scratch, self.buffers.counts,
            )  # fmt: skip
            return at

        def add(n_terms: int, energies: np.ndarray) -> None:
            kernels.add_terms(self.buffers.terms, n_terms, energies, self._pending, np.empty(0, np.int64))

        self._remember(self._batches.run(advance, len(join.regions), self.buffers, self.incremental, add))

    def _remember(self, batches: Iterable[SeenRows]) -> None:
        """Keep the energies that were evaluated."""
        for seen in batches:
            self.cache.insert(*seen)

    def apply_merge(self, join: Join) -> Change:
        """Make the prepared merge visible and return what it changed."""
        layout, regions = self.table.layout, join.regions
        n_slots = int((layout.slot_start[regions + 1] - layout.slot_start[regions]).sum())
        n_places = int((layout.local_start[regions + 1] - layout.local_start[regions]).sum())
        slots, sums = np.empty(n_slots, np.int64), np.empty((n_slots, N_COLUMNS), np.int64)
        known, places, counts = np.empty(n_slots, bool), np.empty(n_places, np.int64), np.zeros(3, np.int64)
        leaders, shifts = np.empty(n_slots, np.int64), np.zeros((n_slots, N_SHIFTS), np.int64)
        before = self.region_energy[regions]
        kernels.rename_pairs(
            layout, self.components, regions, join.k1, join.k2, self.buffers.scratch, self._pending,
            self.sums, self.known, self.region_energy, slots, sums, known, places, leaders, shifts, counts,
        )  # fmt: skip
        n_slots, n_places, n_leaders = (int(count) for count in counts)
        places = places[:n_places]
        owner = np.searchsorted(layout.local_start, places, side="right") - 1
        return Change(
            regions,
            before,
            sums[:n_slots].copy(),
            known[:n_slots].copy(),
            self._small(places),
            join.k2[np.searchsorted(regions, owner)],
            Effect(self._small(slots[:n_slots]), self._small(leaders[:n_leaders]), shifts[:n_leaders].copy()),
        )

    def prepare_rebuild(self, regions: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Score regions from scratch under `taken` and keep it aside; returns components and energies.

        Parameters
        ----------
        regions : ndarray
            Numbers of regions.
        taken : ndarray
            Which actions are taken, bool (A,).
        """
        components = self.label_components(regions, taken)
        region_energy = np.zeros(len(regions), dtype=np.int64)
        self._remember(
            self.score_regions(
                regions, components, self.buffers, self.incremental, self._pending, region_energy
            )
        )
        if self.is_lazy:
            change = self._energies(regions, components) - self._energies(regions, self.components)
            region_energy = self.region_energy[regions] + change
        return components, region_energy

    def apply_rebuild(self, regions: np.ndarray, components: np.ndarray, region_energy: np.ndarray) -> Change:
        """Make the prepared rebuild visible and return what it changed.

        Parameters
        ----------
        regions : ndarray
            Numbers of regions.
        components, region_energy : ndarray
            From `prepare_rebuild`.
        """
        slots = ranges(self.table.layout.slot_start, regions)
        places = ranges(self.table.layout.local_start, regions)
        effect = Effect(slots, np.empty(0, np.int64), np.empty((0, N_SHIFTS), np.int64))
        before = Change(
            regions,
            self.region_energy[regions],
            self.sums[slots],
            self.known[slots],
            places,
            self.components[places],
            effect,
        )
        known = np.full(len(slots), not self.is_lazy)
        self.restore(
            Change(regions, region_energy, self._pending[slots], known, places, components[places], effect)
        )
        self._pending[slots] = 0
        return before

    def _small(self, indices: np.ndarray) -> np.ndarray:
        """Copy indices of slots or places to the smallest type that holds them: a journal keeps many."""
        most = max(len(self.sums), len(self.components))
        return indices.astype(np.min_scalar_type(most))

    def discard(self) -> None:
        """Forget whatever was prepared and not applied."""
        self._pending[:] = 0
        self._wanted[:] = False

    def restore(self, change: Change) -> None:
        """Put back the numbers that a change holds."""
        self.region_energy[change.regions] = change.region_energy
        self.sums[change.effect.slots] = change.sums
        self.known[change.effect.slots] = change.known
        self.components[change.places] = change.components

    def total_energy(self) -> int:
        """Evaluate every centre as it is and add them up, in units."""
        everywhere = np.arange(self.table.tiling.n_regions, dtype=np.int64)
        return sum(self._energies(everywhere, self.components).tolist())

    def _energies(self, regions: np.ndarray, components: np.ndarray) -> np.ndarray:
        """Evaluate every centre of some regions and add them up per region, in units, int64 (n,)."""
        energies, nothing = np.zeros(len(regions), dtype=np.int64), np.empty((0, N_COLUMNS), np.int64)
        counters = self.incremental
        self._remember(
            self._collect(regions, components, self.buffers, counters, nothing, energies, collect.BASES)
        )
        return energies

    def prepare_known(self, actions: np.ndarray) -> np.ndarray:
        """Evaluate the energy changes of all pairs that some actions would join, and keep them aside.

        Returns the regions in which there was something to evaluate, int64.
        """
        slots, layout, scratch = self.table.slots_of(actions), self.table.layout, self.buffers.scratch
        regions, wanted = np.empty(len(slots), np.int64), self._wanted
        n = on_demand.list_unknown(
            layout, self.components, slots, self.table.slot_region, scratch, self.known, wanted, regions
        )
        regions = regions[:n]
        if n:
            mask_start = mask_starts(self.table, regions)
            masks = np.zeros(mask_start[-1], dtype=np.uint64)
            on_demand.mask_wanted(
                layout, self.components, regions, wanted, mask_start, scratch, views_of(self.table), masks
            )

            def advance(index: int, centre: int) -> tuple[int, int]:
                at: tuple[int, int] = on_demand.collect_wanted(
                    self.flat, layout, self.table.offsets, self.components, regions, wanted, mask_start,
                    masks, index, centre, self.cache.arrays, self.buffers.rows, self.buffers.terms, scratch,
                    self.buffers.counts,
                )  # fmt: skip
                return at

            def add(n_terms: int, energies: np.ndarray) -> None:
                on_demand.add_changes(self.buffers.terms, n_terms, energies, self._pending)

            self._remember(self._batches.run(advance, n, self.buffers, self.incremental, add))
        return regions

    def apply_known(self, regions: np.ndarray) -> Change:
        """Let what was evaluated count, and return what it changed."""
        layout = self.table.layout
        slots = ranges(layout.slot_start, regions)
        sums, known = self.sums[slots], self.known[slots]
        leaders, shifts = np.empty(len(slots), np.int64), np.zeros((len(slots), N_SHIFTS), np.int64)
        n = on_demand.accept_wanted(
            layout, self.components, regions, self.buffers.scratch, self._wanted, self._pending, self.sums,
            self.known, leaders, shifts,
        )  # fmt: skip
        is_new = self.known[slots] & ~known
        nothing = np.empty(0, np.int64)
        return Change(
            nothing,
            nothing,
            sums[is_new],
            known[is_new],
            nothing,
            nothing,
            Effect(self._small(slots[is_new]), self._small(leaders[:n]), shifts[:n].copy()),
        )

    def action_sums(self, actions: np.ndarray) -> np.ndarray:
        """Add up what the slots of each action count, int64 (n, N_SHIFTS)."""
        start, slots = self.table.slots_of_action
        out = np.empty((len(actions), N_SHIFTS), np.int64)
        kernels.sum_slots(actions, start, slots, self.sums, self.known, out)
        return out
