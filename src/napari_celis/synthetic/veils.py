"""Dark veils across the necks of a phantom: nearly as dark as a membrane, but nothing ends there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from napari_celis.synthetic import kernels
from napari_celis.synthetic.organelles import FULL, Tissue
from napari_celis.synthetic.space import NeckPlan

HALF_NM = 20
"""Half the thickness of a veil: with it a veil looks as thick as a membrane."""
MARGIN_NM = 50
"""How far a veil reaches beyond the wall of its neck, which may bulge."""


def veil_darkness(
    tissue: Tissue, necks: Sequence[NeckPlan], rng: np.random.Generator, darkness: tuple[float, float]
) -> np.ndarray:
    """Darkness of one veil across the middle of each neck, 0 to 256, inside its neurite.

    Parameters
    ----------
    tissue : Tissue
        The phantom.
    necks : sequence of NeckPlan
        Where veils are.
    rng : Generator
        Chooses how dark each one is.
    darkness : tuple of float
        Range; 1 is a membrane in full contrast.

    Returns
    -------
    veils : ndarray of int32, shape (Z, Y, X)
    """
    veils = np.zeros(tissue.grid.shape, dtype=np.int32)
    if not necks:
        return veils
    points = np.array([neck.middle_nm for neck in necks])
    axes = np.array([neck.path_nm[-1] - neck.path_nm[0] for neck in necks])
    reaches = np.array([neck.radius_nm for neck in necks], dtype=np.int64) + MARGIN_NM
    owners = np.array([neck.owner for neck in necks], dtype=np.int32)
    strengths = np.rint(FULL * rng.uniform(*darkness, size=len(necks))).astype(np.int64)
    # Where sections are thick a thinner veil would fall between two of them.
    steps = np.abs(axes * np.array(tissue.grid.voxel_size_nm)).max(axis=1)
    halves = np.ceil(0.75 * steps / np.sqrt((axes * axes).sum(axis=1))).astype(np.int64)
    kernels.raise_sheets(
        veils, tissue.owners[tissue.labels], *tissue.grid.axes,
        points, axes, reaches, np.maximum(halves, HALF_NM), strengths, owners,
    )  # fmt: skip
    return veils
