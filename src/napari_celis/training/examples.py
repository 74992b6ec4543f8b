"""Training examples: every merge and centre whose descriptor changes, in states along a trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.buffers import Buffers, allocate
from napari_celis.core.energy import EnergyCache
from napari_celis.core.errors import TrainingError
from napari_celis.core.kernels import changes as kernels
from napari_celis.core.kernels import regions as region_kernels
from napari_celis.core.regions import RegionTable
from napari_celis.core.segments import join_all
from napari_celis.core.supervoxels import Supervoxels
from napari_celis.evaluation.overlaps import Overlaps
from napari_celis.training.sampling import PrioritySample


@dataclass(frozen=True, eq=False)
class Examples:
    """Merges seen from single centres, of one spec, with weights."""

    centres: np.ndarray
    """Index of each example's centre in the tiling, int32 (n,)."""
    before: np.ndarray
    """Packed descriptors before the merge, uint64 (n, W)."""
    after: np.ndarray
    """Packed descriptors after it, uint64 (n, W)."""
    y: np.ndarray
    """Signed weight, float32 (n,): below 0 for a merge that lowers the error; their absolute mean is 1."""

    def __len__(self) -> int:
        return len(self.y)


def stream(
    table: RegionTable,
    supervoxels: Supervoxels,
    actions: ActionTable,
    overlaps: Overlaps,
    taken: np.ndarray,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """List all examples of one spec in one state, batch after batch.

    Parameters
    ----------
    table : RegionTable
        The spec's regions.
    supervoxels, actions : Supervoxels, ActionTable
        The volume.
    overlaps : Overlaps
        Of the supervoxels with the truth.
    taken : ndarray of bool, shape (A,)
        The actions taken in this state.

    Yields
    ------
    centres, before, after, change : ndarray
        As in `Examples`, with the change of the variation of information in bits; merges that change nothing
        globally are left out.
    """
    component = join_all(supervoxels.n, actions.u[taken], actions.v[taken])
    change = overlaps.of_segments(component).changes(component[actions.u], component[actions.v])
    regions = np.arange(table.tiling.n_regions, dtype=np.int64)
    components = _label(table, regions, taken)
    buffers = allocate(table, supervoxels.n, 1)
    nothing_seen = EnergyCache(0, table.tiling.n_centres).arrays
    flat = supervoxels.dense.reshape(-1)
    index, centre = 0, 0
    while index < len(regions):
        buffers.counts[:] = 0
        index, centre = kernels.collect_initial(
            flat, table.layout, table.offsets, components, regions, kernels.EVERYTHING, index, centre,
            nothing_seen, buffers.rows, buffers.terms, buffers.scratch, buffers.counts,
        )  # fmt: skip
        yield _batch(table, buffers, change)


def _label(table: RegionTable, regions: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Find the local components of every region."""
    layout = table.layout
    components = np.zeros(len(layout.local_sv), dtype=np.int32)
    region_kernels.join_taken(
        regions, layout.local_start, layout.slot_start, layout.slot_action, layout.slot_u, layout.slot_v,
        taken, np.empty(table.max_places, dtype=np.int32), components,
    )  # fmt: skip
    return components


def _batch(
    table: RegionTable, buffers: Buffers, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Turn filled buffers into examples."""
    n_terms = buffers.counts[2]
    base, row = buffers.terms.base[:n_terms], buffers.terms.row[:n_terms]
    is_merge = base >= 0
    own = np.zeros(n_terms)
    own[is_merge] = change[table.layout.slot_action[buffers.terms.target[:n_terms][is_merge]]]
    wanted = own != 0
    rows = row[wanted]
    return (
        buffers.rows.centre[rows],
        buffers.rows.bits[base[wanted]],
        buffers.rows.bits[rows],
        own[wanted],
    )


def sample_examples(
    table: RegionTable,
    supervoxels: Supervoxels,
    actions: ActionTable,
    overlaps: Overlaps,
    states: Sequence[np.ndarray],
    *,
    budget: int,
    power: float,
    rng: np.random.Generator,
) -> Examples:
    """Draw a fixed number of examples of one spec from the given states.

    Parameters
    ----------
    states : sequence of ndarray of bool, shape (A,)
        Actions taken in each state.
    budget : int
        Examples to keep; true and false merges get half each.
    power : float
        Examples weigh |change of error| to this power; 1 is the paper, less is gentler.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    examples : Examples
        True and false merges have the same total weight.
    """
    samples = [PrioritySample(budget // 2, rng) for _ in range(2)]
    for taken in states:
        for centres, before, after, change in stream(table, supervoxels, actions, overlaps, taken):
            for sample, wanted in zip(samples, (change < 0, change > 0), strict=True):
                sample.add(np.abs(change[wanted]) ** power, centres[wanted], before[wanted], after[wanted])
    parts = [sample.result() for sample in samples]
    for (weights, _), kind in zip(parts, ("true", "false"), strict=True):
        if not len(weights):
            raise TrainingError(
                f"The training data hold no {kind} merge for spec `{table.tiling.spec.name}`: every action "
                f"that a descriptor sees is a {'false' if kind == 'true' else 'true'} one. Use finer "
                "supervoxels, or a larger volume with more than one object."
            )
    y = np.concatenate([sign * w / w.sum() for (w, _), sign in zip(parts, (-1, 1), strict=True)])
    centres, before, after = (
        np.concatenate(pair) for pair in zip(*(columns for _, columns in parts), strict=True)
    )
    return Examples(centres, before, after, (y / np.abs(y).mean()).astype(np.float32))


def join_examples(parts: Sequence[Examples], first_centre: Sequence[int]) -> Examples:
    """Put examples of several tilings together; the centres of each are counted from its `first_centre`.

    Parameters
    ----------
    parts : sequence of Examples
        One per tiling.
    first_centre : sequence of int
        Index of the first centre of each tiling in the whole.
    """
    centres = [part.centres + first for part, first in zip(parts, first_centre, strict=True)]
    columns = ([getattr(part, name) for part in parts] for name in ("before", "after", "y"))
    return Examples(np.concatenate(centres).astype(np.int32), *(np.concatenate(column) for column in columns))
