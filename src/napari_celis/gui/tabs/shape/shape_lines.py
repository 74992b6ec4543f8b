"""Pairs and boxes as lines: where each begins, and which way it goes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from napari_celis.core.inspect import CentreView
from napari_celis.core.lattice import Lattice
from napari_celis.gui.qt.colours import OKABE_ITO
from napari_celis.gui.tabs.shape.descriptor_view import CHANGED, CONNECTED, DISCONNECTED, pairs_to_draw

DARK_IN_SPACE = "#606060"
"""Disconnected pairs in 3-D, where black would not show before an empty canvas."""
BOX_COLOURS = {
    "tiling": OKABE_ITO["grey"],
    "region": OKABE_ITO["sky"],
    "centres": OKABE_ITO["yellow"],
    "box": "#FFFFFF",
}
"""From the lowest to the topmost."""

Box = tuple[np.ndarray, np.ndarray]
"""First voxel and end, exclusive."""
Section = tuple[int, float] | None
"""The axis across a slice and where it lies in voxels; None in 3-D."""
Lines = tuple[np.ndarray, list[str]]
"""Start and direction of each line, float64 (n, 2, 3), and its colour."""


def pair_lines(view: CentreView, section: Section, n_pairs: int, *, is_merged: bool) -> Lines:
    """Draw the pairs; those that matter most come last, on top. A slice shows them projected onto it.

    Parameters
    ----------
    view : CentreView
        What to draw.
    section : tuple of (int, float), optional
        Axis across the slice and where it lies; None in 3-D.
    n_pairs : int
        Most pairs to draw.
    is_merged : bool
        Whether to show the state after the merge.
    """
    chosen = pairs_to_draw(view, n_pairs)
    bits = (view.after if is_merged else view.before)[chosen]
    rank = bits.astype(int) + (view.changed[chosen] & is_merged)
    order = np.argsort(rank, kind="stable")
    ends, rank = view.ends[chosen[order]].astype(float), rank[order]
    if section is not None:
        axis, level = section
        ends[:, :, axis] = level
        if not view.box[0][axis] <= level < view.box[1][axis]:
            ends, rank = ends[:0], rank[:0]
    dark = DARK_IN_SPACE if section is None else DISCONNECTED
    lines = np.stack([ends[:, 0], ends[:, 1] - ends[:, 0]], axis=1)
    return lines, [(dark, CONNECTED, CHANGED)[r] for r in rank]


def box_lines(view: CentreView, lattice: Lattice, section: Section, shown: set[str]) -> Lines:
    """Draw the boxes whose keys of `BOX_COLOURS` are in `shown`.

    Parameters
    ----------
    view : CentreView
        Gives region and box.
    lattice : Lattice
        Gives the tiling.
    section : tuple of (int, float), optional
        Axis across the slice and where it lies; None in 3-D.
    shown : set of str
        Keys of `BOX_COLOURS`.
    """
    centres = view.region.centres()
    boxes = {
        "tiling": lattice.neighbours(view.region),
        "region": [(view.region.low, view.region.high)],
        "centres": [(centres[0], centres[-1] + 1)],
        "box": [view.box],
    }
    parts: list[tuple[str, np.ndarray]] = []
    for key in BOX_COLOURS:
        if key not in shown:
            continue
        if section is None:
            parts += [(key, box_edges(box, lattice.shape)) for box in boxes[key]]
        elif key == "tiling":
            parts.append((key, tiling_lines(lattice, *section)))
        else:
            parts += [(key, box_outline(box, lattice.shape, *section)) for box in boxes[key]]
    lines = np.concatenate([np.empty((0, 2, 3)), *(edges for _, edges in parts)])
    return lines, [BOX_COLOURS[key] for key, edges in parts for _ in edges]


def box_edges(box: Box, shape: Sequence[int]) -> np.ndarray:
    """List the twelve edges of a box of voxels as start and direction, float64 (12, 2, 3).

    Parameters
    ----------
    box : tuple of ndarray
        First voxel and end, exclusive.
    shape : sequence of int
        Size of the volume.
    """
    # Kept between the middles of the outermost voxels: beyond them, napari would move its slices.
    corners = [np.clip(edge - 0.5, 0, np.array(shape) - 1) for edge in box]
    edges = []
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        for ends in product((0, 1), repeat=2):
            start = corners[0].astype(float)
            for other, end in zip(others, ends, strict=True):
                start[other] = corners[end][other]
            way = np.zeros(3)
            way[axis] = corners[1][axis] - corners[0][axis]
            edges.append((start, way))
    return np.array(edges)


def box_outline(box: Box, shape: Sequence[int], axis: int, level: float) -> np.ndarray:
    """List the four edges of a box in the slice at `level` across `axis`; none if it is not crossed.

    Parameters
    ----------
    box : tuple of ndarray
        First voxel and end, exclusive.
    shape : sequence of int
        Size of the volume.
    axis : int
        Across the slice.
    level : float
        Where the slice lies, in voxels.
    """
    if not box[0][axis] <= level < box[1][axis]:
        return np.empty((0, 2, 3))
    edges = box_edges(box, shape)
    edges = edges[(edges[:, 1, axis] == 0) & (edges[:, 1] != 0).any(axis=1)]
    edges[:, 0, axis] = level
    return np.unique(edges, axis=0)


def tiling_lines(lattice: Lattice, axis: int, level: float) -> np.ndarray:
    """List the borders of all regions in the slice at `level` across `axis`, as lines over the volume.

    Parameters
    ----------
    lattice : Lattice
        Gives the regions.
    axis : int
        Across the slice.
    level : float
        Where the slice lies, in voxels.
    """
    last = np.array(lattice.shape) - 1
    lines = []
    for across in (other for other in range(3) if other != axis):
        along = 3 - axis - across
        for edge in np.clip(lattice.edges(across) - 0.5, 0, last[across]):
            start, way = np.zeros(3), np.zeros(3)
            start[across], start[axis], way[along] = edge, level, last[along]
            lines.append((start, way))
    return np.array(lines)
