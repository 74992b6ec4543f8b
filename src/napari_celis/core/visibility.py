"""The visibility rule and the graph rule of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from napari_celis.core.kernels import graph, summed_area

if TYPE_CHECKING:
    from napari_celis.core.pruning import Join, SpecState


def visible_centres(state: SpecState, join: Join, mask_start: np.ndarray) -> np.ndarray:
    """Mark the centres with a voxel of either component in their box (approximate visibility)."""
    tiling, layout = state.table.tiling, state.table.layout
    masks = np.zeros(mask_start[-1], dtype=np.uint64)
    box = np.array([tiling.spec.low_zyx, tiling.spec.high_zyx], dtype=np.int64)
    sums = np.empty(tuple((tiling.high - tiling.low).max(axis=0) + 1), dtype=np.int32)
    summed_area.visible_centres(
        state.supervoxels.dense, layout, tiling.low, tiling.high, tiling.centres, box, state.components,
        join.regions, join.k1, join.k2, mask_start, state.buffers.scratch, sums, masks,
    )  # fmt: skip
    return masks


def near_centres(state: SpecState, join: Join, mask_start: np.ndarray) -> np.ndarray:
    """Mark the centres in either component or in one adjacent to them; a pairwise spec keeps every centre."""
    if state.table.tiling.spec.kind == "pairwise":
        return np.full(mask_start[-1], ~np.uint64(0))
    masks = np.zeros(mask_start[-1], dtype=np.uint64)
    is_near = np.empty(state.table.max_places + 1, dtype=bool)
    graph.near_centres(
        state.supervoxels.dense.reshape(-1), state.table.layout, state.components, join.regions, join.k1,
        join.k2, mask_start, state.buffers.scratch, is_near, masks,
    )  # fmt: skip
    return masks
