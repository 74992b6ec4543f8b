"""Segments: which supervoxels belong together over the whole volume."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def join_all(n_supervoxels: int, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Number the connected components of supervoxels 0 to `n_supervoxels` under the edges u - v.

    Parameters
    ----------
    n_supervoxels : int
        How many supervoxels there are.
    u : ndarray
        One end of each edge.
    v : ndarray
        The other end.
    """
    size = n_supervoxels + 1
    graph = coo_array((np.ones(len(u), dtype=bool), (u, v)), shape=(size, size))
    component: np.ndarray = connected_components(graph, directed=False)[1]
    return component


def named_by_largest(component: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Name every component after its largest supervoxel (the first of equals), int32 (N + 1,).

    Parameters
    ----------
    component : ndarray
        Component of every supervoxel.
    sizes : ndarray
        Voxels of each supervoxel.
    """
    order = np.lexsort((-np.arange(len(sizes)), sizes))
    largest = np.zeros(int(component.max()) + 1, dtype=np.int32)
    largest[component[order]] = order
    named: np.ndarray = largest[component]
    return named


def spanning_forest(u: np.ndarray, v: np.ndarray, taken: Iterable[int], n_supervoxels: int) -> set[int]:
    """Return the actions that joined two segments when the actions are taken in the given order.

    Parameters
    ----------
    u, v : ndarray
        Ends of all actions.
    taken : sequence of int
        Actions in the order of taking.
    n_supervoxels : int
        How many supervoxels there are.
    """
    parent = list(range(n_supervoxels + 1))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    joining = set()
    for action in taken:
        a, b = root(int(u[action])), root(int(v[action]))
        if a != b:
            parent[a] = b
            joining.add(action)
    return joining


def ranges(start: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """List all indices that belong to the given rows, row after row.

    Parameters
    ----------
    start : ndarray
        Where each row begins, with the end of the last one behind.
    rows : ndarray
        The rows.
    """
    lengths = start[rows + 1] - start[rows]
    first = np.cumsum(lengths) - lengths
    indices: np.ndarray = np.arange(lengths.sum()) + np.repeat(start[rows] - first, lengths)
    return indices
