"""A supervoxel that spans two neurons becomes two: voxels, contacts, and what was decided before.

The part that leaves gets a new id, the other one keeps the old. Decisions of before are about the old
supervoxel: each goes to one of the parts, and the two begin as merged, so that every segment of every moment
is as it was. The split itself is a decision like others: it cuts that merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.cuts import Pair
from napari_celis.core.errors import ActionError
from napari_celis.core.journal import Event, Step
from napari_celis.core.recorded import RecordedHistory, recorded_history
from napari_celis.core.supervoxels import Supervoxels

LARGEST_ID = 2**64 - 1


@dataclass(frozen=True, eq=False)
class SupervoxelSplit:
    """Which voxels leave a supervoxel."""

    supervoxel_id: int
    """The supervoxel, and afterwards the part that stays."""
    new_id: int
    """The part that leaves; larger than every other id."""
    voxels: np.ndarray
    """What leaves, as indices into the raveled volume, int64, ascending."""


@dataclass(frozen=True, eq=False)
class DividedVolume:
    """Supervoxels and contacts, of which some are parts of others that were split."""

    supervoxels: Supervoxels
    actions: ActionTable
    glued: tuple[Pair, ...] = ()
    """Ids of parts that begin as merged, those of the newest split first."""

    def divided(self, split: SupervoxelSplit) -> DividedVolume:
        """Carry out one more split.

        Raises
        ------
        ActionError
            If the supervoxel is not there, has none of these voxels or no others, or its parts do not touch.
        """
        supervoxels = divide_supervoxels(self.supervoxels, split)
        actions = divide_actions(supervoxels, self.actions, split)
        own = split.supervoxel_id, split.new_id
        if actions.find(supervoxels.index_of(own[0]), supervoxels.n) < 0:
            raise ActionError(
                f"The two parts of supervoxel {own[0]} do not touch: it consists of separate pieces. Give "
                "each piece an id of its own, for example with connected components, and prepare again."
            )
        after = DividedVolume(supervoxels, actions)
        glued = tuple(after.pair_after(split, *pair) for pair in self.glued)
        return replace(after, glued=(own, *glued))

    def pair_after(self, split: SupervoxelSplit, u_id: int, v_id: int) -> Pair:
        """Say about which pair a decision of before this, the newest, split is now.

        It goes to the part that has more faces with the other supervoxel; where both have as many, or none,
        it stays with the part that keeps the id.

        Parameters
        ----------
        split : SupervoxelSplit
            The newest one.
        u_id, v_id : int
            Ids before it.
        """
        own = split.supervoxel_id
        if own not in (u_id, v_id) or u_id == v_id:
            return u_id, v_id
        other = self.supervoxels.index_of(v_id if u_id == own else u_id)
        areas = []
        for part in (own, split.new_id):
            row = self.actions.find(self.supervoxels.index_of(part), other)
            areas.append(int(self.actions.area[row]) if row >= 0 else 0)
        heir = split.new_id if areas[1] > areas[0] else own
        return (heir, v_id) if u_id == own else (u_id, heir)

    def step_after(self, split: SupervoxelSplit, step: Step) -> Step:
        """Turn a decision of before this, the newest, split into the one that it is now."""
        if split.supervoxel_id not in (step.u_id, step.v_id):
            return step
        u_id, v_id = self.pair_after(split, step.u_id, step.v_id)
        return replace(step, u_id=u_id, v_id=v_id)


def next_id(supervoxels: Supervoxels) -> int:
    """Return the id that the next split gives."""
    highest = int(supervoxels.ids[-1])
    if highest == LARGEST_ID:
        raise ActionError(
            f"The ids of the supervoxels go up to {highest}, so there is none left for a part. "
            "Number them anew, and prepare again."
        )
    return highest + 1


def divide_supervoxels(supervoxels: Supervoxels, split: SupervoxelSplit) -> Supervoxels:
    """Give the voxels that leave the new id; it is the last one, so all other indices stay."""
    index = supervoxels.index_of(split.supervoxel_id)
    if split.new_id <= int(supervoxels.ids[-1]) or split.new_id > LARGEST_ID:
        raise ActionError(
            f"The new id {split.new_id} is not above all others; the highest is {supervoxels.ids[-1]}."
        )
    voxels = split.voxels
    is_inside = not len(voxels) or (voxels[0] >= 0 and voxels[-1] < supervoxels.dense.size)
    if not is_inside or (supervoxels.dense.reshape(-1)[voxels] != index).any():
        raise ActionError(
            f"The split is not about this volume: not all of its voxels are of {split.supervoxel_id}."
        )
    size = int(supervoxels.sizes[index])
    if not 0 < len(voxels) < size:
        raise ActionError(
            f"A split of supervoxel {split.supervoxel_id} would leave one of its sides empty. "
            "Set the seeds further apart."
        )
    dense, sizes = supervoxels.dense.copy(), np.append(supervoxels.sizes, len(voxels))
    dense.reshape(-1)[voxels] = supervoxels.n + 1
    sizes[index] = size - len(voxels)
    return Supervoxels(dense, np.append(supervoxels.ids, np.uint64(split.new_id)), sizes)


def divide_actions(supervoxels: Supervoxels, actions: ActionTable, split: SupervoxelSplit) -> ActionTable:
    """Count the contacts of the two parts anew; all others stay.

    Parameters
    ----------
    supervoxels : Supervoxels
        After the split.
    actions : ActionTable
        From before it.
    split : SupervoxelSplit
        The newest one.
    """
    index = supervoxels.index_of(split.supervoxel_id)
    parts = (index, supervoxels.n)
    box = box_around(supervoxels.dense, parts)
    low = np.array([part.start for part in box])
    near = Supervoxels(np.ascontiguousarray(supervoxels.dense[box]), supervoxels.ids, supervoxels.sizes)
    found = ActionTable.from_supervoxels(near)
    own = np.isin(found.u, parts) | np.isin(found.v, parts)
    kept = (actions.u != index) & (actions.v != index)
    u, v = (np.concatenate([a[kept], b[own]]) for a, b in ((actions.u, found.u), (actions.v, found.v)))
    order = np.lexsort((v, u))
    # Sums of halves and wholes are exact, so these are the means that the whole volume would give.
    sums = (found.centroid * found.area[:, None]).round(1) + low * found.area[:, None]
    centroid = np.concatenate([actions.centroid[kept], (sums / found.area[:, None])[own]])
    area = np.concatenate([actions.area[kept], found.area[own]])
    return ActionTable(u[order], v[order], area[order], centroid[order], supervoxels.n)


def box_around(dense: np.ndarray, indices: tuple[int, ...]) -> tuple[slice, slice, slice]:
    """Find the box of some supervoxels, one voxel wider where the volume goes on."""
    is_own = np.isin(dense, indices)
    slices = []
    for axis in range(3):
        used = np.flatnonzero(is_own.any(axis=tuple(other for other in range(3) if other != axis)))
        slices.append(slice(max(0, int(used[0]) - 1), int(used[-1]) + 2))
    return slices[0], slices[1], slices[2]


def divided_history(
    volume: DividedVolume,
    events: Iterable[Event],
    splits: Mapping[int, SupervoxelSplit],
    units_at_start: tuple[int, ...] | None = None,
) -> tuple[DividedVolume, RecordedHistory]:
    """Follow events among which are splits, from the beginning.

    Every split that was ever made divides its supervoxel, also one that was undone since: its parts are then
    merged, as they were at the beginning.

    Parameters
    ----------
    volume : DividedVolume
        Before the first of them.
    events : iterable of Event
        In order; each is about the supervoxels of its time.
    splits : mapping
        By the id of the part that leaves.
    units_at_start : tuple of int, optional
        Energy per spec before the first of them.

    Raises
    ------
    ActionError
        Naming the first event that cannot be done on this volume.
    """
    followed: list[Event] = []
    for number, event in enumerate(events, start=1):
        if event.kind == "decide" and event.step.kind == "split":
            split = splits.get(event.step.v_id)
            if split is None or split.supervoxel_id != event.step.u_id:
                raise ActionError(
                    f"Event {number} of the record splits a supervoxel, but does not say where."
                )
            volume = volume.divided(split)
            followed = [replace(one, step=volume.step_after(split, one.step)) for one in followed]
        followed.append(event)
    history = recorded_history(
        volume.supervoxels, volume.actions, followed, units_at_start, glued=volume.glued
    )
    return volume, history
