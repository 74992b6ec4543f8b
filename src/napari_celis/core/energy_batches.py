"""Evaluate descriptors in batches: what a pass over centres asks for, and the cache does not know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np

from napari_celis.core.buffers import Buffers
from napari_celis.core.changes import Counters
from napari_celis.core.energy import Energy, evaluate

SeenRows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Centres, hashes and energies of descriptors that were evaluated."""


class EnergyBatches:
    """Asks the energy model about the descriptors of one spec, a full buffer at a time.

    Parameters
    ----------
    energy : Energy
        The model.
    spec_index : int
        Which spec it is asked about.
    n_bits : int
        Bits of a descriptor of this spec.
    is_bounded : bool
        Refuse energies that are not between 0 and 1.
    """

    def __init__(self, energy: Energy, spec_index: int, n_bits: int, *, is_bounded: bool) -> None:
        self._energy, self._spec_index, self._n_bits = energy, spec_index, n_bits
        self._is_bounded = is_bounded

    def run(
        self,
        advance: Callable[[int, int], tuple[int, int]],
        end: int,
        buffers: Buffers,
        counters: Counters,
        add: Callable[[int, np.ndarray], None],
    ) -> Iterator[SeenRows]:
        """Fill the buffers, evaluate what is missing, add the terms; until the end is reached.

        Parameters
        ----------
        advance : callable
            Fills the buffers from a region and a centre on; returns where to go on.
        end : int
            How many regions there are.
        buffers : Buffers
            Scratch of this thread.
        counters : Counters
            Counts what it costs.
        add : callable
            Called with the number of terms and the energies of the rows, in units.

        Yields
        ------
        seen : tuple of ndarray
            Centres, hashes and energies of what was evaluated, for the cache.
        """
        rows, counts = buffers.rows, buffers.counts
        index, centre = 0, 0
        while index < end:
            counts[:] = 0
            begin = perf_counter()
            index, centre = advance(index, centre)
            looked_up = asked = perf_counter()
            n_rows, n_missing, n_terms, n_sampled = (int(count) for count in counts)
            if n_missing:
                energies = self._ask(rows.centre[:n_missing], rows.bits[:n_missing])
                asked = perf_counter()
                rows.energy[rows.missing[:n_missing]] = energies
                yield rows.centre[:n_missing].copy(), rows.hash[:n_missing].copy(), energies
            n_lookups = n_sampled * self._n_bits
            counters.add(Counters(n_sampled, n_lookups, n_missing, looked_up - begin, asked - looked_up))
            add(n_terms, rows.energy[:n_rows])

    def _ask(self, centres: np.ndarray, bits: np.ndarray) -> np.ndarray:
        """Ask the model for energies, in units."""
        return evaluate(self._energy, self._spec_index, centres, bits, is_bounded=self._is_bounded)
