"""Fine and smooth surfaces of segments for the 3-D view.

zmesh makes the triangles, here piece by piece: it holds the interpreter lock, and the window has to answer.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import sparse

from napari_celis.io.meshes import Box, Mesh, member_mask, pooled

MAX_VOXELS = 16_000_000
"""Larger boxes are meshed at a coarser level."""
MAX_FACES = 500_000
"""A surface with more triangles is made again at a coarser level: napari would take too long to draw it."""
PIECE = 40
"""Cells along each side of a piece. The mesher holds up the window, but not for long at this size."""
ROUNDS, SHRINK, GROW = 6, 0.5, -0.53
"""Smoothing after Taubin: a step towards the neighbours, then one back, so that nothing shrinks."""


def smooth_surface(dense: np.ndarray, members: np.ndarray, box: Box) -> Mesh:
    """Make the surface of a segment, as fine as can be drawn quickly.

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Supervoxels.
    members : ndarray of int
        The supervoxels of the segment.
    box : tuple of slice
        Bounding box of the segment.

    Returns
    -------
    mesh : Mesh
        Closed, also where the segment leaves the volume, and inside it; positions are in voxels.
    """
    mask = member_mask(dense, members, box)
    step = 1
    while mask.size / step**3 > MAX_VOXELS:
        step += 1
    vertices, faces = _triangles(np.pad(pooled(mask, step), 1))
    while len(faces) > MAX_FACES:
        step += 1
        vertices, faces = _triangles(np.pad(pooled(mask, step), 1))
    first = np.array([part.start for part in box], dtype=np.float32)
    # The middle of a coarse voxel lies between the middles of the fine ones that it stands for.
    voxels = _smoothed(vertices, faces) * step + 0.5 * (step - 1) + first
    # Nothing sticks out of the volume: napari would count sections from there.
    return Mesh(np.clip(voxels, 0, np.array(dense.shape) - 1).astype(np.float32), faces)


def _triangles(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Run marching cubes on a mask with an empty rim and weld the pieces; positions are without the rim."""
    import zmesh

    mesher = zmesh.Mesher((1, 1, 1))
    corners, triangles, n_before = [np.empty((0, 3), dtype=np.int64)], [np.empty((0, 3), dtype=np.int64)], 0
    for start in product(*(range(0, size - 1, PIECE) for size in mask.shape)):
        # A voxel more than cells: neighbours share their outermost voxels and no cell.
        piece = mask[tuple(slice(low, low + PIECE + 1) for low in start)]
        if piece.all() or not piece.any():
            continue
        mesher.mesh(np.ascontiguousarray(piece).view(np.uint8))
        surface = mesher.get(1, normals=False, reduction_factor=0)
        mesher.clear()
        # Vertices lie in the middle of edges: twice their positions are whole numbers.
        corners.append(np.rint(2 * surface.vertices).astype(np.int64) + 2 * np.array(start))
        triangles.append(surface.faces.astype(np.int64) + n_before)
        n_before += len(surface.vertices)
    wide = 2 * np.array(mask.shape) + 1
    keys, corner = np.unique(np.ravel_multi_index(np.concatenate(corners).T, wide), return_inverse=True)
    vertices = np.stack(np.unravel_index(keys, wide), axis=1).astype(np.float32) / 2 - 1
    return vertices, corner[np.concatenate(triangles)].astype(np.int32)


def _smoothed(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Even out the stairs of voxels."""
    if not len(faces):
        return vertices
    ends = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).T
    ones = np.ones(2 * ends.shape[1], dtype=np.float32)
    both_ways = np.hstack([ends, ends[::-1]])
    near = sparse.coo_matrix((ones, both_ways), shape=(len(vertices), len(vertices))).tocsr()
    near.data[:] = 1
    mean = sparse.diags(1 / np.maximum(near.sum(axis=1).A1, 1)).astype(np.float32) @ near
    for share in (SHRINK, GROW) * ROUNDS:
        vertices = vertices + np.float32(share) * (mean @ vertices - vertices)
    return vertices
