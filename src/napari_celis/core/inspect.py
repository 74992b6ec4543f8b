"""What one centre sees: its descriptor pair by pair, and the connectivity region that decides it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.agglomerator import Agglomerator
from napari_celis.core.decisions import best_between
from napari_celis.core.descriptors import DescriptorSpec, IntTriple, shape_descriptors, unpack_bits
from napari_celis.core.errors import ActionError, SpecError
from napari_celis.core.explain import explain, region_components
from napari_celis.core.lattice import Region
from napari_celis.core.parallel import Pool
from napari_celis.core.regions import RegionTable, Tiling, fill
from napari_celis.core.scores import SpecScores
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.core.zones import cut_zones


@dataclass(frozen=True, eq=False)
class ActiveActions:
    """The actions that would join two components of one region, lowest score first."""

    u: np.ndarray
    """Dense index of the smaller end, int32 (n,)."""
    v: np.ndarray
    score: np.ndarray
    """Energy change of the merge in the whole volume, float64 (n,); NaN where it is not scored."""
    local_score: np.ndarray
    """The part of it that this spec finds in this region, float64 (n,)."""

    def __len__(self) -> int:
        return len(self.u)


@dataclass(frozen=True, eq=False)
class CentreView:
    """The descriptor of one centre, before and after one merge, and the region it is computed in."""

    spec: DescriptorSpec
    centre: IntTriple
    region: Region
    components: np.ndarray
    """Component of every voxel of the region, int32; 0 is background."""
    joined: tuple[int, int] | None
    """The two components that the merge makes one here; None if it changes nothing in this region."""
    before: np.ndarray
    """Is each pair connected now? bool (K,)"""
    after: np.ndarray
    """The same once the merge is made; equals `before` without one."""
    active: ActiveActions
    zones: np.ndarray | None
    """Zone of each centre of the region's lattice, from 1, uint8 (Z, Y, X); None if not asked for."""

    @property
    def ends(self) -> np.ndarray:
        """Both ends of every pair in voxels of the volume, int64 (K, 2, 3)."""
        ends: np.ndarray = self.spec.pairs + np.array(self.centre)
        return ends

    @property
    def changed(self) -> np.ndarray:
        """Which bits the merge turns on, bool (K,)."""
        changed: np.ndarray = self.before != self.after
        return changed

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """First voxel and end, exclusive, of the descriptor's box."""
        centre = np.array(self.centre)
        return centre - self.spec.low_zyx, centre + self.spec.high_zyx + 1

    def merged_components(self) -> np.ndarray:
        """Component of every voxel of the region once the merge is made.

        What is joined is named like the part that fills more of the box, so that a box that the merge leaves
        as it is keeps all its names.
        """
        if self.joined is None:
            return self.components
        box = self._in_box(self.components)
        small, large = sorted(self.joined, key=lambda name: np.count_nonzero(box == name))
        return _join(self.components, large, small)

    def section(self, axis: int, *, is_merged: bool) -> np.ndarray:
        """Cut the components of the box through the centre, across `axis`; int32, two axes.

        Parameters
        ----------
        axis : int
            Axis across the section.
        is_merged : bool
            As it would be after the merge.
        """
        components = self.merged_components() if is_merged else self.components
        cut: np.ndarray = self._in_box(components).take(self.spec.low_zyx[axis], axis=axis)
        return cut

    def _in_box(self, components: np.ndarray) -> np.ndarray:
        """Cut the box of the descriptor out of the region."""
        low, high = (edge - self.region.low for edge in self.box)
        box: np.ndarray = components[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
        return box


@dataclass(frozen=True, eq=False)
class RegionState:
    """One region of a spec as it is now; `index` counts in the table of `scores`."""

    region: Region
    scores: SpecScores
    index: int
    actions: ActionTable
    totals: np.ndarray | None
    """Score of every action, float64 (A,), if there is a model."""


def current_region(agglomerator: Agglomerator, spec_name: str, region: Region) -> RegionState:
    """Look at a region in the state that an agglomeration has reached.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    spec_name : str
        Name of the descriptor spec.
    region : Region
        Where to look.
    """
    named = {scores.table.tiling.spec.name: scores for scores in agglomerator.specs}
    if spec_name not in named:
        raise SpecError(f"This agglomeration has no spec `{spec_name}`, only {', '.join(named)}. Choose one.")
    return RegionState(region, named[spec_name], region.index, agglomerator.actions, agglomerator.scores())


class _NoEnergy:
    """Stands in for a model where a region is not scored."""

    def energies(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Answer that nothing costs anything."""
        return np.zeros(len(centres))


def initial_region(
    block: Supervoxels, region: Region, spec: DescriptorSpec, *, with_zones: bool = False
) -> RegionState:
    """Look at a region in which nothing is merged, without an agglomeration.

    Parameters
    ----------
    block : Supervoxels
        The voxels of the region only; the indices may be those of a larger volume.
    region : Region
        Where the block lies.
    spec : DescriptorSpec
        Whose region it is.
    with_zones : bool
        Whether zones will be asked for: only they need to know what each centre sees, which takes longest.
    """
    actions = ActionTable.from_supervoxels(block)
    z, y, x = block.dense.shape
    centres = region.centres() - region.low if with_zones else np.empty((0, 3), dtype=np.int64)
    tiling = Tiling(
        spec,
        (z, y, x),
        np.zeros((1, 3), dtype=np.int64),
        np.array([[z, y, x]], dtype=np.int64),
        centres.astype(np.int32),
        np.array([0, len(centres)], dtype=np.int64),
    )
    table = fill(tiling, block, actions, Pool(1))
    scores = SpecScores(0, table, block, _NoEnergy(), cache_entries=1)
    scores.components = scores.label_components(np.zeros(1, np.int64), np.zeros(len(actions), bool))
    return RegionState(region, scores, 0, actions, None)


def view_centre(
    state: RegionState, centre: IntTriple, merge: tuple[int, int] | None = None, *, with_zones: bool = False
) -> CentreView:
    """Describe what one centre sees.

    Parameters
    ----------
    state : RegionState
        The region that owns the centre; from `current_region` or `initial_region`.
    centre : tuple of int
        A centre of the lattice, in voxels of the volume.
    merge : tuple of two int, optional
        Dense indices of two touching supervoxels whose merge is to be looked at.
    with_zones : bool
        Whether to cut the region's centres into zones too.
    """
    spec = state.scores.table.tiling.spec
    components = region_components(state.scores, state.index)
    joined = None if merge is None else _joined_components(state, merge)
    local = np.array([centre]) - state.region.low
    after = components if joined is None else _join(components, *joined)
    bits = [unpack_bits(shape_descriptors(c, local, spec), spec.n_bits)[0] for c in (components, after)]
    return CentreView(
        spec, centre, state.region, components, joined, bits[0], bits[1], _active_actions(state),
        region_zones(state) if with_zones else None,
    )  # fmt: skip


def centre_energies(state: RegionState, view: CentreView) -> tuple[float, float]:
    """Ask the model how plausible the shape around a centre is, from 0 to 1, before and after the merge.

    Parameters
    ----------
    state : RegionState
        From `current_region`: there is a model.
    view : CentreView
        What the centre sees.
    """
    local = np.array([view.centre]) - view.region.low
    shapes = (view.components, view.merged_components())
    bits = np.concatenate([shape_descriptors(shape, local, view.spec) for shape in shapes])
    tiling, region = state.scores.table.tiling, state.index
    start, end = int(tiling.centre_start[region]), int(tiling.centre_start[region + 1])
    own = np.flatnonzero((tiling.centres[start:end] == view.centre).all(axis=1))
    centres = (start + np.repeat(own, 2)).astype(np.int32)
    before, after = state.scores.energy.energies(state.scores.index, centres, bits).tolist()
    return before, after


def merge_between(agglomerator: Agglomerator, u: int, v: int) -> tuple[int, int]:
    """Find the merge that two supervoxels stand for: their own, or the best between their segments.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    u, v : int
        Dense indices of two supervoxels.
    """
    segments, actions = agglomerator.segment_ids(), agglomerator.actions
    if segments[u] == segments[v]:
        raise ActionError("The two selected supervoxels are in one segment already. Select two segments.")
    action = actions.find(u, v)
    if action < 0:
        action = best_between(actions, segments, agglomerator.scores(), u, v)
    if action < 0:
        raise ActionError(
            "The two selected segments do not touch, so no merge joins them. Select neighbours."
        )
    return int(actions.u[action]), int(actions.v[action])


def most_changed_centre(agglomerator: Agglomerator, spec_name: str, merge: tuple[int, int]) -> IntTriple:
    """Return the centre of a spec where a merge changes the energy most.

    Parameters
    ----------
    agglomerator : Agglomerator
        The agglomeration to look at.
    spec_name : str
        Name of the descriptor spec.
    merge : tuple of int
        Dense indices of two supervoxels that would merge.
    """
    action = agglomerator.actions.find(*merge)
    scores = next(s for s in agglomerator.specs if s.table.tiling.spec.name == spec_name)
    changes = explain(scores, [action])
    if not len(changes.centres):
        raise ActionError(f"This merge changes no descriptor of `{spec_name}`. Choose another spec.")
    z, y, x = (int(c) for c in changes.centres[np.abs(changes.changes).argmax()])
    return z, y, x


def region_zones(state: RegionState) -> np.ndarray:
    """Cut the centres of one region into zones: uint8 on the region's lattice, counted from 1."""
    zones: np.ndarray = cut_zones(_only(state.scores.table, state.index)).zones + np.uint8(1)
    return zones.reshape([len(axis) for axis in state.region.lattice])


def _join(components: np.ndarray, k1: int, k2: int) -> np.ndarray:
    """Give one component the name of another."""
    return np.where(components == k2, np.int32(k1), components)


def _joined_components(state: RegionState, merge: tuple[int, int]) -> tuple[int, int] | None:
    """Find which two components an action joins in one region."""
    action = state.actions.find(*merge)
    if action < 0:
        return None
    join = state.scores.find_join(action)
    here = np.flatnonzero(join.regions == state.index)
    return (int(join.k1[here[0]]), int(join.k2[here[0]])) if len(here) else None


def _active_actions(state: RegionState) -> ActiveActions:
    """List the actions of one region whose ends lie in different components."""
    layout, table = state.scores.table.layout, state.actions
    slots = np.arange(layout.slot_start[state.index], layout.slot_start[state.index + 1])
    components = state.scores.components[layout.local_start[state.index] :]
    slots = slots[components[layout.slot_u[slots]] != components[layout.slot_v[slots]]]
    actions = layout.slot_action[slots]
    if state.totals is None:
        unknown = np.full(len(slots), np.nan)
        order = np.argsort(-table.area[actions], kind="stable")
        return ActiveActions(table.u[actions[order]], table.v[actions[order]], unknown, unknown)
    order = np.argsort(state.totals[actions], kind="stable")
    actions, slots = actions[order], slots[order]
    return ActiveActions(
        table.u[actions],
        table.v[actions],
        state.totals[actions],
        state.scores.sums[slots, 0] * state.scores.scale,
    )


def _only(table: RegionTable, region: int) -> RegionTable:
    """Take one region out of a table, as a table of its own."""
    layout, tiling = table.layout, table.tiling
    centres, places, slots = (
        slice(start[region], start[region + 1])
        for start in (layout.centre_start, layout.local_start, layout.slot_start)
    )
    n_words = (centres.stop - centres.start + 63) // 64
    seen = layout.seen_start[region]
    starts = [np.array([0, part.stop - part.start], dtype=np.int64) for part in (centres, places, slots)]
    alone = layout._replace(
        centre_start=starts[0],
        flat_centres=layout.flat_centres[centres],
        local_start=starts[1],
        local_sv=layout.local_sv[places],
        slot_start=starts[2],
        slot_action=layout.slot_action[slots],
        slot_u=layout.slot_u[slots],
        slot_v=layout.slot_v[slots],
        seen_start=np.zeros(1, dtype=np.int64),
        seen=layout.seen[seen : seen + n_words * (places.stop - places.start)],
    )
    row = slice(region, region + 1)
    cut = Tiling(
        tiling.spec, tiling.shape, tiling.low[row], tiling.high[row], tiling.centres[centres], starts[0]
    )
    return RegionTable(cut, alone, table.offsets, table.n_actions)
