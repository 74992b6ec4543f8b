"""What an electron microscope would show of a phantom: membranes, their gaps, organelles, blur and grain."""

from __future__ import annotations

import numpy as np

from napari_celis.synthetic import kernels
from napari_celis.synthetic.fields import blur, peak_of_pair, smooth_noise
from napari_celis.synthetic.organelles import (
    FULL,
    GREY,
    Tissue,
    add_densities,
    add_mitochondria,
    add_vesicles,
)
from napari_celis.synthetic.space import Grid, Skeletons
from napari_celis.synthetic.veils import veil_darkness

MEMBRANE_GREY = 80 * GREY
FLAT_MEMBRANE_NM = 10.0
CYTOPLASM_GREYS = (132 * GREY, 182 * GREY)
GAP_RADII_NM, GAP_CONTRAST = (40, 85), FULL // 8
"""Sizes of the gaps, and what is left of a membrane in the middle of one."""
PALE_RADII_NM, PALE_CONTRAST = (90, 180), FULL * 5 // 8
"""The same of pale patches, where a membrane is paler than a veil."""


def photograph(
    labels: np.ndarray,
    owners: np.ndarray,
    skeletons: Skeletons,
    grid: Grid,
    rng: np.random.Generator,
    *,
    gap_share: float,
    pale_share: float,
    darkness_of_veils: tuple[float, float],
    blur_voxels: float,
    noise_grey: float,
) -> np.ndarray:
    """Turn labels into a micrograph.

    Parameters
    ----------
    labels : ndarray of int32, shape (Z, Y, X)
        Ids from 1.
    owners : ndarray of int32
        Neurite of each id.
    skeletons : Skeletons
        Where organelles may lie.
    grid : Grid
        Where the voxels are.
    rng : numpy.random.Generator
        Source of every random choice.
    gap_share : float
        Share of the membrane that loses its contrast.
    pale_share : float
        Share of the membrane that is pale, with five eighths of its contrast left.
    darkness_of_veils : tuple of float
        Range of the darkness of the veils across necks; 1 is a membrane in full contrast.
    blur_voxels : float
        Standard deviation of the blur, in units of the smallest edge of a voxel.
    noise_grey : float
        Standard deviation of the grain.

    Returns
    -------
    image : ndarray of uint8, shape (Z, Y, X)
    """
    darkness = membrane_darkness(labels, grid)
    tissue = Tissue(labels, owners, darkness, skeletons, grid)
    grey = rng.integers(*CYTOPLASM_GREYS, size=len(owners), dtype=np.int32)[labels]
    grey += smooth_noise(grid, rng, 11.0, 9.0 * GREY)
    grey += smooth_noise(grid, rng, 35.0, 7.0 * GREY)
    add_vesicles(grey, tissue, rng)
    add_mitochondria(grey, tissue, rng)
    faded = fade(darkness, grid, rng, gap_share, GAP_RADII_NM, GAP_CONTRAST)
    faded = np.minimum(faded, fade(darkness, grid, rng, pale_share, PALE_RADII_NM, PALE_CONTRAST))
    faded = np.maximum(faded, veil_darkness(tissue, skeletons.necks, rng, darkness_of_veils))
    grey += (MEMBRANE_GREY - grey) * faded // FULL
    add_densities(grey, tissue, rng, per_um3=6.0)
    finest = min(grid.voxel_size_nm)
    grey = blur(grey, [blur_voxels * finest / size for size in grid.voxel_size_nm])
    grey += smooth_noise(grid, rng, 0.4 * finest, noise_grey * GREY)
    return np.asarray(np.clip((grey + GREY // 2) // GREY, 0, 255).astype(np.uint8))


def membrane_sigma_nm(grid: Grid) -> float:
    """Half the apparent thickness of a membrane; finer voxels show it finer."""
    return min(10.5, 5.0 + 0.55 * min(grid.voxel_size_nm))


def membrane_darkness(labels: np.ndarray, grid: Grid) -> np.ndarray:
    """Darkness of the membranes, 0 to 256, from the faces between labels.

    Parameters
    ----------
    labels : ndarray
        Labels, (Z, Y, X).
    grid : Grid
        Voxels and their size.
    """
    edges = np.zeros(labels.shape, dtype=np.int32)
    sigmas = [membrane_sigma_nm(grid) / size for size in grid.voxel_size_nm]
    for axis, (size, sigma) in enumerate(zip(grid.voxel_size_nm, sigmas, strict=True)):
        # A membrane comes out in full darkness, unless it lies flat in a section much thicker than itself.
        weight = round(1.1 * FULL * min(1.0, FLAT_MEMBRANE_NM / size) / peak_of_pair(sigma))
        along = np.moveaxis(labels, axis, 0)
        differs = np.where(along[:-1] != along[1:], weight, 0)
        lower, upper = np.moveaxis(edges, axis, 0)[:-1], np.moveaxis(edges, axis, 0)[1:]
        np.maximum(lower, differs, out=lower)
        np.maximum(upper, differs, out=upper)
    return np.asarray(np.minimum(blur(edges, sigmas), FULL))


def fade(
    darkness: np.ndarray,
    grid: Grid,
    rng: np.random.Generator,
    share: float,
    radii_nm: tuple[int, int],
    contrast: int,
) -> np.ndarray:
    """Take contrast out of about `share` of the membrane, in round patches.

    Parameters
    ----------
    darkness : ndarray
        Of the membranes, 0 to 256.
    grid : Grid
        Voxels and their size.
    rng : Generator
        Makes every random choice.
    share : float
        Of the membrane.
    radii_nm : tuple of int
        Range of the radii of the patches.
    contrast : int
        What is left in the middle of a patch, of 256.
    """
    z, y, x = np.nonzero(darkness >= FULL // 2)
    membrane_nm2 = len(z) * float(np.prod(grid.voxel_size_nm)) / (3 * membrane_sigma_nm(grid))
    patch_nm2 = np.pi * (sum(radii_nm) / 2) ** 2
    n_patches = round(share * membrane_nm2 / patch_nm2)
    picks = rng.integers(max(1, len(z)), size=n_patches)
    points = np.column_stack([grid.zs[z[picks]], grid.ys[y[picks]], grid.xs[x[picks]]])
    left = np.full(darkness.shape, FULL, dtype=np.int32)
    anybody = np.zeros(n_patches, dtype=np.int32)
    kernels.lower_depth(left, left, *grid.axes, points, rng.integers(*radii_nm, size=n_patches), anybody)
    return darkness * np.clip(left, contrast, FULL) // FULL
