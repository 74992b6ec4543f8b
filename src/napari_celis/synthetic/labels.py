"""From skeletons to voxels: dense labels, one connected piece per id, and the necks that came out thin."""

from __future__ import annotations

import numpy as np

from napari_celis.synthetic import kernels
from napari_celis.synthetic.fields import smooth_noise
from napari_celis.synthetic.space import MOAT_NM, Grid, NeckPlan, Skeletons

CLAIM_REACH_NM = 120
UNCLAIMED = np.iinfo(np.int64).max


def draw_labels(
    skeletons: Skeletons, grid: Grid, rng: np.random.Generator, smallest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Give every voxel to a neurite.

    Parameters
    ----------
    skeletons : Skeletons
        What was grown.
    grid : Grid
        Where the voxels are.
    rng : numpy.random.Generator
        Bends the membranes.
    smallest : int
        Pieces with fewer voxels go to a neighbour.

    Returns
    -------
    labels : ndarray of int32, shape (Z, Y, X)
        Ids 1 to n without holes, each one 6-connected; no voxel is 0.
    owners : ndarray of int32, shape (n + 1,)
        Neurite of each id.
    """
    barred = np.zeros(grid.shape, dtype=np.int32)
    _bar_moats(barred, skeletons.necks, grid)
    labels = _polish(_polish(_bend(_claim(skeletons, grid, barred), grid, rng)))
    for neck in skeletons.necks:
        _stamp_neck(labels, neck, grid)
    return one_piece_per_id(labels, smallest)


def _claim(skeletons: Skeletons, grid: Grid, barred: np.ndarray) -> np.ndarray:
    """Divide the voxels among the balls, reaching farther until none is left over."""
    reach = CLAIM_REACH_NM
    while True:
        labels = np.zeros(grid.shape, dtype=np.int32)
        costs = np.full(grid.shape, UNCLAIMED, dtype=np.int64)
        balls = skeletons.points_nm, skeletons.radii_nm, skeletons.owners
        kernels.claim(labels, costs, barred, *grid.axes, *balls, reach)
        if labels.all():
            return labels
        reach *= 2


def _bar_moats(barred: np.ndarray, necks: tuple[NeckPlan, ...], grid: Grid) -> None:
    """Keep each neurite away from its own heads, so that other neurites flow in between."""
    if necks:
        inner = np.array([neck.head_nm for neck in necks], dtype=np.int64)
        centres = np.array([neck.path_nm[-1] for neck in necks])
        owners = np.array([neck.owner for neck in necks], dtype=np.int32)
        kernels.bar_shells(barred, *grid.axes, centres, inner, inner + MOAT_NM, owners)


def _bend(labels: np.ndarray, grid: Grid, rng: np.random.Generator) -> np.ndarray:
    """Shift the labels by a smooth field of a few tens of nanometres: cells are not polyhedra."""
    index = []
    for axis, size in enumerate(grid.voxel_size_nm):
        shift = smooth_noise(grid, rng, 60.0, spread=18)
        along = np.arange(grid.shape[axis]).reshape([-1 if axis == a else 1 for a in range(3)])
        index.append(np.clip(along + np.rint(shift / size).astype(np.int32), 0, grid.shape[axis] - 1))
    return np.ascontiguousarray(labels[tuple(index)])


def _polish(labels: np.ndarray) -> np.ndarray:
    """Give a voxel to the object that holds four or more of its six neighbours: no pits, no thorns."""
    padded = np.pad(labels, 1, mode="edge")
    inner = slice(1, -1)
    beside = [
        padded[tuple(shift if axis == along else inner for axis in range(3))]
        for along in range(3)
        for shift in (slice(0, -2), slice(2, None))
    ]
    result = labels
    # Whoever holds four of six neighbours holds one of any three.
    for candidate in beside[:3]:
        votes = np.zeros(labels.shape, dtype=np.int8)
        for neighbour in beside:
            votes += neighbour == candidate
        result = np.where(votes >= 4, candidate, result)
    return result


def _stamp_neck(labels: np.ndarray, neck: NeckPlan, grid: Grid) -> None:
    """Draw a neck over whatever lies there; its middle line is 6-connected at any voxel size."""
    path = neck.path_nm
    value = np.full(len(path), neck.owner, dtype=np.int32)
    kernels.stamp_balls(labels, *grid.axes, path, np.full(len(path), neck.radius_nm, dtype=np.int64), value)
    line = grid.voxels(path)
    for corner in (
        line,
        np.column_stack([line[1:, 0], line[:-1, 1:]]),
        np.column_stack([line[1:, :2], line[:-1, 2]]),
    ):
        z, y, x = corner[grid.holds(corner)].T
        labels[z, y, x] = neck.owner


def one_piece_per_id(labels: np.ndarray, smallest: int) -> tuple[np.ndarray, np.ndarray]:
    """Number the 6-connected pieces; pieces below `smallest` voxels join the neighbour they touch most.

    Parameters
    ----------
    labels : ndarray
        Labels, (Z, Y, X).
    smallest : int
        Voxels of the smallest piece that stays.

    Returns
    -------
    pieces : ndarray of int32
        Ids from 1 without holes.
    old : ndarray of int32, shape (n + 1,)
        Label in `labels` of each id; `old[0]` is 0.
    """
    while True:
        pieces, old = _pieces(labels)
        sizes = np.bincount(pieces.ravel())
        small = sizes < smallest
        small[0] = False
        if not small.any() or small[1:].all():
            return pieces, old
        target = _largest_contact(pieces, small)
        labels = old[target[pieces]]


def _pieces(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the 6-connected pieces in the order of their first voxel."""
    roots = np.arange(labels.size, dtype=np.int32)
    kernels.join_equal_neighbours(np.ascontiguousarray(labels, dtype=np.int32), roots)
    first = np.flatnonzero(roots == np.arange(labels.size, dtype=np.int32))
    number = np.zeros(labels.size, dtype=np.int32)
    number[first] = np.arange(1, len(first) + 1)
    old = np.concatenate([[0], labels.ravel()[first]]).astype(np.int32)
    return number[roots].reshape(labels.shape), old


def _largest_contact(pieces: np.ndarray, small: np.ndarray) -> np.ndarray:
    """For each small piece the neighbour it shares most faces with, for the others themselves."""
    target = np.arange(len(small))
    pairs = []
    for axis in range(3):
        a, b = np.moveaxis(pieces, axis, 0)[:-1], np.moveaxis(pieces, axis, 0)[1:]
        for u, v in ((a, b), (b, a)):
            face = (u != v) & small[u]
            pairs.append(np.column_stack([u[face], v[face]]))
    unique, counts = np.unique(np.concatenate(pairs), axis=0, return_counts=True)
    # Ascending in count, so the largest contact is written last; a large neighbour beats a small one.
    order = np.lexsort((counts, ~small[unique[:, 1]], unique[:, 0]))
    target[unique[order, 0]] = unique[order, 1]
    return target
