"""How energies enter: the protocol of a model, and a cache of what it has said before."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from napari_celis.core.errors import EnergyError
from napari_celis.core.kernels import tables


class Energy(Protocol):
    """An energy model: descriptor and place in, local energy out."""

    def energies(self, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Evaluate local energies; called from several threads at once.

        Parameters
        ----------
        spec_index : int
            Which descriptor spec the rows belong to.
        centres : ndarray of int32, shape (M,)
            Index of each row's centre in the spec's tiling; rows of one centre follow each other.
        bits : ndarray of uint64, shape (M, W)
            Packed descriptors.

        Returns
        -------
        energies : ndarray of float, shape (M,)
            One finite number per row.
        """


class CacheArrays(NamedTuple):
    """An open-addressing table from (centre, hash of the descriptor) to energy."""

    centres: np.ndarray
    """int32 (P,), P a power of two; -1 where free."""
    hashes: np.ndarray
    """uint64 (P,)"""
    energies: np.ndarray
    """float64 (P,)"""


class EnergyCache:
    """Energies of one spec seen so far, in bounded memory.

    Two descriptors of one centre with the same 64-bit hash would be taken for one. With a thousand
    descriptors at each of a million centres the chance of a single such pair is below 1e-7.
    """

    def __init__(self, max_entries: int) -> None:
        self.max_entries = max_entries
        self.n_entries = 0
        self.n_forgotten = 0
        self.arrays = _empty(1 << 12)

    def insert(self, centres: np.ndarray, hashes: np.ndarray, energies: np.ndarray) -> None:
        """Remember energies; when the table is full everything older is forgotten."""
        if self.n_entries + len(centres) > self.max_entries:
            self.n_forgotten += self.n_entries
            self.n_entries = 0
            self.arrays = _empty(1 << 12)
            centres, hashes, energies = (a[: self.max_entries] for a in (centres, hashes, energies))
        size = len(self.arrays.centres)
        while 2 * (self.n_entries + len(centres)) > size:
            size *= 2
        if size > len(self.arrays.centres):
            old, self.arrays = self.arrays, _empty(size)
            tables.energy_insert(*self.arrays, *old)
        self.n_entries += int(tables.energy_insert(*self.arrays, centres, hashes, energies))


def _empty(size: int) -> CacheArrays:
    """Allocate a table with `size` free places."""
    return CacheArrays(np.full(size, -1, np.int32), np.empty(size, np.uint64), np.empty(size, np.float64))


def evaluate(energy: Energy, spec_index: int, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Ask the model and refuse what is not an energy."""
    if not len(centres):
        return np.empty(0)
    # A copy, because the model may write its next answer to the same buffer.
    energies = np.array(energy.energies(spec_index, centres, bits), dtype=np.float64)
    if energies.shape != centres.shape:
        raise EnergyError(
            f"The energy model returned {energies.shape} energies for {len(centres)} descriptors. "
            "It must return one number per descriptor."
        )
    n_bad = int((~np.isfinite(energies)).sum())
    if n_bad:
        raise EnergyError(
            f"The energy model returned {n_bad} energies that are not finite for spec {spec_index}. "
            "Train it again or check its input features; nothing was changed."
        )
    return energies
