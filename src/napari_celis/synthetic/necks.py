"""The necks of a phantom, measured in the voxels: how thin, where, and what hangs on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage

from napari_celis.synthetic.space import Grid, NeckPlan

MARGIN_NM = 180.0


@dataclass(frozen=True, eq=False)
class Necks:
    """Thin necks, one row each; cutting a neck in half cuts its head off."""

    positions_zyx: np.ndarray
    """Voxel in the middle of each neck, int32 (N, 3)."""
    ends_zyx: np.ndarray
    """Voxels inside the base and inside the head, int32 (N, 2, 3); a good segmentation joins the two."""
    object_ids: np.ndarray
    """Id of the object in the truth, uint64 (N,)."""
    diameters_nm: np.ndarray
    """Diameter of a disc with the area of the cut across the middle, float64 (N,)."""
    lengths_nm: np.ndarray
    """Distance between base and head, float64 (N,)."""

    def __len__(self) -> int:
        """Number of necks."""
        return len(self.object_ids)

    def as_records(self) -> list[dict[str, Any]]:
        """One dict of plain numbers per neck, ready for JSON."""
        return [
            {
                "position_zyx": self.positions_zyx[row].tolist(),
                "base_zyx": self.ends_zyx[row, 0].tolist(),
                "head_zyx": self.ends_zyx[row, 1].tolist(),
                "object_id": int(self.object_ids[row]),
                "diameter_nm": round(float(self.diameters_nm[row]), 1),
                "length_nm": round(float(self.lengths_nm[row]), 1),
            }
            for row in range(len(self))
        ]


def thin_necks(
    labels: np.ndarray, owners: np.ndarray, plans: tuple[NeckPlan, ...], grid: Grid, widest_nm: float
) -> Necks:
    """Keep the planned necks that are complete, inside the volume, thin, and the only way to their head.

    Parameters
    ----------
    labels : ndarray of int32, shape (Z, Y, X)
        Ids from 1.
    owners : ndarray of int32
        Neurite of each id.
    plans : tuple of NeckPlan
        What was asked for.
    grid : Grid
        Where the voxels are.
    widest_nm : float
        Necks that came out wider are left out.

    Returns
    -------
    necks : Necks
        In the order of `plans`.
    """
    rows = []
    for plan in plans:
        ends = grid.voxels(plan.path_nm[[0, -1]])
        if not grid.holds(ends).all():
            continue
        ids = labels[tuple(ends.T)]
        if ids[0] != ids[1] or owners[ids[0]] != plan.owner:
            continue
        diameter = _cut_diameter(labels, int(ids[0]), plan, ends, grid)
        if diameter is not None and diameter <= widest_nm:
            rows.append((grid.voxels(plan.middle_nm), ends, int(ids[0]), diameter, plan.length_nm))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    return Necks(
        positions_zyx=np.array(columns[0], dtype=np.int32).reshape(-1, 3),
        ends_zyx=np.array(columns[1], dtype=np.int32).reshape(-1, 2, 3),
        object_ids=np.array(columns[2], dtype=np.uint64),
        diameters_nm=np.array(columns[3], dtype=np.float64),
        lengths_nm=np.array(columns[4], dtype=np.float64),
    )


def _cut_diameter(
    labels: np.ndarray, object_id: int, plan: NeckPlan, ends: np.ndarray, grid: Grid
) -> float | None:
    """Cut the neck across its middle; None unless that parts base and head, at least nearby."""
    size = np.array(grid.voxel_size_nm)
    margin = np.ceil(MARGIN_NM / size).astype(np.int64)
    low = np.maximum(ends.min(axis=0) - margin, 0)
    high = np.minimum(ends.max(axis=0) + margin + 1, grid.shape)
    body = labels[tuple(map(slice, low, high))] == object_id
    axis = (plan.path_nm[-1] - plan.path_nm[0]).astype(np.float64)
    axis /= np.sqrt((axis * axis).sum())
    # A slab as wide as the longest single step along the axis: no 6-connected path jumps over it.
    width = float(np.abs(axis * size).max()) * 1.001
    position = np.moveaxis(np.indices(body.shape), 0, -1) * size + (low * size - plan.middle_nm)
    along = position @ axis
    across = np.sqrt(np.maximum((position * position).sum(axis=-1) - along * along, 0.0))
    cut = body & (np.abs(along) <= width / 2) & (across <= 2 * plan.radius_nm + 2 * size.max())
    pieces, _ = ndimage.label(body & ~cut)
    base, head = (pieces[tuple(end - low)] for end in ends)
    if base == head or not (base and head):
        return None
    area = np.count_nonzero(cut) * float(np.prod(size)) / width
    return float(2 * np.sqrt(area / np.pi))
