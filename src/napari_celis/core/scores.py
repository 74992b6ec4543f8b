"""Energy changes per region and component pair, kept exact from merge to merge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from napari_celis.core.buffers import Buffers, allocate
from napari_celis.core.energy import Energy, EnergyCache, evaluate
from napari_celis.core.kernels import changes as collect
from napari_celis.core.kernels import regions as region_kernels
from napari_celis.core.kernels import scores as kernels
from napari_celis.core.pruning import CentreRule, Join, masked_centres, touchable_centres
from napari_celis.core.regions import RegionTable
from napari_celis.core.supervoxels import Supervoxels

N_COLUMNS = 2
"""What is summed per component pair: the energy change, and the number of centres that see it."""
CENTRES_PER_TASK = 2048

SeenRows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Centres, hashes and energies of descriptors that were evaluated."""


@dataclass
class Counters:
    """What one spec has cost so far."""

    sampled_centres: int = 0
    """Centres whose pairs were looked up, once each."""
    lookups: int = 0
    """Sampled pairs looked up."""
    evaluations: int = 0
    """Descriptors that reached the energy model."""

    def add(self, other: Counters) -> None:
        """Add what another counted."""
        self.sampled_centres += other.sampled_centres
        self.lookups += other.lookups
        self.evaluations += other.evaluations


@dataclass(frozen=True, eq=False)
class Change:
    """What an operation changed in one spec, enough to take it back."""

    regions: np.ndarray
    region_energy: np.ndarray
    slots: np.ndarray
    sums: np.ndarray
    places: np.ndarray
    components: np.ndarray

    @property
    def nbytes(self) -> int:
        """Memory that keeping it takes."""
        return sum(array.nbytes for array in vars(self).values())


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
    initial: Counters = field(default_factory=Counters)
    incremental: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        layout = self.table.layout
        self.cache = EnergyCache(self.cache_entries, self.table.tiling.n_centres)
        self.flat = self.supervoxels.dense.reshape(-1)
        self.components = np.zeros(len(layout.local_sv), dtype=np.int32)
        self.sums = np.zeros((len(layout.slot_action), N_COLUMNS))
        self.region_energy = np.zeros(self.table.tiling.n_regions)
        self._pending = np.zeros_like(self.sums)
        self.buffers = self.new_buffers()

    @property
    def weight(self) -> float:
        """Voxels per centre."""
        return self.table.tiling.spec.weight

    def new_buffers(self) -> Buffers:
        """Allocate working memory for one more thread."""
        return allocate(self.table, self.supervoxels.n, N_COLUMNS)

    def tasks(self) -> list[np.ndarray]:
        """Cut the regions into runs of about the same number of centres, the same for any pool."""
        task = self.table.tiling.centre_start[:-1] // CENTRES_PER_TASK
        cuts = np.flatnonzero(np.diff(task)) + 1
        return np.split(np.arange(self.table.tiling.n_regions, dtype=np.int64), cuts)

    def label_components(self, regions: np.ndarray, taken: np.ndarray) -> np.ndarray:
        """Find the components of the given regions under the actions taken; other places stay 0."""
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
        """Score the given regions from scratch.

        Writes to the slots of these regions in `sums`, which must be zero there, and to `region_energy`, one
        number per given region. Returns what was evaluated: centres, hashes, energies.
        """

        def advance(place: int, centre: int) -> tuple[int, int]:
            at: tuple[int, int] = collect.collect_initial(
                self.flat, self.table.layout, self.table.offsets, components, regions, place, centre,
                self.cache.arrays, buffers.rows, buffers.terms, buffers.scratch, buffers.counts,
            )  # fmt: skip
            return at

        seen = list(self._batches(advance, len(regions), buffers, counters, sums, region_energy))
        kernels.spread_initial(self.table.layout, components, regions, buffers.scratch, sums)
        return seen

    def _batches(
        self,
        advance: Callable[[int, int], tuple[int, int]],
        end: int,
        buffers: Buffers,
        counters: Counters,
        sums: np.ndarray,
        region_energy: np.ndarray,
    ) -> Iterator[SeenRows]:
        """Fill the buffers, evaluate what is missing, add the terms; until `advance` reaches the end."""
        rows, counts = buffers.rows, buffers.counts
        place, centre = 0, 0
        while place < end:
            counts[:] = 0
            place, centre = advance(place, centre)
            n_rows, n_missing, n_terms, n_sampled = (int(count) for count in counts)
            if n_missing:
                energies = evaluate(self.energy, self.index, rows.centre[:n_missing], rows.bits[:n_missing])
                rows.energy[rows.missing[:n_missing]] = energies
                yield rows.centre[:n_missing].copy(), rows.hash[:n_missing].copy(), energies
            counters.add(Counters(n_sampled, n_sampled * self.table.tiling.spec.n_bits, n_missing))
            kernels.add_terms(buffers.terms, n_terms, rows.energy[:n_rows], self.weight, sums, region_energy)

    def regions_of(self, action: int) -> np.ndarray:
        """List the regions in which an action has a face, int64, ascending."""
        start, slots = self.table.slots_of_action
        regions: np.ndarray = self.table.slot_region[slots[start[action] : start[action + 1]]]
        return regions.astype(np.int64)

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

        def advance(place: int, centre: int) -> tuple[int, int]:
            at: tuple[int, int] = collect.collect_changes(
                self.flat, self.table.layout, self.table.offsets, self.components, join.regions, join.k1,
                join.k2, mask_start, masks, place, centre, self.cache.arrays, self.buffers.rows,
                self.buffers.terms, self.buffers.scratch, self.buffers.counts,
            )  # fmt: skip
            return at

        batches = self._batches(
            advance, len(join.regions), self.buffers, self.incremental, self._pending, np.empty(0)
        )
        for seen in batches:
            self.cache.insert(*seen)

    def apply_merge(self, join: Join) -> Change:
        """Make the prepared merge visible and return what it changed."""
        layout, regions = self.table.layout, join.regions
        n_slots = int((layout.slot_start[regions + 1] - layout.slot_start[regions]).sum())
        n_places = int((layout.local_start[regions + 1] - layout.local_start[regions]).sum())
        slots, sums = np.empty(n_slots, np.int64), np.empty((n_slots, N_COLUMNS))
        places, counts = np.empty(n_places, np.int64), np.zeros(2, np.int64)
        before = self.region_energy[regions]
        kernels.rename_pairs(
            layout, self.components, regions, join.k1, join.k2, self.buffers.scratch, self._pending,
            self.sums, self.region_energy, slots, sums, places, counts,
        )  # fmt: skip
        slots, sums, places = slots[: counts[0]], sums[: counts[0]].copy(), places[: counts[1]]
        owner = np.searchsorted(layout.local_start, places, side="right") - 1
        old = join.k2[np.searchsorted(regions, owner)]
        return Change(regions, before, self._small(slots), sums, self._small(places), old)

    def prepare_rebuild(self, regions: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Score regions from scratch under `taken` and keep it aside; returns components and energies."""
        components = self.label_components(regions, taken)
        region_energy = np.zeros(len(regions))
        for seen in self.score_regions(
            regions, components, self.buffers, self.incremental, self._pending, region_energy
        ):
            self.cache.insert(*seen)
        return components, region_energy

    def apply_rebuild(self, regions: np.ndarray, components: np.ndarray, region_energy: np.ndarray) -> Change:
        """Make the prepared rebuild visible and return what it changed."""
        slots = _ranges(self.table.layout.slot_start, regions)
        places = _ranges(self.table.layout.local_start, regions)
        change = Change(
            regions,
            self.region_energy[regions],
            self._small(slots),
            self.sums[slots],
            self._small(places),
            self.components[places],
        )
        self.restore(Change(regions, region_energy, slots, self._pending[slots], places, components[places]))
        self._pending[slots] = 0.0
        return change

    def _small(self, indices: np.ndarray) -> np.ndarray:
        """Copy indices of slots or places to the smallest type that holds them: a journal keeps many."""
        most = max(len(self.sums), len(self.components))
        return indices.astype(np.min_scalar_type(most))

    def discard(self) -> None:
        """Forget whatever was prepared and not applied."""
        self._pending[:] = 0.0

    def restore(self, change: Change) -> None:
        """Put back the numbers that a change holds."""
        self.region_energy[change.regions] = change.region_energy
        self.sums[change.slots] = change.sums
        self.components[change.places] = change.components

    def actions_of(self, change: Change) -> np.ndarray:
        """List the actions whose sums a change touches, ascending."""
        return np.unique(self.table.layout.slot_action[change.slots])

    def action_sums(self, actions: np.ndarray) -> np.ndarray:
        """Add up the slots of the given actions, float64 (n, N_COLUMNS)."""
        start, slots = self.table.slots_of_action
        out = np.empty((len(actions), N_COLUMNS))
        kernels.sum_slots(actions, start, slots, self.sums, out)
        return out

    def mark_leaders(self, regions: np.ndarray, leads: np.ndarray) -> np.ndarray:
        """Mark in `leads`, bool (S,), one slot per pair of these regions; returns their actions."""
        layout = self.table.layout
        kernels.mark_leaders(layout, self.components, regions, self.buffers.scratch, leads)
        return np.unique(layout.slot_action[_ranges(layout.slot_start, regions)])

    def leading_sums(self, actions: np.ndarray, leads: np.ndarray) -> np.ndarray:
        """Add up the marked slots of the given actions, float64 (n, N_COLUMNS)."""
        start, slots = self.table.slots_of_action
        out = np.empty((len(actions), N_COLUMNS))
        kernels.sum_leaders(actions, start, slots, leads, self.sums, out)
        return out


def _ranges(start: np.ndarray, regions: np.ndarray) -> np.ndarray:
    """List all indices that belong to the given regions, region after region."""
    lengths = start[regions + 1] - start[regions]
    first = np.cumsum(lengths) - lengths
    indices: np.ndarray = np.arange(lengths.sum()) + np.repeat(start[regions] - first, lengths)
    return indices
