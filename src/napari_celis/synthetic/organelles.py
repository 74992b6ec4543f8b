"""What lies inside and between the neurites of a phantom: mitochondria, vesicles, synaptic densities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from napari_celis.synthetic import kernels
from napari_celis.synthetic.fields import smooth_noise
from napari_celis.synthetic.space import Grid, Skeletons

# Greys are counted in 64ths until the end, so that whole-number arithmetic loses nothing.
GREY = 64
FULL = 256
"""Darkness of a membrane in full contrast, and depth at the surface of an organelle."""
MITOCHONDRION_GREY = 76 * GREY
VESICLE_SPACING_NM = 46


@dataclass(frozen=True, eq=False)
class Tissue:
    """Everything the microscope looks at."""

    labels: np.ndarray
    """Id of each voxel, int32."""
    owners: np.ndarray
    """Neurite of each id."""
    darkness: np.ndarray
    """Membranes in full contrast, 0 to 256."""
    skeletons: Skeletons
    """The middle lines of the neurites."""
    grid: Grid
    """Where the voxels are."""

    def depth(self, points_nm: np.ndarray, radii_nm: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """256 d² / r² inside balls, 256 elsewhere; a ball stays inside its owner, off the membrane.

        Parameters
        ----------
        points_nm : ndarray
            Middles of the balls.
        radii_nm : ndarray
            Radii of the balls.
        owners : ndarray
            Neurite of each ball.
        """
        depth = np.full(self.grid.shape, FULL, dtype=np.int32)
        kernels.lower_depth(depth, self.owners[self.labels], *self.grid.axes, points_nm, radii_nm, owners)
        depth[self.darkness > FULL // 4] = FULL
        return depth


def add_mitochondria(grey: np.ndarray, tissue: Tissue, rng: np.random.Generator) -> None:
    """Draw dark bodies with a darker rim and pale folds along the thick strands."""
    skeletons = tissue.skeletons
    picked: list[np.ndarray] = []
    radii: list[np.ndarray] = []
    shifts: list[np.ndarray] = []
    for run in _thick_runs(skeletons, rng):
        picked.append(run)
        radii.append(np.clip(skeletons.radii_nm[run] * rng.uniform(0.45, 0.7), 48, 125))
        shifts.append(np.broadcast_to(rng.integers(-20, 21, size=3), (len(run), 3)))
    if not picked:
        return
    balls = np.concatenate(picked)
    points = skeletons.points_nm[balls] + np.concatenate(shifts)
    depth = tissue.depth(points, np.rint(np.concatenate(radii)).astype(np.int64), skeletons.owners[balls])
    inside = depth < FULL
    folds = np.abs(smooth_noise(tissue.grid, rng, 18.0, 64))[inside] < 20
    rim = depth[inside] > 190
    matrix = MITOCHONDRION_GREY + np.where(folds & ~rim, 18 * GREY, 0) - np.where(rim, 5 * GREY, 0)
    grey[inside] = matrix + (grey[inside] - 155 * GREY) // 5


def _thick_runs(skeletons: Skeletons, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Pick stretches of thick, consecutive balls."""
    cuts = np.flatnonzero(np.diff(skeletons.strands)) + 1
    for strand in np.split(np.arange(len(skeletons.strands)), cuts):
        at = int(rng.integers(0, 25))
        while at + 6 < len(strand):
            run = strand[at : at + int(rng.integers(8, 34))]
            thick = skeletons.radii_nm[run] >= 85
            run = run if thick.all() else run[: int(np.argmin(thick))]
            if len(run) >= 6:
                yield run
            at += len(run) + int(rng.integers(8, 45))


def add_vesicles(grey: np.ndarray, tissue: Tissue, rng: np.random.Generator) -> None:
    """Draw clusters of small rings in the swellings, and a few large pale ones."""
    skeletons = tissue.skeletons
    swollen = np.flatnonzero(skeletons.radii_nm >= 70)
    centres = swollen[rng.random(len(swollen)) < 0.1]
    steps = np.arange(-3, 4) * VESICLE_SPACING_NM
    lattice = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    offsets = np.tile(lattice, (len(centres), 1)) + rng.integers(
        -9, 10, size=(len(centres) * len(lattice), 3)
    )
    owner = np.repeat(centres, len(lattice))
    near = (offsets**2).sum(axis=1) < (0.9 * skeletons.radii_nm[owner]) ** 2
    near &= rng.random(len(near)) < 0.75
    points, who = skeletons.points_nm[owner[near]] + offsets[near], skeletons.owners[owner[near]]
    _draw_rings(grey, tissue.depth(points, rng.integers(19, 26, size=len(points)), who), -60, 10)
    large = swollen[rng.random(len(swollen)) < 0.015]
    radii = rng.integers(35, 60, size=len(large))
    points = skeletons.points_nm[large] + rng.integers(-40, 41, size=(len(large), 3))
    _draw_rings(grey, tissue.depth(points, radii, skeletons.owners[large]), -45, 22)


def _draw_rings(grey: np.ndarray, depth: np.ndarray, rim: int, core: int) -> None:
    """Shift the grey of balls: `rim` in the outer half, `core` inside."""
    inside = depth < FULL
    grey[inside] += np.where(depth[inside] > 80, rim * GREY, core * GREY)


def add_densities(grey: np.ndarray, tissue: Tissue, rng: np.random.Generator, per_um3: float) -> None:
    """Darken round patches on some contacts, as synapses do.

    Parameters
    ----------
    grey : ndarray
        The image so far; changed.
    tissue : Tissue
        The phantom.
    rng : Generator
        Makes every random choice.
    per_um3 : float
        How many per cubic micrometre.
    """
    z, y, x = np.nonzero(tissue.darkness >= FULL - FULL // 8)
    grid = tissue.grid
    volume_um3 = tissue.labels.size * float(np.prod(grid.voxel_size_nm)) * 1e-9
    if not len(z):
        return
    picks = rng.integers(len(z), size=round(per_um3 * volume_um3))
    points = np.column_stack([grid.zs[z[picks]], grid.ys[y[picks]], grid.xs[x[picks]]])
    depth = np.full(grid.shape, FULL, dtype=np.int32)
    anybody = np.zeros(len(picks), dtype=np.int32)
    kernels.lower_depth(depth, depth, *grid.axes, points, rng.integers(30, 60, size=len(picks)), anybody)
    grey -= (FULL - depth) * (grey - 66 * GREY).clip(0) // (2 * FULL)
