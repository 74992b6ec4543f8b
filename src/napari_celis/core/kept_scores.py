"""Scores of another moment, taken over where nothing has changed since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from napari_celis.core.actions import ActionTable
from napari_celis.core.scores import SpecScores


class EarlierScores(Protocol):
    """Scores of another moment."""

    def fitted(
        self, specs: Sequence[SpecScores], actions: ActionTable, taken: np.ndarray
    ) -> KeptScores | None:
        """Return what can be taken over from them; None if they are of another problem."""


@dataclass(frozen=True, eq=False)
class KeptScores:
    """What the scores of a moment were added up from."""

    taken: np.ndarray
    """Actions that were taken then, bool (A,)."""
    sums: tuple[np.ndarray, ...]
    """Per spec, the terms of every slot, int64 (slots, N_COLUMNS)."""
    region_energy: tuple[np.ndarray, ...]
    """Per spec, the energy of every region in units, int64 (regions,)."""
    is_stale: tuple[np.ndarray, ...] | None = None
    """Per spec, the regions of which nothing is known, bool (regions,)."""

    @classmethod
    def of(cls, specs: Sequence[SpecScores], taken: np.ndarray) -> KeptScores:
        """Copy the present ones."""
        return cls(
            taken.copy(),
            tuple(scores.sums.copy() for scores in specs),
            tuple(scores.region_energy.copy() for scores in specs),
        )

    def fitted(
        self, specs: Sequence[SpecScores], actions: ActionTable, taken: np.ndarray
    ) -> KeptScores | None:
        """Return these, if they are numbers of the same volume and specs by their shapes.

        Parameters
        ----------
        specs : sequence of SpecScores
            Where they should go.
        actions : ActionTable
            The table of actions.
        taken : ndarray
            Which actions are taken, bool (A,).
        """
        own = [self.taken.shape, *(a.shape for a in (*self.sums, *self.region_energy))]
        sums = [scores.sums.shape for scores in specs]
        is_same = own == [taken.shape, *sums, *(scores.region_energy.shape for scores in specs)]
        return self if is_same else None

    def put_into(self, scores: SpecScores, taken: np.ndarray) -> np.ndarray:
        """Put back what was kept of regions in which the same actions are taken.

        Parameters
        ----------
        scores : SpecScores
            Of the spec that gets them.
        taken : ndarray
            Which actions are taken now, bool (A,).

        Returns
        -------
        changed : ndarray of int64
            The other regions, which have to be scored.
        """
        is_changed = np.zeros(scores.table.tiling.n_regions, dtype=bool)
        if self.is_stale is not None:
            is_changed |= self.is_stale[scores.index]
        changed = np.flatnonzero(self.taken != taken)
        is_changed[scores.table.slot_region[scores.table.slots_of(changed)]] = True
        slots = np.flatnonzero(~is_changed[scores.table.slot_region])
        scores.sums[slots] = self.sums[scores.index][slots]
        scores.region_energy[~is_changed] = self.region_energy[scores.index][~is_changed]
        regions: np.ndarray = np.flatnonzero(is_changed)
        return regions
