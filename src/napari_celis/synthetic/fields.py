"""Smooth random fields in fixed point: whole numbers in, whole numbers out, the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from napari_celis.synthetic.space import Grid

_ONE = 4096
_LEAST_SIGMA = 0.25


def blur(volume: np.ndarray, sigma_voxels: Sequence[float]) -> np.ndarray:
    """Blur whole numbers with a Gaussian.

    The weights are multiples of 1/4096, so that every product and every sum is exact in double precision, in
    whatever order a machine adds them.

    Parameters
    ----------
    volume : ndarray of int
        At most 2**31 in size.
    sigma_voxels : sequence of float
        One per axis; an axis with less than a quarter voxel stays as it is.

    Returns
    -------
    blurred : ndarray of int32
    """
    result = volume.astype(np.int32, copy=False)
    for axis, sigma in enumerate(sigma_voxels):
        if sigma >= _LEAST_SIGMA:
            result = ndimage.correlate1d(result, _weights(sigma), axis=axis, output=np.int32, mode="reflect")
    return result


def smooth_noise(grid: Grid, rng: np.random.Generator, sigma_nm: float, spread: float) -> np.ndarray:
    """Draw a random field that varies over about `sigma_nm`.

    Parameters
    ----------
    grid : Grid
        Voxels and their size.
    rng : Generator
        Makes every random choice.
    sigma_nm : float
        Over how far it varies.
    spread : float
        Its standard deviation.

    Returns
    -------
    field : ndarray of int32
        Mean 0, standard deviation about `spread`.
    """
    amplitude = 1 << 20
    white = rng.integers(-amplitude, amplitude, size=grid.shape, dtype=np.int32, endpoint=True)
    sigmas = [sigma_nm / size for size in grid.voxel_size_nm]
    kept = [float((_weights(sigma) ** 2).sum()) for sigma in sigmas if sigma >= _LEAST_SIGMA]
    deviation = amplitude * np.sqrt(np.prod(kept) / 3)
    return np.asarray(np.rint(blur(white, sigmas) * (spread / deviation)).astype(np.int32))


def peak_of_pair(sigma_voxels: float) -> float:
    """Height that two neighbouring planes of ones keep after `blur` across them."""
    if sigma_voxels < _LEAST_SIGMA:
        return 1.0
    weights = _weights(sigma_voxels)
    return float(weights[len(weights) // 2 : len(weights) // 2 + 2].sum())


def _weights(sigma: float) -> np.ndarray:
    """Gaussian weights in steps of 1/4096 that add up to one."""
    reach = max(1, int(np.ceil(2.5 * sigma)))
    raw = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weights = np.rint(_ONE * raw / raw.sum())
    weights[reach] += _ONE - weights.sum()
    return np.asarray(weights / _ONE)
