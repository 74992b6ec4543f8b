"""The protocol of an energy model, and a cache of the energies that it returned."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from napari_celis.core.errors import EnergyError
from napari_celis.core.kernels import tables

UNITS = 2.0**40
"""Energies are counted in whole units of 2^-40. Sums of whole numbers are exact in any order, so a score
depends on the segmentation alone, to the last bit, and not on the way there or on the number of threads."""
LARGEST = 2.0**10
"""Energies lie between 0 and 1; sums of millions of numbers up to this size still fit."""
SMALLEST = 1 << 12
FULL = 0.625
"""Share of a table that may be taken; fuller ones take long to search."""


class Energy(Protocol):
    """An energy model: descriptor and position in, local energy out."""

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
    """In units, int64 (P,)."""
    rounds: np.ndarray
    """In which round of its centre an entry came in, uint8 (P,), modulo 256."""


class EnergyCache:
    """Energies of one spec seen so far, in bounded memory.

    When a merge changes what a centre sees, a round of new descriptors comes in for it. What it sees then is
    one of the round before; older ones are of no use unless merges are taken back, and are the first to go.

    Two descriptors of one centre with the same 64-bit hash would be taken for one. With a thousand
    descriptors at each of a million centres the chance of a single such pair is below 1e-7.

    Parameters
    ----------
    max_entries : int
        Energies to remember at most.
    n_centres : int
        Centres that the spec has.
    """

    def __init__(self, max_entries: int, n_centres: int) -> None:
        self.max_entries = max_entries
        self.n_entries = 0
        self.n_forgotten = 0
        self.arrays = _empty(SMALLEST)
        self._last_round = np.zeros(n_centres, dtype=np.uint8)
        self._is_thrifty = False

    def insert(self, centres: np.ndarray, hashes: np.ndarray, energies: np.ndarray) -> None:
        """Remember energies: a further round for each of these centres.

        Parameters
        ----------
        centres : ndarray
            Numbers of centres.
        hashes : ndarray
            Of their descriptors.
        energies : ndarray
            One each.
        """
        rounds = self._last_round[centres] + np.uint8(1)
        self._last_round[centres] = rounds
        new = CacheArrays(centres, hashes, energies, rounds)
        n_most = min(self.max_entries, int(FULL * len(self.arrays.centres)))
        if self.n_entries + len(centres) > n_most:
            new = CacheArrays(*(array[: self.max_entries] for array in new))
            self._make_room(len(new.centres))
        self.n_entries += int(tables.energy_insert(*self.arrays, *new))

    def make_ready(self) -> None:
        """Take the memory that a run needs before it begins: for most of the entries there are once again.

        From now on outdated entries go before the table grows; until then only at the bound.
        """
        self._is_thrifty = True
        self._make_room(min(3 * self.n_entries // 4, self.max_entries - self.n_entries))

    def _make_room(self, n_new: int) -> None:
        """Move to a table in which what is still of use, and as much as is wanted, fill half at most."""
        old = self.arrays
        n_before = self.n_entries
        if self._is_thrifty or self.n_entries + n_new > self.max_entries:
            self.n_entries -= int(tables.drop_outdated(old.centres, old.rounds, self._last_round))
        if self.n_entries + n_new > self.max_entries:
            self.n_entries = 0
        self.n_forgotten += n_before - self.n_entries
        size = len(old.centres) if self.n_entries else SMALLEST
        while 2 * (self.n_entries + n_new) > size:
            size *= 2
        self.arrays = _empty(size)
        if self.n_entries:
            tables.energy_insert(*self.arrays, *old)


def _empty(size: int) -> CacheArrays:
    """Allocate a table with `size` free buckets."""
    return CacheArrays(
        np.full(size, -1, np.int32),
        np.empty(size, np.uint64),
        np.empty(size, np.int64),
        np.empty(size, np.uint8),
    )


def evaluate(
    energy: Energy, spec_index: int, centres: np.ndarray, bits: np.ndarray, *, is_bounded: bool = False
) -> np.ndarray:
    """Ask the model, refuse what is not an energy, and return units, int64 (M,).

    With `is_bounded`, energies outside [0, 1] are refused too: bounds rely on it.

    Parameters
    ----------
    energy : Energy
        The energy model.
    spec_index : int
        Number of the descriptor spec.
    centres : ndarray
        Numbers of centres.
    bits : ndarray
        Packed descriptors, uint64 (n, words).
    is_bounded : bool
        Refuse energies outside [0, 1].
    """
    if not len(centres):
        return np.empty(0, dtype=np.int64)
    energies = np.asarray(energy.energies(spec_index, centres, bits), dtype=np.float64)
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
    low, high = (0.0, 1.0) if is_bounded else (-LARGEST, LARGEST)
    bad = energies[(energies < low) | (energies > high)]
    if len(bad):
        raise EnergyError(
            f"The energy model returned {bad[0]:g} for spec {spec_index}, but local energies lie between 0 "
            "and 1. Scale them; nothing was changed."
        )
    return np.rint(energies * UNITS).astype(np.int64)
