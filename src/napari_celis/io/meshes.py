"""Surfaces of segments, and the files that hold them.

zmesh makes the triangles. The writers are by hand because zmesh writes one object per file, and a selection
of segments belongs into one OBJ file, each under its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from napari_celis.core.errors import VolumeError
from napari_celis.core.volume import Triple
from napari_celis.io.atomic import atomic_file

Box = tuple[slice, slice, slice]

MAX_VOXELS = 1_000_000
"""Larger boxes are meshed at a coarser level, so that nobody waits."""
REDUCTION = 10
"""Triangles are thinned out up to this factor, by moving no vertex further than one voxel."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface made of triangles."""

    vertices: np.ndarray
    """Positions z, y, x, float32 (V, 3)."""
    faces: np.ndarray
    """Three vertices each, int32 (F, 3)."""


def segment_mesh(
    dense: np.ndarray,
    members: np.ndarray,
    box: Box | None = None,
    *,
    voxel_size: Triple = (1.0, 1.0, 1.0),
    offset: Triple = (0.0, 0.0, 0.0),
    max_voxels: int = MAX_VOXELS,
) -> Mesh:
    """Make the surface of a segment.

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Supervoxels.
    members : ndarray of int
        The supervoxels of the segment.
    box : tuple of slice, optional
        Bounding box of the segment, where it is known; otherwise the whole volume is searched for it.
    voxel_size, offset : tuple of float
        In nanometres for files; left out, positions are in voxels.
    max_voxels : int
        A box with more voxels than this is meshed at a coarser level.

    Returns
    -------
    mesh : Mesh
        Closed, also where the segment leaves the volume.
    """
    if box is None:
        box = _box_of(member_mask(dense, members, np.s_[:, :, :]))
    is_inside = member_mask(dense, members, box)
    step = _coarsening(is_inside.shape, max_voxels)
    vertices, faces = _triangles(pooled(is_inside, step))
    first = np.array([part.start for part in box], dtype=np.float64)
    # The middle of a coarse voxel lies between the middles of the fine ones that it stands for.
    voxels = vertices * step + 0.5 * (step - 1) + first
    return Mesh((voxels * voxel_size + offset).astype(np.float32), faces)


def write_meshes(path: Path, meshes: Mapping[str, Mesh]) -> Path:
    """Write surfaces to one file; the suffix chooses OBJ (one object each) or PLY (binary, in one).

    Parameters
    ----------
    path : Path
        Replaced only when everything has been written.
    meshes : mapping of str to Mesh
        By name. Positions are written as x, y, z, the order that other programs expect.
    """
    writers = {".obj": _write_obj, ".ply": _write_ply}
    path = Path(path)
    if path.suffix.lower() not in writers:
        raise VolumeError(f"{path.name} is no mesh file. Choose a name that ends in .obj or .ply.")
    if not any(len(mesh.faces) for mesh in meshes.values()):
        raise VolumeError("There is no surface to write. Select at least one segment first.")
    with atomic_file(path) as temporary:
        writers[path.suffix.lower()](temporary, meshes)
    return path


def member_mask(dense: np.ndarray, members: np.ndarray, box: Box) -> np.ndarray:
    """Tell which voxels of a box belong to a segment.

    Parameters
    ----------
    dense : ndarray of int32, shape (Z, Y, X)
        Supervoxels.
    members : ndarray of int
        The supervoxels of the segment.
    box : tuple of slice
        Where to look.

    Returns
    -------
    mask : ndarray of bool
    """
    block = dense[box]
    is_member = np.zeros(max(int(block.max(initial=0)), int(np.max(members, initial=0))) + 1, dtype=bool)
    is_member[members] = True
    mask: np.ndarray = is_member[block]
    return mask


def pooled(mask: np.ndarray, step: int) -> np.ndarray:
    """Coarsen a mask: a voxel is inside if any of its own is, so that thin processes stay whole.

    Parameters
    ----------
    mask : ndarray of bool, shape (Z, Y, X)
        A segment.
    step : int
        Voxels along each axis that become one.
    """
    if step == 1:
        return mask
    padded = np.pad(mask, [(0, -size % step) for size in mask.shape])
    z, y, x = (size // step for size in padded.shape)
    return np.asarray(padded.reshape(z, step, y, step, x, step).any(axis=(1, 3, 5)))


def _box_of(mask: np.ndarray) -> Box:
    """Find the bounding box of a mask; the first voxel if there is nothing in it."""
    sides = []
    for axis in range(3):
        inside = np.flatnonzero(mask.any(axis=tuple({0, 1, 2} - {axis})))
        sides.append(slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 1))
    return sides[0], sides[1], sides[2]


def _coarsening(shape: tuple[int, ...], max_voxels: int) -> int:
    """Return the smallest step at which a box has no more than `max_voxels`."""
    step = 1
    while np.prod([-(-size // step) for size in shape]) > max_voxels:
        step += 1
    return step


def _triangles(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Run marching cubes on a mask; positions are in its voxels."""
    import zmesh

    if not mask.any():
        return np.empty((0, 3)), np.empty((0, 3), dtype=np.int32)
    mesher = zmesh.Mesher((1, 1, 1))
    mesher.mesh(np.pad(mask, 1).astype(np.uint8))
    surface = mesher.get(1, normals=False, reduction_factor=REDUCTION, max_error=1)
    return surface.vertices.astype(np.float64) - 1.0, surface.faces.astype(np.int32)


def _write_obj(path: Path, meshes: Mapping[str, Mesh]) -> None:
    """Write text: vertices are counted through the whole file, from 1."""
    n_before = 1
    with path.open("w", encoding="utf-8") as file:
        for name, mesh in meshes.items():
            file.write(f"o {name}\n")
            np.savetxt(file, mesh.vertices[:, ::-1], fmt="v %.6g %.6g %.6g")
            np.savetxt(file, mesh.faces[:, ::-1] + n_before, fmt="f %d %d %d")
            n_before += len(mesh.vertices)


def _write_ply(path: Path, meshes: Mapping[str, Mesh]) -> None:
    """Write binary: a header, all vertices, all faces."""
    counts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes.values())])
    vertices = np.concatenate([mesh.vertices[:, ::-1] for mesh in meshes.values()])
    # Swapping z and x turns every triangle inside out; the other order of corners turns it back.
    faces = np.concatenate(
        [mesh.faces[:, ::-1] + first for mesh, first in zip(meshes.values(), counts[:-1], strict=True)]
    )
    rows = np.empty(len(faces), dtype=[("n", "u1"), ("corners", "<i4", 3)])
    rows["n"], rows["corners"] = 3, faces
    header = [
        "ply",
        "format binary_little_endian 1.0",
        *(f"comment {name}" for name in meshes),
        f"element vertex {len(vertices)}",
        *(f"property float {axis}" for axis in "xyz"),
        f"element face {len(faces)}",
        "property list uchar int vertex_indices",
        "end_header\n",
    ]
    with path.open("wb") as file:
        file.write("\n".join(header).encode())
        file.write(np.ascontiguousarray(vertices, dtype="<f4").tobytes())
        file.write(rows.tobytes())
